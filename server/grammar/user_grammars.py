"""Grammars of one's own for whole documents: files in Lark or GBNF, attached by configuration.

Lark is llguidance's dialect; the rule `start` describes the document from its first character to
its last. A grammar that is missing or wrong is named with the line, and nothing is checked.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from server.errors import GrammarError
from server.grammar.attached import attached, version_of
from server.grammar.gbnf import gbnf_to_lark
from server.grammar.rungs import Ladder, Rung, Source, whole
from server.plain_files import fault_of, shortened

MOST_TERMINALS = 1000
"""Terminals that a grammar may define: where they are made of each other, compiling takes time that
grows with the square of their number, 40 s for 4,000."""

_TERMINAL = re.compile(r"^_*[A-Z][A-Z0-9_]*(?:\.-?[0-9]+)?[ \t]*:", re.MULTILINE)

MOST_BYTES = 1 << 18
"""Larger grammars are refused; the largest of our own have half as much."""

MOST_TEXT = 1 << 17
"""Bytes of a document before the cursor; longer ones are not checked, as all has to be read."""


def user_ladder(uri: str, language: str, configured: Mapping[str, str]) -> Ladder | None:
    """The ladder that a person attached to a document; None if there is none.

    Args:
        uri: The document's address, or its path.
        language: Its language identifier.
        configured: Paths of grammars by language identifier or glob.
    """
    path = attached(uri, language, configured)
    return None if path is None else grammar_ladder(path)


def grammar_ladder(path: Path) -> Ladder:
    """The ladder of a grammar's file, read anew when it changes."""

    def rungs(before: bytes) -> tuple[Rung, ...]:
        if len(before) > MOST_TEXT:
            return ()
        version = str(version_of(path))
        refused = f"the grammar {path} is too large or complicated to be compiled"
        # Lines of GBNF are checked where it is read; the engine would name those of the Lark.
        own = refused if path.suffix == ".gbnf" else None
        source = Source(
            str(path), lambda: read_grammar(path), own, decides=True, version=version, attached=True
        )
        return (Rung("full", source, whole),)

    return rungs


def read_grammar(path: Path) -> str:
    """A grammar's text in Lark.

    Raises:
        GrammarError: The file is missing, too large or no text, or its GBNF is wrong.
    """
    if path.suffix not in {".lark", ".gbnf"}:
        raise GrammarError(f"the grammar {path} should end in .lark or .gbnf")
    try:
        if fault := fault_of(path):
            raise GrammarError(f"the grammar {shortened(path)} {fault}")
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise GrammarError(f"the grammar {path} can't be read: {error}") from error
    if len(content) > MOST_BYTES:
        raise GrammarError(f"the grammar {path} is larger than {MOST_BYTES >> 10} KiB")
    try:
        text = content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise GrammarError(f"the grammar {path} is wrong in line {line}: not UTF-8") from error
    if path.suffix == ".gbnf":
        return gbnf_to_lark(str(path), text)
    terminals = len(_TERMINAL.findall(text))
    if terminals > MOST_TERMINALS:
        raise GrammarError(
            f"the grammar {path} has {terminals:,} terminals, and {MOST_TERMINALS:,} are allowed: "
            "write some of them as rules, in lower case"
        )
    # A directive of one's own keeps ours: they are merged.
    own = text.lstrip().startswith("%llguidance")
    return f'%llguidance {{"no_forcing": true}} {text.lstrip()}' if own else text
