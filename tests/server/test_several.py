"""What is shown of several continuations, and what is left of them while one types."""

from dataclasses import replace
from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.answers import Other
from server.completion_options import CompletionOptions
from server.confidence import Caution
from server.memory import remainder
from server.report import Item, percent
from server.several import merged, present_all
from server.snapshot import Snapshot

TEXTS = st.sampled_from(["a", "ab", "b", "a)", "c\n"])
SHARES = st.floats(0, 1)


def item(text, share, replaced=0):
    return Item(text, (0, 0), (0, replaced), -1.0, replaced, probability=share)


@given(st.lists(st.builds(item, TEXTS, SHARES, st.integers(0, 1)), min_size=1, max_size=8))
def test_merging(items):
    """Each text once, with all of its probability; the first stays, the others are in order."""
    found = merged(items)

    keys = [(one.text, one.replaced_bytes) for one in found]
    assert keys[0] == (items[0].text, items[0].replaced_bytes)
    assert len({*keys}) == len(keys)
    assert {*keys} == {(one.text, one.replaced_bytes) for one in items}
    shares = [one.probability for one in found[1:]]
    assert shares == sorted(shares, reverse=True)
    for one, key in zip(found, keys, strict=True):
        same = {i.probability for i in items if (i.text, i.replaced_bytes) == key}
        assert abs(one.probability - min(1.0, sum(same))) < 1e-9


def test_equal_texts_are_one(tiny_completer):
    """Rules may make the same of two texts: what other tokens say adds to its probability."""
    text = b"x = 1\ny = "
    snapshot = Snapshot("a.py", 0, text, len(text), "python")
    answer = tiny_completer.answer(snapshot, CompletionOptions(max_tokens=6, candidates=3))
    own = answer.generation
    logprobs = (own.logprobs[0] - 1, *own.logprobs[1:])
    spelled = Other(replace(own, logprobs=logprobs), answer.fits)
    doubled = replace(answer, others=(spelled, *answer.others))

    once, twice = present_all(snapshot, b"", answer), present_all(snapshot, b"", doubled)

    assert len(answer.others) == 2
    assert [one.text for one in twice.items] == [one.text for one in once.items]
    expected = once.items[0].probability * (1 + exp(-1))
    assert twice.items[0].probability == pytest.approx(expected)
    assert len(present_all(snapshot, b"", answer, most=2).items) == 2


def test_texts_that_part_behind_what_is_shown(tiny_completer):
    """Ended where they become unsure, they are the same tokens, which count once."""
    text = b"x = 4\nfor i in "
    snapshot = Snapshot("a.py", 0, text, len(text), "python")
    answer = tiny_completer.answer(snapshot, CompletionOptions(max_tokens=6))
    own = answer.generation
    other = replace(own, logprobs=(*own.logprobs[:-1], own.logprobs[-1] - 1))
    caution = Caution(stop=1.0)
    [alone] = present_all(snapshot, b"", answer, caution).items

    both = replace(answer, others=(Other(other, answer.fits),))
    [item] = present_all(snapshot, b"", both, caution).items

    assert item.text == alone.text != own.text.decode()
    assert item.probability == alone.probability < 1


def test_what_is_left(tiny_completer):
    """Continuations that begin with what has been typed, the best one of them first."""
    text = b"x = 1\ny = "
    snapshot = Snapshot("a.py", 0, text, len(text), "python")
    answer = tiny_completer.answer(snapshot, CompletionOptions(max_tokens=6, candidates=5))
    texts = [answer.generation.text, *(other.generation.text for other in answer.others)]

    for typed in {whole[:size] for whole in texts for size in (0, 1, 2, len(whole))}:
        left = remainder(b"y = ", answer, b"y = " + typed)
        expected = [one[len(typed) :] for one in texts if one.startswith(typed) and one != typed]
        found = [] if left is None else [left.generation, *(o.generation for o in left.others)]
        assert [one.text for one in found if one.text] == expected
        for one in found:
            assert not one.ends or one.ends[-1] >= len(one.text)

    assert remainder(b"y = ", answer, b"y = \0") is None
    assert remainder(b"y = ", answer, b"z = ") is None


def test_percent():
    """One figure that counts, and never 0 for what is possible."""
    shares = (1, 0.624, 0.01, 0.0049, 0.001, 1e-9)

    assert [percent(share) for share in shares] == [
        *("100 %", "62 %", "1 %", "0.5 %", "0.1 %", "under 0.1 %"),
    ]
