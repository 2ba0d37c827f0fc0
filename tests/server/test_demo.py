"""The demo: real completions side by side, and no traceback whatever happens."""

import re
from xml.etree import ElementTree

import pytest

from server import demo
from server.demo import EXAMPLES, main, python_fault


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("def f(x):\n    y = x\n    return max(y, 1)\n", None),
        ("import os.path as p, re\n\n\nclass A:\n    z = p, re\n", None),
        ("def f(x):\n    return xx\n", "nothing is called xx"),
        ("def f(x):\n    y = x\n      return y\n", "IndentationError: unexpected indent"),
    ],
)
def test_faults_of_a_text(source, fault):
    """A text is refused for its syntax or for a name that nothing defines."""
    assert python_fault(source) == fault


def test_examples_have_one_cursor_inside_something():
    """One example stops inside a word, the other inside an indentation."""
    identifier, indentation = (example.typed for example in EXAMPLES)

    assert identifier[-1].isalpha()
    assert indentation.isspace()


def test_a_missing_model_is_one_line(tmp_path, capsys, monkeypatch):
    """Without the model the demo names the command that fetches it."""
    monkeypatch.setenv("MIDTOKEN_HOME", str(tmp_path))

    with pytest.raises(SystemExit) as ended:
        main([])

    error = capsys.readouterr().err
    assert ended.value.code == 1
    assert error.count("\n") == 1
    assert "`make model` or `midtoken model pull" in error


def test_ctrl_c_is_one_line(tmp_path, capsys, monkeypatch):
    """An interrupt ends the demo with a word."""

    def interrupted(_name):
        raise KeyboardInterrupt

    monkeypatch.setattr(demo.store, "resolve", interrupted)

    with pytest.raises(SystemExit) as ended:
        main([])

    assert (ended.value.code, capsys.readouterr().err.strip()) == (1, "midtoken: cancelled")


@pytest.mark.model
def test_the_demo_shows_the_difference(tmp_path, capsys, monkeypatch):
    """With healing both texts are right; the page is plain when piped, and a picture beside it."""
    monkeypatch.setenv("COLUMNS", "80")
    picture = tmp_path / "demo.svg"

    main(["--svg", str(picture)])

    page = capsys.readouterr().out
    assert page.isascii()
    assert "return celsius" in page
    assert page.count("Python reads it") >= 2
    assert re.search(r"midtoken complete FILE:LINE:COLUMN --explain\n$", page)
    text = "".join(ElementTree.parse(picture).getroot().itertext()).replace("\xa0", " ")
    assert "with healing" in text
    assert "font-face" not in text
