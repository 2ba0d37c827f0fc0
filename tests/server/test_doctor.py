"""`midtoken doctor`: one table whatever is wrong, and an error at its end if it is too much."""

from pathlib import Path

import pytest

from server import speed
from server.doctor import build, command
from server.doctor.command import run_doctor
from server.doctor.finding import Finding
from server.engine.tables import Tables
from server.errors import EngineError, MidtokenError, UsageError
from tests.server.engine.fresh import refuse_cuts
from tests.split_model import split_model
from tests.tiny_model import write_tiny_model


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIDTOKEN_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path))  # where editors are looked for
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")
    # It has tests of its own (`test_doctor_checks`), and takes a process each time.
    monkeypatch.setattr(command, "check_first_run", lambda *_: iter(()))
    # Enough to run every step; what it measures is not looked at.
    measure = speed.measure
    monkeypatch.setattr(speed, "measure", lambda engine, text: measure(engine, text, seconds=0.02))


def options(model: Path | str, **changes):
    usual = {
        "model_name": str(model),
        "yes": False,
        "threads": 1,
        "context_size": 512,
        "gpu_layers": "auto",
        "main_gpu": 0,
        "tensor_split": "",
        "flash_attn": "auto",
        "lora": None,
        "lora_scale": 1.0,
        "remote": None,
        **dict.fromkeys(("remote_model", "remote_key_file", "remote_tokenizer"), ""),
        "remote_api": "auto",
        "remote_timeout": 60.0,
    }
    return usual | changes


def table(capsys: pytest.CaptureFixture[str]) -> dict[str, tuple[str, str]]:
    """Check to its state and everything that is said of it."""
    found: dict[str, tuple[str, str]] = {}
    name = ""
    for line in capsys.readouterr().out.splitlines():
        assert len(line) <= 80
        name = line[9:21].strip() or name
        state, said = found.get(name, (line[:9].strip(), ""))
        found[name] = (state, f"{said} {line[21:]}".strip())
    return found


def test_a_usable_model_is_tried(tmp_path, capsys):
    """With a whole model nothing is a problem, and every part of it is reported."""
    run_doctor(options(write_tiny_model(tmp_path / "tiny.gguf")))

    found = table(capsys)
    assert not [name for name, (state, _) in found.items() if state == "problem"]
    assert found["model"] == ("ok", "tiny llama (llama ?B (guessed) all F32)")
    assert found["context"][1].startswith("512 tokens, 125.8 kB of memory")
    assert found["trees"][0] == "ok"
    assert found["vocabulary"] == ("ok", "488 tokens (byte-level BPE)")
    assert found["healing"] == ("ok", "exact")
    assert "python (window, full, statement, structural)" in found["grammars"][1]
    assert found["editors"][0] == "note"


def test_a_split_model(tmp_path, capsys):
    """Several files are one model."""
    run_doctor(options(split_model(write_tiny_model(tmp_path / "tiny.gguf"), tensors=5)))

    found = table(capsys)
    assert found["model"][0] == "ok"
    assert "in 5 files, whole" in found["model file"][1]


def test_a_process_that_dies(tmp_path, capsys, monkeypatch):
    """Where a first run ends its process, the model is not loaded here; the rest is checked."""
    death = Finding("problem", "model", "llama.cpp was ended", "build it")
    monkeypatch.setattr(command, "check_first_run", lambda _, model, __: [death] if model else [])
    monkeypatch.setattr(command, "check_model", None)
    with pytest.raises(MidtokenError, match="1 problem"):
        run_doctor(options(write_tiny_model(tmp_path / "tiny.gguf")))

    found = table(capsys)
    assert found["model"] == ("problem", "llama.cpp was ended -> build it")
    assert {"llama.cpp", "the rest", "grammars", "cache"} < set(found)


def test_the_measured_speed_is_remembered(tmp_path):
    """What is measured decides the budget of later prompts."""
    run_doctor(options(write_tiny_model(tmp_path / "tiny.gguf")))

    assert "tiny.gguf" in (tmp_path / "home" / "cache" / "speed.json").read_text()


@pytest.mark.parametrize(("architecture", "kind"), [("mamba", "recurrent"), ("jamba", "hybrid")])
def test_limits_of_a_model_are_warnings(tmp_path, capsys, architecture, kind):
    """A memory that cannot be cut and missing marks make completions worse, not impossible."""
    path = write_tiny_model(tmp_path / "m.gguf", architecture=architecture, fim=False)
    run_doctor(options(path))

    found = table(capsys)
    assert found["trees"][0] == "warning"
    assert f"({kind}) cannot be cut" in found["trees"][1]
    assert found["fill-in"][0] == "warning"
    assert "text after the cursor is not used" in found["fill-in"][1]
    assert found["healing"][0] == "warning"
    assert found["healing"][1].startswith("align: ")


def test_a_memory_that_refuses_to_be_cut(tmp_path, capsys, monkeypatch):
    """What the trial finds out is said, whatever the model's kind of memory is known for."""
    refuse_cuts(monkeypatch)
    run_doctor(options(write_tiny_model(tmp_path / "m.gguf")))

    assert "(attention) cannot be cut" in table(capsys)["trees"][1]


@pytest.mark.parametrize(
    ("dialect", "said"),
    [
        ("DeepSeek-Coder", "DeepSeek-Coder (prefix 481, suffix 482, middle 483)"),
        ("Codestral", "Codestral (prefix 481, suffix 483, no mark before the answer)"),
    ],
)
def test_the_dialect_is_named(tmp_path, capsys, dialect, said):
    """How the model marks a hole, and with which ids."""
    run_doctor(options(write_tiny_model(tmp_path / "m.gguf", dialect=dialect)))

    assert table(capsys)["fill-in"] == ("ok", said)


def test_another_kind_of_vocabulary(tmp_path, capsys):
    """The kind of a vocabulary is named."""
    run_doctor(options(write_tiny_model(tmp_path / "m.gguf", vocabulary="sentencepiece")))

    state, said = table(capsys)["vocabulary"]
    assert state == "ok"
    assert said.endswith("tokens (SentencePiece BPE)")


def test_a_vocabulary_that_exact_healing_does_not_know(tmp_path, capsys, monkeypatch):
    """It is a warning with a remedy, and says what is done instead."""
    monkeypatch.setattr(Tables, "exact", property(lambda _: False))
    run_doctor(options(write_tiny_model(tmp_path / "m.gguf")))

    state, said = table(capsys)["healing"]
    assert state == "warning"
    assert said.startswith("align: exact healing does not know")
    assert "-> choose a model" in said


def test_a_missing_model_is_a_problem_in_a_whole_table(capsys):
    """The command that fetches it is named, and the other checks are printed all the same."""
    with pytest.raises(MidtokenError, match="1 problem makes completions impossible"):
        run_doctor(options("qwen2.5-coder-0.5b"))

    found = table(capsys)
    assert found["model file"][0] == "problem"
    assert "`midtoken model pull qwen2.5-coder-0.5b`" in found["model file"][1]
    assert {
        "midtoken",
        "Python",
        "llama.cpp",
        "GPU",
        "OpenMP",
        "models",
        "memory",
        "editors",
    } < set(found)
    assert found["the rest"][0] == "note"


@pytest.mark.parametrize("kept", [3, 200, 100_000])
def test_a_broken_file_is_a_problem(tmp_path, capsys, kept):
    """A file that is cut short, wherever, is found out before it is loaded."""
    path = write_tiny_model(tmp_path / "tiny.gguf")
    path.write_bytes(path.read_bytes()[:kept])

    with pytest.raises(MidtokenError, match="1 problem"):
        run_doctor(options(path))

    assert table(capsys)["model file"][0] == "problem"


def test_a_vocabulary_without_weights_is_a_problem(tmp_path, capsys):
    """What the file lacks is said where it is found."""
    with pytest.raises(MidtokenError, match="1 problem"):
        run_doctor(options(write_tiny_model(tmp_path / "v.gguf", weights=False)))

    state, said = table(capsys)["model"]
    assert state == "problem"
    assert "holds only a vocabulary" in said


def test_a_library_that_does_not_load_is_a_problem(tmp_path, capsys, monkeypatch):
    """Without llama.cpp there is nothing to try, and the model's file is still looked at."""

    def broken():
        raise EngineError("llama.cpp could not be loaded; install it again")

    monkeypatch.setattr(build, "load_library", broken)

    with pytest.raises(MidtokenError, match="1 problem"):
        run_doctor(options(write_tiny_model(tmp_path / "tiny.gguf")))

    found = table(capsys)
    assert found["llama.cpp"] == ("problem", "llama.cpp could not be loaded; install it again")
    assert found["model file"][0] == "ok"


def test_busy_waiting_is_a_warning(tmp_path, capsys, monkeypatch):
    """A wait policy that slows a shared machine is named with its remedy."""
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")

    findings = list(build.check_library(None))

    [openmp] = [finding for finding in findings if finding.name == "OpenMP"]
    assert (openmp.state, "passive" in openmp.remedy) == ("warning", True)


def test_wrong_options_are_a_usage_error(capsys):
    """Options without a meaning are refused before anything is printed."""
    with pytest.raises(UsageError, match="gpu-layers"):
        run_doctor(options("qwen2.5-coder-0.5b", gpu_layers="many"))

    assert not capsys.readouterr().out
