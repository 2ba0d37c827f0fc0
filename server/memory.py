"""Answers that are remembered while a person types: the suggestion cache.

An answer holds as long as what is typed agrees with it. So answers are found by everything that the
prompt was made of *but* what is typed on the cursor's line, and then by what is typed: the answer
`rn total` at `retu` is also `n total` at `retur`. Typing a suggestion's own characters, accepting a
word or the whole line, and deleting back to where it was asked for are all answered from here.

Keys hold exact bytes, blanks and the text after the cursor included; nothing else of the document.
"""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, replace

from server.completer import Answer

LIMIT = 250
"""Answers kept, over all documents."""


@dataclass(frozen=True)
class Remembered:
    """An answer and where it was asked for."""

    typed: bytes
    """The line before the cursor."""
    answer: Answer


class Memory:
    """The most recently used answers."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._answers: OrderedDict[tuple[Hashable, bytes], Remembered] = OrderedDict()
        self._typed: dict[Hashable, list[bytes]] = {}

    def __len__(self) -> int:
        return len(self._answers)

    def clear(self) -> None:
        """Forget everything."""
        self._answers.clear()
        self._typed.clear()

    def add(self, key: Hashable, typed: bytes, answer: Answer) -> None:
        """Remember an answer; the least recently used one makes room."""
        if (key, typed) not in self._answers:
            self._typed.setdefault(key, []).append(typed)
        self._answers[key, typed] = Remembered(typed, answer)
        self._answers.move_to_end((key, typed))
        while len(self._answers) > self._limit:
            (old_key, old_typed), _ = self._answers.popitem(last=False)
            self._typed[old_key].remove(old_typed)
            if not self._typed[old_key]:
                del self._typed[old_key]

    def find(self, key: Hashable, typed: bytes) -> Answer | None:
        """What is left of a remembered answer, given what is typed now; None if nothing is known.

        The answer asked for nearest to the cursor wins. An answer that is used up counts only if
        the text ended there.
        """
        for earlier in sorted(self._typed.get(key, ()), key=len, reverse=True):
            left = remainder(earlier, self._answers[key, earlier].answer, typed)
            if left is not None:
                self._answers.move_to_end((key, earlier))
                return left
        return None


def remainder(asked: bytes, answer: Answer, typed: bytes) -> Answer | None:
    """The part of an answer after what has been typed since; None if it does not apply.

    Args:
        asked: The line before the cursor when the answer was asked for.
        answer: What the model wrote.
        typed: The line before the cursor now.
    """
    whole = asked + answer.generation.text
    if not typed.startswith(asked) or not whole.startswith(typed):
        return None
    left = whole[len(typed) :]
    if not left and typed != asked and answer.generation.ended != "stop token":
        return None
    return replace(answer, generation=replace(answer.generation, text=left))
