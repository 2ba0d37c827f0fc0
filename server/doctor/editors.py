"""Editors that are set up for midtoken, and whether they find the command.

Only known places are looked at, and of a file only whether it mentions midtoken. That a set-up is
right is for the editor to tell (`:checkhealth midtoken`, the status bar).
"""

import os
import shutil
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from server.doctor.finding import Finding
from server.terminal import shown_path

EXTENSION = "midtoken.midtoken-*"
"""Folders of our extension in VS Code, and in the editors that were made of it."""
MOST_FILES = 500
"""Configurations with more files are not read to their end."""
MOST_BYTES = 1 << 20


def check_editors() -> Iterator[Finding]:
    """Which editors are set up, and which `midtoken` they would start."""
    found = set_ups()
    shown = [f"{editor} ({shown_path(str(paths[0]))})" for editor, paths in found.items()]
    facts = {editor: [str(path) for path in paths] for editor, paths in found.items()}
    if shown:
        yield Finding("ok", "editors", ", ".join(shown), facts={"found": facts})
    else:
        yield Finding(
            "note",
            "editors",
            "none is set up: they start `midtoken serve --stdio`",
            "the folder editors/ of the project tells how",
            {"found": {}},
        )
    # The extension finds the command of the selected Python by itself.
    yield _command_finding(needed=bool(set(found) - {"VS Code"}))


def set_ups() -> dict[str, list[Path]]:
    """For each editor that is set up, the files or folders that say so."""
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - pathlib's own raises without a home
    config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local/share")
    local = Path(os.environ.get("LOCALAPPDATA") or home / "AppData/Local")
    roaming = Path(os.environ.get("APPDATA") or home / "AppData/Roaming")
    neovim = os.environ.get("NVIM_APPNAME") or "nvim"
    places = {
        "VS Code": [
            *_matching(home, f".*/extensions/{EXTENSION}"),
            *_matching(data, f"code-server/extensions/{EXTENSION}"),
        ],
        "Neovim": _mentioning(
            path
            for folder in (config / neovim, local / neovim)
            for pattern in ("**/*.lua", "**/*.vim")
            for path in _matching(folder, pattern)
        ),
        "Emacs": _mentioning(
            [
                *_matching(home, ".emacs"),
                *_matching(home, ".emacs.el"),
                *_matching(home / ".emacs.d", "*.el"),
                *_matching(home / ".emacs.d", "lisp/*.el"),
                *_matching(config / "emacs", "*.el"),
                *_matching(config / "doom", "*.el"),
                *_matching(roaming / ".emacs.d", "*.el"),
            ]
        ),
        "Helix": _mentioning(
            [*_matching(config / "helix", "*.toml"), *_matching(roaming / "helix", "*.toml")]
        ),
    }
    return {editor: paths for editor, paths in places.items() if paths}


def _matching(folder: Path, pattern: str) -> list[Path]:
    """Paths below a folder; none where it can't be read."""
    try:
        return sorted(islice(folder.glob(pattern), MOST_FILES))
    except OSError:
        return []


def _mentioning(paths: Iterator[Path] | list[Path]) -> list[Path]:
    """Those files that mention midtoken."""
    return [path for path in islice(paths, MOST_FILES) if _mentions(path)]


def _mentions(path: Path) -> bool:
    try:
        if not path.is_file():  # a pipe would be waited for
            return False
        with path.open("rb") as file:
            return b"midtoken" in file.read(MOST_BYTES)
    except OSError:
        return False


def _command_finding(*, needed: bool) -> Finding:
    """Whether the `midtoken` on the PATH is this one."""
    ours = Path(sys.executable).parent
    command = shutil.which("midtoken")
    facts = {"path": command, "is_this_one": False}
    if command is None:
        return Finding(
            "warning" if needed else "note",
            "command",
            "`midtoken` is not on the PATH, where editors look for it",
            f"add {shown_path(str(ours))} to the PATH, or give the editor the whole path",
            facts,
        )
    if Path(command).parent.resolve() == ours.resolve():
        return Finding("ok", "command", shown_path(command), facts=facts | {"is_this_one": True})
    return Finding(
        "note",
        "command",
        f"editors start {shown_path(command)}, which is another installation than this one",
        f"put {shown_path(str(ours))} before it on the PATH, if that is not what you want",
        facts,
    )
