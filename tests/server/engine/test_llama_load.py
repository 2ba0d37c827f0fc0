"""Model files and options that can't be used, and the report of where a model runs."""

import contextlib
from pathlib import Path

import gguf
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from server.engine import ROOT, llama_load, llama_room
from server.engine.gguf import read_metadata
from server.engine.llama import load
from server.engine.llama_library import load_library
from server.engine.llama_load import EngineOptions, load_model, usable_cores
from server.errors import EngineError, ModelError
from tests.server.engine.conftest import SMALL


def refused(path: Path, **options: object) -> str:
    """The one line that refuses a model file."""
    with pytest.raises((ModelError, EngineError)) as error:
        load(path, EngineOptions(**(SMALL | options)))
    message = str(error.value)
    assert "\n" not in message
    return message


@pytest.fixture
def model(tiny) -> Path:
    return tiny(architecture="llama", vocabulary="bpe", fim=True)


def test_missing_file(tmp_path):
    """The file's name and what is wrong."""
    assert "no such model file" in refused(tmp_path / "none.gguf")


def test_directory(tmp_path):
    """A folder is no model."""
    assert "is a folder" in refused(tmp_path)


@pytest.mark.parametrize("content", [b"", b"GG", b"\x7fELF" + bytes(4000), b"GGUF" + bytes(4000)])
def test_no_model_file(tmp_path, content):
    """Empty, tiny, foreign and senseless files are refused by their name."""
    path = tmp_path / "model.gguf"
    path.write_bytes(content)

    assert str(path) in refused(path)


@pytest.mark.parametrize("share", [0.01, 0.02, 0.5, 0.999])
def test_truncated_file(model, tmp_path, share):
    """A file that ends too early is refused before llama.cpp maps it."""
    whole = model.read_bytes()
    path = tmp_path / "model.gguf"
    path.write_bytes(whole[: int(len(whole) * share)])

    assert str(path) in refused(path)


def test_vocabulary_without_weights(tiny):
    """A vocabulary file is told from a model."""
    assert "only a vocabulary" in refused(tiny(weights=False))


def test_same_token_twice(model, tmp_path):
    """This damage would end the process inside llama.cpp."""
    path = tmp_path / "model.gguf"
    first = read_metadata(model).strings("tokenizer.ggml.tokens")[300]
    second = read_metadata(model).strings("tokenizer.ggml.tokens")[301]
    whole, length = model.read_bytes(), len(second).to_bytes(8, "little")
    assert len(first) == len(second) or pytest.fail("choose two tokens of one length")
    path.write_bytes(whole.replace(length + second, length + first, 1))

    assert "two tokens are the same" in refused(path)


@given(st.integers(0, 24 * 8 - 1), st.sampled_from([0, 60, 400, 900]))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_flipped_bits_in_the_header(model, tmp_path, bit, start):
    """A damaged header is refused as such, or is harmless; nothing else is raised."""
    damaged = bytearray(model.read_bytes())
    damaged[start + bit // 8] ^= 1 << bit % 8
    path = tmp_path / "model.gguf"
    path.write_bytes(damaged)

    with contextlib.suppress(ModelError, EngineError):
        load(path, EngineOptions(**SMALL)).close()


@pytest.mark.parametrize("name", ["output.weight", "blk.1.attn_v.weight"])
def test_weights_that_are_no_numbers(model, tmp_path, name):
    """The model can be loaded; what it says is told to be nothing, whichever tokens it spoils."""
    damaged = bytearray(model.read_bytes())
    [tensor] = [one for one in gguf.GGUFReader(model).tensors if one.name == name]
    start = tensor.data_offset + 3 * tensor.n_bytes // 4
    damaged[start : start + 4] = np.float32("nan").tobytes()
    path = tmp_path / "damaged.gguf"
    path.write_bytes(damaged)

    with load(path, EngineOptions(n_ctx=64, threads=1)) as engine:
        slot = engine.open([5, 80, 12])
        with pytest.raises(EngineError, match=r"no numbers \(NaN\).*get the file anew"):
            engine.evaluate(slot, [], [ROOT])


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"n_ctx": 0}, "context size is 0; it must be from 16"),
        ({"threads": -1}, "threads is -1"),
        ({"slots": 0}, "slots is 0"),
        ({"n_ubatch": 1 << 20}, "n_ubatch is 1048576"),
        ({"tensor_split": (1.0,) * 99}, "the tensor split has 99 shares"),
    ],
)
def test_senseless_options(model, options, reason):
    """The option, its value and the limits are named."""
    assert reason in refused(model, **options)


def test_no_memory_for_the_context(model, monkeypatch):
    """Where the memory holds no context at all, that is said instead of killing the process."""
    monkeypatch.setattr(llama_room, "free_memory", lambda: 100_000)

    said = refused(model, n_ctx=1 << 16)
    assert "a context of 65,536 tokens takes" in said
    assert "choose a smaller context size" in said


def test_a_smaller_context(model, monkeypatch):
    """A context that takes more than is free is halved until half of what is free holds it."""
    monkeypatch.setattr(llama_room, "free_memory", lambda: 1_000_000)
    bytes_a_token = 256  # two layers, each with keys and values of 32 numbers of 16 bits
    loaded = load_model(model, EngineOptions(**(SMALL | {"n_ctx": 1 << 16})))
    llama_load.free(loaded)

    tokens = loaded.info.context_tokens
    assert tokens * bytes_a_token <= 500_000 < 2 * tokens * bytes_a_token
    assert loaded.info.note == f"no memory for a context of 65,536 tokens: it has {tokens:,}"


def test_a_smaller_context_after_llama_cpp_has_refused(model, monkeypatch):
    """What llama.cpp can't allocate is halved, too; what is there is taken whole."""
    refuse_once(monkeypatch, "llama_init_from_model")
    loaded = load_model(model, EngineOptions(**(SMALL | {"n_ctx": 2048})))
    llama_load.free(loaded)

    assert loaded.info.context_tokens == 1024
    assert loaded.info.note == "no memory for a context of 2,048 tokens: it has 1,024"


def test_context_that_llama_cpp_refuses(model, monkeypatch):
    """The library's own refusal is a sentence, too."""
    monkeypatch.setattr(load_library(), "llama_init_from_model", lambda model, params: None)

    assert "no memory for a context of 512 tokens" in refused(model)


def test_report_on_a_cpu(model):
    """What was loaded, and that it runs on the CPU; nothing to note if nothing else was asked."""
    loaded = load_model(model, EngineOptions(**SMALL))
    llama_load.free(loaded)

    assert loaded.info.name == "tiny llama"
    assert loaded.info.vocabulary_type == "byte-level BPE"
    assert (loaded.info.backend, loaded.info.layers, loaded.info.offloaded_layers) == ("CPU", 3, 0)
    assert loaded.info.note is None
    assert loaded.info.context_tokens == 512


def test_a_gpu_that_is_not_there_is_noted(model, monkeypatch):
    """Asking for layers on a GPU without one gives a model on the CPU and a sentence."""
    monkeypatch.setattr(load_library(), "llama_supports_gpu_offload", lambda: False)
    loaded = load_model(model, EngineOptions(**SMALL, gpu_layers=20))
    llama_load.free(loaded)

    assert loaded.info.offloaded_layers == 0
    assert loaded.info.note.startswith(
        "20 layers were asked for on a GPU, but llama.cpp found none"
    )


@pytest.fixture
def gpu(monkeypatch):
    """A GPU that llama.cpp believes in until it loads a model; what it was asked for in layers."""
    library = load_library()
    real, asked = library.llama_model_load_from_file, []

    def watched(path, params):
        asked.append(params.n_gpu_layers)
        return real(path, params)

    monkeypatch.setattr(library, "llama_supports_gpu_offload", lambda: True)
    monkeypatch.setattr(library, "llama_model_load_from_file", watched)
    return asked


def refuse_once(monkeypatch, function):
    """Let a function of llama.cpp fail the first time."""
    library, answers = load_library(), [None]
    real = getattr(library, function)
    monkeypatch.setattr(library, function, lambda *args: answers.pop() if answers else real(*args))


@pytest.mark.parametrize("refusing", ["llama_model_load_from_file", "llama_init_from_model"])
def test_auto_falls_back_to_the_cpu(model, monkeypatch, gpu, refusing):
    """If the model or its context can't be on a GPU, `auto` loads it without, and says so."""
    refuse_once(monkeypatch, refusing)
    loaded = load_model(model, EngineOptions(**SMALL))
    llama_load.free(loaded)

    assert gpu[-1] == 0
    assert loaded.info.offloaded_layers == 0
    assert loaded.info.note.startswith("the GPU can't be used, and everything runs on the CPU: ")


@pytest.mark.parametrize(
    ("refusing", "reason"),
    [
        ("llama_model_load_from_file", "try fewer GPU layers"),
        ("llama_init_from_model", "no memory for a context"),
    ],
)
def test_a_number_of_layers_is_meant(model, monkeypatch, gpu, refusing, reason):
    """Who asks for a number of layers is told that they can't be had."""
    refuse_once(monkeypatch, refusing)

    assert reason in refused(model, gpu_layers=2)
    assert gpu in ([], [2])


def test_what_fails_on_the_cpu_too_is_told(model, monkeypatch, gpu):
    """Without memory for the context there either, there is nothing to fall back to."""
    monkeypatch.setattr(llama_room, "free_memory", lambda: 100_000)

    assert "choose a smaller context size" in refused(model, n_ctx=1 << 16)
    assert gpu == [-1, 0]


def test_cores():
    """There is at least one core to use."""
    assert usable_cores() >= 1
