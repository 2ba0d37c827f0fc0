"""What the model wrote at a place, and what is shown of it: the rules applied, and the report.

Not here: how it comes to be written (`completer`).
"""

from dataclasses import dataclass, replace

from server.bans import BEFORE_BYTES, Bans, SlowPatternError
from server.blocks import inside_at, line_end_of, restore_line_ends
from server.confidence import BOLD, Caution, Judged, calibration_of
from server.engine import ModelInfo
from server.generation import Generation
from server.grammar.fit import Fits
from server.grammar.kept import common_prefix
from server.grammar.report import GrammarReport
from server.grammar_checks import NOT_ALLOWED, finish_fitting
from server.report import Completion, Item, TokenCounts
from server.rules import Finished, place_at
from server.secret_files import NOT_SENT
from server.snapshot import Snapshot, position_at, with_lf

UNFINISHED = "unfinished"
"""The end of a text of which more is to come."""

UNSURE = "unsure"
"""The end of a text of which the rest is too unsure."""

TOO_UNSURE = "what the model wrote is less sure than `trigger.minConfidence`"
BANNED = "what the model wants is banned"
"""Why nothing is shown."""

NOT_SENT_END = "not sent"
"""The end of a text that nobody was asked for: the file is one of secrets."""

FINISHED = frozenset({"stop token", "stop rule", "other wishes"})
"""Ways for a text to end that make it whole."""


@dataclass(frozen=True)
class Other:
    """Another continuation than the one that the model likes best."""

    generation: Generation
    fits: Fits | None
    """As in `Answer`."""


@dataclass(frozen=True)
class Answer:
    """What the model wrote at a place, before rules."""

    generation: Generation
    prompt: str
    """`fim` or `left`."""
    model: ModelInfo
    evaluated: int
    """Tokens put through the model for it."""
    timing_ms: dict[str, float]
    notes: tuple[str, ...]
    """What a person should know, each a sentence."""
    multiline: str
    rules_off: frozenset[str]
    """As in the options that it was asked for with."""
    grammar: GrammarReport
    """What the grammar did, up to here."""
    fits: Fits | None = None
    """Where what follows the cursor fits after the text; None if that is not known."""
    bans: Bans | None = None
    """What is never shown."""
    others: tuple[Other, ...] = ()
    """What else was written, in the order of the probability of its first texts."""
    candidates: int = 1
    """How many continuations were asked for."""


def present(
    snapshot: Snapshot, answer: Answer, caution: Caution = BOLD, typed: int = 0
) -> Completion:
    """What is shown of an answer at a place: the rules applied, and the report.

    Args:
        snapshot: The document.
        answer: What the model wrote.
        caution: How sure it has to be.
        typed: How many bytes of the answer are certain, because they have been typed.
    """
    completion, shown = _presented(snapshot, answer, typed)
    if completion.items and caution.stop:
        generation = answer.generation
        size = _judged(answer, typed).sure_size(caution.stop)
        if size < shown:
            # A line is whole where its end is there.
            size += generation.text[size : size + 1] == b"\n"
            sure = replace(generation, text=generation.text[:size], ended=UNSURE)
            completion, _ = _presented(snapshot, replace(answer, generation=sure), typed)
    if completion.items and completion.items[0].confidence < caution.least:
        confidence = completion.items[0].confidence
        return replace(completion, items=(), empty_reason=TOO_UNSURE, withheld=confidence)
    return completion


def _presented(snapshot: Snapshot, answer: Answer, typed: int) -> tuple[Completion, int]:
    """What is shown of an answer however unsure it is, and how many of its bytes that takes."""
    generation = answer.generation
    finished, fits = finish_fitting(
        place_at(snapshot, answer.rules_off),
        generation.text,
        generation.ended in FINISHED,
        inside_at(snapshot),
        answer.multiline,
        answer.fits,
    )
    items: tuple[Item, ...] = ()
    reason = finished.empty_reason
    shown = common_prefix(generation.text, finished.text)
    bans = generation.bans
    try:
        is_banned = answer.bans is not None and _is_banned(snapshot, finished, answer.bans)
    except SlowPatternError as error:
        is_banned, bans = True, replace(bans, note=str(error))
    if is_banned or (generation.ended == "ban" and not generation.text):
        reason = bans.slow or BANNED
    elif generation.ended == NOT_SENT_END:
        reason = NOT_SENT
    elif finished.text:
        line, character = position_at(snapshot.text, snapshot.cursor)
        judged = _judged(answer, typed)
        items = (
            Item(
                restore_line_ends(finished.text, line_end_of(snapshot)).decode(),
                (line, character),
                (line, character + finished.range_end),  # closers and blanks: a byte each
                sum(generation.logprobs) / len(generation.logprobs),
                finished.range_end,
                judged.first_line(shown),
                judged.first_word(shown),
                judged.product(shown),
            ),
        )
    against = generation.ended == "other wishes" and not generation.text
    completion = Completion(
        items=items,
        empty_reason=NOT_ALLOWED if against and not items else reason,
        ended=generation.ended,
        rules=finished.rules,
        healing=generation.healing,
        tokens=TokenCounts(
            prompt=generation.prompt,
            reused=generation.reused,
            evaluated=answer.evaluated,
            generated=len(generation.logprobs) if generation.text else 0,
            drafted=generation.drafted if answer.evaluated else 0,
            accepted=generation.accepted if answer.evaluated else 0,
        ),
        timing_ms=answer.timing_ms,
        prompt=answer.prompt,
        model=answer.model,
        grammar=replace(answer.grammar, fits=fits if generation.ended != UNFINISHED else None),
        notes=answer.notes,
        bans=bans,
    )
    return completion, shown


def _judged(answer: Answer, typed: int) -> Judged:
    generation = answer.generation
    ends, logprobs = generation.ends, generation.logprobs
    calibration = calibration_of(answer.model.name)
    return Judged(generation.text, ends, logprobs, calibration, typed)


def text_before(snapshot: Snapshot) -> bytes:
    """The text before the cursor as far as bans look at it, with LF line ends."""
    return with_lf(snapshot.text[max(0, snapshot.cursor - 2 * BEFORE_BYTES) : snapshot.cursor])


def _is_banned(snapshot: Snapshot, finished: Finished, bans: Bans) -> bool:
    """Whether what is shown holds a banned text, or makes one with what stands around it.

    The decoder keeps them out of what it writes. Rules put closers at its end, and what follows the
    cursor may complete what it began. Raises SlowPatternError if a pattern took too long.
    """
    if not finished.text:
        return False
    since = snapshot.cursor + finished.range_end
    after = with_lf(snapshot.text[since : since + BEFORE_BYTES])
    return bans.are_in(text_before(snapshot), finished.text, after)


def present_after(
    snapshot: Snapshot, since: bytes, left: Answer, caution: Caution = BOLD
) -> Completion:
    """What is shown of an answer of which a part has been typed since it was asked for.

    Args:
        snapshot: The document now.
        since: What has been typed; line ends as LF.
        left: The rest of the answer.
        caution: How sure it has to be.
    """
    if b"\n" not in since:
        return present(snapshot, left, caution)
    # What a block is, and where it ends, is decided by the line where it begins: go back there.
    text, cursor = snapshot.text, snapshot.cursor
    typed = since.replace(b"\n", line_end_of(snapshot))
    back = cursor - len(typed)
    earlier = replace(snapshot, text=text[: max(0, back)] + text[cursor:], cursor=max(0, back))
    size = len(since)
    whole = replace(left.generation.later(-size), text=since + left.generation.text)
    fits = left.fits and left.fits.later(-size)
    completion = present(earlier, replace(left, generation=whole, fits=fits), caution, size)
    place = position_at(text, cursor)
    items = tuple(
        replace(item, text=item.text.removeprefix(typed.decode()), start=place, end=place)
        for item in completion.items
        if text[:cursor].endswith(typed)
        and item.text.encode().startswith(typed)
        and item.text.encode() != typed
        and not item.replaced_bytes
    )
    return replace(completion, items=items)
