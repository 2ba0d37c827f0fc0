"""Where the server's log goes: standard error, and a file if the user wants one.

What people write is never in it, unless they ask: our own messages do not quote documents, and
those of the protocol library, which do at its lower levels, are cut off.
"""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pygls.exceptions import JsonRpcException

from server.errors import DocumentError
from server.option_sections import LoggingSection
from server.visible import VisibleFormatter

logger = logging.getLogger("midtoken.server")

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class SaidAlready(logging.Filter):
    """Keeps out what pygls says of things that are no news, or that have a line of ours.

    Late cancels: the editor's cancel and our answer cross on their way many times an hour, and
    nothing is wrong then. Messages of a wrong shape, and requests that are refused: pygls adds
    tracebacks that may quote documents, and `messages` or the server say the same in a line.

    pygls has no switch for these, so they are known by their text or error; where that changes,
    they are back, and a test says so.
    """

    _STARTS = ("Cancel notification for unknown message id", "Unable to deserialize message")

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is logged."""
        refused = record.exc_info is not None and isinstance(record.exc_info[1], JsonRpcException)
        return not refused and not str(record.msg).startswith(self._STARTS)


_SAID_ALREADY = SaidAlready()


class LogFile(logging.FileHandler):
    """A log file whose disk may fill up: that is said once, and lines are missing meanwhile."""

    _said = False

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 (the library's name)
        """Say on standard error what the disk said; the library would print a traceback a line."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            super().handleError(record)
        elif not self._said:
            self._said = True
            print(f"midtoken: {_unwritable(self.baseFilename, error)}", file=sys.stderr, flush=True)


def prepare_log() -> None:
    """Leave out what is said already; may be called again."""
    logging.getLogger("pygls.protocol.json_rpc").addFilter(_SAID_ALREADY)


def set_log(options: LoggingSection) -> str | None:
    """Log as the options say. Returns a sentence if the file can't be written, else None."""
    level = getattr(logging, options.level.upper())
    logging.getLogger("midtoken").setLevel(level)
    logging.getLogger("pygls").setLevel(level if options.source_text else logging.ERROR)
    root = logging.getLogger()
    # pathlib's own `expanduser` raises for users that do not exist.
    file = os.path.expanduser(options.file)  # noqa: PTH111
    path = str(Path(file).absolute()) if file else None
    for handler in [h for h in root.handlers if isinstance(h, logging.FileHandler)]:
        if handler.baseFilename == path:
            return None
        root.removeHandler(handler)
        with suppress(OSError):  # its disk is full, which was said
            handler.close()
    if path is None:
        return None
    try:
        handler = LogFile(path, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        return _unwritable(path, error)
    handler.setFormatter(VisibleFormatter(FORMAT))
    root.addHandler(handler)
    return None


def _unwritable(path: str, error: OSError) -> str:
    return f"the log file {path} can't be written ({error.strerror}): choose another"


@contextmanager
def said_in_log() -> Iterator[None]:
    """What an editor says of a document that it has not opened is a line in the log."""
    try:
        yield
    except DocumentError as error:
        logger.warning("%s", error)
