"""The README's picture of a page: `python -m tests.server.explain_page.picture docs/explain.png`.

Needs the default model and Chromium.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from server.completer import load_completer
from server.completion_options import CompletionOptions
from server.explain_page.facts import gather
from server.explain_page.page import page
from server.models import store
from server.models.catalog import DEFAULT_MODEL
from server.snapshot import Snapshot
from tests.server.explain_page.browser import take_picture

TEXT = b"def load(path):\n    with open(path) as file:\n        rows = file.rea"
WIDTH, HEIGHT = 1000, 1150
"""To the end of the tree, in CSS pixels."""


def main(picture: Path) -> None:
    """Write the picture."""
    completer = load_completer(store.resolve(DEFAULT_MODEL))
    snapshot = Snapshot("report.py", 0, TEXT, len(TEXT), "python")
    html = page(gather(completer, snapshot, CompletionOptions()))
    completer.close()
    with TemporaryDirectory() as folder:
        file = Path(folder) / "page.html"
        file.write_text(html, encoding="utf-8")
        take_picture(file, picture.absolute(), WIDTH, HEIGHT, "--force-device-scale-factor=1.5")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
