r"""How much of a generated text is kept, so that what follows the cursor fits after it.

The grammar notes the lengths at which a text could end (`Fits`). Where to end is then decided by
what a person would want to go on from:

1. A text that ends where it may end is kept as it is.
2. Inside a line, where code or closers follow: the longest start that fits. `f(║, b)` with `a, (`
   keeps `a`.
3. Of several lines: the last whole lines that fit. A `try:` without its `except` is left out.
4. At the end of a line, one line is kept as it is: `if x:` and `foo(a,` are what a person goes on
   from, and the mask has seen to it that it can be gone on from.
5. Only a comma or semicolon too many is left out, where the text fits without it: before a `}`, as
   in JSON.

Where no length fits, nothing is cut for it: what follows the cursor may be broken, or wait for more
than is written. But where the model wanted to end and was not let, it ends there after all.

There is no rule about closing brackets: a rule that forbids to close what the text after the cursor
closes is wrong where both are meant (`a) + f(b`), and those that are doubled are cut by
`server.closers`.

What is not here: finding out what fits (`grammar_mask`).
"""

from dataclasses import dataclass
from typing import Literal

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


def bare_length(generated: bytes | bytearray, length: int) -> int:
    """A length without the comma or semicolon at its end, and without blanks before and after."""
    text = generated[:length].rstrip(b" \t")
    return len(text[:-1].rstrip(b" \t")) if text.endswith((b",", b";")) else length


def fitting_length(generated: bytes, length: int, fits: Fits, where: Where) -> int:
    """How many bytes of a text to keep.

    Args:
        generated: What the model wrote.
        length: Bytes of it that are left by other rules.
        fits: What the grammar noted about `generated`.
        where: Where it is written.
    """
    if may_end_at(generated, length, fits):
        return length
    bare = bare_length(generated, length)
    if where != "inside" and bare in fits.lengths and generated[:bare].strip():
        return bare
    ends = [fitting for fitting in fits.lengths if fitting < length]
    if where == "lines":
        ends = [end for end in ends if generated[end : end + 1] == b"\n"]
    elif where == "end":
        ends = []
    kept = [end for end in ends if generated[:end].strip()]
    if not kept and fits.wanted is not None and fits.wanted < length:
        kept = [fits.wanted] if generated[: fits.wanted].strip() else []
    return kept[-1] if kept else length
