r"""What llama.vim makes of the answers: its memory of completions, and which of them it shows how.

As in `autoload/llama.vim` of llama.vim 0.1.0 (Debian's `vim-llama.cpp` 0.1.0-1), with its default
settings: `s:cache_insert`, `s:cache_get`, `s:fim_try_hint`, `s:fim_render`. Keys of the memory are
the whole text around the cursor, where llama.vim takes their hashes.

    >>> hint = hint_of(["def f(x):", "    g(y)"], 7, 1, "y, z")
    >>> hint.lines, hint.offer.removed_after
    (('y, z)',), 1)

What is not here: when something is asked and shown (`llama_vim`).
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from server.bench.typing.llama_context import Context, blanks_of, is_blank, line_at
from server.bench.typing.suggesters import Offer

MOST_KEYS = 250
WALK_BACK = 128
"""Characters before the cursor at which a completion may have been asked for."""
SCROLLED_LINES = 3
"""A completion is found again where so many lines more have gone out of the prefix."""


@dataclass(frozen=True)
class Hint:
    """What is shown."""

    lines: tuple[str, ...]
    """The text, with the rest of the cursor's line at its end."""
    acceptable: bool
    """Whether there is anything to accept, if only what stands there."""
    visible: bool
    """Whether anything is shown that does not stand there."""
    offer: Offer


class Completions:
    """The memory: the newest completion of each of so many places, the oldest use goes first."""

    def __init__(self) -> None:
        self._found: OrderedDict[str, str] = OrderedDict()

    def insert(self, keys: Sequence[str], content: str) -> None:
        """Remember a completion."""
        for key in keys:
            if key not in self._found and len(self._found) >= MOST_KEYS:
                self._found.popitem(last=False)
            if self._found.get(key) != content:
                self._found[key] = content
                self._found.move_to_end(key)

    def get(self, key: str) -> str | None:
        """The completion of a place."""
        if key in self._found:
            self._found.move_to_end(key)
        return self._found.get(key)

    def find(self, context: Context) -> str | None:
        """What is known of a place: its own completion, or the rest of one from before it.

        Of those from before it that begin with what was typed since, the longest rest is taken.
        """
        typed = context.prefix + context.middle
        exact = self.get(key_of(typed, context.suffix))
        if exact is not None:
            return exact
        best = ""
        for count in range(1, min(WALK_BACK, len(typed)) + 1):
            content = self.get(key_of(typed[:-count], context.suffix))
            if content is not None and content.startswith(typed[-count:]):
                best = max(best, content[count:], key=len)
        return best or None


def key_of(before: str, after: str) -> str:
    """The key of a place: the text before it and after it."""
    return f"{before}Î{after}"


def keys_of(context: Context) -> list[str]:
    """Keys of a place, also as it will be when lines have gone out of the prefix above."""
    prefix, keys = context.prefix, [key_of(context.prefix + context.middle, context.suffix)]
    for _ in range(SCROLLED_LINES):
        prefix = prefix.partition("\n")[2]
        if not prefix:
            break
        keys.append(key_of(prefix + context.middle, context.suffix))
    return keys


def hint_of(lines: Sequence[str], x: int, y: int, content: str) -> Hint:
    """What is shown of a completion at a place, and what accepting it does.

    Args:
        lines: The file.
        x: The column of the cursor.
        y: Its line.
        content: The completion.
    """
    parts = content.split("\n")
    while parts and not parts[-1]:
        parts.pop()
    acceptable, parts = bool(parts), parts or [""]
    line = there = line_at(lines, y)
    if is_blank(line):  # the completion began at the line's start: its blanks are there already
        lead = min(len(blanks_of(parts[0])), len(line))
        line, parts[0] = parts[0][:lead], parts[0][lead:]
    before, after = line[:x], line[x:]
    if _repeats(lines, y, parts, before, after):
        parts = [""]
    parts[-1] += after
    text = "\n".join(parts)
    kept = next((at for at in range(x + 1) if before[at : at + 1] != there[:x][at : at + 1]), x)
    offer = Offer(
        before[kept:] + text,
        removed_after=len(there[x:]),
        removed_before=len(there[:x]) - kept,
        line_replaces=True,
    )
    acceptable = acceptable and not is_blank(text.replace("\n", ""))
    return Hint(tuple(parts), acceptable, acceptable and text != after, offer)


def _repeats(lines: Sequence[str], y: int, parts: Sequence[str], before: str, after: str) -> bool:
    """Whether a completion is nothing but what stands after the cursor."""
    count = len(parts)
    if count > 1 and not parts[0] and list(parts[1:]) == list(lines[y + 1 : y + count]):
        return True
    if count == 1 and parts[0] == after:
        return True
    below = y + 1
    while below < len(lines) - 1 and is_blank(lines[below]):
        below += 1
    if before + parts[0] != line_at(lines, below):
        return False
    if count == 2:
        return line_at(lines, below + 1).startswith(parts[1])
    return count == 1 or list(parts[1:]) == list(lines[below + 1 : below + count])
