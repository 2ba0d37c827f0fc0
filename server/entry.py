"""Where the `midtoken` command begins: it can be interrupted in silence from its first moment.

Until all modules are imported (some 0.2 s) nobody catches Ctrl-C, and Python would print where it
was. Until then it ends the process as it does in C programs, with the exit code 130 in a shell.
"""

import signal


def main() -> None:
    """Import the command and run it."""
    # Where the signal is ignored, as in the background of a script, it stays so.
    is_heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_heard:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from server.cli import main as run

    if is_heard:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run()
