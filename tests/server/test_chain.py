"""Drafts in the decoding loop: whatever is guessed, everything but the time is as without."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from healing.rows import RowCache
from healing.sampling import GREEDY, Sampling
from healing.stitch import Stitch
from server.chain import Chain
from server.decoding import METHODS, generate
from server.draft_gains import LONGEST
from server.drafting import Guess
from server.errors import Cancelled, EngineError
from server.prompt import Prompt
from tests.server.engine.fresh import held, path_tokens
from tests.server.engines import Scripted, Watched
from tests.server.masks import ToyMask, brackets, closed, no_doubles

TYPED = [b"", b"print(to", b"x = ", "größ".encode()[:4]]


class Hashed(Watched):
    """Logits that depend on the last two tokens alone, without any noise: text in loops."""

    def __init__(self, engine, context_tokens=None):
        super().__init__(engine)
        self.sizes = []
        room = context_tokens or engine.info.context_tokens
        self.info = replace(engine.info, context_tokens=room)

    def evaluate(self, slot, nodes, want):
        self.sizes.append(len(nodes))
        deepest = max((len(path_tokens(nodes, node)) for node in want), default=0)
        assert len(slot.tokens) + deepest <= self.info.context_tokens
        rows = self.engine.evaluate(slot, nodes, want)
        return [
            self.row([*slot.tokens, *path_tokens(nodes, node)][-2:], len(row))
            for row, node in zip(rows, want, strict=True)
        ]

    @staticmethod
    def row(last, size):
        random = np.random.default_rng([token % 16 for token in last])
        return random.normal(scale=3, size=size).astype(np.float32)


@dataclass
class Told:
    """Gains that have their say by chance."""

    random: np.random.Generator
    told: list = field(default_factory=list)
    timed: list = field(default_factory=list)

    def took(self, size, seconds):
        assert 1 <= size <= LONGEST + 1
        assert seconds >= 0
        self.timed.append(size)

    def saw(self, match, held):
        self.told.append(held)

    def best_length(self, matches):
        return int(self.random.integers(0, len(matches) + 1))


class Adversary:
    """Drafts that are right up to some place, by knowing the answer, and then anything."""

    def __init__(self, seed, answer=(), typed=b"", vocabulary=()):
        """`answer` is what is going to be chosen, what was typed included."""
        self.random = np.random.default_rng(seed)
        self.gains = Told(self.random)
        self.answer, self.vocabulary = answer, vocabulary
        self.ends = [
            len(vocabulary.decode(answer[: number + 1])) - len(typed)
            for number in range(len(answer))
        ]
        self.finished = (b"", 0, 0)

    def guess(self, text):
        written = 1 + self.ends.index(len(text)) if len(text) in self.ends else len(self.ends)
        right = self.answer[written : written + self.random.integers(0, 9)]
        wrong = self.random.integers(0, len(self.vocabulary), self.random.integers(0, 4)).tolist()
        tokens = (*right, *wrong)[:LONGEST]
        return Guess(tokens, (4,) * len(tokens))

    def finish(self, text, drafted, accepted):
        self.finished = (text, drafted, accepted)


@pytest.fixture(scope="module")
def write(tiny_completer):
    """Writes with an engine: what came out, what was shown, what the mask saw, and the slot."""

    def run(engine, method, typed, drafts, *, mask=None, tokens=12, **options):
        for slot in tuple(engine._slots._slots):  # nothing is in memory, of other tests either
            engine.drop(slot)
        fim = engine.fim
        shown = []
        generation = generate(
            engine,
            tiny_completer.tokenization,
            Prompt((fim.prefix, fim.suffix, fim.middle), typed if method != "off" else b"", "fim"),
            method,
            rows=RowCache(),
            max_tokens=tokens,
            should_stop=options.pop("should_stop", lambda _: False),
            mask=mask,
            drafts=drafts,
            on_progress=lambda so_far: shown.append(replace(so_far, drafted=0, accepted=0)),
            **options,
        )
        slot = engine.slots[-1]
        assert slot.resident == len(slot.tokens)
        seen = None if mask is None else (mask.written, mask.asked, mask.wanted)
        return generation, shown, seen, list(slot.tokens)

    return run


def oracle(engine, tokens, seed=0):
    """Drafts that know what is going to be written, without healing."""
    return Adversary(seed, tokens[3:], b"", engine.vocabulary)


def plain(generation):
    """A generation without what drafts count."""
    return replace(generation, drafted=0, accepted=0)


@given(
    st.sampled_from([*METHODS, "loose"]),
    st.sampled_from(TYPED),
    st.sampled_from([None, (no_doubles, lambda _: True), (brackets, closed)]),
    st.sampled_from([0.0, 0.5, 4.0]),
    st.sampled_from([1, 2, 7, 30]),
    st.sampled_from([None, 14]),
    st.sampled_from([b"\xff", b"e", b"\n"]),
    st.integers(0, 2**32),
)
@settings(max_examples=120)
def test_everything_as_without_drafts(
    write, tiny_completer, method, typed, language, temperature, tokens, context, stop, seed
):
    """Text, probabilities, end, what is shown when, what the grammar is told, what is in memory."""
    engine = Hashed(tiny_completer.engine, context)
    options = {
        "sampling": Sampling(temperature, seed=seed) if temperature else GREEDY,
        "tokens": tokens,
        "should_stop": lambda text: stop in text,
    }

    def run(drafts):
        mask = ToyMask(*language) if language else None
        return write(engine, method, typed, drafts, mask=mask, **options)

    wanted = run(None)
    typed = b"" if method == "off" else typed
    drafts = Adversary(seed, wanted[3][3:], typed, engine.vocabulary)
    found = run(drafts)

    assert plain(found[0]) == plain(wanted[0])
    assert [plain(each) for each in found[1]] == [plain(each) for each in wanted[1]]
    assert found[2:] == wanted[2:]
    assert 0 <= found[0].accepted <= found[0].drafted
    assert drafts.finished[0].startswith(found[0].text)
    assert drafts.finished[1:] == (found[0].drafted, found[0].accepted)
    assert max(engine.sizes) <= max(tokens, LONGEST)


def test_accepted_tokens_need_no_pass(write, tiny_completer):
    """A draft that holds is one forward pass, and the counts say so."""
    engine = tiny_completer.engine
    script = tiny_completer.tokenization.encode(b"for index in range(10):\n    pass\n")
    scripted = Counted(engine, script)
    drafts = Adversary(0)
    drafts.guess = lambda text: right(scripted, text)
    drafts.gains.best_length = len

    generation, _, _, tokens = write(scripted, "off", b"", drafts, tokens=100)

    assert tokens[3:] == script
    assert generation.prompt == 3
    assert (generation.drafted, generation.accepted) == (len(script) - 1, len(script) - 1)
    assert scripted.passes == 2  # the prompt, and all of the text
    assert drafts.gains.told == [True] * (len(script) - 1)
    assert drafts.gains.timed == [len(script)]


def test_a_text_that_ends_in_a_draft(write, tiny_completer):
    """The end of the text refuses what was drafted for after it."""
    engine = tiny_completer.engine
    script = tiny_completer.tokenization.encode(b"pass")
    scripted = Counted(engine, script)
    drafts = Adversary(0)
    drafts.guess = lambda text: Guess((65, 66), (4, 5))
    drafts.gains.best_length = len

    generation, *_, tokens = write(scripted, "off", b"", drafts, tokens=100)

    assert tokens[3:] == script
    assert (generation.text, generation.ended) == (b"pass", "stop token")
    assert drafts.gains.told == [False] * len(script)


def test_only_steps_are_timed(tiny_completer):
    """A pass that also reads a part of the prompt says nothing of what a draft costs."""
    engine = tiny_completer.engine
    drafts = Adversary(0, (), b"", engine.vocabulary)
    slot = engine.open([65, 66, 67])
    with Chain(engine, slot, Stitch(), lambda _: False, drafts) as chain:
        chain.after(68, 1)
        assert drafts.gains.timed == []
        chain.after(69, 1)
        assert len(chain) == 5

    assert drafts.gains.timed == [1]
    assert slot.tokens == [65, 66, 67, 68, 69]


class Counted(Scripted):
    """A script, and what is asked of the model."""

    def __init__(self, engine, script):
        super().__init__(Watched(engine), script)
        self.passes = 0

    def evaluate(self, slot, nodes, want):
        self.passes += 1
        return super().evaluate(slot, nodes, want)


def right(scripted, text):
    """The script after a text."""
    written = 0
    while len(scripted.engine.vocabulary.decode(scripted.script[:written])) < len(text):
        written += 1
    rest = tuple(scripted.script[written:-1])
    return Guess(rest, (64,) * len(rest))


def test_nothing_is_drafted_beyond_the_end(write, tiny_completer):
    """Neither what comes after a stop rule, nor more than may be written, nor the last of that."""
    engine = tiny_completer.engine
    script = tiny_completer.tokenization.encode(b"x = 1\ny = 2\n")
    for tokens, stop in ((100, b"\n"), (3, b"\xff"), (1, b"\xff"), (2, b"\xff")):
        scripted = Counted(engine, script)
        drafts = Adversary(0)
        drafts.guess = lambda text, scripted=scripted: right(scripted, text)
        drafts.gains.best_length = len

        generation, *_ = write(
            scripted,
            "off",
            b"",
            drafts,
            tokens=tokens,
            should_stop=lambda text, stop=stop: stop in text,
        )

        assert generation.drafted == max(0, len(generation.logprobs) - 2)
        assert generation.accepted == generation.drafted


@pytest.mark.parametrize("passes", range(1, 6))
def test_cancelled(write, tiny_completer, passes):
    """What was chosen before is in the slot, and nothing else is in memory."""
    engine = Stopping(tiny_completer.engine)
    *_, tokens = write(engine, "off", b"", None, tokens=30)
    before = held(tiny_completer.engine)
    engine.left = passes

    with pytest.raises(Cancelled):
        write(engine, "off", b"", oracle(engine, tokens, passes), tokens=30)

    slot = engine.slots[-1]
    assert slot.tokens == tokens[: len(slot.tokens)]
    assert slot.resident == len(slot.tokens)
    assert held(tiny_completer.engine)[slot.sequence] == slot.resident
    assert sum(held(tiny_completer.engine)[4:]) == sum(before[4:]) == 0


class Stopping(Hashed):
    """Is cancelled before one of its passes."""

    def __init__(self, engine):
        super().__init__(engine)
        self.left = None

    def evaluate(self, slot, nodes, want):
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                self.engine.cancel()
        try:
            return super().evaluate(slot, nodes, want)
        finally:
            self.engine.resume()


def test_no_room_for_a_draft(write, tiny_completer):
    """A batch that can't be evaluated is tried again without its draft."""

    class Narrow(Hashed):
        def evaluate(self, slot, nodes, want):
            if len(nodes) > 1:
                raise EngineError("there is no room")
            return super().evaluate(slot, nodes, want)

    engine = Narrow(tiny_completer.engine)
    wanted, *others = write(engine, "off", b"", None)
    drafts = oracle(engine, others[-1])

    found, *found_others = write(engine, "off", b"", drafts)

    assert plain(found) == plain(wanted)
    assert found_others[-1] == others[-1]
    assert found.drafted == 0
    assert drafts.gains.told  # guesses are compared all the same


@pytest.mark.parametrize("architecture", ["mamba", "jamba"])
def test_memory_that_cannot_be_cut(write, load_tiny, architecture):
    """No drafts: a wrong one could not be taken back."""
    completer = load_tiny(architecture=architecture)
    engine = Hashed(completer.engine)
    wanted, *_, tokens = write(engine, "off", b"", None)

    found, *_ = write(engine, "off", b"", oracle(engine, tokens))

    assert plain(found) == plain(wanted)
    assert found.drafted == 0


def test_an_exception_from_outside(write, tiny_completer):
    """Whoever is told of progress may fail: the slot is in order all the same."""
    engine = Hashed(tiny_completer.engine)
    wanted, *_, tokens = write(engine, "off", b"", None)

    def fail(text):
        if len(text) >= len(wanted.text) // 2:
            raise ZeroDivisionError
        return False

    with pytest.raises(ZeroDivisionError):
        write(engine, "off", b"", oracle(engine, tokens), should_stop=fail)

    slot = engine.slots[-1]
    assert slot.tokens == tokens[: len(slot.tokens)]
    assert held(tiny_completer.engine)[slot.sequence] == slot.resident == len(slot.tokens)
