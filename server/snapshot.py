r"""A document as it was at one moment, and the arithmetic of positions in it.

Text is bytes from the file to the answer; nothing is decoded for good and nothing is replaced. Line
ends are `\n`, `\r\n` and `\r` and no others (form feed and U+2028 are characters like any other).
A character is a code point; each byte that is not valid UTF-8 counts as one character.

Example::

    >>> text = "naïve = 1\nprint(na".encode()
    >>> offset_at(text, 2, 9)
    19
    >>> position_at(text, 19)
    (1, 8)

What is not here: UTF-16 columns of editors, and applying edits.
"""

import re
import stat
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import BinaryIO

import numpy as np

from server.errors import DocumentError, UsageError

MAX_BYTES = 256 * 2**20
"""Larger documents are refused: five times the largest source files that people open."""
COUNTED = 1 << 18
"""So many bytes are looked at in one go: they stay in a core's cache."""
NEAR_BYTES = 1 << 19
"""So much text before and after the cursor is searched for what documents spell themselves."""
SNIFFED_BYTES = 8192
"""A NUL byte within the first so many bytes means a binary file (git's rule as well)."""


@dataclass(frozen=True)
class Snapshot:
    """A document at one moment. ValueError if the cursor is not in the text."""

    uri: str
    """Where the document lives; `-` for standard input."""
    version: int
    """The editor's count of changes; 0 for a file from disk."""
    text: bytes
    """The whole document with its own line ends."""
    cursor: int
    """Byte offset of the cursor in `text`."""
    language: str
    """The language identifier that VS Code uses, for example `python`."""

    def __post_init__(self) -> None:
        if not 0 <= self.cursor <= len(self.text):
            raise ValueError(f"cursor {self.cursor} is outside the text of {len(self.text)} bytes")

    @cached_property
    def has_chat_marks(self) -> bool:
        """Whether marks such as `<|endoftext|>` are spelled near the cursor."""
        return _MARK.search(self.text, *self._near) is not None

    @cached_property
    def has_fences(self) -> bool:
        """Whether code fences stand near the cursor."""
        # One byte is found much faster than three in a row, and most code has none of it.
        return self.text.find(b"`", *self._near) >= 0 and self.text.find(b"```", *self._near) >= 0

    @property
    def _near(self) -> tuple[int, int]:
        return max(0, self.cursor - NEAR_BYTES), self.cursor + NEAR_BYTES


_MARK = re.compile(rb"<\|\w")


def read_document(name: str, stdin: BinaryIO | None = None) -> bytes:
    """The bytes of a text file, or of standard input where the name is `-`.

    Raises:
        DocumentError: The file is missing, a directory, a pipe or device, unreadable, larger than
            `MAX_BYTES`, binary, or text in UTF-16 or UTF-32.
    """
    if name == "-" and stdin is not None:
        text, shown = stdin.read(MAX_BYTES + 1), "standard input"
    else:
        text, shown = _read_file(name), _printable(name)
    if len(text) > MAX_BYTES:
        raise DocumentError(
            f"{shown} is larger than {MAX_BYTES >> 20} MiB: give a part of it with `-`"
        )
    encoding = _wide_encoding(text[:SNIFFED_BYTES])
    if encoding:
        raise DocumentError(f"{shown} is {encoding} text: save it as UTF-8, then try again")
    if b"\0" in text[:SNIFFED_BYTES]:
        raise DocumentError(f"{shown} is a binary file (it holds NUL bytes): choose a text file")
    return text


def _read_file(name: str) -> bytes:
    shown = _printable(name)
    path = Path(name)
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise DocumentError(f"{shown} is a directory: name a file in it")
        if not stat.S_ISREG(mode):
            # A pipe may never end and a device may never stop: neither is opened.
            raise DocumentError(f"{shown} is not a regular file: give its text with `-` instead")
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except FileNotFoundError as error:
        raise DocumentError(f"{shown} does not exist: check the path") from error
    except PermissionError as error:
        raise DocumentError(f"{shown} may not be read: check its permissions") from error
    except (OSError, ValueError) as error:  # ValueError: a NUL character in the path
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise DocumentError(f"{shown} cannot be read ({reason}): check the path") from error


def _wide_encoding(head: bytes) -> str | None:
    """`UTF-16` or `UTF-32` if the text starts like one, else None."""
    if head.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return "UTF-32"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "UTF-16"
    # Without a mark: in mostly ASCII text every second byte is NUL, always on the same side.
    evens, odds = head[0::2].count(0), head[1::2].count(0)
    few, many = sorted((evens, odds))
    return "UTF-16" if few == 0 and many * 10 >= len(head) * 4 and many > 1 else None


def _printable(name: str) -> str:
    """A file name for a one-line message: quoted and escaped if it holds control characters."""
    return name if name.isprintable() and name else ascii(name)


def parse_location(location: str) -> tuple[str, int, int]:
    r"""`FILE:LINE:COLUMN` to its three parts; line and column count from 1.

    The file may itself contain colons (`C:\app.py:3:4`), and `-` stands for standard input.
    Raises UsageError with an example for anything else.
    """
    parts = re.fullmatch(r"(.+):(-?[0-9]{1,18}):(-?[0-9]{1,18})", location, re.DOTALL)
    example = "write FILE:LINE:COLUMN, for example src/app.py:12:9"
    if parts is None:
        raise UsageError(f"{_printable(location)} is not a location: {example}")
    line, column = int(parts[2]), int(parts[3])
    if line < 1 or column < 1:
        wrong = f"line {line}" if line < 1 else f"column {column}"
        raise UsageError(f"{wrong} does not exist, lines and columns count from 1: {example}")
    return parts[1], line, column


def offset_at(text: bytes, line: int, column: int) -> int:
    """The byte offset of a position that counts from 1.

    The column may be one past the last character. Counting lines takes some 0.1 s on 50 MB.
    Raises DocumentError for a position outside the text, with the number of lines or characters.
    """
    starts = line_starts(text)
    if not 1 <= line <= len(starts):
        raise DocumentError(
            f"line {line} does not exist: the text has {_counted(len(starts), 'line')}"
        )
    start, end = line_bounds(text, int(starts[line - 1]))
    characters = _decode(text[start:end])
    if not 1 <= column <= len(characters) + 1:
        length = _counted(len(characters), "character")
        raise DocumentError(
            f"column {column} does not exist on line {line}: it has {length}, "
            f"so the last column is {len(characters) + 1}"
        )
    return start + len(characters[: column - 1].encode("utf-8", "surrogateescape"))


def position_at(text: bytes, offset: int) -> tuple[int, int]:
    r"""The zero-based line and character of a byte offset: the inverse of `offset_at`.

    An offset inside a character, or between `\r` and `\n`, counts as the place before it.
    Raises ValueError for an offset outside the text.
    """
    start, end = line_bounds(text, offset)
    line = _count(text, 0x0A, start)
    if text.find(b"\r", 0, start) >= 0:
        line += _count(text, 0x0D, start) - text.count(b"\r\n", 0, start)
    before = _decode(text[start : min(offset, end)])
    # The bytes of a character that is cut in half come out as up to three single ones.
    whole = _decode(text[start : min(offset + 3, end)])
    while not whole.startswith(before):
        before = before[:-1]
    return line, len(before)


def line_bounds(text: bytes, offset: int) -> tuple[int, int]:
    r"""The byte offsets where the line of `offset` starts and where it ends, without its line end.

    An offset between `\r` and `\n` belongs to the line that they end.
    Raises ValueError for an offset outside the text.
    """
    if not 0 <= offset <= len(text):
        raise ValueError(f"offset {offset} is outside the text of {len(text)} bytes")
    if text[max(offset - 1, 0) : offset + 1] == b"\r\n":
        offset -= 1
    start = text.rfind(b"\n", 0, offset) + 1
    start = max(start, text.rfind(b"\r", start, offset) + 1)
    end = text.find(b"\n", offset)
    end = len(text) if end < 0 else end
    carriage = text.find(b"\r", offset, end)
    return start, end if carriage < 0 else carriage


def with_lf(text: bytes) -> bytes:
    r"""The text with every line end as `\n`, as models see it."""
    if b"\r" not in text:  # a hundred times as fast as to look for pairs
        return text
    return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def line_starts(text: bytes) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """The byte offset of every line's first byte; at least one line, shape (lines,)."""
    data = np.frombuffer(text, dtype=np.uint8)
    if b"\r" not in text:
        ends = np.flatnonzero(data == 0x0A)
    else:
        ends = np.flatnonzero((data == 0x0A) | (data == 0x0D))
        halves = (data[ends] == 0x0D) & (data[np.minimum(ends + 1, len(data) - 1)] == 0x0A)
        ends = ends[~halves]
    return np.concatenate(([0], ends + 1))


def _count(text: bytes, byte: int, end: int) -> int:
    """How often a byte comes before an offset: ten times as fast as `bytes.count`."""
    return sum(
        int(np.count_nonzero(np.frombuffer(text, np.uint8, min(COUNTED, end - at), at) == byte))
        for at in range(0, end, COUNTED)
    )


def _decode(line: bytes) -> str:
    """One `str` character for each character, also for each invalid byte; lossless."""
    return line.decode("utf-8", "surrogateescape")


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def language_of(path: str) -> str:
    """The language identifier of VS Code for a file name, `plaintext` where none is known."""
    # A Windows path is only recognised by its backslashes, whatever system this is.
    name = (PureWindowsPath if "\\" in path else PurePosixPath)(path).name.lower()
    if name in _NAMES:
        return _NAMES[name]
    extension = name.rpartition(".")[2] if "." in name else ""
    return _EXTENSIONS.get(extension, "plaintext")


_EXTENSIONS = {
    extension: language
    for language, extensions in {
        "bat": "bat cmd",
        "c": "c h",
        "clojure": "clj cljs cljc edn",
        "cpp": "cc cpp cxx c++ hh hpp hxx ipp inl ino",
        "csharp": "cs csx",
        "css": "css",
        "dart": "dart",
        "dockerfile": "dockerfile containerfile",
        "elixir": "ex exs",
        "erlang": "erl hrl",
        "fsharp": "fs fsi fsx",
        "go": "go",
        "graphql": "graphql gql",
        "groovy": "groovy gradle",
        "haskell": "hs",
        "html": "html htm xhtml",
        "ini": "ini cfg conf properties editorconfig",
        "java": "java",
        "javascript": "js cjs mjs es6",
        "javascriptreact": "jsx",
        "json": "json ipynb webmanifest geojson",
        "jsonc": "jsonc code-workspace",
        "jsonl": "jsonl ndjson",
        "julia": "jl",
        "kotlin": "kt kts",
        "latex": "tex ltx sty cls",
        "less": "less",
        "lua": "lua",
        "makefile": "mk mak",
        "markdown": "md mkd markdown mdown",
        "nix": "nix",
        "objective-c": "m",
        "objective-cpp": "mm",
        "ocaml": "ml mli",
        "perl": "pl pm t",
        "php": "php phtml",
        "powershell": "ps1 psm1 psd1",
        "proto3": "proto",
        "python": "py pyi pyw",
        "r": "r",
        "restructuredtext": "rst",
        "ruby": "rb rake gemspec",
        "rust": "rs",
        "scala": "scala sbt sc",
        "scss": "scss",
        "shellscript": "sh bash zsh ksh bats",
        "sql": "sql",
        "svelte": "svelte",
        "swift": "swift",
        "terraform": "tf tfvars",
        "toml": "toml",
        "typescript": "ts cts mts",
        "typescriptreact": "tsx",
        "vb": "vb vbs",
        "vim": "vim",
        "vue": "vue",
        "xml": "xml xsd xsl xslt svg plist csproj",
        "yaml": "yaml yml",
        "zig": "zig",
    }.items()
    for extension in extensions.split()
}

_NAMES = {
    ".babelrc": "jsonc",
    ".bash_profile": "shellscript",
    ".bashrc": "shellscript",
    ".eslintrc": "jsonc",
    ".profile": "shellscript",
    ".vimrc": "vim",
    ".zshrc": "shellscript",
    "cargo.lock": "toml",
    "cmakelists.txt": "cmake",
    "containerfile": "dockerfile",
    "dockerfile": "dockerfile",
    "gemfile": "ruby",
    "gnumakefile": "makefile",
    "jenkinsfile": "groovy",
    "makefile": "makefile",
    "pipfile": "toml",
    "rakefile": "ruby",
    "settings.json": "jsonc",
    "tsconfig.json": "jsonc",
    "uv.lock": "toml",
}
"""Files whose name says more than its ending."""
