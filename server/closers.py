r"""Closers after the cursor: none of the user's is lost, none is doubled.

Editors close brackets and quotes by themselves, so the cursor often stands before `)`, `"]` or
`);`. The model does not see these (its suffix begins after them) and writes them itself, or some of
them, or one too many. Here its text is brought together with them.

Example::

    >>> [join_closers(b'f("a', text, b'")') for text in (b"bc", b'bc"', b'bc")', b'bc"))')]
    [b'bc")', b'bc")', b'bc")', b'bc")']

What is not here: brackets of other lines, which may be the ones that a closer belongs to; where
that is possible the text stays as it was written.
"""

import re

from server.brackets import QUOTES, Mark, Scan, scan, unit_spans, units

_CLOSERS = re.compile(rb"[)\]}\"'`;,: \t]*")
# Two equal quotes are a string that somebody wrote, empty or of blanks, not the ends of anything.
_EMPTY_STRING = re.compile(rb"""(?<!")""(?!")|(?<!')''(?!')|(?<!`)``(?!`)|(["'`])[ \t]+\1""")


def closers(rest: bytes) -> bytes | None:
    """The rest of the line if it holds only closing brackets, quotes, `;`, `,`, `:` and blanks.

    None if anything else is in it, or a string without anything but blanks (`foo(|"")`): code.
    """
    return rest if _CLOSERS.fullmatch(rest) and not _EMPTY_STRING.search(rest) else None


def join_closers(typed: bytes, generated: bytes, closers: bytes, comment: bytes = b"") -> bytes:
    """The text for a range that takes in the closers after the cursor: none lost, none doubled.

    Closers that `generated` wrote itself are found in it in their order. Those that it jumped over
    are put in where it did (`print(ro|);` and `w;` make `w);`), those that it did not come to are
    added at its end, or before a comment. Blanks before one of them stay there. What closes more
    than is open is cut (`cut_doubled`). Blanks at the end of `closers` are not part of it.
    """
    closers = closers.rstrip(b" \t")
    generated = cut_doubled(typed, generated, closers, comment)
    read = scan(typed, generated, closers, comment)
    spans = unit_spans(closers)
    parts, position, written, since = [], 0, 0, 0
    for mark, index in _match(read, generated, closers)[0]:
        start, end = spans[index]
        lacking = closers[written:start]
        if not lacking.strip(b" \t"):  # no closer was jumped over
            lacking = _lacking(lacking, generated[since : mark.start])
        if lacking:
            parts += [generated[position : mark.start], lacking]
            position = mark.start
        written, since = end, mark.end
    ends_at = next((mark.start for mark in read.marks if mark.kind == "comment"), len(generated))
    ends_at = len(generated[:ends_at].rstrip(b" \t")) if ends_at < len(generated) else ends_at
    return b"".join([*parts, generated[position:ends_at], closers[written:], generated[ends_at:]])


def _lacking(blanks: bytes, text: bytes) -> bytes:
    """Those of the last blanks that a text lacks."""
    those = iter(text)
    found = next((at for at, blank in enumerate(blanks) if blank not in those), len(blanks))
    return blanks[found:]


def cut_doubled(typed: bytes, generated: bytes, closers: bytes, comment: bytes = b"") -> bytes:
    """Cut before a bracket that doubles a closer: `print(ro|)` and `w))` make `w)`.

    Certain only if the line itself opened such brackets, all are closed again, and the bracket
    after the cursor is among those that did it; all else stays as it was written.
    """
    doubled = _match(scan(typed, generated, closers, comment), generated, closers)[1]
    return generated if doubled is None else generated[:doubled]


def leave_closers(typed: bytes, text: bytes, closers: bytes) -> bytes:
    """The text of a range that takes in closers, for one that ends at the cursor and leaves them.

    Where the text ends with the closers they are cut from it, else it ends before the first one:
    `w)` becomes `w`, and so does `w)  # each row`.
    """
    if text.endswith(closers):
        return text[: len(text) - len(closers)]
    pairs = _match(scan(typed, text, closers), text, closers)[0]
    return text[: pairs[0][0].start] if pairs else b""


def _match(
    read: Scan, generated: bytes, closers: bytes
) -> tuple[list[tuple[Mark, int]], int | None]:
    """Which marks of the text are which closers, by index; and where a doubled closer starts."""
    wanted = units(closers)
    content_end = len(generated.rstrip(b" \t"))
    pairs: list[tuple[Mark, int]] = []
    next_index = 0
    # What stands in a string of the text's own is text and closes nothing (`print(|)`, `"a)"`).
    strings = [m for m in read.marks if m.kind == "close" and m.is_own and m.text in QUOTES]
    for mark in read.marks:
        if mark.kind == "comment":
            break
        if mark.kind == "open" or mark.is_own:
            continue
        if any(s.opener < mark.start < s.start for s in strings if s.opener is not None):
            continue
        is_next = next_index < len(wanted) and wanted[next_index] == mark.text
        if is_next and (mark.kind == "close" or _ends_like(mark, pairs, generated)):
            pairs.append((mark, next_index))
            next_index += 1
            continue
        # A bracket that fits nothing open, or a `;` at the end, comes after closers left out.
        jumps = mark.kind == "close" and mark.jumped and not mark.in_string
        jumps = jumps or (mark.text == b";" and mark.end == content_end)
        if jumps and mark.text in wanted[next_index:]:
            index = wanted.index(mark.text, next_index)
            pairs.append((mark, index))
            next_index = index + 1
            continue
        surplus = mark.kind == "close" and mark.opener is None and not mark.in_string
        written = {pair.text for pair, _ in pairs}
        if surplus and mark.text in written and mark.text in read.open_brackets:
            return pairs, mark.start
    return pairs, None


def _ends_like(mark: Mark, pairs: list[tuple[Mark, int]], generated: bytes) -> bool:
    """Whether a `,` or `;` is the one after the cursor: beside a closer, or at the text's end.

    Others separate items that the model added. A `:` or a quote has no such double life.
    """
    if mark.text not in (b",", b";"):
        return True
    beside = bool(pairs) and not generated[pairs[-1][0].end : mark.start].strip(b" \t")
    return beside or _CLOSERS.fullmatch(generated, mark.end) is not None
