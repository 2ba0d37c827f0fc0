"""What to do about a model file that is damaged: it depends on where it came from."""

import os
from pathlib import Path


def anew(path: Path) -> str:
    """What to do about it, as the last part of an error's sentence.

    Midtoken has pulled a file if its record lies beside it (`models.store.record_path`).
    """
    if os.path.isfile(f"{path}.json"):  # noqa: PTH113 - pathlib's own raises for long names
        return "remove the model and pull it again (`midtoken model`)"
    return "get it anew from where it came from"
