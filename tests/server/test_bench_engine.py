"""`midtoken bench engine`: the watch, the loops, what is remembered, files and vocabularies."""

import json
import random
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from healing.covers import covering_tree
from healing.merges import Merges
from healing.vocabulary import TokenKind, Vocabulary
from server.bench.engine import batches, command, keystrokes, memory, several, steps, throughput
from server.bench.engine import llama_bench as peer
from server.bench.engine.loading import load
from server.bench.engine.remembering import Remembering
from server.bench.engine.tables import markdown
from server.bench.engine.timing import spread
from server.bench.engine.vocabularies import vocabulary_of
from server.bench.engine.watch import WORK, Part, Watch
from server.engine import ROOT
from server.engine.llama_load import EngineOptions
from server.errors import EngineError
from tests.healing import toy
from tests.server.command import run_here
from tests.server.engine.fresh import TOLERANCE

SMALL = command.Amounts(throughput.Sizes(40, 6, 2), 8, 2, 3, 6, 5, 2)


@pytest.fixture(scope="module")
def tiny_model(tiny_file):
    model = load(tiny_file(), EngineOptions(1024, threads=1))
    yield model
    model.completer.close()


class Clock:
    """Goes on when it is told."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def owner_of(clock):
    """An outer function that takes 1 and calls an inner one, which takes 2 and may fail."""

    def inner(fail=False):
        clock.now += 2
        if fail:
            raise ValueError

    def outer(fail=False):
        clock.now += 1
        owner.inner(fail)
        owner.inner()
        return "done"

    owner = SimpleNamespace(inner=inner, outer=outer)
    return owner


class TestWatch:
    def test_times_are_each_functions_own(self):
        """What a function calls is not its own time."""
        clock = Clock()
        owner = owner_of(clock)
        watch = Watch([Part("a", owner, "outer"), Part("b", owner, "inner")], clock=clock)

        with watch.worn():
            assert owner.outer() == "done"

        assert watch.take() == {"a": 1, "b": 4}
        assert watch.take() == {}

    def test_functions_may_share_a_name(self):
        clock = Clock()
        owner = owner_of(clock)
        watch = Watch([Part("a", owner, "outer"), Part("a", owner, "inner")], clock=clock)

        with watch.worn():
            owner.outer()

        assert watch.take() == {"a": 5}

    def test_failures_count_and_pass(self):
        """And whatever happens, the functions are as they were afterwards."""
        clock = Clock()
        owner = owner_of(clock)
        before = owner.inner, owner.outer
        watch = Watch([Part("a", owner, "outer"), Part("b", owner, "inner")], clock=clock)

        with pytest.raises(ValueError), watch.worn():  # noqa: PT011 (our own)
            owner.outer(fail=True)

        assert watch.take() == {"a": 1, "b": 2}
        assert (owner.inner, owner.outer) == before

    def test_tells_of_calls_and_of_work(self):
        owner = owner_of(Clock())
        told = []
        watch = Watch(
            [Part("a", owner, "outer", work=True)], lambda name, given: told.append((name, given))
        )

        with watch.worn():
            owner.outer(False)

        assert told == [("a", (False,))]
        assert set(watch.take()) == {"a", WORK}

    def test_a_missing_function_is_told_at_once(self):
        with pytest.raises(AttributeError), Watch([Part("a", toy, "no such thing")]).worn():
            pass


@given(st.lists(st.floats(0, 1e6), min_size=1))
def test_spread(values):
    found = spread(values)

    assert found["count"] == len(values)
    assert min(values) - 1e-3 <= found["median"] <= found["p99"] <= max(values) + 1e-3
    assert found["sd"] >= 0


class TestThroughput:
    def test_leaves_the_engine_as_it_was(self, tiny_model):
        """The bare loop writes into the engine's own memory, and clears it."""
        engine = tiny_model.engine
        tokens = engine.encode(b"def total(self):")

        def row():
            slot = engine.open(tokens)
            [found] = engine.evaluate(slot, [], [ROOT])
            found = found.copy()
            engine.drop(slot)
            return found

        before = row()
        found = throughput.measure(tiny_model, SMALL.sizes, 0)

        assert np.allclose(row(), before, atol=TOLERANCE)
        for what in ("reading", "writing"):
            assert found[what]["bare"]["count"] == found[what]["engine"]["count"] == 2
            low, high = found[what]["engine_to_bare_ends"]
            assert 0 < low <= found[what]["engine_to_bare"] <= high

    def test_bare_loop_reads_the_same(self, tiny_model):
        """It is llama.cpp's own way to the logits after a text."""
        engine = tiny_model.engine
        tokens = random.Random(1).sample(range(300), 100)
        slot = engine.open(tokens)
        [wanted] = engine.evaluate(slot, [], [ROOT])
        wanted = wanted.copy()
        engine.drop(slot)

        with throughput.Bare(tiny_model) as bare:
            bare.decode(tokens)
            row = bare.row()

        assert np.allclose(row, wanted, atol=TOLERANCE)


class TestLlamaBench:
    OUTPUT = json.dumps(
        [
            {"build_commit": "abc", "backends": "CPU", "n_prompt": 8, "n_gen": 0,
             "avg_ts": 150.5, "stddev_ts": 2.0},
            {"build_commit": "abc", "backends": "CPU", "n_prompt": 0, "n_gen": 4,
             "avg_ts": 30.25, "stddev_ts": 0.5},
        ]
    )  # fmt: skip

    def test_is_read(self):
        assert peer.read(self.OUTPUT, Path("llama-bench")) == {
            "build": "abc",
            "backends": "CPU",
            "reading": {"mean": 150.5, "sd": 2.0},
            "writing": {"mean": 30.25, "sd": 0.5},
        }

    @pytest.mark.parametrize("output", ["", "{}", "[]", "[1]", '[{"n_gen": 0}]'])
    def test_other_output_is_refused(self, output):
        with pytest.raises(EngineError, match="llama-bench: does not print"):
            peer.read(output, Path("llama-bench"))

    @pytest.mark.parametrize(
        ("script", "message"),
        [("#!/bin/sh\necho lost >&2\nexit 3\n", "lost"), ("no program", "could not be run")],
    )
    def test_other_programs_are_refused(self, tiny_model, tmp_path, script, message):
        program = tmp_path / "llama-bench"
        program.write_text(script)
        program.chmod(0o755)

        with pytest.raises(EngineError, match=message):
            peer.run(program, tiny_model, EngineOptions(), SMALL.sizes)

    def test_is_run_as_the_engine_runs(self, tiny_model, tmp_path):
        """With the micro-batch, the model and the sizes of our own loop."""
        program, said = tmp_path / "llama-bench", tmp_path / "said"
        program.write_text(f"#!/bin/sh\necho \"$@\" > {said}\ncat <<'E'\n{self.OUTPUT}\nE\n")
        program.chmod(0o755)

        peer.run(program, tiny_model, EngineOptions(threads=3), SMALL.sizes)

        arguments = said.read_text().split()
        given = dict(zip(arguments[::2], arguments[1::2], strict=True))
        assert given["--model"] == str(tiny_model.path)
        assert given["--threads"] == "3"
        assert given["--batch-size"] == given["--ubatch-size"] == str(tiny_model.loaded.n_ubatch)
        assert (given["--n-prompt"], given["--n-gen"]) == ("40", "6")


class TestSteps:
    def test_parts_make_up_the_whole(self, tiny_model):
        found = steps.measure(tiny_model.completer, 5, 0)

        for key in steps.MODES:
            figures = found[key]
            assert figures["ours_us"]["count"] == 5
            whole = figures["ours_us"]["mean"]
            assert sum(part["mean"] for part in figures["parts_us"].values()) == pytest.approx(
                whole, rel=1e-3
            )
            assert 0 < figures["share"] < 1
            assert figures["parts_us"]["confidence"]["median"] > 0
        assert found["no_grammar"]["parts_us"]["grammar"]["mean"] == 0
        assert found["warm_us"]["count"] > 0


class TestBatches:
    @given(st.sampled_from([b"ab", b"a b", b"  ab", b"abab", b"(ab"]))
    def test_paths_are_the_tree(self, typed):
        """Each node is on a path, and each path is one of the tree."""
        tree = covering_tree(typed, toy.toy("qwen")[1])
        nodes = batches.nodes_of(tree)

        def path(node):
            return () if node == ROOT else (*path(nodes[node][0]), nodes[node][1])

        found = {tuple(token for _, token in chain) for chain in batches.paths_of(tree)}
        everything = {path(node) for node in range(len(nodes))}
        assert found <= everything
        assert {chain[:size] for chain in found for size in range(1, len(chain) + 1)} == everything

    def test_are_compared(self, tiny_model):
        found = batches.measure(tiny_model.completer, 2, 2, 0)

        assert set(found["sizes"]) == {"1", "2", "4", "8", "16"}
        assert found["covers"]["nodes"]["count"] == 2
        assert found["covers"]["paths_a_tree"] > 1


class TestSeveral:
    def test_passes(self, tiny_model):
        """Written together they take a pass a token, apart one for each text; the texts are equal.

        Healing and reading take as many passes in both.
        """
        found = several.measure(tiny_model.completer, 4, 0)

        assert [*found] == ["1", "2", "3", "5"]
        for count, parts in found.items():
            together, apart = parts["together"], parts["apart"]
            assert 1 <= together["texts"]["mean"] <= int(count)
            assert together["texts"] == apart["texts"]
            assert together["passes"]["mean"] <= apart["passes"]["mean"]
            assert together["tokens"]["mean"] == pytest.approx(apart["tokens"]["mean"], rel=0.2)
        assert found["1"]["together"]["passes"] == found["1"]["apart"]["passes"]
        assert found["5"]["together"]["passes"]["mean"] < found["5"]["apart"]["passes"]["mean"]
        assert found["1"]["to_one"] == 1


class TestMemory:
    def test_buffers(self):
        log = [
            (2, "load_tensors:   CPU_Mapped model buffer size =   462.96 MiB"),
            (2, "llama_kv_cache:        CPU KV buffer size =    48.00 MiB"),
            (2, "llama_context: CPU  output buffer size =     0.58 MiB"),
            (2, "load_tensors: offloaded 0/25 layers to GPU"),
        ]

        assert memory.buffers(log) == [
            {"where": "CPU_Mapped", "kind": "model", "bytes": 485448745},
            {"where": "CPU", "kind": "KV", "bytes": 48 * 2**20},
            {"where": "CPU", "kind": "output", "bytes": 608174},
        ]

    def test_resident(self):
        found = memory.resident()

        assert set(found) == {"resident", "pss", "anonymous"}
        assert found["resident"] is None or found["resident"] > 2**20


class TestRemembering:
    @settings(max_examples=15)
    @given(st.data())
    def test_is_the_engine(self, tiny_model, data):
        """The same rows for the same text, however it came about, and asked for once."""
        engine = tiny_model.engine
        remembering = Remembering(engine)
        tokens = data.draw(st.lists(st.integers(0, 400), min_size=1, max_size=5))
        slots = [engine.open(tokens), remembering.open(tokens)]
        for _ in range(3):
            count = data.draw(st.integers(1, 4))
            nodes = [
                (data.draw(st.integers(ROOT, node - 1)), data.draw(st.integers(0, 400)))
                for node in range(count)
            ]
            kept = data.draw(st.integers(ROOT, count - 1))
            wanted = list(range(ROOT, count))
            remembered = [row.copy() for row in remembering.evaluate(slots[1], nodes, wanted)]
            passes = engine.forward_passes
            again = remembering.evaluate(slots[1], nodes, wanted)
            assert engine.forward_passes == passes
            if slots[0] not in engine._slots:  # it made room
                slots[0] = engine.open(slots[1].tokens)
            rows = engine.evaluate(slots[0], nodes, wanted)

            assert all(map(np.array_equal, remembered, again))
            assert all(np.allclose(*pair, atol=TOLERANCE) for pair in zip(rows, again, strict=True))
            engine.keep(slots[0], kept)
            remembering.keep(slots[1], kept)
            assert slots[0].tokens == slots[1].tokens


class TestKeystrokes:
    @given(st.integers(1000, 200_000))
    def test_files_differ_only_far_away(self, size):
        """Whole lines of about the size, the same near the hole."""
        before, after = b"x = 1\n" * 50 + b"def f():\n    y", b"\n    return y\n" + b"z = 2\n" * 50

        first, second = keystrokes.surrounded(before, after, size)

        assert abs(len(first) + len(second) - size) < 400
        assert first.endswith(before[-400:])
        assert second.startswith(after[:300])
        assert second.endswith(b"\n")

    def test_do_not_depend_on_the_file(self, tiny_model, monkeypatch):
        """The same keys, the same parts, whatever the size; the model is no part of it."""
        monkeypatch.setattr(keystrokes, "SIZES", (3000, 30_000))

        found = keystrokes.measure(tiny_model.completer, 5, 0)

        assert set(found) == {"3000", "30000"}
        for figures in found.values():
            assert figures["key_ms"]["count"] == 4
            assert set(figures["parts_ms"]) == set(keystrokes.NAMES)
            assert sum(figures["parts_ms"].values()) > 0


class TestVocabularies:
    @pytest.mark.parametrize("size", [300, 400, 700])
    def test_are_vocabularies(self, tiny_model, size):
        """Every merge is of two tokens that were there before, and makes the next one."""
        tokens, merges = vocabulary_of(tiny_model.tables, size, 0)

        assert len(tokens) == len(set(tokens)) == size
        assert merges[:, 2].tolist() == list(range(256, size))
        assert all(tokens[left] + tokens[right] == tokens[made] for left, right, made in merges)
        assert (merges[:, :2] < merges[:, 2:]).all()
        Merges(merges, size)
        Vocabulary.from_tokens(tokens, [TokenKind.NORMAL] * size)

    def test_smaller_ones_begin_the_larger_ones(self, tiny_model):
        small, large = (vocabulary_of(tiny_model.tables, size, 0)[0] for size in (300, 500))

        assert large[:300] == small


class TestCommand:
    def test_writes_everything(self, capfdbinary, monkeypatch, tmp_path, tiny_file):
        """JSON on demand, a file of tables, and pictures."""
        monkeypatch.setattr(command, "QUICK", SMALL)
        monkeypatch.setattr(keystrokes, "SIZES", (3000, 30_000))
        monkeypatch.setattr("server.bench.engine.vocabularies.SIZES", (300, 600))

        result = run_here(
            capfdbinary, monkeypatch, "bench", "engine", "--quick", "--json", "--threads", 1,
            "--model", tiny_file(), "--out", tmp_path, "--context-size", 1024,
        )  # fmt: skip

        assert result.code == 0, result.err
        report = json.loads(result.out)
        assert report == json.loads((tmp_path / "engine.json").read_text())
        assert markdown(report) == (tmp_path / "engine.md").read_text()
        names = {f"engine-{name}" for name in ("step", "batches", "keystrokes")}
        assert {path.stem for path in tmp_path.glob("*.png")} == names
        assert {path.stem for path in tmp_path.glob("*.svg")} == names
