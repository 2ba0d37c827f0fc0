"""Tiny models and engines for the tests of this folder."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from server.engine.llama import LlamaEngine, load
from server.engine.llama_load import EngineOptions
from tests.server.engine.fresh import Fresh, refuse_cuts

SMALL = {"n_ctx": 512, "n_ubatch": 16, "threads": 1, "flash_attn": "off"}


@pytest.fixture(scope="session")
def tiny(tiny_file: Callable[..., Path]) -> Callable[..., Path]:
    """The suite's tiny model files, under the name that this folder's tests use."""
    return tiny_file


@pytest.fixture
def make_engine(tiny: Callable[..., Path]) -> Iterator[Callable[..., LlamaEngine]]:
    """Loads tiny models; `architecture` and so on go to the model, the rest to the options."""
    engines: list[LlamaEngine] = []

    def make(
        architecture: str = "llama",
        vocabulary: str = "bpe",
        fim: bool = True,
        files: bool = False,
        **options: object,
    ) -> LlamaEngine:
        options = SMALL | options
        path = tiny(architecture=architecture, vocabulary=vocabulary, fim=fim, files=files)
        engines.append(load(path, EngineOptions(**options)))
        return engines[-1]

    yield make
    for engine in engines:
        engine.close()


@pytest.fixture
def engine(make_engine: Callable[..., LlamaEngine]) -> LlamaEngine:
    """A tiny model that attends to everything, with four slots and micro-batches of 16."""
    return make_engine()


@pytest.fixture(scope="session")
def fresh(tiny: Callable[..., Path]) -> Iterator[Callable[..., Fresh]]:
    """What a model says after a text that is evaluated with nothing in memory before."""
    made: dict[str, Fresh] = {}

    def make(architecture: str = "llama") -> Fresh:
        if architecture not in made:
            path = tiny(architecture=architecture, vocabulary="bpe", fim=True)
            made[architecture] = Fresh(
                load(path, EngineOptions(n_ctx=1024, threads=1, flash_attn="off"))
            )
        return made[architecture]

    yield make
    for oracle in made.values():
        oracle.engine.close()


@pytest.fixture
def refusing_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets llama.cpp's memory refuse to forget the end of a sequence, as a recurrent one does."""
    refuse_cuts(monkeypatch)
