"""What editors do otherwise than the protocol says, by the name that they give themselves.

Each entry was seen in the real editor and is held by a test that types in it (`tests/e2e`).
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Client:
    """How an editor applies items."""

    splits_at_lf: bool = False
    """It ends lines by itself: a carriage return in an item would stay in the text beside that."""
    menu_only_inserts: bool = False
    """Its menu inserts an item's text at the cursor, replaces nothing after it, and indents further
    lines once more: entries are one line, and leave closers where they are."""


_KNOWN = {"Neovim": Client(splits_at_lf=True, menu_only_inserts=True)}


def client_named(name: str | None) -> Client:
    """What is known of a client; one that keeps to the protocol where the name is unknown."""
    return _KNOWN.get(name or "", Client())
