"""Where drafts come from, and what is kept of earlier requests."""

from dataclasses import replace

import pytest

from server.answers import present
from server.completion_options import CompletionOptions
from server.draft_gains import LONGEST, Gains
from server.drafting import EARLIER, LEARNING, Drafter, Guess, drafter_for, guess_from
from server.drafts import CONTEXT, FOLLOWING, Match
from server.prompt import Prompt
from server.snapshot import Snapshot


@pytest.fixture
def drafter(tiny_completer):
    """One that believes of any guess that it may pay."""
    return Drafter(tiny_completer.tokenization, Gains(1.0))


def begin(drafter, text, *, head=b"", cursor=None):
    """The drafts of a request at the end of a text."""
    ids = tuple(drafter.tokenization.encode(head)) or (0,)
    snapshot = Snapshot("a.py", 0, text, len(text) if cursor is None else cursor, "python")
    return drafter.begin(snapshot, Prompt(ids, b"", "fim"))


def text_of(drafter, guess):
    return drafter.tokenization.vocabulary.decode(guess.tokens)


def test_from_the_document(drafter):
    """Before the cursor and after it, with what was written since."""
    text = b"def f():\n    total = g(1)\n    return total\n\n\ndef h():\n    "
    drafting = begin(drafter, text + b"\nfor word in words:\n    pass\n", cursor=len(text))

    assert text_of(drafter, drafting.guess(b"total = ")).startswith(b"g(1)\n    ret")
    assert text_of(drafter, drafting.guess(b"for word")) == b" in words:\n    pass\n"
    assert drafting.guess(b"never written") == Guess()


def test_from_the_prompt(drafter):
    """A prompt may hold other texts than the document's."""
    drafting = begin(drafter, b"import ", head=b"from collections import defaultdict\n")

    assert text_of(drafter, drafting.guess(b"default")) == b"dict\n"


def test_from_earlier_requests(drafter):
    """What was written at another place, and is not in the document."""
    begin(drafter, b"x = ").finish(b"compute(a, b)\n", 3, 2)

    guess = begin(drafter, b"y = ").guess(b"compute(")

    assert text_of(drafter, guess) == b"a, b)\n"
    assert drafter.counts == (3, 2)


def test_the_same_place_again(drafter):
    """The beginning of an earlier answer is found by what stands before it."""
    begin(drafter, b"numbers = ").finish(b"range(10)", 0, 0)

    assert text_of(drafter, begin(drafter, b"numbers = ").guess(b"")) == b"range(10)"


def test_few_texts_are_kept(drafter):
    """The newest, and none of them twice."""
    drafting = begin(drafter, b"x")
    drafting.finish(b"again and again", 0, 0)
    drafting.finish(b"again and again, longer", 0, 0)
    drafting.finish(b"", 0, 0)
    assert drafter._earlier == [b"xagain and again, longer"]

    for number in range(EARLIER):
        begin(drafter, b"z" * 2 * CONTEXT).finish(b"text %d." % number, 0, 0)

    assert len(drafter._earlier) == EARLIER
    assert drafter._earlier[0] == b"z" * CONTEXT + b"text 0."


def test_a_guess_as_tokens(drafter):
    """Each token comes after a match that is longer by those before it."""
    guess = guess_from(Match(b"self.numbers", 8), drafter.tokenization)

    sizes = [len(drafter.tokenization.vocabulary[token]) for token in guess.tokens]
    assert text_of(drafter, guess) == b"self.numbers"
    assert list(guess.matches) == [8 + sum(sizes[:at]) for at in range(len(sizes))]
    assert guess.without_first() == Guess(guess.tokens[1:], guess.matches[1:])


def test_a_guess_that_was_cut(drafter):
    """No half word at the end of what is looked at; never more than the longest draft."""
    long = b"ab cd " * FOLLOWING
    guess = guess_from(Match(long[:FOLLOWING], 8), drafter.tokenization)

    assert len(guess.tokens) == LONGEST
    assert long.startswith(text_of(drafter, guess))


def test_only_what_may_pay(tiny_completer):
    """Short matches are looked for now and then where they do not pay; long ones always."""
    drafter = Drafter(tiny_completer.tokenization, Gains())
    long, short = b"for each of the many words in words", b"\ntotal = "
    drafting = begin(drafter, long + b":\n    pass" + short + b"1\n", cursor=0)
    drafting = replace(drafting, before=long + b":\n    pass" + short + b"1\n", others=())

    assert drafter.gains.least_match() > len(short)
    found = [bool(drafting.guess(short).tokens) for _ in range(2 * LEARNING)]
    assert found == [number % LEARNING == 0 for number in range(2 * LEARNING)]
    assert all(drafting.guess(long).tokens for _ in range(LEARNING))


def test_costs_of_the_device(tiny_completer):
    """A model on a GPU is believed to have cheap batches."""
    info = tiny_completer.engine.info
    on_gpu = replace(info, offloaded_layers=info.layers)

    cpu = drafter_for(tiny_completer.tokenization, info)
    gpu = drafter_for(tiny_completer.tokenization, on_gpu)

    assert gpu.gains.cost(16) < 2 < cpu.gains.cost(16)


def test_completions_report_drafts(load_tiny):
    """The answer says how much was drafted and held; one from memory that nothing was."""
    completer = load_tiny()
    text = b"import os\n\nfor index in"
    snapshot = Snapshot("a.py", 0, text, len(text), "python")
    options = CompletionOptions(max_tokens=60, multiline="always", grammar="off")

    completer.drafter = None
    answer = completer.answer(snapshot, options)
    plain = present(snapshot, answer)
    completer.drafter = Drafter(completer.tokenization, Gains(1.0))
    completer.drafter.remember(snapshot.text, answer.generation.text)
    answer = completer.answer(snapshot, options)
    drafted = present(snapshot, answer)
    from_memory = present(snapshot, replace(answer, evaluated=0))

    tokens = drafted.as_json()["tokens"]
    assert tokens["drafted"] >= tokens["accepted"] > 0
    assert completer.drafter.counts == (tokens["drafted"], tokens["accepted"])
    assert drafted.items[0].text == from_memory.items[0].text == plain.items[0].text
    for other in (from_memory, plain):
        assert (other.tokens.drafted, other.tokens.accepted) == (0, 0)
