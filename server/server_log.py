"""Where the server's log goes: standard error, and a file if the user wants one.

What people write is never in it, unless they ask: our own messages do not quote documents, and
those of the protocol library, which do at its lower levels, are cut off.
"""

import logging
from pathlib import Path

from server.options import LoggingSection

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class LateCancels(logging.Filter):
    """Keeps out pygls' warning about cancelled requests that are answered already.

    The editor's cancel and our answer cross on their way many times an hour, and nothing is wrong
    then. pygls has no switch for this line, so it is known by its text; where that changes, the
    warning is back, and a test says so.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is logged."""
        return not str(record.msg).startswith("Cancel notification for unknown message id")


_LATE_CANCELS = LateCancels()


def set_log(options: LoggingSection) -> str | None:
    """Log as the options say. Returns a sentence if the file can't be written, else None."""
    level = getattr(logging, options.level.upper())
    logging.getLogger("midtoken").setLevel(level)
    logging.getLogger("pygls").setLevel(level if options.source_text else logging.ERROR)
    logging.getLogger("pygls.protocol.json_rpc").addFilter(_LATE_CANCELS)  # once only
    root = logging.getLogger()
    path = str(Path(options.file).expanduser().absolute()) if options.file else None
    for handler in [h for h in root.handlers if isinstance(h, logging.FileHandler)]:
        if handler.baseFilename == path:
            return None
        root.removeHandler(handler)
        handler.close()
    if path is None:
        return None
    try:
        handler = logging.FileHandler(path, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        return f"the log file {path} can't be written ({error.strerror}): choose another"
    handler.setFormatter(logging.Formatter(FORMAT))
    root.addHandler(handler)
    return None
