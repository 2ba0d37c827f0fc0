"""Fake engines, and completers that ask them."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from server.option_sections import RemoteSection
from server.remote.completer import RemoteCompleter, load_remote
from tests.server.remote.fake_engine import FakeEngine, Serve, running, tokenizer


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts an engine with the arguments of `FakeEngine`."""
    with ExitStack() as stack:
        yield lambda **arguments: stack.enter_context(running(FakeEngine(**arguments)))


@pytest.fixture(scope="session")
def tokenizer_json(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of the engines' tokenizer."""
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    tokenizer().save(str(path))
    return path


@pytest.fixture
def ask(tokenizer_json: Path) -> Callable[..., RemoteCompleter]:
    """A completer that asks an engine, with its tokenizer in a file unless another one is named."""

    def load(engine: FakeEngine, **options: object) -> RemoteCompleter:
        section = {"url": engine.url, "tokenizer": str(tokenizer_json), "key_variable": ""}
        return load_remote(RemoteSection(**(section | options)))  # type: ignore[arg-type]

    return load
