r"""What llama.vim shows the model: text around the cursor, and chunks of other text.

As in `autoload/llama.vim` of llama.vim 0.1.0 (Debian's `vim-llama.cpp` 0.1.0-1), with its default
settings: `s:fim_ctx_local`, `s:chunk_sim`, `s:pick_chunk` and the parts of `llama#fim` that gather
and drop chunks. Lines and columns count from 0 here and are characters.

    >>> local_context(["def f(x):", "    retu", ""], 8, 1)
    Context(prefix='def f(x):\n', middle='    retu', suffix='\n\n', indent=4)

What is not here: when it is asked (`llama_vim`), and what is made of the answers (`llama_hints`).
"""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

N_PREFIX, N_SUFFIX = 256, 64
"""Lines before the cursor and after it."""
RING_CHUNKS, CHUNK_LINES = 16, 64
RING_SCOPE = 1024
"""Lines around the cursor from which chunks are taken."""
QUEUED = 16
FAR_LINES = 32
"""A cursor that has moved farther since the last time has chunks gathered around it."""
SMALLEST_CHUNK = 3
TOO_SIMILAR, SIMILAR_TO_CONTEXT = 0.9, 0.5

_BLANKS = re.compile(r"[ \t]*")


@dataclass(frozen=True)
class Context:
    """The text around a place."""

    prefix: str
    """Lines before the cursor's, with their ends."""
    middle: str
    """The cursor's line up to the cursor; nothing where the line is blank."""
    suffix: str
    """The rest of the cursor's line, and lines after it."""
    indent: int
    """Blanks at the start of the cursor's line."""


@dataclass(frozen=True)
class Chunk:
    """Some lines of a file."""

    lines: tuple[str, ...]
    file: str

    @property
    def text(self) -> str:
        """The lines with their ends."""
        return "\n".join(self.lines) + "\n"


def is_blank(line: str) -> bool:
    """Whether a line has nothing but spaces and tabs."""
    return blanks_of(line) == line


def blanks_of(line: str) -> str:
    """Spaces and tabs at the start of a line."""
    found = _BLANKS.match(line)
    return found[0] if found else ""


def line_at(lines: Sequence[str], number: int) -> str:
    """A line, or nothing where the file has none."""
    return lines[number] if 0 <= number < len(lines) else ""


def local_context(
    lines: Sequence[str], x: int, y: int, previous: Sequence[str] = (), indent: int = 0
) -> Context:
    """The context of a place; with `previous` as if those lines had been inserted there.

    Args:
        lines: The file.
        x: The column of the cursor.
        y: Its line.
        previous: A suggestion whose last line has the rest of the cursor's line at its end, as
            llama.vim keeps it; with a single line, that rest is there twice, as in llama.vim.
        indent: Where there is a suggestion, the indentation of the last request.
    """
    line, above_from = line_at(lines, y), y - N_PREFIX
    below = lines[y + 1 : y + 1 + N_SUFFIX]
    if not previous:
        above = list(lines[max(0, above_from) : y])
        before, after = ("", "") if is_blank(line) else (line[:x], line[x:])
        indent = 0 if is_blank(line) else len(blanks_of(line))
    else:
        first = line + previous[0]
        above = list(lines[max(0, above_from + len(previous) - 1) : y])
        if len(previous) > 1:
            above += [first, *previous[1:-1]]
        before, after = first if len(previous) == 1 else previous[-1], ""
    suffix = after + "\n" + "\n".join(below) + "\n"
    return Context("\n".join(above) + "\n", before, suffix, indent)


def similarity(one: Sequence[str], other: Sequence[str]) -> float:
    """How alike two chunks are, by their words: 0 not at all, 1 very much.

    >>> similarity(["a b"], ["b c"])
    0.5
    """
    words, others = (re.split(r"\W+", "\n".join(lines), flags=re.ASCII) for lines in (one, other))
    words, others = _without_ends(words), _without_ends(others)
    if not words and not others:
        return 1.0
    known = set(words)
    return 2.0 * sum(word in known for word in others) / (len(words) + len(others))


class Ring:
    """Chunks that every request carries, and those that wait to be taken in."""

    def __init__(self, chance: random.Random) -> None:
        """Begin with nothing; `chance` says which lines a chunk takes of a larger text."""
        self.chunks: list[Chunk] = []
        self.queued: list[Chunk] = []
        self._chance = chance

    def pick(self, lines: Sequence[str], file: str, *, evict: bool) -> None:
        """Queue a chunk of a text.

        Args:
            lines: The text.
            file: Its name.
            evict: Whether chunks that are much like it make place; else it is not taken then.
        """
        if len(lines) < SMALLEST_CHUNK:
            return
        whole = len(lines) + 1 < CHUNK_LINES
        chunk = Chunk(tuple(lines if whole else self.part(lines)), file)
        if any(chunk.lines == other.lines for other in (*self.chunks, *self.queued)):
            return
        for there in (self.queued, self.chunks):
            for other in reversed(there.copy()):
                if similarity(other.lines, chunk.lines) > TOO_SIMILAR:
                    if not evict:
                        return
                    there.remove(other)
        del self.queued[: max(0, len(self.queued) - QUEUED + 1)]
        self.queued.append(chunk)

    def part(self, lines: Sequence[str]) -> Sequence[str]:
        """Some of the lines, half a chunk of them and one."""
        half = CHUNK_LINES // 2
        first = self._chance.randint(0, max(0, len(lines) - half))
        return lines[first : first + half + 1]

    def drop_similar(self, around: Sequence[str]) -> None:
        """Drop chunks that are like a part of the text around the cursor: they are repeated."""
        chunk = self.part(around)
        self.chunks = [
            other for other in self.chunks if similarity(other.lines, chunk) <= SIMILAR_TO_CONTEXT
        ]

    def take_in(self) -> bool:
        """Take the first queued chunk into the ring; whether there was one."""
        if not self.queued:
            return False
        del self.chunks[: max(0, len(self.chunks) - RING_CHUNKS + 1)]
        self.chunks.append(self.queued.pop(0))
        return True


def _without_ends(words: list[str]) -> list[str]:
    """Vim's `split` gives no empty first and last part."""
    start, end = int(bool(words) and not words[0]), len(words)
    return words[start : end - 1 if end > start and not words[-1] else end]
