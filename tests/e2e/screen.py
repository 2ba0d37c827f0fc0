"""A terminal of its own for programs that need a screen: keys in, and what the screen shows."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

import pyte
import pytest
from rich.style import Style
from rich.text import Text

from tests.e2e.editors import Program

COLUMNS, ROWS = 100, 30
LIMIT_S = 60.0

_QUESTION = re.compile(rb"\x1bP.*?\x1b\\", re.DOTALL)
"""What a program asks of a terminal's abilities; pyte would show it as text."""


class _Screen(pyte.Screen):
    """pyte's screen; it does not know that a program may ask for private reports."""

    def __init__(self, size: tuple[int, int], answer: Callable[[str], None]) -> None:
        super().__init__(*size)
        self._answer = answer

    def report_device_status(self, mode: int, **private: bool) -> None:
        if not private:
            super().report_device_status(mode)

    def write_process_input(self, data: str) -> None:
        self._answer(data)


def _style(cell: pyte.screens.Char) -> Style:
    """A cell's look in rich's words: pyte gives true colours as six hexadecimal digits."""

    def colour(name: str) -> str | None:
        return None if name == "default" else f"#{name}" if len(name) == 6 else name

    return Style(
        color=colour(cell.fg), bgcolor=colour(cell.bg), bold=cell.bold, reverse=cell.reverse
    )


class Terminal:
    """A program in a terminal."""

    def __init__(
        self,
        program: Program,
        arguments: list[str],
        environment: dict[str, str],
        folder: Path | None = None,
        size: tuple[int, int] = (COLUMNS, ROWS),
    ) -> None:
        """Start it; `environment` is what it needs beside its own and that of the tests."""
        self._screen = _Screen(size, self.press)
        self._stream = pyte.ByteStream(self._screen)
        self._terminal, end = pty.openpty()
        columns, rows = size
        fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._process = subprocess.Popen(
            [*program.command, *arguments],
            stdin=end,
            stdout=end,
            stderr=end,
            env=os.environ | {"TERM": "xterm-256color"} | program.environment | environment,
            cwd=folder,
            start_new_session=True,
        )
        os.close(end)

    @property
    def pid(self) -> int:
        """The program's process."""
        return self._process.pid

    def close(self) -> None:
        """End the program."""
        self._process.terminate()
        self._process.wait(timeout=10)
        os.close(self._terminal)

    def press(self, keys: str) -> None:
        """Type keys as a terminal sends them."""
        os.write(self._terminal, keys.encode())

    def lines(self) -> list[str]:
        """What the screen shows, blanks at the ends of lines left out."""
        while select.select([self._terminal], [], [], 0.02)[0]:
            try:
                self._stream.feed(_QUESTION.sub(b"", os.read(self._terminal, 1 << 16)))
            except OSError:  # the program has ended
                break
        return [line.rstrip() for line in self._screen.display]

    def styled(self) -> list[Text]:
        """What the screen shows, with its colours."""
        lines = []
        for row in range(self._screen.lines):
            cells = (self._screen.buffer[row][column] for column in range(self._screen.columns))
            line = Text()
            for style, alike in groupby(cells, _style):
                line.append("".join(cell.data for cell in alike), style)
            lines.append(line)
        return lines

    def wait(self, what: str, condition: Callable[[list[str]], object]) -> list[str]:
        """The screen once the condition holds for it; fails with what was waited for."""
        limit = time.monotonic() + LIMIT_S
        while not condition(lines := self.lines()):
            if time.monotonic() > limit:
                shown = "\n".join(filter(None, lines))
                pytest.fail(f"waited for {what}; the screen shows:\n{shown}")
        return lines
