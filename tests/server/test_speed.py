"""Speeds are remembered for each model and device; what is damaged is no memory."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.completer import load_completer
from server.engine.llama import load
from server.engine.llama_load import EngineOptions
from server.snapshot import Snapshot
from server.speed import (
    CPU_PREFILL,
    LEAST_SAMPLES,
    NEWS,
    READING_SECONDS,
    STEPS,
    Reading,
    measure,
    reading_of,
    remember,
    remembered,
    round_budget,
)
from tests.server.test_explain import INFO
from tests.tiny_model import write_tiny_model


def test_a_speed_is_remembered(tmp_path):
    """What was written is known, in a folder that did not exist before."""
    file = tmp_path / "cache" / "speed.json"

    remember(INFO, 2, 400.0, file)

    assert remembered(INFO, 2, file) == 400.0


def test_other_models_devices_and_threads_are_not_known(tmp_path):
    """A speed counts for the same file, size, device and number of threads only."""
    file = tmp_path / "speed.json"

    remember(INFO, 2, 400.0, file)

    assert remembered(INFO, 4, file) is None
    for change in ({"path": "/x/other.gguf"}, {"size_bytes": 9}, {"backend": "GPU"}):
        assert remembered(replace(INFO, **change), 2, file) is None


def test_the_newest_measurement_counts_and_others_stay(tmp_path):
    """Measuring again replaces one entry."""
    file = tmp_path / "speed.json"

    remember(INFO, 1, 90.0, file)
    remember(INFO, 2, 90.0, file)
    remember(INFO, 2, 2000.0, file)

    assert (remembered(INFO, 1, file), remembered(INFO, 2, file)) == (90.0, 2000.0)
    assert [path.name for path in tmp_path.iterdir()] == ["speed.json"]


@pytest.mark.parametrize(
    "content", ["", "[1]", "{", '{"a": ', "\udcff", '{"x": NaN}', '{"x": 1' + "0" * 400 + "}"]
)
def test_a_damaged_file_is_no_memory(tmp_path, content):
    """Whatever is in the file: nothing is known, nothing is raised, and it can be written anew."""
    file = tmp_path / "speed.json"
    file.write_text(content, encoding="utf-8", errors="surrogateescape")

    assert remembered(INFO, 2, file) is None
    remember(INFO, 2, 400.0, file)
    assert remembered(INFO, 2, file) == 400.0


@pytest.mark.parametrize("value", [0, -5, "300", None, [400], True, float("inf"), float("nan")])
def test_entries_that_are_no_speeds_are_ignored(tmp_path, value):
    """An entry under the right name counts only if it is a positive number."""
    file = tmp_path / "speed.json"
    remember(INFO, 2, 400.0, file)
    [key] = json.loads(file.read_text())
    file.write_text(json.dumps({key: value}))

    assert remembered(INFO, 2, file) is None


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path):
    """Where the cache's folder should be lies a file: nothing is remembered."""
    (tmp_path / "cache").write_text("")

    remember(INFO, 2, 400.0, tmp_path / "cache" / "speed.json")

    assert remembered(INFO, 2, tmp_path / "cache" / "speed.json") is None


@given(st.floats(0, 1e9))
def test_budgets_are_steps_that_can_be_read_in_time(tokens):
    """A budget is never above what was asked for, but for the smallest one."""
    rounded = round_budget(tokens)

    assert rounded in STEPS
    assert rounded <= tokens or rounded == STEPS[0]


@pytest.mark.parametrize(("architecture", "n_ctx"), [("llama", 512), ("llama", 16), ("mamba", 512)])
def test_any_model_can_be_measured(tmp_path: Path, architecture, n_ctx):
    """Models with little context, or a memory that cannot be cut, are measured as well."""
    path = write_tiny_model(tmp_path / "tiny.gguf", architecture=architecture)
    engine = load(path, EngineOptions(n_ctx=n_ctx, n_ubatch=16, threads=1))
    try:
        speed = measure(engine, b"def main(arguments):\n", seconds=0.02)
    finally:
        engine.close()

    assert speed.prefill > 0
    assert speed.decoding > 0


def test_a_measured_machine_reads_longer_prompts(tmp_path, monkeypatch):
    """The completer gives a prompt as much text as was measured, and is careful before."""
    monkeypatch.setenv("MIDTOKEN_HOME", str(tmp_path))
    path = write_tiny_model(tmp_path / "tiny.gguf")
    text = b"self.numbers.append(int(line))\n" * 400
    prompts = []

    for _ in range(2):
        completer = load_completer(path, EngineOptions(threads=1))
        answer = completer.complete(Snapshot("t.py", 0, text, len(text), "python"))
        prompts.append(answer.tokens.prompt)
        remember(completer.engine.info, 1, 400.0)
        completer.close()

    usual = round_budget(CPU_PREFILL * READING_SECONDS)
    assert prompts[0] <= usual + 4  # the marks of the prompt
    assert usual * 2 < prompts[1] <= 640 + 4


class TestReading:
    def test_learned_from_a_few(self):
        """A speed counts once there are some samples of it, and is written down once."""
        written = []
        reading = Reading(None, 80.0, written.append)
        for number in range(1, LEAST_SAMPLES + 3):
            known = number > LEAST_SAMPLES
            assert (reading.is_known, reading.tokens_in(2.0)) == (known, 400.0 if known else 160.0)
            reading.saw(100, 0.5)

        assert written == [200.0]

    def test_short_readings_say_nothing(self):
        """A few tokens take the time of a forward pass, whatever the speed."""
        reading = Reading(None, 80.0)
        for _ in range(20):
            reading.saw(3, 1.0)
            reading.saw(100, 0.0)

        assert not reading.is_known

    @given(st.lists(st.floats(1 - NEWS / 2, 1 + NEWS / 2), min_size=1, max_size=40))
    def test_what_differs_a_little_is_no_news(self, factors):
        """Prompts do not flutter with what a machine does beside."""
        written = []
        reading = Reading(100.0, 80.0, written.append)
        for factor in factors:
            reading.saw(64, 64 / (100.0 * factor))

        assert reading.tokens_in(1.0) == 100.0
        assert not written

    def test_a_few_slow_ones_do_not_count(self):
        """The median counts: a busy moment changes nothing, a machine that stays slow does."""
        reading = Reading(100.0, 80.0)
        for _ in range(6):
            reading.saw(100, 1.0)
        for _ in range(3):
            reading.saw(100, 10.0)
        assert reading.tokens_in(1.0) == 100.0

        for _ in range(6):
            reading.saw(100, 10.0)
        assert reading.tokens_in(1.0) == 10.0

    def test_news_are_remembered(self, tmp_path, monkeypatch):
        """What a loaded model shows of its speed is there at the next start."""
        monkeypatch.setenv("MIDTOKEN_HOME", str(tmp_path))
        reading = reading_of(INFO, 2)
        assert not reading.is_known
        for _ in range(LEAST_SAMPLES):
            reading.saw(64, 0.25)

        assert reading_of(INFO, 2).tokens_in(1.0) == 256.0
