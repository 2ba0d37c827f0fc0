"""Text of other people's making in the lines that a person reads."""

import io
import json
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.visible import VisibleFormatter, visible
from tests.server.command import run_here, run_process

HOSTILE = "\x1b[2J\x1b]0;title\x07\x9b31m\u202e\u2028\x7f"
"""Clears a terminal, names its window, colours what follows, and turns its direction."""


def logged(message: str, *arguments: object, exc_info: object = None) -> str:
    """What a handler with our formatter writes."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(VisibleFormatter("%(name)s: %(message)s"))
    record = logging.LogRecord("a", logging.ERROR, "", 0, message, arguments, exc_info)
    handler.handle(record)
    return stream.getvalue()


class TestLog:
    @given(st.text())
    def test_any_message(self, text):
        """Each message is one line, and nothing in it does anything to a terminal."""
        line = logged("said: %s", text)

        assert line == f"a: said: {visible(text)}\n"
        assert line[:-1].isprintable()

    @given(st.text())
    def test_any_exception(self, text):
        """A traceback keeps its lines, and nothing else that is not printable."""
        try:
            raise ValueError(text)
        except ValueError as error:
            lines = logged("failed", exc_info=(ValueError, error, error.__traceback__))

        assert lines.startswith("a: failed\nTraceback (most recent call last):\n")
        assert lines.replace("\n", "").isprintable()


class TestCommand:
    @pytest.mark.parametrize(
        "arguments",
        [
            ("complete", HOSTILE),
            ("complete", f"{HOSTILE}:1:1"),
            ("complete", "a.py:1:1", "--model", HOSTILE),
            ("complete", "a.py:1:1", "--healing", HOSTILE),
            ("complete", "a.py:1:1", f"--{HOSTILE}"),
            ("model", "path", HOSTILE),
            ("serve", "--tcp", f"{HOSTILE}:1"),
            (HOSTILE,),
        ],
        ids=["place", "file", "model", "value", "option", "name", "address", "command"],
    )
    def test_errors(self, capfdbinary, monkeypatch, tmp_path, arguments):
        """Whatever a message quotes is shown and not obeyed."""
        monkeypatch.chdir(tmp_path)
        (tmp_path / "a.py").write_bytes(b"x")
        result = run_here(capfdbinary, monkeypatch, *arguments)

        assert result.code in {1, 2}
        assert result.error.isprintable()

    def test_warnings(self, tiny_file, tmp_path):
        """A document that names a schema tells a terminal nothing by the schema's name."""
        document = tmp_path / "a.json"
        document.write_text(json.dumps({"$schema": f"{HOSTILE}.json", "a": 1}))
        result = run_process("complete", f"{document}:1:20", "--model", tiny_file())

        assert "is missing" in result.err
        assert result.err.replace("\n", "").isprintable()
