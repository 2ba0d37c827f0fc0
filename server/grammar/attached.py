"""Files that a person attached to documents: by a language's identifier, or by a glob.

    >>> attached("file:///w/conf/a.json", "json", {"conf/*.json": "/s/conf.json"})
    PosixPath('/s/conf.json')

The first that fits is taken. A glob is matched from the end of the document's path, at a slash, or
if it begins with a slash or `~`, from the start. `*` and `?` stop at slashes; `**/` stands for any
number of folders.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from server.possessive import re

ELSEWHERE = "elsewhere:"
"""The beginning of addresses of documents on other machines, whose paths mean nothing here."""


def attached(uri: str, language: str, configured: Mapping[str, str]) -> Path | None:
    """The file for a document; None if none is configured. Nothing is read.

    Args:
        uri: The document's address, or its path.
        language: Its language identifier; empty if languages do not count.
        configured: Paths by language identifier or glob.
    """
    path = path_of(uri)
    for name, value in configured.items():
        if name == language or (path and _glob(name).fullmatch(path.as_posix())):
            return _expanded(value)
    return None


def path_of(uri: str) -> Path | None:
    """The path of a document's file; None if it is in no file."""
    try:
        parts = urlsplit(uri)
        scheme = parts.scheme.lower()
        if scheme == "file":
            return Path(url2pathname(parts.path))
    except ValueError:  # no address at all
        return None
    # One letter is a drive of Windows.
    return Path(uri) if len(scheme) < 2 and uri else None


def version_of(path: Path) -> tuple[int, int, int]:
    """What changes with a file: its time, size and number; zeros if it is missing."""
    try:
        status = path.stat()
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return 0, 0, 0
    return status.st_mtime_ns, status.st_size, status.st_ino


def _expanded(path: str) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError:  # nobody has such a home
        return Path(path)


@cache
def _glob(pattern: str) -> re.Pattern[str]:
    if pattern.startswith("~"):
        pattern = _expanded(pattern).as_posix()
    start = "" if pattern.startswith("/") or re.match("[A-Za-z]:", pattern) else "(?:.*/)?"
    parts = re.findall(r"\*\*/|\*+|\?|\[[^/\]]+\]|.", pattern, re.DOTALL)
    return re.compile(start + "".join(map(_part, parts)), re.DOTALL)


def _part(part: str) -> str:
    known = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    if part in known:
        return known[part]
    if part[0] == "[" and len(part) > 2:
        negated = part[1] in "!^"
        inner = re.sub(r"([\\\[\]&~|^])", r"\\\1", part[2 if negated else 1 : -1])
        try:
            re.compile(found := f"[{'^/' if negated else ''}{inner}]")
        except re.error:
            return re.escape(part)
        return found
    return re.escape(part)
