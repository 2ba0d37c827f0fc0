"""The llama.cpp library in this process: loading it, its log, and stopping it from another thread.

Four habits of the library are tamed here, each once for the whole process:

- Idle OpenMP threads busy-wait by default, which on a shared machine costs several times the work
  itself: `OMP_WAIT_POLICY` is set before the library is loaded, unless the user has set it.
- Where an assertion fails, it starts a debugger, if there is one, to print where: that may wait for
  ever, and writes to standard output. `GGML_NO_BACKTRACE` is set before the library is loaded.
- It logs to the terminal: the log goes to `logging.getLogger("midtoken.llama")`.
- It asks a callback some hundred times a step whether to stop. A Python function there takes the
  interpreter's lock each time and slows decoding by half, so `AbortFlag` gives it a C function.

What is not here: models and contexts (`llama_load`), and everything that is done with them.
"""

import ctypes
import logging
import os
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import Any, BinaryIO

from server.errors import EngineError

Pointer = int
"""An address that C gave us; 0 or None is its way of saying no."""

logger = logging.getLogger("midtoken.llama")

# ggml's log levels (`enum ggml_log_level`). What the library calls information is some two hundred
# lines for every load, and a cancelled batch is three errors to it: what is really wrong is told
# by our own exceptions, with the library's reason in them.
_LEVELS = {1: logging.DEBUG, 2: logging.DEBUG, 3: logging.DEBUG, 4: logging.INFO}
_ERROR, _CONTINUED = 4, 5

recent_log: deque[tuple[int, str]] = deque(maxlen=16)
"""The last lines of the library's log as (ggml level, text), for the reason of a failure."""
_collectors: list[list[tuple[int, str]]] = []
_kept_callbacks: list[Any] = []
"""C keeps plain addresses: a callback that is not referenced from here would be freed under it."""


@cache
def load_library() -> ModuleType:
    """The low-level bindings of llama.cpp, loaded and initialised at the first call.

    Raises EngineError if llama-cpp-python or its library can't be loaded.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    os.environ.setdefault("GGML_NO_BACKTRACE", "1")
    try:
        from llama_cpp import llama_cpp as library
    except (ImportError, OSError, RuntimeError) as error:
        raise EngineError(
            f"llama.cpp could not be loaded ({error}); install it again with "
            "`pip install --force-reinstall llama-cpp-python`"
        ) from error
    callback = library.llama_log_callback(_log)
    _kept_callbacks.append(callback)
    library.llama_log_set(callback, ctypes.c_void_p(0))
    library.llama_backend_init()
    module: ModuleType = library
    return module


@contextmanager
def collected_log() -> Iterator[list[tuple[int, str]]]:
    """While the block runs, every line of the library's log as (ggml level, text)."""
    lines: list[tuple[int, str]] = []
    _collectors.append(lines)
    try:
        yield lines
    finally:
        _collectors[:] = [other for other in _collectors if other is not lines]


def last_error(lines: Iterable[tuple[int, str]]) -> str:
    """What the library said last when it failed, without its own function names."""
    errors = [text for level, text in lines if level == _ERROR]
    if not errors:
        return "llama.cpp gave no reason"
    # The last lines only tell what failed in consequence, if there are others.
    reasons = [text for text in errors if ": failed to " not in text]
    if not reasons:
        return errors[-1].rpartition(": ")[2].strip()
    return reasons[-1].removeprefix("llama_model_load: ").strip()


def protect_stdout() -> BinaryIO:
    """Keep the process's standard output for us alone, and give it back as a binary file.

    Afterwards file descriptor 1 is standard error: what C code prints can't get between the
    messages of a protocol. Call it once, before anything is printed.
    """
    sys.stdout.flush()
    ours = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(ours, "wb")


class AbortFlag:
    r"""A switch that any thread may set and that llama.cpp looks at while it computes.

    The library is given C's `strlen` as its callback and a buffer as the callback's data: the
    length of an empty string is 0 (go on), the length of `"\x01"` is 1 (stop). Only the CPU
    backend asks; on a GPU a batch is finished before the flag counts.
    """

    def __init__(self) -> None:
        self._buffer = ctypes.create_string_buffer(8)
        self._callback: Any = None

    def set(self) -> None:
        """Stop the running computation, and every later one until `clear`."""
        self._buffer[0] = b"\x01"

    def clear(self) -> None:
        """Let computations run."""
        self._buffer[0] = b"\x00"

    def __bool__(self) -> bool:
        return self._buffer[0] != b"\x00"

    def attach(self, context: Pointer) -> None:
        """Make llama.cpp's `context` watch this flag; the flag must live as long as the context."""
        library = load_library()
        self._callback = ctypes.cast(_c_library().strlen, library.ggml_abort_callback)
        library.llama_set_abort_callback(context, self._callback, ctypes.addressof(self._buffer))


def _c_library() -> ctypes.CDLL:
    """C's standard library, which every process has loaded already."""
    if sys.platform == "win32":
        return ctypes.cdll.msvcrt
    return ctypes.CDLL(None)


def _log(level: int, text: bytes | None, _data: object) -> None:
    # Token texts are cut in the middle of characters here, so the line may be no valid UTF-8.
    line = (text or b"").decode("utf-8", "replace").rstrip()
    if not line or level == _CONTINUED:
        return
    recent_log.append((level, line))
    for lines in _collectors:
        lines.append((level, line))
    logger.log(_LEVELS.get(level, logging.DEBUG), "%s", line)


def no_blank_before_texts() -> "ctypes.Array[Any]":
    """What to say of a model's metadata as it is loaded, as an array; keep it until it is.

    SentencePiece models would get a blank before every piece of text that is encoded; a prompt has
    it where the model was trained to see one (`engine.ModelInfo.add_blank`).
    """
    # The second one is the end.
    overrides: ctypes.Array[Any] = (load_library().llama_model_kv_override * 2)()
    overrides[0].tag = load_library().LLAMA_KV_OVERRIDE_TYPE_BOOL
    overrides[0].key = b"tokenizer.ggml.add_space_prefix"
    overrides[0].value.val_bool = False
    return overrides
