"""Answers that are remembered while a person types: the suggestion cache.

An answer holds as long as what is typed agrees with it. So answers are found by everything that the
prompt was made of *but* what is typed on the cursor's line, and then by what is typed: the answer
`rn total` at `retu` is also `n total` at `retur`. Typing a suggestion's own characters, accepting a
word or the whole line, and deleting back to where it was asked for are all answered from here.

Keys hold exact bytes, blanks and the text after the cursor included; nothing else of the document.
"""

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace

from server.answers import Answer, Other

LIMIT = 250
"""Answers kept, over all documents."""


@dataclass(frozen=True)
class Remembered:
    """An answer and where it was asked for."""

    typed: bytes
    """The line before the cursor."""
    answer: Answer
    used: int = 0
    """When it was shown last, or added: larger is later."""


class Memory:
    """The most recently used answers."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._answers: OrderedDict[tuple[Hashable, bytes], Remembered] = OrderedDict()
        self._typed: dict[Hashable, list[bytes]] = {}
        self._clock = 0

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
        self.use(key, Remembered(typed, answer))
        while len(self._answers) > self._limit:
            (old_key, old_typed), _ = self._answers.popitem(last=False)
            self._typed[old_key].remove(old_typed)
            if not self._typed[old_key]:
                del self._typed[old_key]

    def find(self, key: Hashable, typed: bytes) -> Iterator[Remembered]:
        """The answers that fit what is typed now (`remainder`), best first.

        The one that was used last comes first: what is shown stays, whatever was asked for before.
        Answers that are used up come last.
        """
        fitting = []
        for asked in self._typed.get(key, ()):
            found = self._answers[key, asked]
            left = remainder(asked, found.answer, typed)
            if left is not None:
                has_more = bool(left.generation.text) or asked == typed
                fitting.append((has_more, found.used, asked))
        for _, _, asked in sorted(fitting, reverse=True):
            yield self._answers[key, asked]

    def use(self, key: Hashable, found: Remembered) -> None:
        """An answer that was found is shown."""
        self._clock += 1
        self._answers[key, found.typed] = replace(found, used=self._clock)
        self._answers.move_to_end((key, found.typed))


def remainder(asked: bytes, answer: Answer, typed: bytes) -> Answer | None:
    """The part of an answer after what has been typed since; None if it does not apply.

    Of several continuations those are left that begin so: whoever types along one of them sees the
    rest of that one.

    Args:
        asked: The line before the cursor when the answer was asked for.
        answer: What the model wrote.
        typed: The line before the cursor now.
    """
    if not typed.startswith(asked):
        return None
    since = typed[len(asked) :]
    own = Other(answer.generation, answer.fits)
    left = [found for one in (own, *answer.others) if (found := _left(one, since)) is not None]
    if not left:
        return None
    first, *others = left
    return replace(answer, generation=first.generation, fits=first.fits, others=tuple(others))


def _left(one: Other, since: bytes) -> Other | None:
    """What is left of a continuation of which a part has been typed; None if it was another one."""
    generation = one.generation
    if not generation.text.startswith(since):
        return None
    if since and generation.text == since and generation.ended != "stop token":
        return None
    return Other(generation.later(len(since)), one.fits and one.fits.later(len(since)))
