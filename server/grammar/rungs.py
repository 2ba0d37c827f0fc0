"""A ladder's rungs: what a grammar checks of a document, best first.

A language's module offers a ladder for the text before the cursor. The first rung whose window fits
its grammar is taken (`ladder`): a person's own broken text never blocks a completion.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Level = Literal["window", "full", "statement", "structural"]
"""How much is checked: the grammar on a window of the source that decides what may follow, on the
whole source, on the current statements alone, or only strings, comments, brackets, indentation."""


@dataclass(frozen=True)
class Source:
    """A grammar that can be compiled."""

    name: str
    """What it is called in messages, variants too: `python (tabs)`."""
    lark: Callable[[], str]
    """Its text in llguidance's dialect of Lark."""
    refused: str | None = None
    """What is said where the engine refuses a text that no person wrote: its lines mean nothing.
    None for the engine's own reason."""
    decides: bool = False
    """Whether it tells what a person wants, whatever a model would write, as schemas do: then texts
    are forced that the model does not like at all."""
    version: str = ""
    """Tells grammars of one name apart: contents of a file, say."""
    attached: bool = False
    """Whether a person named it in their settings: they are told if it is wrong."""

    @property
    def key(self) -> tuple[str, str]:
        """What is compiled is kept by it."""
        return self.name, self.version


@dataclass(frozen=True)
class Rung:
    """A grammar, and what it is given of the text before the cursor."""

    level: Level
    source: Source
    window: Callable[[bytes], bytes]
    r"""From the text before the cursor (with `\n` line ends) to the text that the grammar is fed.
    It ends as the text does, so that what may follow is the same."""


def whole(before: bytes) -> bytes:
    """The window that is all of the text."""
    return before


Ladder = Callable[[bytes], tuple[Rung, ...]]
"""From the text before the cursor to the rungs for it, best first; quick, windows are lazy."""
