"""Numbers of a model's metadata that make no sense, found before llama.cpp meets them.

Of many wrong values llama.cpp says itself what is wrong: tensors then have other shapes than it
expects. Others end the process by an assertion, or make every result no number; those are here, by
the limits of llama.cpp's own arrays.

What is not here: tensors and their places (`gguf`), and the vocabulary (`tables`).
"""

import math

import numpy as np

from server.engine.damage import anew
from server.engine.gguf import Metadata
from server.engine.gguf_reader import Array
from server.errors import ModelError

LAYERS, EXPERTS = 512, 1024
"""LLAMA_MAX_LAYERS and LLAMA_MAX_EXPERTS."""
WIDEST, LONGEST = 1 << 20, (1 << 31) - 1

RANGES = {
    "block_count": (1, LAYERS),
    "context_length": (0, LONGEST),
    "embedding_length": (1, WIDEST),
    "feed_forward_length": (0, WIDEST),
    "attention.head_count": (0, WIDEST),
    "attention.head_count_kv": (0, WIDEST),
    "attention.key_length": (0, WIDEST),
    "attention.value_length": (0, WIDEST),
    "attention.sliding_window": (0, LONGEST),
    "rope.dimension_count": (0, WIDEST),
    "nextn_predict_layers": (0, LAYERS),
    "expert_count": (0, EXPERTS),
    "expert_used_count": (0, EXPERTS),
    "expert_group_count": (0, EXPERTS - 1),
}
"""Least and most by the key behind the architecture's name; of an array, for each of its values."""

POSITIVE = (
    "attention.layer_norm_epsilon",
    "attention.layer_norm_rms_epsilon",
    "attention.group_norm_epsilon",
    "rope.freq_base",
    "rope.freq_base_swa",
)
"""Keys of numbers that are finite and more than 0."""

ROPE_SCALING = frozenset({"none", "linear", "yarn", "longrope"})


def check_numbers(metadata: Metadata, tensors: int) -> None:
    """Check a model's numbers; what is missing is llama.cpp's to complain of.

    Args:
        metadata: Of the model's first file.
        tensors: How many it has in all files.

    Raises ModelError with the key and the value.
    """
    architecture = metadata.text("general.architecture", "")
    for name, (least, most) in RANGES.items():
        key = f"{architecture}.{name}"
        for value in _values(metadata, key):
            if not least <= value <= most:
                raise _nonsense(metadata, key, value, f"from {least:,} to {most:,}")
    for name in POSITIVE:
        key = f"{architecture}.{name}"
        for value in _values(metadata, key):
            if not 0 < value < math.inf:
                raise _nonsense(metadata, key, value, "more than 0 and finite")
    _check_together(metadata, architecture, tensors)


def _check_together(metadata: Metadata, architecture: str, tensors: int) -> None:
    """Check the numbers that limit each other."""

    def most_of(name: str) -> float:
        return max(_values(metadata, f"{architecture}.{name}"), default=0)

    layers, experts = most_of("block_count"), most_of("expert_count")
    limits: dict[str, tuple[float, float]] = {
        "block_count": (0, tensors),
        "nextn_predict_layers": (0, layers),
    }
    if not architecture.startswith("hunyuan"):  # there one expert is as good as none
        limits["expert_used_count"] = min(1, experts), experts
        limits["expert_group_count"] = 0, max(0, experts - 1)
    for name, (least, most) in limits.items():
        value = most_of(name)
        if not least <= value <= most:
            allowed = f"from {least:,} to {most:,} by its tensors and its other numbers"
            raise _nonsense(metadata, f"{architecture}.{name}", value, allowed)
    groups, used = most_of("expert_group_count"), most_of("expert_group_used_count")
    if groups > 1 and (experts % groups or not 0 < used < groups):
        key = f"{architecture}.expert_group_count"
        raise _nonsense(metadata, key, groups, f"a divisor of {experts:,}, with fewer groups used")
    key = f"{architecture}.rope.scaling.type"
    scaling = metadata.text(key, "none")
    if scaling not in ROPE_SCALING:
        raise _nonsense(metadata, key, scaling, f"one of {', '.join(sorted(ROPE_SCALING))}")


def _values(metadata: Metadata, key: str) -> list[float]:
    """The numbers of a key: one, those of an array, or none."""
    value = metadata.values.get(key)
    if isinstance(value, Array):
        numbers = metadata.numbers(key)
        return [] if numbers.dtype == np.bool_ else [float(number) for number in numbers.tolist()]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return []
    return [value]


def _nonsense(metadata: Metadata, key: str, value: object, allowed: str) -> ModelError:
    shown = f"{value:g}" if isinstance(value, float) else repr(value)
    return ModelError(
        f"{metadata.path}: damaged metadata: {key!r} is {shown}; it should be {allowed}; "
        f"{anew(metadata.path)}"
    )
