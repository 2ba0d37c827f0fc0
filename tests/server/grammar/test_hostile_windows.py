"""Windows of texts that nobody writes: each language answers soon, with a window or a reason.

A pattern that is tried again from each byte to the text's end takes minutes for these. What a
window takes is measured and not asserted; only one that never ends fails, by a clock of the
process's own work.
"""

from collections.abc import Callable
from time import thread_time

import pytest

from server.errors import GrammarError
from server.grammar.languages import LADDERS
from tests.fuzz.havoc import that_ends

BLANKS = ["\n", " ", "\t", " \n", "\\\n"]
QUOTES = [
    '"',
    "'",
    '"""',
    "'''",
    "`",
    "q'",
    "E'",
    "1'",
    '"\\',
    "'\\",
    "'\\'",
    '@"',
    '$"',
    '$"{',
    "f'{",
]
BRACKETS = [
    "(",
    ")",
    "]",
    "}",
    "()",
    "{)",
    "(\n)]",
    "{{",
    "${",
    "$(",
    "{%\n",
    "#{",
    "url(",
    "[[",
    "--[[",
]
COMMENTS = ["/*", "*/", "/*/", "//", "<!--", "--", "#", "# \n", "#el", "#if 0\n", '#"\\', "stdin"]
NAMED = ["$$", "$a$", "r#", 'R"(', 'R"a(', "<<A\n", "<<<A\n", "[=[", "$"]
CODE = ["a", "a\n", "0.", "a/", "/[", "/\\", "return ", "if (", "case ", "<a ", "<a>", "</a>", "<?"]
COLUMNS = [
    "- \n",
    "- [\n",
    "a: [\n",
    "  a: {\n",
    "a:\n  ",
    "? a\n",
    "|\n",
    "---\n",
    "if x:\n",
    "{},",
]
PIECES = [*BLANKS, *QUOTES, *BRACKETS, *COMMENTS, *NAMED, *CODE, *COLUMNS]

HEADS = ["<a /", "# ", '"', "'", "/", "#if 0\n", "<?php ", "(" * 1999, "  - x:\n    "]
"""What may make a text of the pieces after it."""
AFTER = [" ", "\n", '"', "]", '"\\', "a\n"]

ALONE = {id(ladder): language for language, ladder in reversed(LADDERS.items())}
"""A language of each ladder."""


def seconds_of(language: str, text: bytes) -> float:
    """The work for all windows of a text, each of which ends as the text does."""
    started = thread_time()
    try:
        rungs = LADDERS[language](text)
    except GrammarError:
        rungs = ()
    for rung in rungs:
        try:
            window = rung.window(text)
        except GrammarError:
            continue
        assert window[-1:] == text[-1:]
    return thread_time() - started


def slowest(language: str, size: int) -> tuple[float, bytes]:
    """What takes longest of all texts of a size."""
    starts = [("", piece) for piece in PIECES] + [
        (head, piece) for head in HEADS for piece in AFTER
    ]
    found = (0.0, b"")
    for head, piece in starts:
        text = (head + piece * (size // len(piece))).encode()
        with that_ends():
            found = max(found, (seconds_of(language, text + b"x"), text[:12]))
    return found


@pytest.mark.parametrize("language", sorted(ALONE.values()))
def test_texts_of_one_piece(language: str, report: Callable[[str], None]):
    _measure(language, 2_500, report)


@pytest.mark.corpus
@pytest.mark.parametrize("language", sorted(ALONE.values()))
def test_large_texts_of_one_piece(language: str, report: Callable[[str], None]):
    _measure(language, 100_000, report)


def _measure(language: str, size: int, report: Callable[[str], None]) -> None:
    """At a size and four times that: where the second takes much more than four times, a pattern
    looks at the same bytes again and again."""
    for bytes_ in (size, 4 * size):
        seconds, text = slowest(language, bytes_)
        report(f"windows of {language}, {bytes_:,} B: at most {1e3 * seconds:.1f} ms ({text!r})")
