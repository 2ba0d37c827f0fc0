"""The decoding loop: heal, then one token after the other until something ends the text.

A token that is not text (control, unknown, unused) is never generated; one that means the end of
something ends the text. What is given back is only what comes after the cursor.

Not here: which tokens are re-typed (`retyping`), what is shown of the text (`rules`).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from healing.rows import RowCache
from healing.sampling import GREEDY, Sampling, choose, log_normaliser
from healing.stitch import Stitch
from healing.tokenization import Tokenization
from server.engine import ROOT, TokenEngine
from server.prompt import Prompt
from server.report import HealingReport
from server.retyping import Healed, constrained_healing, exact_healing

METHODS = ("exact", "align", "one", "off")
"""Healing methods, best first. `off` needs a prompt whose hole is at the cursor."""


@dataclass(frozen=True)
class Generation:
    """The text that the model wrote after the cursor."""

    text: bytes
    """Whole, valid characters, line ends as LF."""
    logprobs: tuple[float, ...]
    """For every token after the cursor (the first may share its token with typed text): natural
    log of its probability."""
    ended: str
    """`stop token`, `stop rule` or `token limit`; `unfinished` if more is to come."""
    healing: HealingReport
    reused: int
    """Prompt tokens that were in memory."""
    prompt: int
    """Prompt tokens: the head and what was typed, as it was re-typed."""


@dataclass(frozen=True)
class Chooser:
    """The choice of the next token where nothing is owed."""

    not_text: NDArray[np.int64]
    """Ids that are never chosen: no text, and no end of it."""
    stops: frozenset[int]
    sampling: Sampling
    random: np.random.Generator

    def __call__(self, row: NDArray[np.float32]) -> tuple[int | None, float]:
        """The chosen token and the natural log of its probability; None for the end of the text.

        Args:
            row: Logits, shape (vocabulary,); is left as it is.
        """
        temperature = self.sampling.temperature or 1.0
        logits = row.copy()
        logits[self.not_text] = -np.inf
        normaliser = log_normaliser(logits, temperature)
        if self.sampling.temperature:
            logprobs = logits.astype(np.float64) / temperature - normaliser
            token = int(choose(logprobs, self.sampling, self.random)[0])
        else:
            token = int(np.argmax(logits))
        logprob = float(logits[token]) / temperature - normaliser
        return (None if token in self.stops else token), logprob


def generate(
    engine: TokenEngine,
    tokenization: Tokenization,
    prompt: Prompt,
    method: str,
    *,
    rows: RowCache,
    max_tokens: int,
    should_stop: Callable[[bytes], bool],
    sampling: Sampling = GREEDY,
    note: str | None = None,
    on_progress: Callable[[Generation], None] = lambda _: None,
) -> Generation:
    """Complete a prompt.

    Args:
        engine: The model.
        tokenization: Its tokenizer.
        prompt: Anchored, unless the method is `off`.
        method: One of `METHODS`, or `loose`.
        rows: What is known of this prompt's head (for `exact`); is added to.
        max_tokens: The most tokens to write after the cursor, the healed one included.
        should_stop: Whether the text after the cursor, so far, is all that is wanted.
        sampling: How tokens are chosen.
        note: Goes to the report: why this method and not another.
        on_progress: Is given what is there so far, each time that the text has grown by whole
            characters; it ended `unfinished`.

    Raises:
        Cancelled, EngineError: As the engine does.
    """
    random = np.random.default_rng(sampling.seed)
    usable = np.zeros(len(engine.vocabulary), dtype=bool)
    usable[engine.vocabulary.text_ids()] = True
    usable[list(engine.stops)] = True
    chooser = Chooser(np.flatnonzero(~usable), engine.stops, sampling, random)
    if method == "exact":
        healed = exact_healing(engine, tokenization, prompt, rows, sampling, random)
    elif method == "off":
        healed = _unhealed(engine, prompt, chooser)
    else:
        healed = constrained_healing(
            engine, tokenization, prompt, method, sampling, random, note=note
        )
    slot, token = healed.slot, healed.token
    prompt_tokens, reused = len(slot.tokens), slot.reused
    logprobs = [healed.logprob]
    stitch = Stitch()

    def so_far(text: bytes, ended: str) -> Generation:
        return Generation(text, tuple(logprobs), ended, healed.report, reused, prompt_tokens)

    piece = healed.visible
    ended = "stop token"
    while token is not None:
        if stitch.push(piece):
            text = bytes(stitch.text[: stitch.given])
            on_progress(so_far(text, "unfinished"))
            if should_stop(text):
                ended = "stop rule"
                break
        if len(logprobs) >= max_tokens or len(slot.tokens) >= engine.info.context_tokens:
            ended = "token limit"
            break
        [row] = engine.evaluate(slot, [(ROOT, token)], [0])
        engine.keep(slot, 0)
        token, logprob = chooser(row)
        if token is not None:
            logprobs.append(logprob)
            piece = engine.vocabulary[token]
    return so_far(stitch.finish(), ended)


def _unhealed(engine: TokenEngine, prompt: Prompt, chooser: Chooser) -> Healed:
    """The hole at the cursor, and whatever the model says there."""
    passes = engine.forward_passes
    slot = engine.open(prompt.head)
    [row] = engine.evaluate(slot, [], [ROOT])
    token, logprob = chooser(row)
    visible = b"" if token is None else engine.vocabulary[token]
    report = HealingReport(mode="off", forward_passes=engine.forward_passes - passes)
    return Healed(slot, token, visible, logprob, report)
