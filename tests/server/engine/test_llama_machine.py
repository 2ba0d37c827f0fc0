"""Any order of opening, evaluating, keeping, cutting, dropping and cancelling."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from server.engine import ROOT
from server.engine.llama import load
from server.engine.llama_load import EngineOptions
from server.errors import Cancelled
from tests.server.engine.conftest import SMALL
from tests.server.engine.fresh import before_pass, held, path_tokens

TOKENS = st.integers(0, 5)
"""A handful of tokens, so that texts share beginnings."""


class EngineMachine(RuleBasedStateMachine):
    """Drives one engine; a plain list of tokens says what each slot's text should be."""

    engine = None
    oracle = None

    def __init__(self):
        super().__init__()
        self.texts = {}
        self.tree = None

    def live(self):
        return [slot for slot in self.texts if slot in self.engine._slots]

    def pick(self, data):
        return data.draw(st.sampled_from(self.live()))

    @rule(data=st.data(), tail=st.lists(TOKENS, min_size=1, max_size=30))
    def open(self, data, tail):
        text = list(tail)
        if self.live() and data.draw(st.booleans()):
            base = self.texts[self.pick(data)]
            text = base[: data.draw(st.integers(0, len(base)))] + tail
        if len(text) < 200:
            self.texts[self.engine.open(text)] = text

    @rule(data=st.data(), grown=st.lists(st.tuples(st.integers(0, 40), TOKENS), max_size=9))
    def evaluate(self, data, grown):
        if not self.live():
            return
        slot = self.pick(data)
        nodes = self.shaped(grown)
        if len(self.texts[slot]) + len(nodes) > 200:
            return
        want = data.draw(st.lists(st.sampled_from(range(ROOT, len(nodes))), max_size=4))
        rows = self.engine.evaluate(slot, nodes, want)
        self.tree = (slot, nodes)
        for node, row in zip(want, rows, strict=True):
            assert self.oracle.agrees(row, self.texts[slot] + path_tokens(nodes, node))

    def shaped(self, grown):
        if self.engine.info.trees:
            return [
                (parent % (index + 1) - 1, token) for index, (parent, token) in enumerate(grown)
            ]
        return [(index - 1, token) for index, (_, token) in enumerate(grown)]

    @rule(data=st.data())
    def keep(self, data):
        slot, nodes = self.tree or (None, [])
        if slot is None or slot not in self.engine._slots:
            return
        node = data.draw(st.sampled_from(range(ROOT, len(nodes))))
        self.engine.keep(slot, node)
        self.texts[slot] = self.texts[slot] + path_tokens(nodes, node)
        self.tree = None

    @rule(data=st.data())
    def cut(self, data):
        if self.live():
            slot = self.pick(data)
            length = data.draw(st.integers(1, len(self.texts[slot])))
            self.engine.cut(slot, length)
            self.texts[slot] = self.texts[slot][:length]
            self.end_tree(slot)

    @rule(data=st.data())
    def drop(self, data):
        if self.live():
            slot = self.pick(data)
            self.engine.drop(slot)
            del self.texts[slot]
            self.end_tree(slot)

    def end_tree(self, slot):
        if self.tree and self.tree[0] is slot:
            self.tree = None

    @rule(data=st.data(), number=st.integers(0, 3), tail=st.lists(TOKENS, min_size=1, max_size=60))
    def cancel(self, data, number, tail):
        text = tail
        if self.live() and data.draw(st.booleans()):
            text = (self.texts[self.pick(data)] + tail)[:180]
        slot = self.engine.open(text)
        self.texts[slot] = text
        nodes = self.shaped([(0, 1), (0, 2), (1, 3)])
        decode = self.engine._passes._batch.decode
        codes = before_pass(self.engine, number, self.engine.cancel)
        try:
            self.engine.evaluate(slot, nodes, [0])
            self.tree = (slot, nodes)
            assert len(codes) <= number
        except Cancelled:
            self.tree = None
            assert codes[-1] == 2
        finally:
            self.engine._passes._batch.decode = decode
            self.engine.resume()

    @invariant()
    def memory_is_what_slots_say(self):
        tree_slot = self.tree[0] if self.tree else None
        lengths = held(self.engine)
        for slot in self.live():
            assert slot.tokens == self.texts[slot]
            assert 0 <= slot.resident <= len(slot.tokens)
            if slot is tree_slot:
                assert lengths[slot.sequence] >= slot.resident
            else:
                assert lengths[slot.sequence] == slot.resident
        taken = {slot.sequence for slot in self.live()}
        unused = set(range(len(lengths))) - taken if tree_slot is None else set()
        assert all(lengths[sequence] == 0 for sequence in unused)

    def teardown(self):
        for slot in self.live():
            if slot in self.engine._slots:  # an earlier one here may have needed its memory
                [row] = self.engine.evaluate(slot, [(ROOT, 7)], [0])
                assert self.oracle.agrees(row, [*self.texts[slot], 7])
        for slot in self.live():
            self.engine.drop(slot)
        while oldest := self.engine._slots.oldest():
            self.engine.drop(oldest)
        assert sum(held(self.engine)) == 0


@pytest.mark.parametrize("architecture", ["llama", "gemma3", "mamba", "jamba"])
def test_any_history(tiny, fresh, architecture):
    """Whatever happened before, texts and memory agree and every row is the fresh one."""
    check_histories(tiny, fresh, architecture)


def test_a_memory_that_refuses_cuts(tiny, fresh, refusing_cuts):
    """The same where it is found out on the way that the memory can't be cut."""
    check_histories(tiny, fresh, "llama")


def check_histories(tiny, fresh, architecture):
    path = tiny(architecture=architecture, vocabulary="bpe", fim=True)
    with load(path, EngineOptions(**(SMALL | {"n_ctx": 256, "slots": 3, "n_ubatch": 8}))) as engine:

        class Machine(EngineMachine):
            def __init__(self):
                super().__init__()
                # As if just loaded: what an earlier history found out is forgotten.
                engine._memory.divisible = engine._loaded.divisible
                engine._info = replace(engine._info, trees=engine._loaded.divisible)

        Machine.engine, Machine.oracle = engine, fresh(architecture)
        run_state_machine_as_test(
            Machine,
            settings=settings(
                max_examples=25,
                stateful_step_count=20,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
