"""What tests of several servers share."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from server.completer import Completer
from server.worker import Worker


@pytest.fixture(scope="module")
def worker(load_tiny: Callable[..., Completer]) -> Callable[[], Worker[Completer]]:
    """Gives a module's one worker, with the tiny model, to whoever is in the event loop."""
    made: list[Worker[Completer]] = []

    def get() -> Worker[Completer]:
        if not made:
            made.append(Worker())
            made[0].load(load_tiny)
        return made[0]

    return get  # the completer is closed by the fixture that loaded it


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for this machine and its key, made by openssl."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate")
    folder = tmp_path_factory.mktemp("tls")
    paths = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"),
            *("-out", paths[0], "-keyout", paths[1]),
        ],
        check=True,
        capture_output=True,
    )
    return paths
