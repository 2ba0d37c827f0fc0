"""Watching an answer: it changes nothing, and what is kept is what happened."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from healing.covers import ROOT
from healing.rows import RowCache
from healing.sampling import GREEDY, Sampling, log_normaliser
from server.choosing import Choice
from server.completion_options import CompletionOptions
from server.decoding import METHODS, generate
from server.explain_page.trace import ALTERNATIVES, Trace
from server.prompt import Prompt
from server.snapshot import Snapshot
from tests.server.engines import Watched
from tests.server.masks import ToyMask, brackets, closed, no_doubles

HEALING = [*METHODS, "loose"]
TYPED = [b"print(to", b"x = ", b"self.numb", b"", b"\xff", "größ".encode()[:4]]
MASKS = [None, (no_doubles, lambda _: True), (brackets, closed)]


@pytest.fixture(scope="module")
def write(load_tiny):
    """Writes after what is typed, with nothing in memory, and somebody watching or not."""
    completer = load_tiny()  # in the memory of the shared one there are other tests' texts
    engine, tokenization = Watched(completer.engine), completer.tokenization

    def run(typed, method, watching=True, language=None, sampling=GREEDY, tokens=8):
        fim = engine.fim
        prompt = Prompt(
            (fim.prefix, fim.suffix, fim.middle), typed if method != "off" else b"", "fim"
        )
        mask = ToyMask(*language) if language else None
        trace = Trace(tokenization.vocabulary, engine.stops, sampling.temperature or 1.0)
        trace.prompted(prompt)
        generation = generate(
            engine,
            tokenization,
            prompt,
            method,
            rows=RowCache(),
            max_tokens=tokens,
            should_stop=lambda _: False,
            sampling=sampling,
            mask=mask,
            watcher=trace if watching else None,
        )
        engine.forget()
        return generation, trace, mask

    return run


@given(
    st.sampled_from(HEALING),
    st.sampled_from(TYPED),
    st.sampled_from(MASKS),
    st.sampled_from([0.0, 0.7]),
    st.integers(0, 1000),
)
@settings(max_examples=60)
def test_watching_changes_nothing(write, method, typed, language, temperature, seed):
    """The same text with the same probabilities, and the grammar is asked the same."""
    sampling = Sampling(temperature, seed=seed) if temperature else GREEDY

    seen, _, watched_mask = write(typed, method, True, language, sampling)
    unseen, _, mask = write(typed, method, False, language, sampling)

    assert (seen.text, seen.ended) == (unseen.text, unseen.ended)
    assert seen.logprobs == unseen.logprobs
    assert (watched_mask and watched_mask.asked) == (mask and mask.asked)
    assert (watched_mask and watched_mask.written) == (mask and mask.written)


@given(st.sampled_from(HEALING), st.sampled_from(TYPED), st.sampled_from(MASKS))
@settings(max_examples=30)
def test_steps_are_what_was_written(write, method, typed, language):
    """Chosen tokens have the probabilities of the generation, in its order."""
    generation, trace, _ = write(typed, method, True, language)
    chosen = [math.log(step.share) for step in trace.steps if step.token is not None]
    later = generation.logprobs[1:]

    assert all(len(step.best) <= ALTERNATIVES for step in trace.steps)
    # Before them stand those that healing chose; after them one that was not written in the end.
    assert any(
        chosen[start : start + len(later)] == pytest.approx(list(later))
        for start in range(len(chosen) - len(later) + 1)
    )


def test_the_best_are_the_best(tiny_completer):
    """Alternatives are those of a plain softmax over text and ends; all ends are one of them."""
    engine = tiny_completer.engine
    vocabulary = engine.vocabulary
    slot = engine.open((engine.fim.prefix,))
    [row] = engine.evaluate(slot, [], [ROOT])
    trace = Trace(vocabulary, engine.stops)
    usable = {*vocabulary.text_ids().tolist(), *engine.stops}
    logits = np.where([token in usable for token in range(len(row))], row, -np.inf)
    shares = np.exp(logits - log_normaliser(logits))
    ordered = [int(token) for token in np.argsort(-shares, kind="stable")]
    trace.chose(row, b"", Choice(ordered[0], float(np.log(shares[ordered[0]]))), None)

    ends = [token for token in ordered if token in engine.stops][1:]
    wanted = [token for token in ordered if token not in ends][:ALTERNATIVES]
    [step] = trace.steps
    assert [one.token for one in step.best] == [
        None if token in engine.stops else token for token in wanted
    ]
    assert [one.share for one in step.best] == pytest.approx(shares[wanted].tolist(), rel=1e-4)


@given(st.sampled_from(TYPED), st.sampled_from(MASKS), st.sampled_from([0.0, 0.7]))
@settings(max_examples=30)
def test_the_tree(write, tiny_completer, typed, language, temperature):
    """Shares add up, one leaf was taken, refusals are the grammar's, and paths spell the text."""
    vocabulary = tiny_completer.tokenization.vocabulary
    sampling = Sampling(temperature, seed=1) if temperature else GREEDY
    _, trace, mask = write(typed, "exact", True, language, sampling)
    tree = trace.tree
    given_up = mask is not None and not mask.written
    assert tree is not None

    assert sum(leaf.share for leaf in tree.leaves) + tree.rest == pytest.approx(1)
    assert sum(leaf.taken for leaf in tree.leaves) == 1
    for leaf in tree.leaves:
        node, path = leaf.node, []
        while node != ROOT:
            path.append(tree.nodes[node].token)
            node = tree.nodes[node].parent
        spelled = vocabulary.decode([*tree.trunk, *reversed(path)])
        assert spelled == typed[: leaf.start]
        if leaf.token is not None:
            assert spelled + vocabulary[leaf.token] == typed + leaf.visible
        if language and leaf.visible and not given_up:
            viable = language[0]
            good = [size for size in range(len(leaf.visible) + 1) if viable(leaf.visible[:size])]
            assert leaf.fits == good[-1]
            assert (leaf.verdict == "refused") == (leaf.fits < len(leaf.visible))
    for number, inner in enumerate(tree.nodes):
        behind = [leaf for leaf in tree.leaves if number in _above(tree, leaf.node)]
        assert sum(leaf.share for leaf in behind) <= inner.share + 1e-9
        assert inner.share <= sum(leaf.share for leaf in behind) + tree.rest + 1e-9
    taken = next(leaf for leaf in tree.leaves if leaf.taken)
    assert taken.verdict == "counts"


def _above(tree, node):
    """A node and those before it."""
    found = []
    while node != ROOT:
        found.append(node)
        node = tree.nodes[node].parent
    return found


def test_the_tree_is_read_later(write):
    """What the grammar says of the tree is what it said at the cursor, however late it is asked."""
    _, trace, mask = write(b"print(to", "exact", True, (no_doubles, lambda _: True))
    written = mask.written
    tree = trace.tree

    assert written
    assert any(leaf.verdict == "refused" for leaf in tree.leaves) == any(
        not no_doubles(leaf.visible) for leaf in tree.leaves
    )


def test_guesses_that_hold_are_steps_like_others(tiny_completer):
    """Tokens that were guessed and checked together are kept one by one, in their order."""
    text = b"total = total + total\n" * 6 + b"total = to"
    snapshot = Snapshot("a.py", 0, text, len(text), "plaintext")
    options = CompletionOptions(max_tokens=24, multiline="always")
    tiny_completer.answer(snapshot, options)  # what it writes is a guess from now on
    vocabulary = tiny_completer.tokenization.vocabulary
    trace = Trace(vocabulary, tiny_completer.engine.stops)

    generation = tiny_completer.answer(snapshot, options, watcher=trace).generation

    chosen = [math.log(step.share) for step in trace.steps if step.token is not None]
    assert chosen == pytest.approx(list(generation.logprobs[1:]))
    later = b"".join(vocabulary[step.token] for step in trace.steps if step.token is not None)
    taken = next(leaf for leaf in trace.tree.leaves if leaf.taken)
    assert (taken.visible + later).startswith(generation.text)
