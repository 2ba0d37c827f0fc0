"""Where the server's log goes: standard error, and a file if the user wants one.

What people write is never in it, unless they ask: our own messages do not quote documents, and
those of the protocol library, which do at its lower levels, are cut off.
"""

import logging
from pathlib import Path

from server.options import LoggingSection

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def set_log(options: LoggingSection) -> str | None:
    """Log as the options say. Returns a sentence if the file can't be written, else None."""
    level = getattr(logging, options.level.upper())
    logging.getLogger("midtoken").setLevel(level)
    logging.getLogger("pygls").setLevel(level if options.source_text else logging.ERROR)
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
