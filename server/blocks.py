r"""Suggestions of several lines: where they are allowed, and where they end.

A block ends by its structure, as indentation and brackets show it, and never at a given string:

- at a line that is indented less than the line of the cursor (what the model makes of it: in
  `  ║` with `  return x`, that is four blanks), or where a bracket is closed that was open before;
- where a person began a line that opens a block (`def f():`, `for (…) {`): when that block is
  whole;
- elsewhere: at a blank line after which the indentation is that of the first line again;
- before lines that follow the cursor anyway, and before lines that are written again and again;
- after `MAX_LINES` lines.

Blank lines and comments are no code: they end nothing, and those at the end are left out. A closing
bracket that the text after the cursor has is not written again::

    >>> place = Place(b"void f() {", b"", b"}\nvoid g() {}\n", "c")
    >>> finish_block(place, b"\n    g();\n}\n\nint main", finished=False).text
    b'\n    g();'

Text has `\n` line ends here; `restore_line_ends` puts the document's own back. A suggestion of one
line is left to `rules`, with all that is said there. What is not here: parsing any language.
"""

import re
from collections import deque

from server.block_ends import OPENERS, End, pair_depth, walk
from server.block_lines import Opened, opened
from server.grammar.kept import common_prefix
from server.rules import (
    Finished,
    Place,
    drop_chatter,
    drop_controls,
    drop_line_separators,
    finish,
    first_line,
    has_controls,
    repeats_next_line,
    should_stop,
)
from server.snapshot import Snapshot, line_bounds, with_lf

BEFORE_BYTES = 1 << 16
"""So much of the text before the cursor's line is read for strings that are open there."""

STEP = 1 << 14
"""The text is read from a multiple of this: the same place for most keys, so that what was read for
earlier ones counts."""

_known: deque[Opened] = deque(maxlen=4)


def inside_at(snapshot: Snapshot) -> bytes:
    r"""The end of the string or comment that the cursor's line begins in, as `\"\"\"` or `*/`."""
    start, _ = line_bounds(snapshot.text, snapshot.cursor)
    first = max(0, start - BEFORE_BYTES)
    before = snapshot.text[first - first % STEP : start]
    best = None
    for known in tuple(_known):
        if known.language == snapshot.language and (
            best is None or common_prefix(known.text, before) > common_prefix(best.text, before)
        ):
            best = known
    if best is None or best.text != before:
        comment = Place(b"", b"", language=snapshot.language).comment
        best = opened(before, snapshot.language, comment, best)
        _known.append(best)
    return best.inside


def line_end_of(snapshot: Snapshot) -> bytes:
    """The line end of the cursor's line, else of the line before, else a line feed."""
    _, end = line_bounds(snapshot.text, snapshot.cursor)
    after = re.match(rb"\r\n|\r|\n", snapshot.text[end : end + 2])
    if after:
        return after[0]
    start, _ = line_bounds(snapshot.text, snapshot.cursor)
    before = re.search(rb"(?:\r\n|\r|\n)\Z", snapshot.text[max(0, start - 2) : start])
    return before[0] if before else b"\n"


def restore_line_ends(text: bytes, line_end: bytes) -> bytes:
    r"""A text with `\n` line ends with those of the document."""
    return text.replace(b"\n", line_end)


def allows_block(place: Place, inside: bytes = b"", multiline: str = "auto") -> bool:
    """Whether a suggestion may have several lines here.

    Args:
        place: Where the cursor stands.
        inside: See `inside_at`.
        multiline: `auto`: at the end of a line, on a blank line, and in a pair of brackets that
            ends the line and has nothing in it (`foo({|});`), because editors close brackets by
            themselves. `always`: before any closing bracket as well (`foo(a, |)`). `never`.
    """
    if multiline == "never" or place.closers is None:
        return False
    if not place.rest.strip(b" \t"):
        return True
    if pair_depth(place, inside) is None:
        return False
    return multiline == "always" or place.typed.endswith(OPENERS[place.rest[:1]])


def block_end(place: Place, generated: bytes, inside: bytes = b"") -> End | None:
    r"""Where the structure says that the suggestion ends; None if it may go on.

    What is decided stays so, whatever the model writes next.

    Args:
        place: A place that allows a block.
        generated: What the model wrote after the cursor, with `\n` line ends.
        inside: See `inside_at`.
    """
    return walk(place, generated, inside, finished=False).end


def should_stop_block(
    place: Place, generated: bytes, inside: bytes = b"", multiline: str = "auto"
) -> bool:
    """Whether a suggestion is complete, whatever the model would write next.

    The counterpart of `rules.should_stop`, and the same where no block is allowed. `block_stop` is
    for texts that grow; this is its specification.
    """
    if not allows_block(place, inside, multiline):
        return should_stop(place, generated)
    if has_controls(place, generated):
        return True
    return block_end(place, with_lf(generated), inside) is not None


def finish_block(
    place: Place,
    generated: bytes,
    finished: bool,
    inside: bytes = b"",
    multiline: str = "auto",
) -> Finished:
    r"""What is shown of a generated text, of one line or many.

    The text has `\n` line ends and no blanks at its end. Of several lines, its range reaches to the
    end of the cursor's line, and what stood there ends the text.

    Args:
        place: Where the cursor stands.
        generated: What the model wrote after the cursor.
        finished: Whether the model came to an end there, and was not cut off by a limit; else the
            last line of several is left out.
        inside: See `inside_at`.
        multiline: See `allows_block`.
    """
    if not allows_block(place, inside, multiline):
        return finish(place, generated, finished)
    generated = with_lf(generated)
    rules = []
    if has_controls(place, generated):
        generated, finished = drop_controls(generated), True
        rules.append("no control characters")
    text = drop_chatter(generated, place.typed, fences=place.fences, marks=place.chat_marks)
    if "no chatter" in place.off:
        text = generated
    rules += ["no chatter"] if text != generated else []
    finished = finished or text != generated
    walked = walk(place, text, inside, finished=finished)
    if walked.end is not None:
        rules.append(walked.end.rule)
    shown = text[: walked.end.offset if walked.end else walked.kept]
    if not finished and walked.end is None and b"\n" in shown and walked.whole < walked.kept:
        shown = shown[: walked.whole]
        rules.append("no unfinished line")
    closes = walked.end is not None and walked.end.closes
    if not closes and "no line separators" not in place.off:
        bare = drop_line_separators(shown)
        rules += ["no line separators"] if bare != shown else []
        shown = bare
    body = shown if closes else shown.rstrip(b" \t\n")
    if b"\n" not in body:
        return _finish_line(place, text, shown, finished or b"\n" in text, rules)

    if "no trailing blanks" in place.off:
        body = shown.rstrip(b"\n")
    if body != shown:
        rules.append("no trailing blanks")
    head = first_line(body)
    repeats = head.strip() and repeats_next_line(place.typed + head, place.following)
    if repeats and "repeats what follows" not in place.off:
        return Finished(b"", 0, tuple(rules), "repeats what follows")
    if place.rest.strip(b" \t"):
        if not closes:
            body += b"\n" + _indentation(place.typed)
            rules.append("closers kept")
        if not body.strip():
            return Finished(b"", 0, tuple(rules), "nothing but blanks")
    return Finished(body + place.rest, len(place.rest), tuple(rules), None)


def _finish_line(
    place: Place, text: bytes, shown: bytes, finished: bool, rules: list[str]
) -> Finished:
    """The end of `finish_block` where one line is left: `rules` knows how it joins its closers."""
    line = first_line(text) if place.rest.strip(b" \t") else shown.rstrip(b"\n")
    result = finish(place, line, finished)
    reason = result.empty_reason
    if reason and (text or rules) and not line.strip():
        ended = "the model ended the line" if b"\n" in text else "nothing but blanks"
        reason = f"nothing is left ({rules[-1]})" if rules else ended
    others = (rule for rule in result.rules if rule not in rules)
    return Finished(result.text, result.range_end, (*rules, *others), reason)


def _indentation(line: bytes) -> bytes:
    return line[: len(line) - len(line.lstrip(b" \t"))]
