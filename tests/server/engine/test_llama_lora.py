"""LoRA adapters change what a model says; those that don't fit are refused in one line."""

import numpy as np
import pytest

from server.engine import ROOT, Lora
from server.engine.llama import load
from server.engine.llama_load import EngineOptions
from server.errors import ModelError
from tests.lora import write_lora
from tests.server.engine.fresh import TOLERANCE

TEXT = b"def read(self):\n    ret"


def row_of(path, lora=None, **options):
    """The logits after some text."""
    usual = {"n_ctx": 256, "threads": 1, "n_ubatch": 16}
    with load(path, EngineOptions(**usual | options, lora=lora)) as engine:
        assert engine.info.lora == lora
        slot = engine.open(engine.encode(TEXT))
        return engine.evaluate(slot, [], [ROOT])[0].copy()


@pytest.fixture
def adapter(tmp_path):
    return write_lora(tmp_path / "adapter.gguf")


@pytest.mark.parametrize("repack", [True, False])
def test_changes_the_logits(tiny, adapter, repack):
    """With an adapter the model says something else, with another scale something else again."""
    plain = row_of(tiny(), repack=repack)
    one, two = (row_of(tiny(), Lora(str(adapter), scale), repack=repack) for scale in (1.0, 2.0))

    assert np.abs(plain - one).max() > 100 * TOLERANCE
    assert np.abs(one - two).max() > 100 * TOLERANCE


def test_scale_of_nothing(tiny, adapter):
    """With a scale of 0 the model is what it was."""
    assert np.abs(row_of(tiny()) - row_of(tiny(), Lora(str(adapter), 0.0))).max() <= TOLERANCE


def test_is_what_it_says(tiny, tmp_path, adapter):
    """The logits are those of a model whose weights were changed by hand."""
    import gguf

    from tests import tiny_model

    weights = {tensor.name: np.array(tensor.data) for tensor in gguf.GGUFReader(adapter).tensors}
    changed = tmp_path / "changed.gguf"
    weight = tiny_model._weight

    def merged(random, name, shape):
        found = weight(random, name, shape)
        if name.endswith("attn_q.weight"):
            down, up = (weights[f"{name}.{part}"] for part in ("lora_a", "lora_b"))
            found += 2.0 * 0.5 * up @ down  # alpha over rank, and the scale
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiny_model, "_weight", merged)
        tiny_model.write_tiny_model(changed)

    difference = np.abs(row_of(changed) - row_of(tiny(), Lora(str(adapter), 0.5))).max()
    assert difference <= 10 * TOLERANCE


@pytest.mark.parametrize(
    ("made", "message"),
    [
        ({"architecture": "gemma3"}, "for models of the architecture 'gemma3', and this one's is"),
        ({"kind": "control_vector"}, "is no LoRA adapter but of the type 'control_vector'"),
        (
            {"width": 32},
            "does not fit the model: blk.0.attn_q.weight.lora_a is 32 x 2, and the model's tensor",
        ),
        (
            {"tensor": "attn_nothing.weight"},
            "does not fit the model: the model has no tensor blk.0.attn_nothing.weight; choose",
        ),
        ({"activated": True}, "is an activated adapter"),
    ],
)
def test_misfits(tiny, tmp_path, made, message):
    """What does not fit is named, with the reason."""
    path = write_lora(tmp_path / "adapter.gguf", **made)
    with pytest.raises(ModelError, match=message) as caught:
        row_of(tiny(), Lora(str(path)))

    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize("content", [None, b"", b"PK", "model", "cut"])
def test_no_adapter(tiny, tmp_path, adapter, content):
    """A missing, empty, foreign or cut file, and a whole model, are refused in one line."""
    path = tmp_path / "other.gguf"
    if content == "model":
        path.write_bytes(tiny().read_bytes())
    elif content == "cut":
        path.write_bytes(adapter.read_bytes()[:-100])
    elif content is not None:
        path.write_bytes(content)
    with pytest.raises(ModelError) as caught:
        row_of(tiny(), Lora(str(path)))

    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)
