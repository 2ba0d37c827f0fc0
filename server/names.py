r"""The names in a document: which identifiers are in it, how often, and where last.

One pattern for each family of languages reads strings and comments as a whole and gives identifiers
one by one. That takes some 0.1 s for a megabyte, works in text that is broken, and needs no parser
for every language. What it can't tell, it takes for code: words in a template string, say.

    >>> found = names_in(b"total = 1  # the total\nprint(total)", "python")
    >>> [(name.text, name.count) for name in found]
    [(b'total', 2), (b'print', 1)]

What is not here: which of them is meant (`ranking`).
"""

import keyword
from bisect import bisect_left
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from server.possessive import re

LARGEST = 1 << 20
"""Of a larger document, so many bytes around the cursor are read."""

LONGEST = 128
"""A longer word is data."""


@dataclass(frozen=True)
class Name:
    """An identifier of a document."""

    text: bytes
    count: int
    nearest: int
    """Byte offset of the last place before the cursor, or of the first one after it."""


_LISPS = "clojure common-lisp emacs-lisp lisp racket scheme"
DASHED = frozenset(f"css scss sass less html xml svelte vue {_LISPS}".split())
"""Languages whose names may hold dashes."""

_WITH_DOLLAR = frozenset({"javascript", "javascriptreact", "typescript", "typescriptreact"}) | (
    frozenset({"php", "perl", "groovy", "java", "powershell"})
)
_LETTERS = b"A-Za-z_\\x80-\\xff"

_BLOCK = rb"/\*(?:[^*]++|\*(?!/))*+\*/"
_DOUBLE = rb"\"(?:[^\"\\\n]++|\\[\s\S])*+\""
_SINGLE = rb"'(?:[^'\\\n]++|\\[\s\S])*+'"
_TRIPLE = rb"\"\"\"(?:[^\"\\]++|\\[\s\S]|\"(?!\"\"))*+\"\"\"|'''(?:[^'\\]++|\\[\s\S]|'(?!''))*+'''"
_QUOTES = rb"|".join((_TRIPLE, _DOUBLE, _SINGLE))

_SKIPPED = {
    "slashes": rb"//[^\n]*+|" + _BLOCK + rb"|" + _QUOTES,
    "rust": rb"//[^\n]*+|" + _BLOCK + rb"|" + _DOUBLE + rb"|'(?:[^'\\\n]|\\[^\n]{1,9}?)'",
    "python": rb"#[^\n]*+|(?:\b[bfrtuBFRTU]{1,2})?(?:" + _QUOTES + rb")",
    "hash": rb"#[^\n]*+|" + _QUOTES,
    "dashes": rb"--[^\n]*+|" + _QUOTES,
    "percent": rb"%[^\n]*+",
    "block": _BLOCK + rb"|" + _DOUBLE + rb"|" + _SINGLE,
    "markup": rb"<!--(?:[^-]++|-(?!->))*+-->",
    "semicolon": rb";[^\n]*+|" + _DOUBLE,
}
"""Comments and strings, by family."""

_FAMILIES = {
    language: family
    for family, languages in {
        "slashes": "c cpp csharp dart fsharp go groovy java javascript javascriptreact kotlin"
        " objective-c objective-cpp php proto3 scala swift typescript typescriptreact zig",
        "rust": "rust",
        "python": "python",
        "hash": "cmake dockerfile elixir graphql ini julia makefile nix perl powershell r"
        " ruby shellscript terraform toml yaml",
        "dashes": "haskell lua sql",
        "percent": "erlang latex",
        "block": "css less scss",
        "markup": "html svelte vue xml",
        "semicolon": _LISPS,
    }.items()
    for language in languages.split()
}

_C = "break case char const continue default do double else enum extern float for goto if int long"
_C += " register return short signed sizeof static struct switch typedef union unsigned void while"
_OBJECTS = " abstract bool boolean catch class extends false final finally implements import new"
_OBJECTS += " null override private protected public super this throw true try interface package"
_SCRIPT = "async await break case catch class const continue debugger default delete do else export"
_SCRIPT += " extends false finally for from function if import in instanceof let new null of return"
_SCRIPT += " static super switch this throw true try typeof undefined var void while with yield"
_TYPES = " any as declare enum implements interface keyof namespace never number private protected"
_TYPES += " public readonly string boolean type unknown"

_KEYWORDS = {
    language: frozenset(word.encode() for word in words.split())
    for language, words in {
        "python": " ".join(keyword.kwlist),
        "c": _C,
        "cpp": _C + _OBJECTS + " auto constexpr delete explicit friend inline namespace noexcept"
        " nullptr operator template typename using virtual",
        "java": _C + _OBJECTS + " byte instanceof native synchronized throws transient var",
        "csharp": _C + _OBJECTS + " as base foreach get in internal is lock namespace object out"
        " readonly ref sealed set string using var virtual async await",
        "kotlin": "as break by class companion continue data do else false for fun if import in"
        " interface internal is lateinit null object open override package private protected"
        " public return sealed super this throw true try typealias val var when while",
        "javascript": _SCRIPT,
        "javascriptreact": _SCRIPT,
        "typescript": _SCRIPT + _TYPES,
        "typescriptreact": _SCRIPT + _TYPES,
        "go": "break case chan const continue default defer else fallthrough for func go goto if"
        " import interface map nil package range return select struct switch type var true false",
        "rust": "as async await break const continue crate dyn else enum extern false fn for if"
        " impl in let loop match mod move mut pub ref return self Self static struct super trait"
        " true type unsafe use where while",
        "shellscript": "case do done elif else esac export fi for function if in local return"
        " select then until while",
        "ruby": "alias and begin break case class def defined do else elsif end ensure false for"
        " if in module next nil not or redo rescue retry return self super then true undef unless"
        " until when while yield",
        "lua": "and break do else elseif end false for function goto if in local nil not or repeat"
        " return then true until while",
        "php": "abstract and array as break callable case catch class clone const continue declare"
        " default do echo else elseif enum extends false final finally fn for foreach function"
        " global if implements instanceof interface match namespace new null or private protected"
        " public readonly return static switch this throw trait true try use var while",
        "sql": "and as by case create delete desc drop else end exists from group having in insert"
        " into is join left like limit not null on or order select set table then union update"
        " values when where with",
    }.items()
}


@lru_cache(maxsize=64)  # a list of names asks for each of its entries
def word_bytes(language: str) -> frozenset[int]:
    """The bytes that names of a language are made of."""
    found = {*range(0x80, 0x100), *b"_0123456789"} | set(
        b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    )
    found |= {ord("-")} if language in DASHED else set()
    return frozenset(found | ({ord("$")} if language in _WITH_DOLLAR else set()))


def word_start(text: bytes, cursor: int, language: str) -> int:
    """Where the word before a cursor begins; the cursor itself if there is none."""
    word, start, first = word_bytes(language), cursor, _first(text)
    while start > first and cursor - start <= LONGEST and text[start - 1] in word:
        start -= 1
    return start


def word_end(text: bytes, cursor: int, language: str) -> int:
    """Where the word after a cursor ends."""
    word, end = word_bytes(language), cursor
    while end < len(text) and end - cursor <= LONGEST and text[end] in word:
        end += 1
    return end


def names_in(
    text: bytes, language: str, cursor: int | None = None, most: int = LARGEST
) -> list[Name]:
    """The names in a document, in the order in which they first come.

    Args:
        text: The document.
        language: As VS Code calls it; keywords of languages that are not known are names.
        cursor: The word there is being typed, and is left out. Of a larger document, what is around
            it is read; without a cursor, the beginning.
        most: Bytes of a document that are read.
    """
    typed, here = range(0), len(text)
    if cursor is not None:
        here = cursor
        typed = range(word_start(text, cursor, language), word_end(text, cursor, language))
    places: dict[bytes, list[int]] = {}
    for name, start in occurrences(text, language, cursor or 0, most):
        if start not in typed:
            places.setdefault(name, []).append(start)
    return [Name(name, len(where), _nearest(where, here)) for name, where in places.items()]


def occurrences(
    text: bytes, language: str, around: int = 0, most: int = LARGEST
) -> Iterator[tuple[bytes, int]]:
    """Every name in a document with its place, as `names_in` finds them."""
    keywords = _KEYWORDS.get(language, frozenset())
    known: dict[bytes, bool] = {}
    begin, end = part_around(text, around, most)
    for found in _pattern(language).finditer(text, max(begin, _first(text)), end):
        name = found["name"]
        if name is None:
            continue
        if name not in known:
            known[name] = (
                name not in keywords and name != b"$" and len(name) <= LONGEST and _is_text(name)
            )
        if known[name]:
            yield name, found.start()


def merged(first: Iterable[Name], others: Iterable[Name]) -> list[Name]:
    """The names of a document and those of others, each once, its counts summed.

    Args:
        first: The names of the document with the cursor.
        others: Those of other documents; a name that is only here has -1 as its place.
    """
    found = {name.text: name for name in first}
    for name in others:
        known = found.get(name.text, Name(name.text, 0, -1))
        found[name.text] = replace(known, count=known.count + name.count)
    return list(found.values())


def part_around(text: bytes, cursor: int, most: int) -> tuple[int, int]:
    """Where the part of a text that is read begins and ends.

    It begins with a line, if lines are not endless.

    Args:
        text: The whole.
        cursor: A place in it, which is in the part.
        most: Bytes of the part.
    """
    begin = max(0, min(cursor - most // 2, len(text) - most))
    end = min(len(text), begin + most)
    return (text.find(b"\n", begin, cursor) + 1 if begin else 0) or begin, end


def _first(text: bytes) -> int:
    """Where a text begins: behind a byte order mark, which is part of no name."""
    return len(BOM_UTF8) if text.startswith(BOM_UTF8) else 0


def _nearest(places: Sequence[int], cursor: int) -> int:
    """The last of ascending places before a cursor, or the first one."""
    return places[max(0, bisect_left(places, cursor) - 1)]


def _pattern(language: str) -> re.Pattern[bytes]:
    """Strings and comments, or numbers, or else a name in the group `name`."""
    letters = _LETTERS + (rb"$" if language in _WITH_DOLLAR else b"")
    more = letters + rb"0-9" + (rb"\-" if language in DASHED else b"")
    skipped = _SKIPPED.get(_FAMILIES.get(language, ""), b"")
    parts = [skipped] if skipped else []
    number = rb"[0-9][0-9A-Za-z_]*+"
    dashes = rb"-{0,2}" if language in DASHED else b""
    name = rb"(?P<name>%b[%b][%b]*+)" % (dashes, letters, more)
    return re.compile(rb"|".join([*parts, number, name]))


def _is_text(name: bytes) -> bool:
    try:
        name.decode()
    except UnicodeDecodeError:
        return False
    return True
