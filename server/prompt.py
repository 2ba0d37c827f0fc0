"""From a document to a prompt: the text around the cursor as token ids, with a hole to fill.

The hole starts at the *anchor*, the beginning of the cursor's line or of a line a little before it,
not at the cursor. What was typed between the two is fed after the middle token, as the beginning of
the answer, and healing works on its end::

    <prefix> lines before <suffix> text after <middle>    def fibo|
    └──────────────── head (ids) ───────────────────┘     └ typed ┘ (bytes)

So the head stays the same while a person types along a line, and the model's memory of it with it.
Where the hole takes in some lines, a new line changes nothing either: the text after the cursor is
not read again. The model thinks no worse of it: with none, two and five lines in the hole, the next
byte was right at 72, 76 and 72 % of 80 places, with the same amount of text
(`tests/bench/bench_anchor.py --places 20`).

A hole that is anchored must be healed: without healing the hole is at the cursor (`anchored=False`)
and nothing is typed after the middle token.

Some models have no mark before the answer: it goes on from the prefix. Then the head ends at a sure
boundary of the text, as it does for a model that completes from the left::

    <suffix> text after <prefix> lines before     def fibo|
    └──────────────── head ─────────────────┘     └ typed ┘

Special tokens are ids that are put here; no text is ever parsed for them.

A document with nothing in it beside the cursor's line says nothing of itself, and models then write
what is most frequent in the world. There the file's name comes first, for models that have a token
to separate files.

What other places say comes before all of it, as a part of the budget (`beside`).

Not here: which lines fit a budget (`window`), and which model file has which marks (`engine`).
"""

import re
from dataclasses import dataclass
from urllib.parse import unquote

from healing.tokenization import Tokenization
from server.beside import Beside, has_marks, marked, one_line, plain
from server.engine import FimTokens, Gap
from server.rules import Place
from server.snapshot import Snapshot, language_of, line_bounds, with_lf
from server.window import (
    LONGEST_CHARACTER,
    TOKEN_BYTES,
    character_start,
    hole_start,
    last_bytes,
    tokens_after,
    tokens_before,
)

TYPED_TOKENS = 128
"""The longest stretch between anchor and cursor; lines that are longer are anchored inside."""

_BLANKS = re.compile(rb"\s*")

BLANK_BYTES = 1 << 16
"""A document with more blanks around the cursor's line is not taken for a new one."""

TITLE_BYTES = 100
"""A longer file name is cut."""

SUFFIX_SHARE = 4
"""The text after the cursor gets one part in so many of the budget."""


@dataclass(frozen=True)
class Prompt:
    """What the model is given before it answers."""

    head: tuple[int, ...]
    """Ids before the typed bytes; at least one."""
    typed: bytes
    """Bytes that the answer starts with: from the anchor to the cursor. Empty if not anchored. With
    the tokenizer's own blank before them (see `lead`) if the text begins with them."""
    kind: str
    """`fim` (text on both sides) or `left` (text before the cursor only)."""
    lead: int = 0
    """So many bytes at the start of `typed` are the tokenizer's own."""


def build_prompt(
    snapshot: Snapshot,
    place: Place,
    tokenization: Tokenization,
    *,
    fim: FimTokens | None,
    start: tuple[int, ...],
    root: int | None,
    budget: int,
    anchored: bool,
    lead: bytes = b"",
    after_budget: int | None = None,
    spare: int = 0,
    beside: Beside | None = None,
    line_tokens: int = 0,
) -> Prompt:
    """The prompt for a snapshot.

    Args:
        snapshot: The document.
        place: Its cursor's surroundings (`rules.place_at`).
        tokenization: The model's tokenizer.
        fim: The model's fill-in-the-middle ids, or None to complete from the left.
        start: Ids that every prompt of the model begins with (the beginning-of-sequence token).
        root: The id that a prompt begins with if it would be empty otherwise.
        budget: The most tokens of text around the hole (what is typed comes on top).
        anchored: Whether the hole starts at the anchor; False puts it at the cursor.
        lead: What the tokenizer puts before a text in training: a blank or nothing. The prefix is
            a text of its own; what comes after a hole, and what fills it, are not.
        after_budget: The most tokens of the text after the hole; None for its usual share.
        spare: Tokens of the budget that are left free before the hole. The prompt is then the one
            of a later hole, when so much more has been written.
        beside: What comes before the document's text; it is a part of the budget.
        line_tokens: The most tokens of whole lines that the hole takes in before the cursor's, as
            text that is typed already; they are a part of the budget. Only where a mark comes
            before the answer.
    """
    others: list[int] = []
    if beside is not None and fim is not None and has_marks(fim):
        others = marked(beside, fim, tokenization.encode)
    elif beside is not None:
        others, lead = plain(beside, tokenization.encode, lead), b""
    budget -= len(others)
    most_after = budget // SUFFIX_SHARE if after_budget is None else min(after_budget, budget)
    usual = budget - most_after
    line_start, line_end = line_bounds(snapshot.text, snapshot.cursor)
    encode = tokenization.encode
    reach = (budget + TYPED_TOKENS) * TOKEN_BYTES
    budget = max(0, budget - spare)
    earlier = snapshot.text[max(0, line_start - reach - LONGEST_CHARACTER) : line_start]
    before = with_lf(last_bytes(earlier, reach))
    stop = min(snapshot.cursor, line_end)  # the cursor may stand between `\r` and `\n`
    line = snapshot.text[max(line_start, stop - reach - LONGEST_CHARACTER) : stop]
    inside, typed = _anchor(last_bytes(line, reach), tokenization)

    def continued(budget: int) -> tuple[list[int], bytes, int]:
        text = before + inside + typed
        cut = _left_cut(text, len(before), tokenization) if anchored else len(text)
        if cut:
            return tokens_before(text[:cut], budget, encode, lead, usual), text[cut:], 0
        return ([], lead + text, len(lead)) if anchored else (encode(lead), b"", 0)

    if fim is None:
        ids, answer, own = continued(budget)
        return Prompt((*start, *others, *ids) or _only(root), answer, "left", own)

    joined = len(place.rest) if place.closers is not None else len(place.tail)
    follows = snapshot.cursor + joined
    after = with_lf(snapshot.text[follows : follows + reach])
    suffix = tokens_after(after, most_after, encode)
    title = title_of(snapshot, line_start, follows)
    if beside is not None and has_marks(fim):
        title = one_line(beside.name)
    layout = fim.healed if anchored and fim.healed else fim.named if title and fim.named else None
    layout = layout or fim.layout
    if layout[-1] == "prefix":
        prefix, answer, own = continued(budget - len(suffix))
    else:
        own = 0
        left, answer = (before + inside, typed) if anchored else (before + inside + typed, b"")
        most_before = budget - len(suffix)
        if anchored and line_tokens and not inside:
            usual, most_before = usual - line_tokens, max(0, most_before - line_tokens)
            anchor = hole_start(before, line_tokens, encode, usual)
            left, answer = before[:anchor], before[anchor:] + typed
        prefix = tokens_before(left, most_before, encode, lead, usual)
    texts: dict[Gap, list[int]] = {
        "prefix": prefix,
        "suffix": suffix,
        "name": encode(title + b"\n"),
    }
    head = list(start)
    if has_marks(fim):
        head += others
    else:
        texts["prefix"] = others + texts["prefix"]
    for part in layout:
        head += [part] if isinstance(part, int) else texts[part]
    return Prompt(tuple(head), answer, "fim", own)


def title_of(snapshot: Snapshot, start: int, end: int) -> bytes:
    """The file's name, if it says what the file is and nothing else does; empty otherwise.

    Args:
        snapshot: The document.
        start: Where the part starts that may hold text: the rest of the document is to be blank.
        end: Where it ends.
    """
    if len(snapshot.text) - (end - start) > BLANK_BYTES:
        return b""
    before, after = (_BLANKS.match(snapshot.text, *part) for part in ((0, start), (end,)))
    assert before is not None
    assert after is not None
    path = unquote(snapshot.uri) if "://" in snapshot.uri else snapshot.uri
    if before.end() < start or after.end() < len(snapshot.text) or language_of(path) == "plaintext":
        return b""
    name = " ".join(re.split(r"[/\\]", path)[-1].split())
    return name.encode(errors="replace")[:TITLE_BYTES]


def _left_cut(text: bytes, line_start: int, tokenization: Tokenization) -> int:
    """Where head ends and typed begins when no token separates them: a sure boundary.

    Before the line if there is one, so that it stays while the line is typed; in any case so that
    at most `TYPED_TOKENS` tokens come after it.
    """
    earliest = _last_start(text, tokenization)
    for limit in (line_start, len(text)):
        cut = tokenization.sure_boundary(text, limit)
        if cut and cut >= earliest:
            return cut
    return character_start(text, earliest)


def _last_start(text: bytes, tokenization: Tokenization) -> int:
    """Where the last `TYPED_TOKENS` tokens of a text start; 0 if it has no more."""
    ids = tokenization.encode(text)
    return len(tokenization.vocabulary.decode(ids[:-TYPED_TOKENS]))


def _only(root: int | None) -> tuple[int, ...]:
    if root is None:
        raise ValueError("an empty prompt needs a token to start from, and the model has none")
    return (root,)


def _anchor(typed: bytes, tokenization: Tokenization) -> tuple[bytes, bytes]:
    """The line before the cursor, cut so that at most `TYPED_TOKENS` tokens come after the cut."""
    earliest = _last_start(typed, tokenization)
    if not earliest:
        return b"", typed
    cut = tokenization.sure_boundary(typed, len(typed) - tokenization.vocabulary.longest)
    if cut < earliest:
        cut = character_start(typed, earliest)
    return typed[:cut], typed[cut:]
