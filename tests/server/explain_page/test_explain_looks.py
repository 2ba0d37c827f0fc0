"""The page in a real browser: styled in spite of its policy, light and dark, and quiet."""

from pathlib import Path

import matplotlib.image
import pytest

from server.completion_options import CompletionOptions
from server.explain_page.facts import gather
from server.explain_page.page import page
from server.snapshot import Snapshot
from tests.server.explain_page.browser import CHROMIUM, chromium, take_picture

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")


@pytest.fixture(scope="module")
def file(tiny_completer, tmp_path_factory) -> Path:
    """A page of a document that would like to run something."""
    text = b"x = '</script><script>document.title = 1</script><img src=/x onerror=alert(1)>' + st"
    facts = gather(
        tiny_completer, Snapshot("a.py", 0, text, len(text), "python"), CompletionOptions()
    )
    written = tmp_path_factory.mktemp("page") / "page.html"
    written.write_text(page(facts), encoding="utf-8")
    return written


@pytest.mark.parametrize(
    ("dark", "background"), [(False, (251, 250, 248)), (True, (22, 24, 28))], ids=["light", "dark"]
)
def test_colours_follow_the_person(file, dark, background):
    """The style is allowed by the policy, and follows the system's preference."""
    picture = file.parent / f"{dark}.png"
    take_picture(file, picture, 900, 700, dark=dark)

    pixels = matplotlib.image.imread(picture)
    corner = tuple(round(255 * float(value)) for value in pixels[3, 3, :3])
    assert corner == background
    assert len({tuple(pixel) for row in pixels[::7, ::7] for pixel in row}) > 8


def test_nothing_runs(file):
    """What the document spells stays text in the browser's own view of the page."""
    seen = chromium(file, "--dump-dom").decode()

    assert "<title>a.py:1:" in seen
    assert "<script" not in seen
    assert "<img" not in seen
    assert "&lt;" in seen
