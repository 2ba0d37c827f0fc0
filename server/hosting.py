"""For whom a server works: one editor that started it, several on this machine, or other machines.

An editor on another machine must neither have files of this machine read or written for it nor
decide what runs here. So its documents get addresses that are no files here, and of its settings
those that say what runs where are left out; whoever runs the server says that (`--settings`).

Not here: who is let in (`access`, `gate`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from server.grammar.attached import ELSEWHERE

LOCAL_MESSAGE_BYTES = 256 << 20
"""A message of an editor on this machine that shares a server: a document of 50 MB takes 70 where
letters like `ö` are escaped, as some clients do."""

NETWORK_MESSAGE_BYTES = 64 << 20
"""A message of an editor on another machine: a document of 50 MB as most clients write it."""

_ADDRESSES = ("uri", "rootUri", "rootPath")


@dataclass(frozen=True)
class Hosting:
    """How a server treats the editors that are connected to it."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of whoever started the server; an editor's own go before them."""
    remote: bool = False
    """Whether editors may be on other machines."""
    keeps_model: bool = False
    """Whether an editor's settings change the model only while no other editor is connected."""
    longest_message: int | None = None
    """Bytes; who sends a longer one is disconnected. None for one editor, who may send any."""


ALONE = Hosting()
"""One editor has started the server for itself, or editors of one person share it."""


def moved_elsewhere(message: dict[str, Any]) -> dict[str, Any]:
    """An object of a message whose addresses are of another machine: no file here has them."""
    for key in _ADDRESSES:
        if isinstance(address := message.get(key), str):
            message[key] = ELSEWHERE + address
    return message
