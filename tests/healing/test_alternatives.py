"""What else could come first, against the complete reading of a tree."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from healing import alternatives as module
from healing import exact
from healing.alternatives import LEAST, agree, alternatives
from healing.best import most_probable
from tests.healing import toy
from tests.healing.test_exact import healed

TYPED = st.text(toy.ASCII, max_size=8)
VOCABULARIES = st.sampled_from(sorted(toy.SPLITS))


@pytest.fixture(autouse=True)
def look_at_all(monkeypatch):
    """Toy vocabularies are spread out wider than real models' opinions."""
    monkeypatch.setattr(module, "LOOKED_AT", 10**6)


def prepared(name, typed, seed):
    """A scored tree, its most probable text, and all first texts with their probability."""
    tokenization = toy.toy(name)[1]
    scored = healed(
        typed.encode(), tokenization, toy.TableModel(len(tokenization.vocabulary), seed)
    )
    return scored, most_probable(scored), exact.read(scored, 0).visible()


def by_twin(texts, taken, is_useful=lambda _: True):
    """Texts of a complete reading that agree with no better one."""
    found = [taken]
    for text, _, _ in texts:
        if text and not any(agree(text, other) for other in found) and is_useful(text):
            found.append(text)
    return found[1:]


@settings(deadline=None, max_examples=150)
@given(VOCABULARIES, TYPED, st.integers(0, 999), st.integers(0, 6))
def test_best_texts_that_are_different(name, typed, seed, count):
    """In the order of the summed probability of their spellings, each by its best one."""
    scored, choice, texts = prepared(name, typed, seed)

    found = alternatives(scored, choice, choice.leaf.visible, count, least=0)

    assert [one.leaf.visible for one in found] == by_twin(texts, choice.leaf.visible)[:count]
    leaves = {text: leaf for text, _, leaf in texts}
    assert all(one.leaf == leaves[one.leaf.visible] for one in found)


@settings(deadline=None, max_examples=100)
@given(VOCABULARIES, TYPED, st.integers(0, 999))
def test_improbable_texts_are_left_out(name, typed, seed):
    """Each that is found has its share, and none with more than that is missing."""
    scored, choice, texts = prepared(name, typed, seed)
    shares = {text: share for text, share, _ in texts}
    bound = LEAST * choice.probability

    found = alternatives(scored, choice, choice.leaf.visible, 10**6)

    assert all(one.probability >= bound for one in found)
    # What was checked on the way is shared out over what is not known to be impossible.
    scale = max((one.probability / shares[one.leaf.visible] for one in found), default=1.0)
    for text in by_twin(texts, choice.leaf.visible):
        if shares[text] * scale > 3 * bound:
            assert any(agree(text, one.leaf.visible) for one in found)


@settings(deadline=None, max_examples=50)
@given(VOCABULARIES, TYPED, st.integers(0, 999))
def test_what_is_of_no_use_makes_room(name, typed, seed):
    """The next best one comes instead of it."""
    scored, choice, texts = prepared(name, typed, seed)

    def is_useful(text):
        return text[0] % 2 == 0

    found = alternatives(scored, choice, choice.leaf.visible, 4, is_useful, least=0)

    expected = by_twin(texts, choice.leaf.visible, is_useful)
    assert [one.leaf.visible for one in found] == expected[:4]


@settings(deadline=None, max_examples=50)
@given(VOCABULARIES, TYPED, st.integers(0, 999))
def test_a_grammar_is_asked(name, typed, seed):
    """What it refuses is no alternative."""
    scored, _, _ = prepared(name, typed, seed)
    scored = replace(scored, accepts=lambda text: not text or text[0] % 2 == 1)
    choice = most_probable(scored)

    found = alternatives(scored, choice, choice.leaf.visible, 5, least=0)

    assert all(one.leaf.visible[0] % 2 == 1 for one in found)
