r"""From the model's raw text to what is shown: small pure rules, and one function for all.

Words: `typed` is the cursor's line before the cursor, `rest` the line after it without its line
end, `generated` what the model wrote after the cursor. Rules work on bytes with `\n` line ends.
What a rule cuts or adds is named in the result: a report can say why a suggestion looks as it does.

Three places, three ways to join the line that is there already:

- only closers follow (`print(ro|)`): the range takes them in, none is lost and none is doubled;
- code follows (`f(|, b)`): the range is empty and the text ends before it repeats what follows;
- the cursor is inside a word (`calc_to|tal(x)`): the text joins its tail, or nothing is shown.

Example::

    >>> finish(Place(b"print(ro", b")"), b"w))\n", finished=True)
    Finished(text=b'w)', range_end=1, rules=('one line', 'no doubled closers'), empty_reason=None)

What is not here: where a block of several lines ends, and whether a suggestion is good.
"""

import re
from dataclasses import dataclass
from functools import cached_property

from server.closers import closers, cut_doubled, join_closers
from server.overlap import (
    drop_glued_word,
    join_word,
    rewritten_rest,
    stop_before_following,
    trim_overlap,
    word_head,
    word_tail,
)
from server.snapshot import Snapshot, line_bounds, with_lf

FOLLOWING_BYTES = 4096
"""So much of the text after the line is kept to look for repeats."""

LINE_BYTES = 1 << 12
"""So much of the start and of the end of a longer line is looked at: rules look at a line again for
each token. A start keeps its indentation; no rule looks further."""

CLOSERS_BYTES = 1024
"""A longer rest of a line counts as code: nobody waits for so many brackets to be closed."""

_CHAT_MARK = re.compile(
    r"<\|\w+\|>|(?:<\|\w*\|?)+\Z|<｜[^｜\n]*(?:｜>|\Z)|\[/?INST\]|<(?:start|end)_of_turn>|<fim_\w+>".encode()
)
_CONTROL = re.compile(
    rb"[\0-\x08\x0b\x0c\x0e-\x1f\x7f]"
    rb"|\xc2[\x80-\x84\x86-\x9f]"  # U+0080 to U+009F, without the line end U+0085
    rb"|\xe2\x80[\xaa-\xae]|\xe2\x81[\xa6-\xa9]"  # U+202A to U+202E, U+2066 to U+2069
)
_FENCE_AFTER_CODE = re.compile(rb"(.*[^\s'\"`])[ \t]*```\w*\s*\Z")
"""A fence that closes a block right after its last line; not one in a string."""
_ROLE = re.compile(
    rb"(?:assistant|user|system|Assistant:|User:|### (?:Response|Instruction):?)[ \t]*"
)
_CHATTER = (b"```", b"assistant", b"user", b"system", b"Assistant:", b"User:", b"###")
_UNSURE = re.compile(rb"(?:[ \t]*(?:\w|[\x80-\xff])*|[ \t]*[\"'`)\]};,:<\[].*)\Z", re.DOTALL)
"""The end of a shown text from the last word, or from the first mark that rules look at."""
FENCED = frozenset({"markdown", "restructuredtext", "plaintext", "latex"})
"""Documents of prose, where a code fence is text like any other."""
_COMMENTS = {
    language: sign
    for sign, languages in {
        b"#": "python ruby shellscript yaml toml r perl elixir dockerfile makefile",
        b"//": "javascript javascriptreact typescript typescriptreact c cpp csharp java go rust "
        "swift kotlin scala dart zig php jsonc",
        b"--": "sql lua haskell",
    }.items()
    for language in languages.split()
}


@dataclass(frozen=True)
class Place:
    """The cursor's surroundings, as far as rules look at them; line ends as models see them."""

    typed: bytes
    """Of a very long line its start and its end, without what is between (`LINE_BYTES`)."""
    rest: bytes
    """Of a very long line its start."""
    following: bytes = b""
    """What comes after the line's end, cut to `FOLLOWING_BYTES`."""
    language: str = "plaintext"
    chat_marks: bool = False
    """Whether the document itself spells marks such as `<|endoftext|>`."""
    has_fences: bool = False
    """Whether the document itself holds code fences."""
    off: frozenset[str] = frozenset()
    """Names of rules that are switched off."""

    @cached_property
    def closers(self) -> bytes | None:
        """The rest of the line if only closers are in it, and not too many; else None."""
        return closers(self.rest) if len(self.rest) <= CLOSERS_BYTES else None

    @cached_property
    def tail(self) -> bytes:
        """The rest of the word that the cursor is inside, else empty."""
        return word_tail(self.typed, self.rest)

    @property
    def fences(self) -> bool:
        """Whether code fences are text like any other here."""
        return self.has_fences or self.language in FENCED

    @property
    def comment(self) -> bytes:
        """The sign that starts a comment, empty where it is not known."""
        return _COMMENTS.get(self.language, b"")


@dataclass(frozen=True)
class Finished:
    """What is shown, and why."""

    text: bytes
    """What replaces the range: one line, without a line end. Empty if there is nothing to show."""
    range_end: int
    """The range runs from the cursor over so many bytes, all on the cursor's line."""
    rules: tuple[str, ...]
    """The rules that changed the text, in the order in which they did."""
    empty_reason: str | None
    """Why nothing is shown; None if something is."""


def place_at(snapshot: Snapshot, off: frozenset[str] = frozenset()) -> Place:
    """The surroundings of a snapshot's cursor, and the rules that are switched off there."""
    text, cursor = snapshot.text, snapshot.cursor
    start, end = line_bounds(text, cursor)
    following = with_lf(text[end : end + FOLLOWING_BYTES]).removeprefix(b"\n")
    # A cursor between `\r` and `\n` is outside the line; it counts as the line's end.
    stop = min(cursor, end)
    if stop - start > 2 * LINE_BYTES:
        typed = text[start : start + LINE_BYTES] + text[stop - LINE_BYTES : stop]
    else:
        typed = text[start:stop]
    rest = text[cursor : min(end, cursor + LINE_BYTES)]
    marks, fences = snapshot.has_chat_marks, snapshot.has_fences
    return Place(typed, rest, following, snapshot.language, marks, fences, off)


def finish(place: Place, generated: bytes, finished: bool) -> Finished:
    """Apply every rule that belongs to the place.

    Args:
        place: Where the cursor stands.
        generated: What the model wrote after the cursor.
        finished: Whether the model came to an end there (its end token, a line end, `should_stop`),
            and was not cut off by a limit on tokens or time.
    """
    rules: list[str] = []

    def apply(name: str, before: bytes, after: bytes) -> bytes:
        if before == after or name in place.off:
            return before
        rules.append(name)
        return after

    def nothing(reason: str) -> Finished:
        return Finished(b"", 0, tuple(rules), reason)

    if not generated:
        return nothing("the model wrote nothing")
    printed = apply("no control characters", generated, drop_controls(generated))
    finished = finished or printed != generated
    shown = drop_chatter(printed, place.typed, fences=place.fences, marks=place.chat_marks)
    text = apply("no chatter", printed, shown)
    ended = text != first_line(text)
    finished = finished or ended
    text = apply("one line", text, first_line(text))
    text = apply("no line separators", text, drop_line_separators(text))
    if not text.strip():
        for rule in ("no chatter", "no control characters"):
            if rule in rules:
                return nothing(f"nothing is left ({rule})")
        return nothing("the model ended the line" if b"\n" in generated else "nothing but blanks")

    if place.tail:
        joined = join_word(text, place.tail)
        if joined is None:
            return nothing("the word does not end in what follows the cursor")
        text = apply("joined word", text, joined)
        return Finished(text, 0, tuple(rules), None) if text else nothing("the word is complete")

    if place.closers is None:
        stopped = stop_before_following(text, place.rest, place.typed)
        text = apply("stopped before what follows", text, stopped)
        text = apply("no overlap", text, trim_overlap(text, place.rest, place.typed))
        is_whole = ended and not {"stopped before what follows", "no overlap"} & set(rules)
        if is_whole and not place.typed.strip() and word_head(place.rest.lstrip(b" \t")):
            return nothing("a whole line does not fit before what follows")
        text = apply("no glued words", text, drop_glued_word(text, place.rest))
        text = apply("no line separators", text, drop_line_separators(text))
        if not text.strip():
            return nothing(f"nothing is left ({rules[-1]})")
        return Finished(text, 0, tuple(rules), None)

    if finished:
        text = apply("no trailing blanks", text, trim_end(text))
    kept = place.closers.rstrip(b" \t")
    text = apply("no doubled closers", text, cut_doubled(place.typed, text, kept, place.comment))
    text = apply("closers kept", text, join_closers(place.typed, text, kept, place.comment))
    if not trim_end(text).removesuffix(kept).strip():
        return nothing("nothing new")
    repeats = repeats_next_line(place.typed + text, place.following)
    if repeats and "repeats what follows" not in place.off:
        return nothing("repeats what follows")
    return Finished(text, len(kept), tuple(rules), None)


def should_stop(place: Place, generated: bytes) -> bool:
    """Whether a one-line suggestion is complete, whatever the model would write next.

    Agrees with `finish`: after a stop, more text would change nothing of what is shown (but for a
    quote that turns out, much later, to have started a string). Cheap enough for every token:
    a fraction of a millisecond on lines of usual length, a few milliseconds on the longest.
    """
    if b"\n" in generated or b"\r" in generated or has_controls(place, generated):
        return True
    if place.tail:
        return len(word_head(generated)) < len(generated)
    if place.closers is None:
        return rewritten_rest(generated, place.rest, place.typed) is not None
    cut = cut_doubled(place.typed, generated, place.closers.rstrip(b" \t"), place.comment)
    return cut != generated


def settled(place: Place, generated: bytes) -> bytes:
    """The start of what will be shown, whatever the model writes next: what may be streamed.

    The end of the text can still be taken back (a word that grows, blanks, a mark, a bracket or a
    quote that turns out to be doubled), and so can all of it (a repeated line, text that has to
    join what follows on the line). That part is held back until the text is finished.
    """
    if place.closers is None or _may_be_chatter(place, generated):
        return b""
    shown = finish(place, generated, finished=False).text
    unsure = _UNSURE.search(shown)
    sure = shown[: unsure.start()] if unsure else shown
    while not generated.startswith(sure):
        sure = sure[:-1]
    sure = drop_line_separators(sure)
    following = next((line for line in place.following.split(b"\n") if line.strip()), b"")
    if place.closers is not None and following.startswith((place.typed + sure).rstrip()):
        return b""
    return sure


def _may_be_chatter(place: Place, generated: bytes) -> bool:
    """Whether the first line may yet turn out to be a code fence or the name of a chat role."""
    if place.typed.strip() or place.fences:
        return False
    start = generated.strip(b" \t")
    return any(chatter.startswith(start) or start.startswith(chatter) for chatter in _CHATTER)


def first_line(generated: bytes) -> bytes:
    """The text up to its first line end."""
    return re.split(rb"[\r\n]", generated, maxsplit=1)[0]


def drop_controls(generated: bytes) -> bytes:
    r"""The text up to its first control character: tabs and line ends are none.

    Nobody types those, editors show them badly or not at all, and they come from models that are
    lost. Vertical tab and form feed are among them, so is DEL, and so are the controls above ASCII,
    one of which begins an escape sequence. Marks that turn the direction of writing make code look
    like other code (Boucher and Anderson, *Trojan Source*, arXiv 2111.00169).

    >>> drop_controls(b"a\tb\n\0c")
    b'a\tb\n'
    """
    return _CONTROL.split(generated, maxsplit=1)[0]


def has_controls(place: Place, generated: bytes) -> bool:
    """Whether the text ends at a control character in it, whatever comes after that."""
    return "no control characters" not in place.off and _CONTROL.search(generated) is not None


def trim_end(generated: bytes) -> bytes:
    """The text without blanks at its end."""
    return generated.rstrip(b" \t")


def drop_line_separators(generated: bytes) -> bytes:
    """The text without characters at its end that some editors take for a line's end.

    Those are vertical tab, form feed, next line (U+0085), line and paragraph separator (U+2028,
    U+2029), and the blanks around them; blanks alone stay.
    """
    characters = generated.decode("utf-8", "surrogateescape")
    kept = characters.rstrip(" \t\n\x0b\x0c\x85\u2028\u2029")
    cut = characters[len(kept) :]
    return kept.encode("utf-8", "surrogateescape") if cut.strip(" \t\n") else generated


def repeats_next_line(line: bytes, following: bytes) -> bool:
    """Whether a whole line equals the next line that is not blank, blanks at the ends aside."""
    following_line = next((other for other in following.split(b"\n") if other.strip()), None)
    return following_line is not None and following_line.rstrip() == line.rstrip()


def drop_chatter(
    generated: bytes, typed: bytes = b"", *, fences: bool = False, marks: bool = False
) -> bytes:
    """Cut at a code fence, a chat mark, or a line that is nothing but the name of a chat role.

    Args:
        generated: The model's text; its first line continues `typed`.
        typed: The line before the cursor.
        fences: Whether fences and role names are text here, as in Markdown.
        marks: Whether marks such as `<|im_end|>` are text here, because the document spells them.
    """
    mark = None if marks else _CHAT_MARK.search(generated)
    if mark:
        generated = generated[: mark.start()]
    if fences:
        return generated
    start = 0
    for number, line in enumerate(generated.splitlines(keepends=True)):
        # A line that the person began is theirs.
        if (number or not typed.strip()) and (
            line.lstrip(b" \t").startswith(b"```")
            or _ROLE.fullmatch((line if number else typed + line).rstrip(b"\n"))
        ):
            return generated[:start]
        code = _FENCE_AFTER_CODE.match(line)
        if code:
            return generated[: start + code.end(1)]
        start += len(line)
    return generated
