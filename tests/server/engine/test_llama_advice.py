"""Options that can be followed, and of which a person should hear that they will disappoint."""

import pytest

from server.engine.llama_advice import warnings
from server.engine.llama_load import EngineOptions


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, []),
        ({"threads": 2}, []),
        ({"threads": 3}, ["3 threads have 2 cores"]),
        ({"main_gpu": 5}, ["no effect"]),
        ({"tensor_split": (1.0, 1.0), "main_gpu": 1}, ["no effect"]),
        ({"tensor_split": (1.0,), "threads": 1000}, ["1000 threads have 2 cores", "no effect"]),
    ],
    ids=str,
)
def test_without_a_gpu(options, said):
    """More threads than cores are named, and so are options of GPUs: one line for each."""
    lines = warnings(EngineOptions(**options), 2, offloads=False)

    assert len(lines) == len(said)
    for line, part in zip(lines, said, strict=True):
        assert part in line
        assert "\n" not in line


def test_with_a_gpu():
    """A build that offloads uses what is said of GPUs."""
    assert warnings(EngineOptions(main_gpu=1, tensor_split=(1.0,)), 2, offloads=True) == []
