"""The `midtoken` command in a process that interrupts itself, as Ctrl-C would, at a chosen moment.

    python -m tests.server.interrupt load|PASS ARGUMENTS...

The signal comes while the model is loaded, or just before the model's forward pass number PASS
(from 0), and the model's thread goes on when the main thread has heard of it. The last line on
standard error is the number of forward passes that were begun after it.
"""

import os
import signal
import sys
import threading

from server import completer, completion
from server.cli import main
from server.engine.llama_batch import Batch


def interrupted_run(moment: str, arguments: list[str]) -> None:
    """Run the command and interrupt it."""
    passes, late = 0, 0
    heard = threading.Event()

    def interrupt() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        heard.wait(60)

    load, decode, stop = completer.load, Batch.decode, completion._Completers.stop

    def watched_load(*parameters):
        if moment == "load":
            interrupt()
        return load(*parameters)

    def watched_decode(batch, context, entries):
        nonlocal passes, late
        late += heard.is_set()
        if moment == str(passes):
            interrupt()
        passes += 1
        return decode(batch, context, entries)

    def watched_stop(completers):
        stop(completers)
        heard.set()

    completer.load, Batch.decode = watched_load, watched_decode
    completion._Completers.stop = watched_stop
    try:
        main(arguments)
    finally:
        print(late, file=sys.stderr)


if __name__ == "__main__":
    interrupted_run(sys.argv[1], sys.argv[2:])
