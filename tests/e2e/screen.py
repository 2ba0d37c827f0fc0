"""A terminal of its own for programs that need a screen: keys in, and what the screen shows."""

import os
import pty
import select
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pyte
import pytest

from tests.e2e.editors import Program

COLUMNS, ROWS = 100, 30
LIMIT_S = 60.0


class _Screen(pyte.Screen):
    """pyte's screen; it does not know that a program may ask for private reports."""

    def __init__(self, answer: Callable[[str], None]) -> None:
        super().__init__(COLUMNS, ROWS)
        self._answer = answer

    def report_device_status(self, mode: int, **private: bool) -> None:
        if not private:
            super().report_device_status(mode)

    def write_process_input(self, data: str) -> None:
        self._answer(data)


class Terminal:
    """A program in a terminal."""

    def __init__(self, program: Program, arguments: list[str], environment: dict[str, str]) -> None:
        """Start it; `environment` is what it needs beside its own and that of the tests."""
        self._screen = _Screen(self.press)
        self._stream = pyte.ByteStream(self._screen)
        self._terminal, end = pty.openpty()
        size = {"TERM": "xterm-256color", "COLUMNS": str(COLUMNS), "LINES": str(ROWS)}
        self._process = subprocess.Popen(
            [*program.command, *arguments],
            stdin=end,
            stdout=end,
            stderr=end,
            env=os.environ | size | program.environment | environment,
            start_new_session=True,
        )
        os.close(end)

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
                self._stream.feed(os.read(self._terminal, 1 << 16))
            except OSError:  # the program has ended
                break
        return [line.rstrip() for line in self._screen.display]

    def wait(self, what: str, condition: Callable[[list[str]], object]) -> list[str]:
        """The screen once the condition holds for it; fails with what was waited for."""
        limit = time.monotonic() + LIMIT_S
        while not condition(lines := self.lines()):
            if time.monotonic() > limit:
                shown = "\n".join(filter(None, lines))
                pytest.fail(f"waited for {what}; the screen shows:\n{shown}")
        return lines

    def wait_for_file(self, path: Path, content: bytes) -> None:
        """Wait until a file holds this."""
        self.wait(f"{path.name} to hold {content!r}", lambda _: path.read_bytes() == content)
