r"""How much of a generated text is kept, so that what follows the cursor fits after it.

The grammar notes the lengths at which a text could end (`Fits`). Where to end is then decided by
what a person would want to go on from:

1. A text that ends where it may end is kept as it is.
2. Inside a line, where code or closers follow: the longest start that fits. `f(║, b)` with `a, (`
   keeps `a`.
3. Of several lines: the last whole lines that fit. A `try:` without its `except` is left out.
4. At the end of a line, one line is kept as it is: `if x:` and `foo(a,` are what a person goes on
   from, and the mask has seen to it that it can be gone on from.
5. Only what is too much at the end of a line is left out, where the text fits without it: a comma
   or semicolon (before a `}`, as in JSON), and closing brackets that the text did not open and that
   come on a later line already.

Where no length fits, nothing is cut for it: what follows the cursor may be broken, or wait for more
than is written. But where the model wanted to end and was not let, it ends there after all.

No bracket is cut that fits: a rule that forbids to close what the text after the cursor closes is
wrong where both are meant (`a) + f(b`). Those that are doubled on the cursor's line are cut by
`server.closers`.

What is not here: finding out what fits (`grammar_mask`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

LINE_FEED = 0x0A

Where = Literal["inside", "lines", "end"]
"""Inside a line (code or closers follow on it), several lines, or one line at a line's end."""


@dataclass(frozen=True)
class Fits:
    """Where a generated text could end, as far as it was asked."""

    lengths: tuple[int, ...] = ()
    """Lengths in bytes at which what follows the hole fits, ascending."""
    wanted: int | None = None
    """The length at which the model wanted to end first and was not let, if it never could."""

    def later(self, typed: int) -> "Fits":
        """The same for the rest of the text, when so many bytes of it have been typed."""
        lengths = tuple(length - typed for length in self.lengths if length >= typed)
        wanted = None if self.wanted is None or self.wanted < typed else self.wanted - typed
        return Fits(lengths, wanted)


def may_end_at(generated: bytes, length: int, fits: Fits) -> bool:
    """Whether the first so many bytes of a text may be all of it; blanks after it don't count."""
    return any(
        length <= fitting and not generated[length:fitting].strip(b" \t")
        for fitting in fits.lengths
    )


def bare_lengths(generated: bytes | bytearray, length: int) -> list[int]:
    r"""Shorter lengths of a text, longest first: without what may be too much at its lines' ends.

    >>> bare_lengths(b"a, f(b)),", 9), bare_lengths(b"a)\nb", 4)
    ([8, 7], [1])
    """
    text = bytes(generated[:length])
    ends = [at for at, sign in enumerate(text) if sign == LINE_FEED]
    found = {bare for end in [*ends, length] for bare in _bare(text[:end])}
    return sorted(found - {length}, reverse=True)


def _bare(text: bytes) -> Iterator[int]:
    """Lengths without a comma or semicolon at the end, and without brackets there, one by one."""
    text = text.rstrip(b" \t")
    if text.endswith((b",", b";")):
        text = text[:-1].rstrip(b" \t")
        yield len(text)
    while text.endswith((b")", b"]", b"}")) and not _closes_own(text):
        text = text[:-1].rstrip(b" \t\n")
        yield len(text)


def _closes_own(text: bytes) -> bool:
    """Whether the bracket at a text's end closes one of the text; those in strings count, too."""
    depth = 0
    for sign in reversed(text):
        depth += (sign in b")]}") - (sign in b"([{")
        if not depth:
            return True
    return False


def fitting_length(generated: bytes, length: int, fits: Fits, where: Where) -> int:
    """How many bytes of a text to keep; 0 if it is nothing but what is too much.

    Args:
        generated: What the model wrote.
        length: Bytes of it that are left by other rules.
        fits: What the grammar noted about `generated`.
        where: Where it is written.
    """
    if may_end_at(generated, length, fits):
        return length
    bare = [] if where == "inside" else bare_lengths(generated, length)
    ends = [fitting for fitting in fits.lengths if fitting < length]
    if where != "inside":
        whole = where == "lines"
        ends = [
            end
            for end in ends
            if _is_bare(generated, end, bare) or (whole and generated[end] == LINE_FEED)
        ]
    kept = [end for end in ends if generated[:end].strip() or _is_bare(generated, end, bare)]
    if not kept and fits.wanted is not None and fits.wanted < length:
        kept = [fits.wanted] if generated[: fits.wanted].strip() else []
    return kept[-1] if kept else length


def _is_bare(generated: bytes, end: int, bare: list[int]) -> bool:
    """Whether a length is one of the bare ones, or one with blanks after it, which don't count."""
    return any(one <= end and not generated[one:end].strip(b" \t\n") for one in bare)
