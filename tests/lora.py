"""Writes LoRA adapters for tiny models (`tests/tiny_model.py`): small, random and seeded."""

from pathlib import Path

import gguf
import numpy as np

from tests.tiny_model import LAYERS, WIDTH

RANK = 2


def write_lora(
    path: Path,
    *,
    architecture: str = "llama",
    kind: str = "lora",
    width: int = WIDTH,
    tensor: str = "attn_q.weight",
    activated: bool = False,
    seed: int = 0,
) -> Path:
    """Write an adapter that changes one matrix of every layer, and return its path.

    Args:
        path: The file to write.
        architecture: Of the model that it is for.
        kind: `adapter.type`.
        width: Of that model; the matrix has as many rows and columns.
        tensor: The name of the matrix in a layer.
        activated: Whether it counts only after certain tokens (aLoRA).
        seed: For the weights.
    """
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_type("adapter")
    writer.add_string("adapter.type", kind)
    writer.add_float32("adapter.lora.alpha", 2.0 * RANK)
    if activated:
        writer.add_array("adapter.alora.invocation_tokens", [1, 2])
    random = np.random.default_rng(seed)
    for layer in range(LAYERS):
        for name, shape in (("lora_a", (RANK, width)), ("lora_b", (width, RANK))):
            weights = random.normal(size=shape) / np.sqrt(shape[1])
            writer.add_tensor(f"blk.{layer}.{tensor}.{name}", weights.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
