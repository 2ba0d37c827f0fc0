"""Speeds are remembered for each model and device; what is damaged is no memory."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.completer import CPU_BUDGET, load_completer
from server.engine.llama import load
from server.engine.llama_load import EngineOptions
from server.snapshot import Snapshot
from server.speed import STEPS, Speed, budget, measure, remember, round_budget
from tests.server.test_explain import INFO
from tests.tiny_model import write_tiny_model


def test_a_remembered_speed_gives_the_budget_of_two_seconds(tmp_path):
    """400 tokens a second are 800 in two seconds, which is rounded down to a step."""
    file = tmp_path / "cache" / "speed.json"

    remember(INFO, 2, Speed(400.0, 30.0), file)

    assert budget(INFO, 2, file) == 640


def test_other_models_devices_and_threads_are_not_known(tmp_path):
    """A speed counts for the same file, size, device and number of threads only."""
    file = tmp_path / "speed.json"

    remember(INFO, 2, Speed(400.0, 30.0), file)

    assert budget(INFO, 4, file) is None
    for change in ({"path": "/x/other.gguf"}, {"size_bytes": 9}, {"backend": "GPU"}):
        assert budget(replace(INFO, **change), 2, file) is None


def test_the_newest_measurement_counts_and_others_stay(tmp_path):
    """Measuring again replaces one entry."""
    file = tmp_path / "speed.json"

    remember(INFO, 1, Speed(90.0, 9.0), file)
    remember(INFO, 2, Speed(90.0, 9.0), file)
    remember(INFO, 2, Speed(2000.0, 9.0), file)

    assert (budget(INFO, 1, file), budget(INFO, 2, file)) == (160, 2400)
    assert [path.name for path in tmp_path.iterdir()] == ["speed.json"]


@pytest.mark.parametrize(
    "content", ["", "[1]", "{", '{"a": ', "\udcff", '{"x": NaN}', '{"x": 1' + "0" * 400 + "}"]
)
def test_a_damaged_file_is_no_memory(tmp_path, content):
    """Whatever is in the file: nothing is known, nothing is raised, and it can be written anew."""
    file = tmp_path / "speed.json"
    file.write_text(content, encoding="utf-8", errors="surrogateescape")

    assert budget(INFO, 2, file) is None
    remember(INFO, 2, Speed(400.0, 30.0), file)
    assert budget(INFO, 2, file) == 640


@pytest.mark.parametrize("value", [0, -5, "300", None, [400], True, float("inf"), float("nan")])
def test_entries_that_are_no_speeds_are_ignored(tmp_path, value):
    """An entry under the right name counts only if it is a positive number."""
    file = tmp_path / "speed.json"
    remember(INFO, 2, Speed(400.0, 30.0), file)
    [key] = json.loads(file.read_text())
    file.write_text(json.dumps({key: value}))

    assert budget(INFO, 2, file) is None


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path):
    """Where the cache's folder should be lies a file: nothing is remembered."""
    (tmp_path / "cache").write_text("")

    remember(INFO, 2, Speed(400.0, 30.0), tmp_path / "cache" / "speed.json")

    assert budget(INFO, 2, tmp_path / "cache" / "speed.json") is None


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
        remember(completer.engine.info, 1, Speed(400.0, 30.0))
        completer.close()

    assert prompts[0] <= CPU_BUDGET + 4  # the marks of the prompt
    assert CPU_BUDGET * 3 < prompts[1] <= 640 + 4
