r"""Text of other people's making in lines for a person: all of it is shown, none of it is obeyed.

Whatever comes from a document, a model, a file name or a connection may hold escape sequences, line
ends, or marks that turn the direction of writing:

    >>> visible("a\tb\x1b[2J\u202e")
    'a␉b␛[2J<U+202E>'

What is not here: what is printed for people on standard output (`terminal`).
"""

import logging
from types import TracebackType
from typing import TypeAlias

ExceptionInfo: TypeAlias = (
    tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
)


def visible(text: str) -> str:
    """The text with a visible sign in place of every character that has none of its own.

    Control characters become their pictures (`␊` for a newline); other characters that cannot be
    printed, and blanks that look like ordinary ones, become `<U+00A0>`.
    """
    return text if text.isprintable() else "".join(map(_shown, text))


class VisibleFormatter(logging.Formatter):
    """Makes the messages of a log visible: each is one line, and does nothing to a terminal."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 (the library's name)
        """The line of a record; its own text has no line ends."""
        record.message = visible(record.message)
        return super().formatMessage(record)

    def formatException(self, ei: ExceptionInfo) -> str:  # noqa: N802 (the library's name)
        """A traceback, which has lines, without anything else that is not printable."""
        return "\n".join(map(visible, super().formatException(ei).split("\n")))


def _shown(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"<U+{code:04X}>"
