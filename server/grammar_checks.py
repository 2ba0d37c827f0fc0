r"""The grammar of a request: which mask the text is written under, and what is shown of it.

The grammar stands behind the text before the cursor. Closers that end the cursor's line (`foo(║)`)
may be written by the model or not, and rules put those back that are missing. So what follows may
begin with any number of them while the text is written; in the end what is shown is judged.

Not here: grammars and masks (`grammar`), and what else is cut from a text (`rules`, `blocks`).
"""

from dataclasses import replace

from server.blocks import finish_block
from server.grammar.fit import Fits, Where, fitting_length, may_end_at
from server.grammar.grammar_mask import FURTHER, GrammarMask
from server.grammar.kept import KeptStates, common_prefix
from server.grammar.ladder import Mode, climb
from server.grammar.report import GrammarReport
from server.grammar.rungs import Ladder
from server.rules import Finished, Place
from server.snapshot import Snapshot, with_lf

RULE = "fits what follows"
"""The rule's name: a text is cut so that what follows the cursor fits after it."""

MOST_CLOSERS = 8
"""So many closers after the cursor may be missing, one by one; else all or none."""

NOT_ALLOWED = "the model wants what the grammar does not allow here"

MOST_JOINED = 16
"""So many lengths of a text are tried with its closers put back; some 1 ms each."""

GIVEN_UP = "it allowed nothing that the model could write here"


class GrammarChecks:
    """The grammars of requests, one request at a time; remembers where documents were read to."""

    def __init__(self) -> None:
        self._kept = KeptStates()

    def begin(
        self, snapshot: Snapshot, place: Place, ladder: Ladder | None, mode: Mode
    ) -> tuple[GrammarMask | None, GrammarReport]:
        """The mask for what is written at a cursor; None if nothing is checked, and why.

        Args:
            snapshot: The document.
            place: Its cursor's surroundings.
            ladder: Its grammars; None if nothing is known of it.
            mode: How much is wanted.
        """
        before = with_lf(snapshot.text[: snapshot.cursor])
        standing = climb(self._kept, snapshot.uri, snapshot.language, ladder, before, mode)
        if standing.state is None:
            return None, standing.report
        inside = bool(place.rest.strip(b" \t"))
        mask = GrammarMask(standing, follows_at(snapshot, place), inside=inside)
        return mask, standing.report

    def forget(self, document: str) -> None:
        """A document was closed: free what is remembered of it."""
        self._kept.forget(document)


def follows_at(snapshot: Snapshot, place: Place) -> tuple[bytes, ...]:
    r"""The texts that may follow the hole, with `\n` line ends, as far as masks look at them."""
    joined = len(place.rest) if place.closers is not None else len(place.tail)
    start = snapshot.cursor + joined
    after = with_lf(snapshot.text[start : start + FURTHER])
    kept = (place.closers or b"").rstrip(b" \t")
    starts = dict.fromkeys([*range(len(kept), max(0, len(kept) - MOST_CLOSERS), -1), 0])
    return tuple(kept[start:] + after for start in starts)


def finish_fitting(
    place: Place,
    generated: bytes,
    finished: bool,
    inside: bytes,
    multiline: str,
    fits: Fits | None,
) -> tuple[Finished, bool | None]:
    """What is shown of a text, and whether what follows the cursor fits after it (None: unknown).

    Args:
        place: Where the cursor stands.
        generated: What the model wrote.
        finished: As in `finish_block`.
        inside: As in `finish_block`.
        multiline: As in `finish_block`.
        fits: What the grammar noted of the text; None if it was not asked.
    """
    whole = finish_block(place, generated, finished, inside, multiline)
    if fits is None or place.tail or not whole.text:
        return whole, None
    length = common_prefix(generated, whole.text)
    kept = _kept_length(place, generated, whole, fits)
    if kept < length and RULE not in place.off:
        cut = finish_block(place, generated[:kept], True, inside, multiline)
        if cut.text:
            rules = (*cut.rules, RULE)
            return Finished(cut.text, cut.range_end, rules, None), may_end_at(generated, kept, fits)
        if not kept:
            return Finished(b"", 0, (*whole.rules, RULE), "closed by what follows"), True
    return whole, may_end_at(generated, length, fits)


def fits_of(
    mask: GrammarMask,
    snapshot: Snapshot,
    place: Place,
    generated: bytes,
    finished: bool,
    inside: bytes,
    multiline: str,
) -> Fits:
    """Where a text that is written could end; as `finish_fitting` takes it, and its arguments.

    The mask has asked whether what follows fits after any number of the closers. Which of them
    rules put back is known now, so the length that will be kept is judged by what will be shown.
    """
    whole = finish_block(place, generated, finished, inside, multiline)
    length = common_prefix(generated, whole.text)
    fits = mask.fits(length)
    if not whole.text or not (place.closers or b"").strip(b" \t"):
        return fits

    def joins(shown: Finished) -> bool:
        end = snapshot.cursor + shown.range_end
        follow = with_lf(snapshot.text[end : end + FURTHER])
        return bool(shown.text) and mask.joins(shown.text, follow)

    if joins(whole):
        return replace(fits, lengths=(*(end for end in fits.lengths if end < length), length))
    kept = length
    for _ in range(MOST_JOINED):
        left = tuple(end for end in fits.lengths if not may_end_at(generated, kept, Fits((end,))))
        if kept < length and left == fits.lengths:
            break
        fits = replace(fits, lengths=left)
        kept = _kept_length(place, generated, whole, fits)
        if kept == length:
            break
        if joins(finish_block(place, generated[:kept], True, inside, multiline)):
            return replace(fits, lengths=tuple(sorted({*left, kept})))
    return replace(fits, lengths=())


def _kept_length(place: Place, generated: bytes, whole: Finished, fits: Fits) -> int:
    """How much of a generated text is kept, given what is shown without a grammar."""
    where: Where = "inside" if place.rest.strip(b" \t") else "end"
    if b"\n" in whole.text and place.closers is not None:
        where = "lines"
    length = common_prefix(generated, whole.text)
    kept = fitting_length(generated, length, fits, where)
    while kept < length and generated[kept] & 0xC0 == 0x80:  # inside a character
        kept -= 1
    return kept
