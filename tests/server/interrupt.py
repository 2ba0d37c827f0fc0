"""The `midtoken` command in a process that interrupts itself, as Ctrl-C would, at a chosen moment.

    python -m tests.server.interrupt load|PASS ARGUMENTS...

The signal comes while the model is loaded, or just before the model's forward pass number PASS
(from 0). The last line on standard error is the number of forward passes that were begun after it.
"""

import os
import signal
import sys

from server import completer
from server.cli import main
from server.engine.llama_batch import Batch


def interrupted_run(moment: str, arguments: list[str]) -> None:
    """Run the command and interrupt it."""
    passes, late = 0, 0
    sent = False

    def interrupt() -> None:
        nonlocal sent
        sent = True
        os.kill(os.getpid(), signal.SIGINT)

    load, decode = completer.load, Batch.decode

    def watched_load(*parameters):
        if moment == "load":
            interrupt()
        return load(*parameters)

    def watched_decode(batch, context, entries):
        nonlocal passes, late
        late += sent
        if moment == str(passes):
            interrupt()
        passes += 1
        return decode(batch, context, entries)

    completer.load, Batch.decode = watched_load, watched_decode
    try:
        main(arguments)
    finally:
        print(late, file=sys.stderr)


if __name__ == "__main__":
    interrupted_run(sys.argv[1], sys.argv[2:])
