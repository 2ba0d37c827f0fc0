"""Editors that tests drive, one process for each kind and module: starting a model takes seconds.

What `MIDTOKEN_HOME` tells tests also reaches the servers that the editors start.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session", autouse=True)
def commands_on_path() -> Iterator[None]:
    """Editors find the `midtoken` of this environment, as their set-ups expect it on the PATH."""
    programs = str(Path(sys.executable).parent)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", programs + os.pathsep + os.environ["PATH"])
        yield
