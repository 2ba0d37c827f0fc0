"""Compiled grammars, each compiled once in the process, in the background.

Compiling takes up to 0.3 s and needs Python's lock for little of it, so a thread does it while a
model is loaded or the person still types. A grammar that is wrong is said once in the log; whoever
asks for it is told each time.

What is not here: which grammar a document has (`languages`), and states of documents (`kept`).
"""

import logging
import threading
from collections import OrderedDict
from collections.abc import Iterable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError

from server.errors import AttachedGrammarError, GrammarError
from server.grammar.rungs import Source
from server.grammar.state import Template, compile_grammar

logger = logging.getLogger("midtoken.grammar")

MOST = 128
"""Grammars that are remembered: all languages have fewer, but users' grammars and schemas change,
and each version is one more."""

STACK_BYTES = 1 << 29
"""Of a compiling thread. llguidance goes down a chain of rules by recursion, some 4 kB a rule, and
would end the process where the stack ends; a grammar of 256 KiB can chain 30,000 rules. Pages that
are not touched cost nothing."""

_lock = threading.Lock()
_compiled: OrderedDict[tuple[str, str], "Future[Template]"] = OrderedDict()
_late: set[tuple[str, str]] = set()
"""Keys of grammars that somebody waited for in vain: nobody waits for them again."""


def prepare(sources: Iterable[Source]) -> None:
    """Start to compile grammars, unless that was done before; returns at once."""
    for source in sources:
        _future_of(source)


def get(source: Source, seconds: float) -> Template:
    """A grammar, compiled.

    Args:
        source: The grammar.
        seconds: How long to wait for it. Only the first call waits: a grammar that does not come
            in time once is not waited for again.

    Raises:
        GrammarError: The grammar is wrong, or not compiled yet.
    """
    future = _future_of(source)
    try:
        return future.result(0 if source.key in _late else seconds)
    except FutureTimeoutError:
        _late.add(source.key)
        raise GrammarError(f"the grammar {source.name} is not compiled yet") from None


def _future_of(source: Source) -> "Future[Template]":
    with _lock:
        future = _compiled.get(source.key)
        if future is not None:
            _compiled.move_to_end(source.key)
            return future
        future = _compiled[source.key] = Future()
        while len(_compiled) > MOST:
            _late.discard(_compiled.popitem(last=False)[0])
        # No daemon, also if a daemon asks: a thread that leaves llguidance while Python ends is
        # unwound through native code, which ends the process with a signal.
        thread = threading.Thread(target=_compile, args=(source, future), daemon=False)
        usual = threading.stack_size(STACK_BYTES)
        thread.start()
        threading.stack_size(usual)
    return future


def _compile(source: Source, future: "Future[Template]") -> None:
    try:
        future.set_result(_template(source))
    except GrammarError as error:
        logger.warning("%s", error)
        future.set_exception(_to_be_told(source, error))
    except BaseException as error:  # a panic of the engine is no Exception
        logger.exception("compiling the grammar %s", source.name)
        reason = f"the grammar {source.name} cannot be compiled ({type(error).__name__}: {error})"
        future.set_exception(_to_be_told(source, GrammarError(reason)))


def _to_be_told(source: Source, error: GrammarError) -> GrammarError:
    return AttachedGrammarError(str(error)) if source.attached else error


def _template(source: Source) -> Template:
    lark = source.lark()
    try:
        return compile_grammar(source.name, lark)
    except GrammarError as error:
        if source.refused is None:
            raise
        logger.debug("%s", error)
        raise GrammarError(source.refused) from error
