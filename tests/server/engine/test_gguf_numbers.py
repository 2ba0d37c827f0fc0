"""Numbers of metadata that make no sense are refused before llama.cpp ends the process."""

import math
import shutil

import pytest

from server.engine.gguf import read_metadata
from server.engine.gguf_numbers import check_numbers
from server.engine.llama import load
from server.engine.llama_load import EngineOptions
from server.errors import ModelError
from tests.patched_model import patched
from tests.tiny_model import write_tiny_model


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("block_count", 0, "is 0; it should be from 1 to 512"),
        ("block_count", 10**9, "is 1000000000; it should be from 1 to 512"),
        ("block_count", 400, "is 400; it should be from 0 to 21 by its tensors"),
        ("embedding_length", 0, "is 0; it should be from 1 to 1,048,576"),
        ("embedding_length", 2**32 - 1, "is 4294967295; it should be from 1 to"),
        ("context_length", 2**32 - 1, "is 4294967295; it should be from 0 to 2,147,483,647"),
        ("attention.head_count", 2**31, "is 2147483648; it should be from 0 to"),
        ("attention.layer_norm_rms_epsilon", math.nan, "is nan; it should be more than 0"),
        ("attention.layer_norm_rms_epsilon", -1.0, "is -1; it should be more than 0 and finite"),
        ("rope.freq_base", math.inf, "is inf; it should be more than 0 and finite"),
    ],
)
def test_nonsense(tiny, tmp_path, key, value, said):
    """One line names the key, the value, and what is allowed."""
    path = patched(shutil.copy(tiny(), tmp_path / "odd.gguf"), f"llama.{key}", value)

    with pytest.raises(ModelError) as refused:
        load(path, EngineOptions(n_ctx=64, threads=1))
    assert f"odd.gguf: damaged metadata: 'llama.{key}' {said}" in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ({"expert_count": 4000}, "'llama.expert_count' is 4000"),
        ({"expert_count": 8}, "'llama.expert_used_count' is 0; it should be from 1 to 8"),
        ({"expert_used_count": 2}, "'llama.expert_used_count' is 2; it should be from 0 to 0"),
        (
            {"expert_count": 8, "expert_used_count": 2, "expert_group_count": 3},
            "'llama.expert_group_count' is 3; it should be a divisor of 8",
        ),
        ({"nextn_predict_layers": 3}, "'llama.nextn_predict_layers' is 3"),
        ({"rope.scaling.type": "wide"}, "'llama.rope.scaling.type' is 'wide'; it should be one of"),
    ],
)
def test_numbers_that_limit_each_other(tiny, numbers, said):
    """Experts and layers that are not there are no more used than those that are too many."""
    metadata = read_metadata(tiny())
    metadata.values.update({f"llama.{name}": value for name, value in numbers.items()})

    with pytest.raises(ModelError, match=r"damaged metadata") as refused:
        check_numbers(metadata, len(metadata.tensors))
    assert said in str(refused.value)


@pytest.mark.parametrize("architecture", ["llama", "mamba", "jamba", "gemma3"])
def test_sense(tmp_path, architecture):
    """What real models say passes; numbers that are missing are llama.cpp's to complain of."""
    metadata = read_metadata(write_tiny_model(tmp_path / "m.gguf", architecture=architecture))
    check_numbers(metadata, len(metadata.tensors))
    metadata.values.clear()
    check_numbers(metadata, len(metadata.tensors))


def test_experts(tiny):
    """A mixture of experts passes."""
    metadata = read_metadata(tiny())
    experts = {"expert_count": 8, "expert_used_count": 2, "expert_group_count": 4}
    experts |= {"expert_group_used_count": 2}
    metadata.values.update({f"llama.{name}": value for name, value in experts.items()})

    check_numbers(metadata, len(metadata.tensors))
