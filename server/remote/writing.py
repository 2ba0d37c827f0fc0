"""The text of one request from an engine elsewhere: read as it comes, and ended where it has to be.

The engine chooses its tokens by itself. What can be done here is to stop it: where a rule has what
it wants, before the first byte that a grammar refuses, and before a banned text. There is no way
back to something else, as there is with a model in this process (`server.decoding`).
"""

from collections.abc import Callable
from contextlib import closing

from healing.sampling import Sampling
from healing.stitch import Stitch
from server.ban_watch import BanWatch
from server.bans import BanReport
from server.generation import Generation
from server.grammar.mask import Mask
from server.prompt import Prompt
from server.remote.apis import Ask, Piece
from server.remote.engine import RemoteEngine
from server.remote.retyped import Forced
from server.report import HealingReport

NO_WAY_BACK = "an engine elsewhere can't be asked to go back"

BY_ENGINE = "by the engine, which was told how to begin"


def write(
    engine: RemoteEngine,
    prompt: Prompt,
    forced: Forced,
    *,
    max_tokens: int,
    should_stop: Callable[[bytes], bool],
    sampling: Sampling,
    mask: Mask | None = None,
    bans: BanWatch | None = None,
    note: str | None = None,
    on_progress: Callable[[Generation], None] = lambda _: None,
) -> Generation:
    """Have a prompt completed.

    Args:
        engine: The engine.
        prompt: The prompt.
        forced: How its typed bytes are put (`retyped`).
        max_tokens: The most tokens after the cursor, as far as the engine counts them.
        should_stop: Whether the text after the cursor, so far, is all that is wanted.
        sampling: How tokens are chosen.
        mask: A grammar's view of what is written; is told of it.
        bans: What must not be written.
        note: Goes to the report.
        on_progress: Is given what is there so far; it ended `unfinished`.

    Raises:
        NotForcedError, RemoteError, Cancelled: As `RemoteEngine.write`.
    """
    ask = Ask(
        (*prompt.head, *forced.kept),
        forced.owed,
        # The engine may spell it with more tokens than usual, but with no more than bytes.
        min(2 * forced.owed_tokens, len(forced.owed)) + max_tokens,
        sampling,
        tuple(sorted(engine.stops)),
    )
    healing = HealingReport(
        mode="align" if forced.owed else "off",
        backed_up_tokens=forced.owed_tokens,
        backed_up_text=forced.owed.decode(errors="replace"),
        covers=1 if forced.owed else 0,
        note=note or (BY_ENGINE if forced.owed else None),
    )
    text = bytearray()
    logprobs: list[float] = []
    ends: list[int] = []
    reused = 0

    def so_far(ended: str) -> Generation:
        return Generation(
            bytes(text),
            tuple(logprobs),
            ended,
            healing,
            reused,
            len(ask.tokens) + forced.owed_tokens,
            mask is not None,
            bans=BanReport() if bans is None else bans.report,
            ends=tuple(ends),
        )

    def take(piece: Piece) -> str | None:
        """Take a piece in; why the text ends with it, or None."""
        shown = piece.text
        if bans is not None and (bans.place_of(shown) is not None or bans.is_stuck):
            left, _ = bans.end_before(shown, NO_WAY_BACK)
            text.extend(shown)
            del text[left:]
            return "ban"
        fitting = shown if mask is None else shown[: mask.fitting(shown)]
        fitting = Stitch().push(fitting)  # no part of a character
        if mask is not None:
            mask.push(fitting)
        if bans is not None:
            bans.push(fitting)
        text.extend(fitting)
        if fitting != shown:
            return "no fitting token" if text else "other wishes"
        return "stop rule" if should_stop(bytes(text)) else None

    ended = "stop token"
    with closing(engine.write(ask)) as pieces:  # type: ignore[type-var]
        for piece in pieces:
            reused = piece.reused or reused
            if piece.text:
                why = take(piece)
                logprobs.extend(piece.logprobs or (0.0,))
                ends.extend([len(text)] * (len(logprobs) - len(ends)))
                on_progress(so_far("unfinished"))
                if why is not None:
                    ended = why
                    break
            if piece.ended is not None:
                ended = piece.ended
                break
            if len(logprobs) >= max_tokens:
                ended = "token limit"
                break
    return so_far(ended)
