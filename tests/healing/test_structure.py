"""The covering trees of every vocabulary that is there hold all that is right and nothing else."""

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

import pytest

from server.engine.tables import load_tables
from tests.healing.real import DEFAULT, file_of
from tests.healing.structure import examine
from tests.vocabularies import BYTE_LEVEL, PLAIN, vocabularies

BY_BYTES = ("bert-bge", "nomic-bert-moe")
"""WordPiece and unigram: exact healing does not know them."""

SLOW = ("aquila", "gpt-neox")
"""Their files name no pretokenizer, and llama.cpp's usual one takes ten times as long."""

CUTS = {name: 40 if name in SLOW else 100 for name in (DEFAULT, *BYTE_LEVEL, *PLAIN)}
"""How many cuts each is tried at here. `vocabulary_table` tries more."""


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    """Two processes."""
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as found:
        yield found


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.model] * (name == DEFAULT))
        for name in CUTS
        if name not in BY_BYTES
    ],
)
def test_recall_precision_and_size(name: str, pool: ProcessPoolExecutor):
    """No way of the tokenizer is missing, none is invented, and the trees are small."""
    file_of(name)  # fetch it once, before the processes ask for it
    one, other = pool.map(examine, [name] * 2, [1, 2], [CUTS[name] // 2] * 2)

    found = one + other
    assert found.missing == []
    assert found.invented == []
    assert found.sizes.total() == CUTS[name]
    assert found.judged > 20 * CUTS[name]
    assert found.mean_size <= 2.2
    assert max(found.sizes) <= 6


def test_every_vocabulary_is_tried_or_refused():
    """A new one in the archive is noticed, and what is not tried is not healed exactly."""
    assert {*vocabularies()} == {*BYTE_LEVEL, *PLAIN}
    exact = {name for name, path in vocabularies().items() if load_tables(path).exact}
    assert exact == {*vocabularies()} - {*BY_BYTES}
