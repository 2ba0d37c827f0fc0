"""`midtoken rank` from a terminal."""

import codecs
import io
import json
import math
import sys

import pytest

from server.cli import main
from server.rank_command import LONG, USUAL_BEST

TEXT = "import os\n\ndef read(path):\n    return path\n\nre\n"


class Input(io.TextIOWrapper):
    """Standard input with some bytes."""

    def __init__(self, data: bytes) -> None:
        super().__init__(io.BytesIO(data), encoding="utf-8")


@pytest.fixture
def run(tmp_path, tiny_file, monkeypatch, capsys):
    """Runs the command at the end of the last word of `TEXT`; exit code, lines, lines of errors."""
    path = tmp_path / "a.py"
    path.write_text(TEXT, encoding="utf-8")

    def command(*options, stdin=b"", place=f"{path}:6:3"):
        monkeypatch.setattr(sys, "stdin", Input(stdin))
        model = ["--model", str(tiny_file()), "--threads", "1"]
        with pytest.raises(SystemExit) as ended:
            main(["rank", place, *options, *model])
        printed = capsys.readouterr()
        return ended.value.code, printed.out.splitlines(), printed.err.splitlines()

    return command


def test_labels_on_standard_input(run):
    """One a line, in any line ends; best first, each with its probability."""
    code, lines, errors = run("--labels", "-", stdin=b"read\r\nreader\nreturn_value\n")

    assert (code, errors) == (0, [])
    assert {line.split()[1] for line in lines} == {"read", "reader", "return_value"}
    chances = [float(line.split()[0].rstrip("%")) for line in lines]
    assert chances == sorted(chances, reverse=True)


def test_labels_as_json(run):
    """A list may hold what lines can't, and the output is an object."""
    code, lines, _ = run("--labels", "-", "--json", stdin=b' ["read", "re\\nad", "RE"]')

    [found] = map(json.loads, lines)
    assert code == 0
    assert found["typed"] == "re"
    assert {(name["label"], name["match"]) for name in found["names"]} == {
        ("read", "start"),
        ("RE", "other case"),
    }
    assert [label["reason"] for label in found["refused"]] == ["has a line end in it"]
    assert all(math.isfinite(name["logprob"]) and name["exact"] for name in found["names"])
    assert found["evaluated"] > 0


def test_names_of_the_file(run):
    """Without labels, the names in the file are ranked; the word at the cursor is not one."""
    _, lines, _ = run()

    assert [line.split()[1] for line in lines] == ["read"]


@pytest.mark.parametrize(
    ("options", "stdin", "place", "message"),
    [
        (["--labels", "-"], b"", None, "there are no labels: give one a line, or a JSON list"),
        (["--labels", "-"], b"[]", None, "there are no labels: give one a line, or a JSON list"),
        ([], b"", "-:1:1", "there is no other name in the file"),
        ([], b"other\nzz", "-:2:3", "none in the file goes on from what is typed: zz"),
        (["--ban", "read"], b"", None, "none in the file goes on from what is typed: re"),
        (["--labels", "-"], b"zz", None, "the label does not go on from what is typed: re"),
        (
            ["--labels", "-"],
            b"\xff\n" + b"zz\n" * 6,
            None,
            "all 7 labels are refused; label 1 is not valid UTF-8",
        ),
    ],
)
def test_no_names(run, options, stdin, place, message):
    """Nobody is left without a word, and nothing has failed."""
    more = {} if place is None else {"place": place}

    assert run(*options, stdin=stdin, **more) == (0, [], [f"no names: {message}"])


def test_names_of_the_file_are_not_refused(run):
    """Those that do not go on from the word are no mistakes of anybody."""
    _, lines, errors = run(stdin=b"read\nother\nre", place="-:3:3")

    assert [line.split()[1] for line in lines] == ["read"]
    assert errors == []


def test_bans_hide_names_of_the_file(run):
    """A person's own labels stay."""
    text = b"read\nreader\nprint(re)"
    _, [line], _ = run("--ban", "der", stdin=text, place="-:3:9")
    _, own, _ = run("--ban", "der", "--labels", "-", stdin=b"read\nreader\n")

    assert line.split()[1] == "read"
    assert {line.split()[1] for line in own} == {"read", "reader"}


def test_a_wrong_ban(run):
    """It is named."""
    code, _, [error] = run("--ban-pattern", "(")

    assert code == 2
    assert "can't be used" in error


def test_long_lists(run):
    """The best are exact, and that is said; as many as were asked for, if a number was."""
    many = b"".join(b"re%d\n" % number for number in range(LONG + 1))
    _, lines, [note] = run("--labels", "-", stdin=many)
    _, asked, none = run("--labels", "-", "--best", "3", stdin=many)

    exact = [not line.lstrip().startswith("<") for line in lines]
    assert len(lines) == len(asked) == LONG + 1
    assert all(exact[:USUAL_BEST])
    assert note == "501 names: the 50 best will be exact (--best 501 for all)"
    assert none == []


@pytest.mark.parametrize("text", [b"read\r\nreader\r\n", b'["read", "reader"]'])
def test_labels_with_a_byte_order_mark(run, text):
    """It is no part of a label."""
    _, lines, errors = run("--labels", "-", stdin=codecs.BOM_UTF8 + text)

    assert {line.split()[1] for line in lines} == {"read", "reader"}
    assert errors == []


def test_labels_do_nothing_to_a_terminal(run):
    """What has no sign of its own gets one; in JSON everything is as it was."""
    label = "re\x1b[2J\u202e"
    _, [line], _ = run("--labels", "-", stdin=label.encode())
    _, [found], _ = run("--labels", "-", "--json", stdin=label.encode())

    assert line.endswith("re␛[2J<U+202E>")
    assert json.loads(found)["names"][0]["label"] == label


def test_labels_in_a_file(run, tmp_path):
    """And text on standard input."""
    labels = tmp_path / "labels"
    labels.write_text("read\n", encoding="utf-8")

    code, [line], _ = run("--labels", str(labels), stdin=b"re", place="-:1:3")

    assert code == 0
    assert line.endswith("read")


def test_refused_labels_are_told(run):
    """Some by name, the others by number; the rest is ranked."""
    code, [line], errors = run("--labels", "-", stdin=b"read\n\xff\n" + b"other\n" * 6)

    assert code == 0
    assert line.endswith("read")
    assert errors[0] == "label 2 is not valid UTF-8"
    assert errors[1] == "label 3 does not go on from what is typed: re"
    assert errors[-1] == "and 2 more labels are refused"


def test_bounds_are_marked(run):
    """What was left has less than what is printed."""
    _, lines, _ = run("--labels", "-", "--tokens", "0", stdin=b"read\nreader\n")

    assert all(line.lstrip().startswith("<") for line in lines)


@pytest.mark.parametrize(
    ("options", "stdin", "code", "message"),
    [
        (["--labels", "-"], b"[1, 2]", 2, "a list of strings"),
        (["--labels", "-"], b'["read"', 2, "are a JSON list, but"),
        (["--labels", "no such file"], b"", 1, "no such file does not exist"),
        (["--best", "0"], b"", 2, "--best"),
    ],
)
def test_bad_input(run, options, stdin, code, message):
    """One line says what is wrong."""
    found, lines, errors = run(*options, stdin=stdin)

    assert (found, lines, len(errors)) == (code, [], 1)
    assert message in errors[0]


def test_both_on_standard_input(run):
    """There is only one."""
    code, _, [error] = run("--labels", "-", place="-:1:1")

    assert code == 2
    assert "can't both be on standard input" in error
