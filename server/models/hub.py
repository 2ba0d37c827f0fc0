"""Fetching one file from the Hugging Face Hub, resumably.

The hub is asked once for size, commit and sha256, with a short limit, so that a machine without a
network learns so within seconds. The body goes to the end of a given file; a broken connection is
taken up where it broke, a few times. A hub that asks for a pause gets it, if it is short.
`huggingface_hub` supplies addresses, the user's token, proxy and certificates, and the HTTP client;
`HF_ENDPOINT` names another hub. The token goes to the hub alone: the client takes it off where an
answer sends us to another host.

What is not here: checking the sum and naming the file (`download`).
"""

import importlib
import os
import queue
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from io import FileIO
from pathlib import Path
from typing import Any, TypeVar

from server import __version__
from server.errors import DownloadError
from server.models import patience
from server.models.catalog import Model, ModelFile
from server.models.files import Progress, Tell, disk_error, megabytes, size_on_disk

LOOKUP_SECONDS = 8.0
"""For everything before the first byte: a name server or a firewall that never answers included."""
READ_SECONDS = 30.0
"""The longest silence in the middle of a body."""
SLOWEST_RATE = 1_000
"""Bytes a second; what is slower for `READ_SECONDS` is no connection any more."""
ATTEMPTS = 4
"""Connections that may break one after the other without bringing `WORTHWHILE_BYTES`."""
WORTHWHILE_BYTES = 1 << 20
PAUSE_SECONDS = 1.0
"""Before another try, unless the hub asks for another pause."""

CLIENT_NAME = "midtoken"
"""Who asks, for the hub's logs."""

T = TypeVar("T")


@dataclass(frozen=True)
class HubFile:
    """What the hub says of a file before it is fetched."""

    url: str
    size_bytes: int
    sha256: str
    source: str
    """Repository and commit, for the record."""


class _BrokenError(Exception):
    """The connection ended early; the next one may do better."""

    def __init__(self, message: str, pause: float | None = None) -> None:
        super().__init__(message)
        self.pause = pause
        """Seconds that the hub asks to wait."""


def look_up(model: Model, file: ModelFile, progress: Progress, tell: Tell) -> HubFile:
    """Ask the hub for a file's size and sum.

    Takes at most `LOOKUP_SECONDS`, and the pauses that the hub asks for.

    Raises DownloadError if the hub cannot be reached, has no such file, or has another one than
    the catalog says.
    """
    # Telemetry would ask the hub for more than the file, before and after; it is read at import.
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    # Imported here because it takes a good part of a second, and only downloads need it.
    from huggingface_hub import hf_hub_url

    endpoint = os.environ.get("HF_ENDPOINT") or None
    url = hf_hub_url(
        model.repository,
        file.name,
        revision=model.revision,
        endpoint=endpoint and endpoint.rstrip("/"),
    )
    metadata = _metadata(
        model, file, url, lambda: progress(0, file.size_bytes or 1, "waiting for the hub"), tell
    )
    etag = (metadata.etag or "").lower()
    sha256 = etag if _is_sha256(etag) else file.sha256
    size = metadata.size if metadata.size is not None else file.size_bytes
    if sha256 is None or size is None:
        raise DownloadError(
            f"{_host(url)} states no sha256 or no size for {file.name}, and the catalog has none "
            "either: it could not be checked"
        )
    if sha256 != (file.sha256 or sha256) or size != (file.size_bytes or size):
        raise DownloadError(
            f"{_host(url)} has another {file.name} than expected (sha256 {sha256}, "
            f"{size} bytes, instead of {file.sha256}, {file.size_bytes} bytes)"
        )
    commit = metadata.commit_hash or model.revision
    return HubFile(url, size, sha256, f"{model.repository}@{commit}")


def _metadata(model: Model, file: ModelFile, url: str, tick: Callable[[], None], tell: Tell) -> Any:  # noqa: ANN401 (huggingface_hub's own class, which is imported late)
    """What the hub says of a file, after the pauses that it asks for; `tick` is called in them."""
    from huggingface_hub import get_hf_file_metadata

    for attempt in range(1, ATTEMPTS + 1):
        try:
            return _within(
                LOOKUP_SECONDS,
                lambda: get_hf_file_metadata(
                    url,
                    timeout=LOOKUP_SECONDS,
                    library_name=CLIENT_NAME,
                    library_version=__version__,
                ),
            )
        except _client_errors() as error:
            response = getattr(error, "response", None)
            pause = _asked_pause(response) if response is not None else None
            if pause is None or pause > patience.MOST_SECONDS or attempt == ATTEMPTS:
                raise DownloadError(_reason(error, model, file, url, pause)) from error
            _wait(pause, url, tick, tell)
    raise AssertionError("the last attempt returns or raises")


def fetch(file: HubFile, part: Path, progress: Progress, tell: Tell) -> None:
    """Append to `part` what it lacks of the file; return when it has the file's size.

    Raises:
        DownloadError: The connection broke too often (`part` is kept for the next time), the hub
            refused, or sent more than the file's size.
        DiskError: `part` cannot be written.
    """
    broken: tuple[type[Exception], ...] = (*_client_errors(), _BrokenError)
    attempts = ATTEMPTS
    while (before := size_on_disk(part)) != file.size_bytes:
        if before > file.size_bytes:
            part.unlink()
            continue
        try:
            _stream(file, part, before, progress)
        except broken as error:
            have = size_on_disk(part)
            attempts = ATTEMPTS if have - before >= WORTHWHILE_BYTES else attempts - 1
            pause = getattr(error, "pause", None)
            if attempts == 0 or (pause or 0) > patience.MOST_SECONDS:
                again = f" in {patience.spoken(pause)}" if pause else ""
                raise DownloadError(
                    f"the connection to {_host(file.url)} broke at "
                    f"{megabytes(have)} of {megabytes(file.size_bytes)} "
                    f"({_brief(error)}); pull again{again} to go on from there"
                ) from error
            tick = partial(progress, have, file.size_bytes, f"from {_host(file.url)}")
            if pause:
                _wait(pause, file.url, tick, tell)
            else:
                patience.wait(PAUSE_SECONDS, tick)


def _wait(seconds: float, url: str, tick: Callable[[], None], tell: Tell) -> None:
    """Wait as the hub asks, and say so."""
    tell(f"{_host(url)} asks for a pause; going on in {patience.spoken(seconds)}")
    patience.wait(seconds, tick)


def _asked_pause(response: Any) -> float | None:  # noqa: ANN401 (of a client that varies)
    """The pause that an answer asks for, None if it is none that pauses help with."""
    if response.status_code not in (429, 503):
        return None
    return patience.asked_seconds(response.headers)


def _stream(file: HubFile, part: Path, start: int, progress: Progress) -> None:
    """One connection: append bytes from `start` on until it ends."""
    from huggingface_hub import get_session
    from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined]

    # Compression would make byte positions meaningless.
    headers = {
        **build_hf_headers(library_name=CLIENT_NAME, library_version=__version__),
        "Accept-Encoding": "identity",
    }
    if start:
        headers["Range"] = f"bytes={start}-"
    what = f"from {_host(file.url)}"
    with get_session().stream(
        "GET", file.url, headers=headers, follow_redirects=True, timeout=READ_SECONDS
    ) as response:
        _check_status(response, file, part, start)
        # A server that ignores the range sends the file from its start.
        done = start if response.status_code == 206 else 0
        out = _open_at(part, done)
        try:
            progress(done, file.size_bytes, what)
            since, had = time.monotonic(), done
            for chunk in response.iter_raw():
                done += len(chunk)
                if done > file.size_bytes:
                    break
                _write(out, chunk, part)
                progress(done, file.size_bytes, what)
                if time.monotonic() - since >= READ_SECONDS:
                    if done - had < SLOWEST_RATE * READ_SECONDS:
                        raise _BrokenError("it has all but stopped")
                    since, had = time.monotonic(), done
        finally:
            out.close()
    if done > file.size_bytes:
        part.unlink()
        raise DownloadError(
            f"{_host(file.url)} sent more than the {file.size_bytes} bytes of the file; deleted"
        )
    if done < file.size_bytes:
        raise _BrokenError("it ended early")


def _check_status(response: Any, file: HubFile, part: Path, start: int) -> None:  # noqa: ANN401
    """Raise unless a body follows that belongs at `start`, or is the whole file."""
    status = response.status_code
    if status == 200:
        return
    continues = f"bytes {start}-"
    if status == 206 and response.headers.get("Content-Range", continues).startswith(continues):
        return
    if status in (206, 416):  # what lies here is no beginning of the file: start over
        part.unlink(missing_ok=True)
        raise _BrokenError(f"HTTP {status} for another part of the file")
    if status in (408, 429) or status >= 500:
        raise _BrokenError(f"HTTP {status}", _asked_pause(response))
    raise DownloadError(f"{file.url} is refused (HTTP {status})")


def _open_at(part: Path, length: int) -> FileIO:
    """The file cut to `length` and open at its end.

    Unbuffered: else a full disk would be noticed when the file is closed, far from here.
    """
    try:
        out = FileIO(part, "r+b" if part.exists() else "wb")
        out.truncate(length)
        out.seek(length)
    except OSError as error:
        raise disk_error(part, error) from error
    return out


def _write(out: FileIO, chunk: bytes, part: Path) -> None:
    rest = memoryview(chunk)
    try:
        while rest:  # a disk that is almost full takes a part
            rest = rest[out.write(rest) :]
    except OSError as error:
        raise disk_error(part, error) from error


def _within(seconds: float, call: Callable[[], T]) -> T:
    """The result of `call`, or DownloadError after `seconds`.

    Looking up a name and trying one address after the other have no common limit of their own.
    """
    answers: queue.SimpleQueue[tuple[T | None, Exception | None]] = queue.SimpleQueue()

    def answer() -> None:
        try:
            answers.put((call(), None))
        except Exception as error:  # raised again by the caller
            answers.put((None, error))

    threading.Thread(target=answer, name="hub look-up", daemon=True).start()
    try:
        result, error = answers.get(timeout=seconds)
    except queue.Empty:
        raise DownloadError(f"the hub did not answer within {seconds:.0f} seconds") from None
    if error is not None:
        raise error
    return result  # type: ignore[return-value]


def _client_errors() -> tuple[type[Exception], ...]:
    """What the hub's HTTP client raises; its package has changed between releases of the hub's."""
    from huggingface_hub import get_session

    package: Any = importlib.import_module(type(get_session()).__module__.partition(".")[0])
    return (package.HTTPError, package.InvalidURL, OSError)


def _reason(error: Exception, model: Model, file: ModelFile, url: str, pause: float | None) -> str:
    """One line for people from an error of the look-up."""
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status == 404:
        return f"{_host(url)} has no {model.repository}/{file.name} at {model.revision}"
    if status in (401, 403):
        return (
            f"{_host(url)} does not give {model.repository} to everyone (HTTP {status}): accept "
            "its terms there and log in with `hf auth login`"
        )
    if status == 429:
        when = f"in {patience.spoken(pause)}" if pause else "later"
        return f"{_host(url)} takes no more requests for now (HTTP 429): try again {when}"
    if status is not None:
        return f"{_host(url)} does not answer properly (HTTP {status})"
    return f"{_host(url)} cannot be reached ({_brief(error)})"


def _brief(error: Exception) -> str:
    """An error's first line, without the number that Python puts before a system's words."""
    lines = re.sub(r"^\[Errno -?[0-9]+\] ", "", str(error).strip()).splitlines()
    return lines[0] if lines else type(error).__name__


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0] or url


def _is_sha256(text: str) -> bool:
    return len(text) == 64 and set(text) <= set("0123456789abcdef")
