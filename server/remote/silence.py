"""Saying that an engine elsewhere is waited for: it may say nothing for a minute before that ends.

Light enough for every command: nothing here connects, or imports what does.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import click

from server.option_sections import RemoteSection
from server.visible import visible

SILENT_S = 5.0
"""So long an answer may take before a person is told."""


def waiting_for(remote: RemoteSection) -> str:
    """What a person is told who has waited so long for an engine."""
    return (
        f"no whole answer from {remote.url} after {SILENT_S:g} s; it is given up when it says "
        f"nothing for {remote.timeout:g} s (midtoken.remote.timeout, --remote-timeout)"
    )


@contextmanager
def told_if_slow(remote: RemoteSection | None) -> Iterator[None]:
    """Say so on standard error if the block, in which an engine may be asked, takes long."""
    if remote is None:
        yield
        return
    message = visible(f"waiting: {waiting_for(remote)}")
    timer = threading.Timer(SILENT_S, click.secho, [message], {"dim": True, "err": True})
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
