"""The key for an engine: out of the environment or a file, and never into a log or a message.

No option holds a key, so no settings file does: options say where it is. A file has to be for this
user alone (`private_files`).
"""

import os
from dataclasses import dataclass, field
from pathlib import Path

from server.errors import EngineError
from server.plain_files import fault_of, shortened
from server.private_files import read_private

MOST_BYTES = 1 << 16
"""A longer file is no key."""

HIDDEN = "(the key)"


@dataclass(frozen=True)
class Key:
    """A key, which is not shown when it is printed."""

    value: str = field(repr=False)

    def hide_in(self, text: str) -> str:
        """A text in which the key is replaced: engines like to repeat what they were sent."""
        return text.replace(self.value, HIDDEN)


def read_key(variable: str, file: str) -> Key | None:
    """The key in a file, if one is named, else in an environment variable; None if there is none.

    Raises EngineError for a file that is missing, empty or readable by others, and for a key that
    can't be sent.
    """
    if file:
        path = Path(os.path.expanduser(file))  # noqa: PTH111 - pathlib's own raises for unknown users
        return _checked(_read(path), f"the key in {shortened(path)}")
    value = os.environ.get(variable, "") if variable else ""
    return _checked(value.strip(), f"the key in ${variable}") if value.strip() else None


def _read(path: Path) -> str:
    named = f"the key's file {shortened(path)}"
    if fault := fault_of(path):
        raise EngineError(f"{named} {fault}: correct midtoken.remote.keyFile (--remote-key-file)")
    try:
        content = read_private(path, MOST_BYTES + 1)
    except OSError as error:
        raise EngineError(
            f"{named} can't be used: {error.strerror} (it must be yours alone: "
            f"`chmod 600 {shortened(path)}`)"
        ) from error
    return content.decode("latin-1").strip() if len(content) <= MOST_BYTES else ""


def _checked(value: str, named: str) -> Key:
    """A key that can be a header: nothing in it that would end one."""
    if not value or not value.isascii() or not value.isprintable() or " " in value:
        raise EngineError(f"{named} is no key: one word of printable ASCII characters is expected")
    return Key(value)
