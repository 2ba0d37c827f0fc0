"""What becomes of a completion if the device can't be used: a text all the same, and the reason."""

import json
from pathlib import Path

import pytest

from tests.server.command import Result, run_process, start

NO_DEVICE = {
    "no device chosen": {"GGML_VK_VISIBLE_DEVICES": ""},
    "no driver": {"VK_DRIVER_FILES": "/none", "VK_ICD_FILENAMES": "/none"},
    "not a number": {"GGML_VK_VISIBLE_DEVICES": "gpu"},
    "no such device": {"GGML_VK_VISIBLE_DEVICES": "99"},
}
BUILT = "llama.cpp is built for Vulkan, but found no device: everything runs on the CPU"


@pytest.fixture
def complete(tmp_path: Path, tiny_file):
    """Runs `midtoken complete` with a tiny model as a process."""
    source = tmp_path / "a.py"
    source.write_text("def add(first, second):\n    return fir\n")
    model = tiny_file()

    def run(*options: object, **variables: str) -> Result:
        return run_process("complete", f"{source}:2:15", "--model", model, *options, env=variables)

    return run


def model_of(result: Result) -> dict:
    """What `--json` says of the model; the completion must have come."""
    assert result.code == 0, result.err
    answer = json.loads(result.out)
    assert answer["items"] or answer["empty_reason"]
    return answer["model"]


def test_on_the_device(complete, name):
    """By default all layers are on the device, and there is nothing to note."""
    result = complete("--json")

    model = model_of(result)
    assert (model["backend"], model["offloaded_layers"], model["note"]) == (name, 3, None)
    assert model["device_bytes"] > 0


@pytest.mark.parametrize("variables", NO_DEVICE.values(), ids=NO_DEVICE)
def test_no_device(complete, variables):
    """Without a device the CPU does it, and that is said."""
    model = model_of(complete("--json", **variables))

    assert (model["backend"], model["offloaded_layers"]) == ("CPU", 0)
    assert model["note"].startswith(BUILT)


def test_layers_without_a_device(complete):
    """Who asks for layers on a device is told that there is none."""
    model = model_of(complete("--json", "--gpu-layers", 2, GGML_VK_VISIBLE_DEVICES=""))

    assert model["offloaded_layers"] == 0
    assert model["note"].startswith("2 layers were asked for on a GPU, but llama.cpp found none")


def test_no_layers(complete):
    """The device is left alone if no layers are asked for; that is no failure."""
    model = model_of(complete("--json", "--gpu-layers", 0))

    assert (model["backend"], model["offloaded_layers"], model["note"]) == ("CPU", 0, None)


@pytest.mark.parametrize(
    ("size", "context", "reason"),
    [
        (200_000, 512, "unable to allocate Vulkan0 buffer"),
        (1_000_000, 8192, "8,192 tokens (failed to allocate buffer for kv cache)"),
    ],
    ids=["weights", "context"],
)
def test_no_memory_on_the_device(complete, size, context, reason):
    """Where the device refuses the weights or the context, the CPU does it, and that is said."""
    limit = {"GGML_VK_FORCE_MAX_BUFFER_SIZE": str(size)}
    model = model_of(complete("--json", "--context-size", context, **limit))

    assert (model["backend"], model["offloaded_layers"]) == ("CPU", 0)
    assert model["note"].startswith("the GPU can't be used, and everything runs on the CPU: ")
    assert reason in model["note"]


def test_layers_without_memory_on_the_device(complete):
    """Who asks for a number of layers is told in one line that they can't be had."""
    limit = {"GGML_VK_FORCE_MAX_BUFFER_SIZE": "200000"}
    result = complete("--gpu-layers", 3, **limit)

    assert (result.code, result.out) == (1, b"")
    assert result.err.splitlines()[-1].endswith("try fewer GPU layers")  # after the driver's own


@pytest.mark.model
def test_a_context_that_fits_nowhere(tmp_path):
    """Neither the device nor the CPU has room for 206 GB: one line, and nothing is tried."""
    source = tmp_path / "a.py"
    source.write_text("def add")
    result = run_process("complete", f"{source}:1:8", "--context-size", 1 << 24)

    assert result.code == 1
    assert "choose a smaller context size" in result.error


def doctor(model: Path, **variables: str) -> dict[str, dict]:
    """Check to what `midtoken doctor` found; a software driver takes minutes to try a model."""
    process = start("doctor", "--json", "--model", model, env=variables)
    out, err = process.communicate(timeout=800)
    assert process.returncode == 0, err.decode()
    return {check["name"]: check for check in json.loads(out)["checks"]}


@pytest.mark.parametrize("variables", NO_DEVICE.values(), ids=NO_DEVICE)
def test_doctor_without_a_device(tiny_file, variables):
    """The table says what is missing and what to look at."""
    found = doctor(tiny_file(), **variables)

    assert found["GPU"]["state"] == found["runs on"]["state"] == "warning"
    assert found["GPU"]["facts"] == {"built_for": ["Vulkan"], "devices": []}
    assert "vulkaninfo" in found["GPU"]["remedy"]
    assert found["runs on"]["remedy"].startswith(BUILT)


def test_doctor(tiny_file, device, name):
    """The table names the device and its memory, and tries the model on it."""
    found = doctor(tiny_file())

    [fact] = found["GPU"]["facts"]["devices"]
    assert device.description in fact.values()
    assert found["runs on"]["state"] == "ok"
    assert found["runs on"]["found"].startswith(f"{name} (3 of 3 layers on a GPU")
    assert found["trees"]["state"] == found["completion"]["state"] == "ok"
