"""`midtoken explain`: where the page goes, and what is never overwritten."""

import os
import webbrowser
from pathlib import Path

import pytest

from server import explain_command
from server.explain_page.page import START
from tests.server.command import run_here
from tests.server.explain_page.parsing import parsed


@pytest.fixture
def explain(capfdbinary, monkeypatch, tiny_file, tmp_path):
    """Runs the command in a folder with a document, with a tiny model."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_bytes(b"import os\nprint(o\n")

    def run(*arguments, location="a.py:2:8", **more):
        options = ("--model", tiny_file(), "--threads", 1, "--max-tokens", 4)
        return run_here(capfdbinary, monkeypatch, "explain", location, *options, *arguments, **more)

    return run


def test_a_page_in_a_file(explain, tmp_path):
    """The page is written where it is wanted, and its name is the result."""
    result = explain("--out", "page.html")

    assert (result.code, result.out, result.err) == (0, b"page.html\n", "")
    assert parsed((tmp_path / "page.html").read_text("utf-8")).find("h1")[0].text == "a.py:2:8"


def test_a_page_again(explain, tmp_path):
    """Without a name it has always the same one, and an earlier page makes room."""
    assert explain().code == 0
    assert explain("--healing", "off").code == 0

    assert "Healing was off" in (tmp_path / "midtoken-explain.html").read_text("utf-8")


def test_to_standard_output(explain, tmp_path):
    """`-` prints it, and nothing is written; a document may come from standard input."""
    more = {"location": "-:1:3", "stdin": b"prin"}
    result = explain("--out", "-", "--stdin-filename", "b.py", **more)

    assert parsed(result.out.decode()).find("h1")[0].text == "b.py:1:3"
    assert [path.name for path in tmp_path.iterdir()] == ["a.py"]


@pytest.mark.parametrize("started", [True, False])
def test_in_a_browser(explain, monkeypatch, tmp_path, started):
    """`--open` shows the file; where there is no browser, that is no failure."""
    opened = []
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.append(address) or started)

    result = explain("--open")

    assert opened == [(tmp_path / "midtoken-explain.html").as_uri()]
    assert result.code == 0
    assert ("no browser" in result.err) == (not started)


@pytest.mark.parametrize("content", [b"print(1)\n", b"", START.encode()[:-1]])
def test_somebodys_file_is_never_replaced(explain, tmp_path, content):
    """Anything that is no page of ours stays; nothing is computed first."""
    (tmp_path / "mine").write_bytes(content)

    result = explain("--out", "mine")

    assert result.code == 2
    assert "mine exists and is no page of midtoken" in result.error
    assert (tmp_path / "mine").read_bytes() == content


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_pipe_is_no_page(explain, tmp_path):
    """Nobody waits for one that nobody writes to."""
    os.mkfifo(tmp_path / "pipe")

    assert "pipe exists and is no page of midtoken" in explain("--out", "pipe").error


@pytest.mark.parametrize("arguments", [(), ("--out", "page.html")])
def test_a_link_to_nothing(explain, tmp_path, arguments):
    """A folder from elsewhere can't have the page written outside of it."""
    elsewhere = tmp_path / "elsewhere"
    (tmp_path / (arguments or ("", "midtoken-explain.html"))[1]).symlink_to(elsewhere)

    result = explain(*arguments)

    assert (result.code, elsewhere.exists()) == (2, False)
    assert "is a link to nothing" in result.error


@pytest.mark.parametrize(("out", "kept"), [("page.html", None), ("old.html", START.encode())])
def test_where_nothing_can_be_written(explain, tmp_path, monkeypatch, out, kept):
    """It is said before anything is computed, and what was there stays."""
    (tmp_path / "old.html").write_bytes(START.encode())
    monkeypatch.setattr(explain_command, "interruptible", pytest.fail)
    refused = {Path(out), Path()} if kept is None else {Path(out)}
    monkeypatch.setattr(
        os, "access", lambda path, mode: mode != os.W_OK or Path(path) not in refused
    )

    result = explain("--out", out)

    assert (result.code, result.error) == (
        1,
        f"{out} may not be written: choose another name for --out",
    )
    assert not (tmp_path / "page.html").exists()
    assert (tmp_path / "old.html").read_bytes() == START.encode()


@pytest.mark.parametrize(
    ("arguments", "location", "code", "message"),
    [
        (["--out", "-", "--open"], "a.py:2:8", 2, "--open needs a file"),
        (["--out", "no/such/page.html"], "a.py:2:8", 1, "page.html can't be written: make the"),
        (["--out", ""], "a.py:2:8", 2, ". exists and is no page of midtoken"),
        ([], "a.py:9:1", 1, "line 9 does not exist"),
        ([], "a.py", 2, "is not a location"),
    ],
)
def test_mistakes(explain, arguments, location, code, message):
    """One line that says what is wrong."""
    result = explain(*arguments, location=location)

    assert result.code == code
    assert message in result.error
