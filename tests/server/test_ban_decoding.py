"""Bans in the decoding loop: what is banned is never written, and nothing else changes."""

import string

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from healing.rows import RowCache
from healing.sampling import GREEDY, Sampling
from server.ban_watch import MOST_RETURNS, BanWatch
from server.bans import BanReport, Bans
from server.decoding import BAN_STAYS, METHODS, NO_WAY_BACK, NOTHING_ELSE, generate
from server.prompt import Prompt
from tests.server.engine.fresh import held, path_tokens
from tests.server.engines import Scripted, Watched, Wrapped
from tests.server.masks import ToyMask, brackets, closed
from tests.server.test_chain import Adversary, plain

TYPED = [b"", b"print(to", b"x = ", b"retu"]
WORDS = [b"a", b"b", b"ab", b"(", b"x", b" ", b"in", b"t", b"print", b"to", b"r", b"n", b"s", b"re"]
BANS = st.lists(
    st.text("ab(x tnirops", min_size=1, max_size=4).filter(str.strip), min_size=1, max_size=5
)


class Wordy(Watched):
    """Logits that depend on the last two tokens alone, high for a few short words: text repeats."""

    def __init__(self, engine, seed=0):
        super().__init__(engine)
        self.seed = seed
        self.wanted = [engine.encode(word)[0] for word in WORDS]

    def evaluate(self, slot, nodes, want):
        rows = self.engine.evaluate(slot, nodes, want)
        return [
            self.row([*slot.tokens, *path_tokens(nodes, node)][-2:], len(row))
            for row, node in zip(rows, want, strict=True)
        ]

    def row(self, last, size):
        random = np.random.default_rng([self.seed, *(token % 8 for token in last)])
        row = random.normal(scale=1, size=size).astype(np.float32)
        row[self.wanted] += 8
        return row


@pytest.fixture(scope="module")
def write(tiny_completer):
    """Writes with an engine: what came out, what was shown, and the slot's tokens."""

    def run(engine, method, typed, bans=None, *, tokens=12, **options):
        for slot in tuple(engine._slots._slots):
            engine.drop(slot)
        fim = engine.fim
        shown = []
        typed = b"" if method == "off" else typed
        watch = None if bans is None else BanWatch(bans, typed)
        generation = generate(
            engine,
            tiny_completer.tokenization,
            Prompt((fim.prefix, fim.suffix, fim.middle), typed, "fim"),
            method,
            rows=RowCache(),
            max_tokens=tokens,
            should_stop=options.pop("should_stop", lambda _: False),
            bans=watch,
            on_progress=lambda so_far: shown.append(so_far.text),
            **options,
        )
        slot = engine.slots[-1]
        assert slot.resident == len(slot.tokens)
        return generation, shown, list(slot.tokens)

    return run


@given(
    st.sampled_from([*METHODS, "loose"]),
    st.sampled_from(TYPED),
    BANS,
    st.lists(st.sampled_from([r"a+b", r"\bin\b", r"p.*\(", r"[ab]x"]), max_size=2),
    st.sampled_from([None, (brackets, closed)]),
    st.sampled_from([0.0, 2.0]),
    st.integers(0, 1000),
)
@settings(max_examples=150)
def test_nothing_banned_is_written(
    write, tiny_completer, method, typed, strings, patterns, language, temperature, seed
):
    """Neither in the answer nor in what is shown before it, which is never taken back."""
    engine = Wordy(tiny_completer.engine, seed)
    bans = Bans(strings, patterns)
    mask = ToyMask(*language) if language else None

    generation, shown, _ = write(
        engine,
        method,
        typed,
        bans,
        mask=mask,
        sampling=Sampling(temperature, seed=seed) if temperature else GREEDY,
    )

    typed = b"" if method == "off" else typed
    assert not bans.are_in(typed, generation.text)
    for text in shown:
        assert generation.text.startswith(text)
    assert generation.bans.went_back <= MOST_RETURNS
    assert (generation.ended == "ban") == (generation.bans.note is not None)
    if mask is not None and generation.masked:
        assert brackets(generation.text)
        assert mask.written.startswith(generation.text)


@given(
    st.sampled_from([*METHODS, "loose"]),
    st.sampled_from(TYPED),
    st.sampled_from([None, (brackets, closed)]),
    st.sampled_from([0.0, 2.0]),
    st.integers(0, 1000),
)
@settings(max_examples=50)
def test_bans_that_never_match(write, tiny_completer, method, typed, language, temperature, seed):
    """Everything is as without bans, but that only whole words are shown on the way."""

    def run(bans):
        engine = Wordy(tiny_completer.engine, seed)
        sampling = Sampling(temperature, seed=seed) if temperature else GREEDY
        mask = ToyMask(*language) if language else None
        return write(engine, method, typed, bans, mask=mask, sampling=sampling)

    wanted, wanted_shown, wanted_tokens = run(None)
    found, shown, tokens = run(Bans(["print(" * 9, "\x07" * 99], [r"\x07{99}x"]))

    assert found == wanted
    assert tokens == wanted_tokens
    assert all(any(text.startswith(one) for text in wanted_shown) for one in shown)


def by_brute_force(engine, head, strings, stops, tokens):
    """Greedy with a look back, by definition; the texts at which it went back are counted."""
    vocabulary = engine.vocabulary
    usable = {*vocabulary.text_ids().tolist(), *stops}
    chosen, forbidden, went_back = [], {}, 0

    def banned(pieces):
        """Where the last of the banned strings that end first begins; None if none is there."""
        text = b"".join(pieces)
        for end in range(len(text) + 1):
            found = [end - len(one) for one in strings if text[:end].endswith(one)]
            if found:
                return max(found)
        return None

    def pieces():
        return [vocabulary[token] for token in chosen]

    while len(chosen) < tokens:
        row = engine.row([*head, *chosen][-2:], len(vocabulary))
        for token in np.argsort(-row, kind="stable").tolist():
            if token not in usable:
                continue
            if token in stops:
                return chosen, went_back
            if token in forbidden.get(tuple(chosen), ()):
                continue
            start = banned([*pieces(), vocabulary[token]])
            if start is None:
                chosen.append(token)
                break
            written = b"".join(pieces())
            if start >= len(written):
                continue
            place = max(n for n in range(len(chosen)) if len(b"".join(pieces()[:n])) <= start)
            forbidden.setdefault(tuple(chosen[:place]), set()).add(chosen[place])
            # What was forbidden after that choice is forgotten with it; it can't come again.
            del chosen[place:]
            went_back += 1
            break
    return chosen, went_back


@given(BANS, st.integers(0, 1000), st.booleans())
@settings(max_examples=100)
def test_as_by_brute_force(write, tiny_completer, strings, seed, is_drafted):
    """The tokens are those of the definition, with drafts as well, and so is the memory."""
    engine = Wordy(tiny_completer.engine, seed)
    head = [engine.fim.prefix, engine.fim.suffix, engine.fim.middle]
    encoded = [one.encode() for one in strings]
    expected, went_back = by_brute_force(engine, head, encoded, engine.stops, 12)
    assume(went_back <= MOST_RETURNS)
    drafts = Adversary(seed, tuple(expected), b"", engine.vocabulary) if is_drafted else None

    generation, _, tokens = write(engine, "off", b"", Bans(strings, ()), drafts=drafts)

    assert generation.text == engine.vocabulary.decode(expected)
    assert generation.bans.went_back == went_back
    assert len(generation.logprobs) == len(expected)
    assert [*head, *expected][: len(tokens)] == tokens
    assert held(tiny_completer.engine)[engine.slots[-1].sequence] == len(tokens)


@given(st.sampled_from(METHODS), st.sampled_from(TYPED), BANS, st.integers(0, 1000))
@settings(max_examples=60)
def test_drafts_change_nothing(write, tiny_completer, method, typed, strings, seed):
    """Text, probabilities, what bans did, and what is in memory."""
    bans = Bans(strings, ())
    wanted = write(Wordy(tiny_completer.engine, seed), method, typed, bans)
    engine = Wordy(tiny_completer.engine, seed)
    start = b"" if method == "off" else typed
    drafts = Adversary(seed, tuple(wanted[2][3:]), start, engine.vocabulary)

    found = write(engine, method, typed, bans, drafts=drafts)

    assert plain(found[0]) == plain(wanted[0])
    assert found[1:] == wanted[1:]


@pytest.fixture
def script(tiny_completer):
    """An engine that wants to write a text, token by token."""

    def run(*pieces):
        engine = tiny_completer.engine
        tokens = [token for piece in pieces for token in tiny_completer.tokenization.encode(piece)]
        return Scripted(Watched(engine), tokens)

    return run


def test_other_ways_are_taken(write, script):
    """The model's own text up to there, another choice, and what it wants after that."""
    engine = script(b"x = a(", b"b")
    generation, *_ = write(engine, "off", b"", Bans(["a("], ()))

    assert generation.text.startswith(b"x =")
    assert b"a(" not in generation.text
    assert generation.bans == BanReport(went_back=1)
    assert generation.ended == "stop token"


def test_the_healed_token_is_refused(write, tiny_completer):
    """The next best leaf of the covering tree is taken, without a pass of the model for it."""
    engine = Wordy(tiny_completer.engine)
    wanted, _, _ = write(engine, "exact", b"pri", tokens=1)
    assert wanted.text
    banned = "pri" + wanted.text.decode()

    found, *_ = write(engine, "exact", b"pri", Bans([banned], ()), tokens=1)

    assert not (b"pri" + found.text).startswith(banned.encode())
    assert found.bans == BanReport(0, 1)
    assert found.healing.forward_passes == wanted.healing.forward_passes
    assert found.logprobs[0] < wanted.logprobs[0]


@pytest.mark.parametrize("method", ["exact", "align", "off"])
def test_only_that_choice_is_forbidden(write, tiny_completer, method):
    """A longer token that starts like the forbidden one may come in its place."""
    engine = Wordy(tiny_completer.engine)
    size = len(engine.vocabulary)
    longer = next(
        word for word in (b"return", b"print", b"self", b"for") if len(engine.encode(word)) == 1
    )
    first = only(engine, size, {longer[:1]: 5, longer: 4, b"b": 3})
    others = only(engine, size, {b"x": 1})
    engine.row = lambda last, size: first if last[-1] == engine.fim.middle else others

    generation, *_ = write(engine, method, b"", Bans([longer[:1].decode() + "x"], ()), tokens=3)

    assert generation.text == longer + b"xx"
    assert generation.bans == BanReport(went_back=1)


@pytest.mark.parametrize("method", METHODS)
def test_all_that_may_come_is_banned(write, tiny_completer, method):
    """The text ends at the cursor, and the report says why."""
    engine = Wordy(Endless(tiny_completer.engine))
    bans = Bans(map(chr, range(128)), [r"[^\x00-\x7f]"])

    # Half a character is no text that could be banned, and no tokens but these are left.
    engine.row = lambda last, size: only(engine, size, dict.fromkeys([*WORDS, b"pri"], 1))
    generation, shown, _ = write(engine, method, b"pri", bans)

    assert (generation.text, generation.ended) == (b"", "ban")
    assert generation.bans.note == NOTHING_ELSE
    assert generation.bans.went_back == 0
    assert shown == []


class Endless(Wrapped):
    """Never ends a text."""

    stops = frozenset()


@pytest.mark.parametrize(
    ("letters", "note"), [("abx", NOTHING_ELSE), (string.ascii_lowercase, BAN_STAYS)]
)
def test_no_way_round(write, tiny_completer, letters, note):
    """It goes back until nothing is left or it was too often; the text ends with a whole word."""
    engine = Wordy(tiny_completer.engine)
    size = len(engine.vocabulary)
    first = only(engine, size, {b"(": 1})
    others = only(engine, size, {letter.encode(): -n for n, letter in enumerate(letters)})
    engine.row = lambda last, size: first if last[-1] == engine.fim.middle else others

    generation, shown, _ = write(engine, "off", b"", Bans((), ["[a-z]{3}"]))

    assert (generation.text, generation.ended) == (b"(", "ban")
    assert generation.bans == BanReport(min(len(letters), MOST_RETURNS), 0, note)
    assert shown == [b"("]
    assert len(generation.logprobs) == 1


def only(engine, size, wanted):
    row = np.full(size, -np.inf, dtype=np.float32)
    for word, value in wanted.items():
        row[engine.encode(word)[0]] = value
    return row


@pytest.mark.parametrize("architecture", ["mamba", "jamba"])
def test_memory_that_cannot_be_cut(write, load_tiny, architecture):
    """The text ends before the banned one."""
    completer = load_tiny(architecture=architecture)
    engine = Wordy(completer.engine)
    wanted, *_ = write(engine, "off", b"")
    letters = wanted.text.decode()
    banned = letters[len(letters) // 2 :]
    found, *_ = write(engine, "off", b"", Bans([banned], ()))

    assert banned not in found.text.decode()
    assert wanted.text.startswith(found.text)
    assert (found.ended, found.bans.note) == ("ban", NO_WAY_BACK)


def test_a_slow_pattern_ends_the_text(write, tiny_completer):
    """Nobody knows what is banned: the text ends before what nobody could judge."""
    engine = Scripted(Watched(tiny_completer.engine), [])
    engine.script = [*tiny_completer.tokenization.encode(b"x = " + b"a" * 300)]
    generation, shown, _ = write(engine, "off", b"", Bans((), [r"(?:a+)+b"]), tokens=400)

    assert generation.ended == "ban"
    assert b"x = ".startswith(generation.text.rstrip(b"a"))
    assert "takes too long" in generation.bans.note
    assert all(generation.text.startswith(text) for text in shown)


def test_an_engine_that_fails_on_the_way_back(write, tiny_completer):
    """The slot is in order."""

    class Failing(Wordy):
        def cut(self, slot, length):
            self.engine.cut(slot, length)
            raise ZeroDivisionError

    wanted, *_ = write(Wordy(tiny_completer.engine), "off", b"")
    middle = len(wanted.text) // 2
    engine = Failing(tiny_completer.engine)
    with pytest.raises(ZeroDivisionError):
        write(engine, "off", b"", Bans([wanted.text[middle - 4 : middle + 4].decode()], ()))
    assert held(tiny_completer.engine)[engine.slots[-1].sequence] == engine.slots[-1].resident
