"""What all tests share: a home of their own, loaded models, and tables printed after the run.

Tests write nothing outside temporary folders: `MIDTOKEN_HOME` is one for the whole run. A default
model that was fetched before (`make model`) is linked into it, so tests find it where users do.
"""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # before anything loads llama.cpp

from server.completer import Completer, load_completer
from server.engine.llama_load import EngineOptions
from server.models import store
from server.models.catalog import CATALOG, DEFAULT_MODEL
from server.speed import CPU_PREFILL, Reading
from tests.tiny_model import write_tiny_model

REPORT = pytest.StashKey[list[str]]()

settings.register_profile("any machine", deadline=None)  # a busy one is slow, not wrong
settings.load_profile("any machine")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Long runs are asked for by name."""
    parser.addoption("--corpus", action="store_true", help="also run tests on hundreds of files")


def pytest_configure() -> None:
    """What a script starts in the background ignores Ctrl-C, and so would all that tests start."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without `--corpus`, tests on hundreds of files are skipped."""
    if not config.getoption("--corpus"):
        for item in items:
            if item.get_closest_marker("corpus"):
                item.add_marker(pytest.mark.skip(reason="needs --corpus (`make test-grammars`)"))


@pytest.fixture(scope="session", autouse=True)
def midtoken_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder that models and caches are in while tests run."""
    fetched = store.path_of(CATALOG[DEFAULT_MODEL])
    home = tmp_path_factory.mktemp("midtoken")
    if fetched.is_file():
        (home / "models").mkdir()
        (home / "models" / fetched.name).symlink_to(fetched)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MIDTOKEN_HOME", str(home))
        yield home


@pytest.fixture(scope="session")
def completer() -> Iterator[Completer]:
    """The default model, loaded once for all tests. Needs `make model`."""
    loaded = load_completer(store.resolve(DEFAULT_MODEL))
    loaded.prompts.reading = Reading(CPU_PREFILL, CPU_PREFILL)  # the same prompts on any machine
    yield loaded
    loaded.close()


@pytest.fixture(scope="session")
def tiny_file(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Writes a tiny model once for every set of arguments of `write_tiny_model`."""
    folder = tmp_path_factory.mktemp("tiny")
    written: dict[str, Path] = {}

    def path(**arguments: object) -> Path:
        name = "-".join(f"{key}={value}" for key, value in sorted(arguments.items())) or "tiny"
        if name not in written:
            written[name] = write_tiny_model(folder / f"{name}.gguf", **arguments)
        return written[name]

    return path


@pytest.fixture(scope="session")
def load_tiny(tiny_file: Callable[..., Path]) -> Iterator[Callable[..., Completer]]:
    """Loads a completer with a tiny model, a new one each time."""
    loaded: list[Completer] = []

    def load(n_ctx: int = 1024, **arguments: object) -> Completer:
        loaded.append(load_completer(tiny_file(**arguments), EngineOptions(n_ctx, threads=1)))
        return loaded[-1]

    yield load
    for completer in loaded:
        completer.close()


@pytest.fixture(scope="session")
def tiny_completer(load_tiny: Callable[..., Completer]) -> Completer:
    """A tiny model of the usual kind (attention, byte-level BPE, fill-in-the-middle)."""
    return load_tiny()


@pytest.fixture
def report(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Adds lines to what is printed after the run: figures that are measured and not asserted."""
    return request.config.stash.setdefault(REPORT, []).append


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests measured."""
    lines = terminalreporter.config.stash.get(REPORT, [])
    if lines:
        terminalreporter.section("measured")
        for line in lines:
            terminalreporter.write_line(line)
