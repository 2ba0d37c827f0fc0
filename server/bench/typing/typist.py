r"""Somebody who types a text that is known beforehand, in an editor with the usual help.

The editor indents new lines, closes brackets by itself, lets a typed bracket go over one that is
there already, and deletes an indentation in steps. A `Hole` is the place where a text comes to be;
`next_key` says which key comes next, whatever is there now::

    >>> hole = Hole(Target("f(x):\n    y", "python"))
    >>> while (edit := next_key(hole)) is not None:
    ...     hole.apply(edit)
    ...     print(edit.kind, repr(hole.typed[-5:]), hole.after)
    character 'f'
    bracket 'f(' )
    character 'f(x' )
    over 'f(x)'
    character 'f(x):'
    enter '\n    '
    character '    y'

A `Typist` has rhythm, makes mistakes, and accepts suggestions that are right. What is not here:
time and the server (`replay`).
"""

import math
import random
import re
from dataclasses import dataclass, field
from typing import Literal

from server.bench.corpus import Target

Kind = Literal["character", "bracket", "over", "enter", "deletion", "slip", "acceptance"]

MEDIAN_GAP_S, GAP_SPREAD = 0.18, 0.45
"""Of a log-normal distribution: two thirds of the gaps are between 115 and 280 ms."""
SHORTEST_GAP_S, LONGEST_GAP_S = 0.04, 1.5
PAUSE_SHARE, MEDIAN_PAUSE_S = 0.03, 1.5
"""So many gaps are pauses for thought."""
LINE_FACTOR = 1.5
"""A new line takes longer to begin."""

SLIP_SHARE = 0.02
"""So many letters come out as another one, which is noticed at once and deleted."""
WRONG_SHARE = 0.05
"""So many suggestions whose line is wrong are accepted, and then deleted letter by letter."""

_LINE = re.compile(r"\n*[^\n]*")
_WORD = re.compile(r"\s*(?:\w+|[^\w\s]+)")
_TAB_STOP = 4


@dataclass(frozen=True)
class Edit:
    """What one key does at the cursor."""

    kind: Kind
    inserted: str = ""
    """Before the cursor."""
    closer: str = ""
    """Inserted after the cursor."""
    removed_before: int = 0
    removed_after: int = 0

    @property
    def changes_text(self) -> bool:
        """Whether the document is another one: a bracket typed over a bracket changes nothing."""
        return self.kind != "over"


@dataclass
class Suggestion:
    """Ghost text at the cursor."""

    text: str
    replaced: str
    """What it replaces after the cursor: brackets that it contains, in their order."""
    mistaken: bool = False
    """Whether the typist takes it for right if it is not."""
    shown_at: float = 0.0
    removed_before: int = 0
    """Blanks before the cursor that accepting it takes away."""
    line_replaces: bool = False
    """Whether its first line alone replaces all of `replaced`."""


@dataclass
class Hole:
    """A place in a file where a text is being typed."""

    target: Target
    typed: str = ""
    after: str = ""
    """Closing brackets that the editor has put after the cursor."""
    unit: str = " " * _TAB_STOP
    """What one step of indentation is."""
    costs: list[int] = field(default_factory=list)
    """For every length of the target, the keys that it takes without suggestions."""

    def apply(self, edit: Edit) -> None:
        """Do what a key does."""
        assert edit.removed_before <= len(self.typed)
        assert edit.removed_after <= len(self.after)
        self.typed = self.typed[: len(self.typed) - edit.removed_before] + edit.inserted
        self.after = edit.closer + self.after[edit.removed_after :]

    @property
    def agreed(self) -> int:
        """Characters of the target that are there."""
        pairs = zip(self.typed, self.target.text, strict=False)
        length = min(len(self.typed), len(self.target.text))
        return next((at for at, (here, there) in enumerate(pairs) if here != there), length)

    @property
    def is_right(self) -> bool:
        """Whether what is typed is a beginning of the target."""
        return self.target.text.startswith(self.typed)

    @property
    def rest(self) -> str:
        """What is still to be typed after what is right."""
        return self.target.text[self.agreed :]

    def agrees(self, part: str, removed_before: int = 0) -> bool:
        """Whether what is typed is right after a text has come to it, and gone from it."""
        kept = len(self.typed) - removed_before
        return kept >= 0 and self.target.text.startswith(self.typed[:kept] + part)

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to do."""
        return next_key(self) is None


def open_hole(target: Target) -> Hole:
    """A hole that nothing was typed into, with the costs of typing it."""
    unit = "\t" if re.search(r"^\t", target.text, re.MULTILINE) else " " * _TAB_STOP
    trial = Hole(target, unit=unit)
    costs, pressed = [0] * (len(target.text) + 1), 0
    known = 0
    while (edit := next_key(trial)) is not None:
        trial.apply(edit)
        pressed += 1
        if trial.is_right and len(trial.typed) > known:
            costs[known + 1 : len(trial.typed) + 1] = [pressed] * (len(trial.typed) - known)
            known = len(trial.typed)
    return Hole(target, unit=unit, costs=costs)


def next_key(hole: Hole) -> Edit | None:
    """The key that brings a hole nearer to its target; None if it is there."""
    typed, target = hole.typed, hole.target.text
    line = typed[typed.rfind("\n") + 1 :]
    if not hole.is_right:
        return _deletion(hole, line)
    position = len(typed)
    if position == len(target):
        return Edit("deletion", removed_after=1) if hole.after else None
    character = target[position]
    if character == "\n":
        return Edit("enter", "\n" + _indentation(line, hole.unit))
    if not line.strip() and "\n" in typed and target.startswith(hole.unit, position):
        return Edit("character", hole.unit)
    if position in hole.target.closers and hole.after.startswith(character):
        return Edit("over", character, removed_after=1)
    if position in hole.target.pairs:
        return Edit("bracket", character, target[hole.target.pairs[position]])
    return Edit("character", character)


def accepted(suggestion: Suggestion, length: int) -> Edit:
    """The acceptance of so many characters of a suggestion.

    What it replaces is part of its text, as near to its end as possible; only what stands within
    the accepted characters is replaced.
    """
    end, taken = len(suggestion.text), 0
    for bracket in reversed(suggestion.replaced):
        end = suggestion.text.rfind(bracket, 0, max(end, 0))
        taken += 0 <= end < length
    whole_line = suggestion.line_replaces and length == len(first_line(suggestion.text))
    if whole_line or length == len(suggestion.text):
        taken = len(suggestion.replaced)
    return Edit(
        "acceptance",
        suggestion.text[:length],
        removed_before=suggestion.removed_before,
        removed_after=taken,
    )


def first_line(text: str) -> str:
    """The part of a suggestion that is accepted as a line."""
    found = _LINE.match(text)
    return found[0] if found else ""


def first_word(text: str) -> str:
    """The part of a suggestion that is accepted as a word."""
    found = _WORD.match(text)
    return found[0] if found else ""


class Typist:
    """Rhythm, mistakes and choices, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)  # noqa: S311
        # Where the typist goes does not depend on how many keys it took to get there.
        self._ways = random.Random(seed)  # noqa: S311

    def gap(self, kind: Kind) -> float:
        """Seconds from a key to the next."""
        chance = self._chance
        if chance.random() < PAUSE_SHARE:
            return chance.lognormvariate(math.log(MEDIAN_PAUSE_S), GAP_SPREAD)
        gap = chance.lognormvariate(math.log(MEDIAN_GAP_S), GAP_SPREAD)
        factor = LINE_FACTOR if kind == "enter" else 1.0
        return min(max(gap * factor, SHORTEST_GAP_S), LONGEST_GAP_S)

    def key(self, hole: Hole) -> Edit | None:
        """The next key, which may be a slip; None if the hole is done."""
        edit = next_key(hole)
        slips = self._chance.random() < SLIP_SHARE
        if edit and slips and edit.kind == "character" and edit.inserted.isalpha():
            wrong = self._chance.choice("abcdefghijklmnopqrstuvwxyz".replace(edit.inserted, ""))
            return Edit("slip", wrong)
        return edit

    def stretch(self) -> int:
        """So much is typed until the typist goes elsewhere, in keys without suggestions."""
        return self._ways.randint(25, 60)

    def goes_far(self) -> bool:
        """Whether elsewhere is another file."""
        return self._ways.random() < 0.5

    def is_mistaken(self) -> bool:
        """Whether a wrong suggestion is going to be taken for right."""
        return self._chance.random() < WRONG_SHARE

    def choice(self, hole: Hole, suggestion: Suggestion) -> int:
        """Characters of a suggestion to accept now; 0 to go on typing.

        A line that is right is accepted, else a word that is right; but nothing that typing gives
        with a single key.
        """
        line, word = first_line(suggestion.text), first_word(suggestion.text)
        kept = len(hole.typed) - suggestion.removed_before
        for part in (line, word):
            right = hole.agrees(part, suggestion.removed_before)
            # Blanks that go would have to be deleted, too.
            deletions = int(suggestion.removed_before > 0)
            if right and hole.costs[kept + len(part)] - hole.costs[kept] + deletions > 1:
                return len(part)
        possible = hole.is_right and kept >= 0 and suggestion.mistaken
        wrong = not hole.agrees(line, suggestion.removed_before)
        return len(line) if possible and wrong else 0


def _indentation(line: str, unit: str) -> str:
    """What an editor puts at the start of the line after this one."""
    blanks = line[: len(line) - len(line.lstrip())]
    return blanks + (unit if line.rstrip().endswith((":", "(", "[", "{")) else "")


def _deletion(hole: Hole, line: str) -> Edit:
    """The key that takes away some of what is wrong."""
    wrong = len(hole.typed) - hole.agreed
    if line and not line.strip():
        before = hole.typed[: len(hole.typed) - len(line)]
        if hole.target.text.startswith(before + "\n"):
            # Enter on a line that holds only the editor's own blanks takes them away.
            return Edit("enter", "\n" + line, removed_before=len(line))
        step = (len(line) - 1) % len(hole.unit) + 1
        return Edit("deletion", removed_before=min(step, wrong))
    return Edit("deletion", removed_before=1)
