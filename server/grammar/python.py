r"""Python: which grammar a text is checked by, and on how much of it.

The window is enough for valid code and is independent of errors elsewhere. The other rungs are for
what the window gets wrong, for errors in the lines that it holds, and for errors in the statement
that is being written.
"""

import re
from collections.abc import Callable

from server.errors import GrammarError
from server.grammar.brackets_window import bracket_window
from server.grammar.python_grammar import SPACES_SOURCE, STRUCTURAL_SOURCE, TABS_SOURCE
from server.grammar.python_lines import STRING, UNCLOSED, missing_brackets
from server.grammar.python_window import indents, start_of_line, statement, window
from server.grammar.rungs import Ladder, Rung

Window = Callable[[bytes], bytes]

FULL_BYTES = 100_000
"""Longer texts are not fed whole: they take some 10 us and keep 90 bytes of memory for each byte,
for the rare text that the window is wrong about."""

STATEMENT_BYTES = 20_000
"""Of longer statements (tables of data) only brackets and strings are checked: to read more takes
longer than a rung may, at some 7 us a byte."""

NEAR_BYTES = 1 << 20
"""So much of a text is always read, and at most twice as much of a longer one."""

LEXEMES = re.compile(
    rb"(?P<skip>#[^\n]*|" + STRING + rb"|" + UNCLOSED + rb")|(?P<open>[(\[{])|(?P<close>[)\]}])",
    re.DOTALL,
)

_TOP_LEVEL = re.compile(rb"^(?:def|class|async def|@|import|from)\b", re.MULTILINE)


def ladder(before: bytes) -> tuple[Rung, ...]:
    """The rungs for the text before the cursor, best first."""
    text = near(before)
    if text is None:
        return ()
    if len(text) - start_of_line(text) > STATEMENT_BYTES:
        return (_TOO_LONG, Rung("structural", STRUCTURAL_SOURCE, _of_near(brackets)))
    source = TABS_SOURCE if by_tabs(text) else SPACES_SOURCE
    rungs = (
        Rung("window", source, _of_near(window)),
        Rung("full", source, without_mark),
        Rung("statement", source, _of_near(statement)),
        Rung("structural", STRUCTURAL_SOURCE, _of_near(structural)),
    )
    return tuple(rung for rung in rungs if rung.level != "full" or len(before) <= FULL_BYTES)


LADDERS: dict[str, Ladder] = {"python": ladder}
"""Ladders by language identifier."""


def near(before: bytes) -> bytes | None:
    """The text but for a byte order mark, or its end if it is very long; None if that is unclear.

    The end begins with a statement at column 0, or inside of a string that looks like one: then the
    rest of the text counts as a string or as broken, and little or nothing is checked. It begins at
    the same place while the text grows by less than `NEAR_BYTES`.
    """
    if len(before) <= 2 * NEAR_BYTES:
        return without_mark(before)
    found = _TOP_LEVEL.search(before, (len(before) // NEAR_BYTES - 1) * NEAR_BYTES)
    return before[found.start() :] if found else None


def _of_near(window: Window) -> Window:
    """A window on the end of a very long text."""
    return lambda before: window(near(before) or b"")


def without_mark(before: bytes) -> bytes:
    """The whole text but for a byte order mark."""
    return before.removeprefix(b"\xef\xbb\xbf")


def by_tabs(before: bytes) -> bool:
    """Whether the blocks around the cursor are indented by tabs alone."""
    found = indents(before)
    return bool(found) and not b"".join(found).strip(b"\t")


def structural(before: bytes) -> bytes:
    """The cursor's logical line, with the brackets that it closes but did not open."""
    here = before[start_of_line(before) :]
    return missing_brackets(here) + here


def brackets(before: bytes) -> bytes:
    """What is open in the cursor's logical line, and its last line."""
    return bracket_window(before[start_of_line(before) :], LEXEMES)


def _refuse(_: bytes) -> bytes:
    raise GrammarError(f"the statement is longer than {STATEMENT_BYTES // 1000} kB")


_TOO_LONG = Rung("window", SPACES_SOURCE, _refuse)
"""Says why there is no window."""
