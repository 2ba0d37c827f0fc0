"""The decoding loop: heal, then one token after the other until something ends the text.

A token that is not text (control, unknown, unused) is never generated; one that means the end of
something ends the text. What is given back is only what comes after the cursor.

`writing` is the loop itself. It asks for the logits after each token and leaves it to others how
they come about: `generate` writes one text, some tokens ahead; `candidates` writes several at once.

Not here: which tokens are re-typed (`retyping`), how one is chosen (`choosing`), what is known of
the text as it grows (`generation`), and what is shown of it (`rules`).
"""

import math
import re
import string
from collections.abc import Callable, Generator
from dataclasses import replace

from healing.rows import RowCache
from healing.sampling import GREEDY, Sampling
from healing.stitch import Stitch
from healing.tokenization import Tokenization
from server.ban_watch import BanWatch
from server.chain import Chain
from server.choosing import Choice, Chooser, chooser_for
from server.drafting import Drafting
from server.engine import Row, TokenEngine
from server.generation import Generation, GrowingText
from server.grammar.mask import Mask
from server.prompt import Prompt
from server.retyping import Healed, constrained_healing, exact_healing, no_healing
from server.watching import Watcher, watched

Writing = Generator[tuple[int, int], Row, Generation]
"""A text that is being written. Yields a token, and how many may come after it, and is sent the
logits after that token, which it has done with when it yields again."""

METHODS = ("exact", "align", "one", "off")
"""Healing methods, best first. `off` needs a prompt whose hole is at the cursor."""

UNWILLING = math.log(0.05)
"""If a grammar refuses the model's favourite and leaves only what the model likes less than this,
the text ends there, if it could end there. Nothing good comes of writing against the model's will;
and its will may be the end: instruct models end code with a fence, which no grammar knows.

If nothing is left but to make another word of its last one, the text ends before that word: an
`elif` without its `if` is no start of a name."""

OTHER_WISHES = 0.95
"""If a grammar refuses this share of what could come first, nothing is written at all: what is left
of the probability is noise. A grammar that decides what is wanted has its way."""

BAN_STAYS = "it went back too often"
NO_WAY_BACK = "this model's memory cannot be cut, so there is no way back"
NOTHING_ELSE = "nothing else may come"
"""Why a text ends before a banned one."""

_WORD = re.compile(rb"[\w\x80-\xff]+\Z")
_SIGNS = tuple(sign.encode() for sign in string.punctuation.replace("_", "") + string.whitespace)


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
    mask: Mask | None = None,
    note: str | None = None,
    drafts: Drafting | None = None,
    bans: BanWatch | None = None,
    on_progress: Callable[[Generation], None] = lambda _: None,
    watcher: Watcher | None = None,
) -> Generation:
    """Complete a prompt.

    Args:
        engine: The model.
        tokenization: Its tokenizer.
        prompt: Anchored, unless the method is `off`.
        method: One of `METHODS`, or `loose`.
        rows: What is known of this prompt's head (for `exact`); is added to.
        max_tokens: The most tokens to write after the cursor, the healed one included.
        should_stop: Whether the text after the cursor, so far, is all that is wanted. May be asked
            about texts that are only guessed.
        sampling: How tokens are chosen.
        mask: A grammar's view of what is written; is told of every token. It is given up if it
            refuses everything that could come first: no person's text prevents a completion.
        note: Goes to the report: why this method and not another.
        drafts: Guesses that are checked several tokens at a time. They change how long it takes,
            and no text; what was written is remembered there.
        bans: What must not be written, watched from the cursor on. Where a banned text is whole,
            the decoder goes back to where it began and takes what is next best there.
        on_progress: Is given what is there so far, each time that the text has grown by whole
            characters; it ended `unfinished`. With bans only words that stay are in it.
        watcher: Is told how the text comes about.

    Raises:
        Cancelled, EngineError: As the engine does.
    """
    chooser = chooser_for(engine, tokenization, sampling, mask, bans)
    if watcher is not None:
        chooser = watched(chooser, watcher)

    def heal(chooser: Chooser) -> Healed:
        if method == "exact":
            return exact_healing(engine, prompt, rows, chooser, watcher)
        if method == "off":
            return no_healing(engine, prompt, chooser)
        return constrained_healing(engine, prompt, method, chooser, note=note)

    healed = heal(chooser)
    stitch = Stitch()
    chain = Chain(engine, healed.slot, stitch, should_stop, drafts)
    text = writing(
        engine,
        chain,
        stitch,
        healed,
        chooser,
        heal,
        max_tokens=max_tokens,
        should_stop=should_stop,
        on_progress=on_progress,
        watcher=watcher,
    )
    with chain:
        try:
            ask = next(text)
            while True:
                ask = text.send(chain.after(*ask))
        except StopIteration as end:
            generation: Generation = end.value
            return generation


def writing(
    engine: TokenEngine,
    chain: Chain,
    stitch: Stitch,
    first: Healed,
    chooser: Chooser,
    heal: Callable[[Chooser], Healed] | None,
    *,
    max_tokens: int,
    should_stop: Callable[[bytes], bool],
    on_progress: Callable[[Generation], None],
    watcher: Watcher | None,
) -> Writing:
    """The text after a first token.

    Args:
        engine: The model.
        chain: The text in its memory. Whoever drives this lets it grow.
        stitch: The text after the cursor, which nothing is in.
        first: The first token.
        chooser: How tokens are chosen; `first` may have given its mask up.
        heal: Chooses another first token, where bans want that; None if the text has to end then.
        max_tokens: The most tokens to write, the first one included.
        should_stop: As in `generate`.
        on_progress: As in `generate`.
        watcher: Is told when the text goes back.
    """
    healed, sampling, bans = first, chooser.sampling, chooser.bans
    text = GrowingText(chain, stitch, first, bans)
    chooser = replace(chooser, mask=text.mask)
    if text.mask is not None and not sampling.temperature and _is_refused(first, text.mask):
        return text.so_far(b"", "other wishes")
    token, piece = healed.token, healed.visible
    ended, told = "stop token", 0
    while token is not None:
        place = None if bans is None else bans.place_of(piece)
        if bans is not None and bans.is_stuck:
            return text.before_ban(piece, "")
        if bans is not None and place is not None:
            if not bans.may_go_back():
                return text.before_ban(piece, BAN_STAYS)
            if not engine.info.trees:
                return text.before_ban(piece, NO_WAY_BACK)
            count = text.go_back(place)
            if watcher is not None:
                watcher.went_back(count + 1 if place else None)
            if not place:
                if heal is None:
                    return text.so_far(b"", "ban")
                chain.leave()
                healed = heal(chooser)
                chain.begin_again(healed.slot)
                text.mask, chooser = healed.mask, replace(chooser, mask=healed.mask)
                token, piece = healed.token, healed.visible
                text.logprobs.append(healed.logprob)
                continue
            row = chain.back(count)
        else:
            if text.push(piece):
                shown = text.settled
                if len(shown) > told:
                    told = len(shown)
                    on_progress(text.so_far(shown, "unfinished"))
                if should_stop(text.whole):
                    ended = "stop rule"
                    break
            written = len(text.logprobs)
            if written >= max_tokens or len(chain) >= engine.info.context_tokens:
                ended = "token limit"
                break
            row = yield token, max_tokens - written
        choice = chooser(row)
        is_banned = bans is not None and bans.has_refused_here
        if choice is None and text.is_empty and not is_banned:
            text.mask, chooser = None, replace(chooser, mask=None)
            choice = chooser(row)
        if choice is None:
            if is_banned:
                return text.before_ban(b"", NOTHING_ELSE)
            ended = "no fitting token"
            break
        token = choice.token
        piece = b"" if token is None else engine.vocabulary[token]
        if text.mask is not None and not sampling.temperature and _is_unwilling(choice):
            word = _unfinished_word(text.raw, text.mask)
            if word and not text.mask.decides:
                return text.ended("other wishes", without=word)
            if text.mask.could_end():
                ended = "other wishes"
                break
        if token is not None:
            text.logprobs.append(choice.logprob)
    if healed.is_banned:
        return text.before_ban(b"", NOTHING_ELSE)
    return text.ended(ended)


def _is_refused(first: Healed, mask: Mask) -> bool:
    """Whether nothing had better be written where so much of what could come first was refused."""
    return first.refused >= OTHER_WISHES and not mask.decides


def _is_unwilling(choice: Choice) -> bool:
    """Whether a text had better end before a token. Not that the model wants it to end."""
    return choice.refused and choice.logprob < UNWILLING


def _unfinished_word(text: bytes, mask: Mask) -> bytes:
    """The word that a text ends with, if nothing may come but more of it; else empty."""
    found = _WORD.search(text)
    if found is None or any(mask.allows(sign) for sign in _SIGNS):
        return b""
    return found[0]
