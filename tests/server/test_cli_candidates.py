"""`midtoken complete --candidates`, from the command line to standard output, on tiny models."""

import re

import pytest

from tests.server.test_cli import answer, complete  # noqa: F401 (a fixture)

AT = "2:5"
HEADING = re.compile(rb"^--- (\d+) of (\d+): \S.* % ---$", re.MULTILINE)


@pytest.fixture
def place(tmp_path):
    """A place where the tiny model has several wishes."""
    path = tmp_path / "a.py"
    path.write_text("x = 1\ny = ", encoding="utf-8")
    return f"{path}:{AT}"


def texts(result):
    return [item["text"] for item in answer(result)["items"]]


def test_json(complete, place):  # noqa: F811
    """All are items; the first is that of a request for one, and the others follow in order."""
    [only] = answer(complete(place, "--json"))["items"]
    items = answer(complete(place, "--json", "--candidates", 3))["items"]

    assert items[0]["text"] == only["text"]
    assert len({item["text"] for item in items}) == len(items) == 3
    shares = [item["probability"] for item in items]
    assert shares[1:] == sorted(shares[1:], reverse=True)


def test_text(complete, place):  # noqa: F811
    """Each stands under a heading of its own."""
    expected = texts(complete(place, "--json", "--candidates", 3))

    printed = complete(place, "--candidates", 3)

    assert [m.groups() for m in HEADING.finditer(printed.out)] == [
        (b"%d" % number, b"3") for number in (1, 2, 3)
    ]
    parts = HEADING.split(printed.out)[3::3]
    assert [part.decode() for part in parts] == [f"\n{text}\n" for text in expected]


def test_explained(complete, place):  # noqa: F811
    """The page for people names the others."""
    others = texts(complete(place, "--json", "--candidates", 3))[1:]
    page = complete(place, "--candidates", 3, "--explain").out.decode()

    for number, text in enumerate(others, 2):
        assert f'also ({number})    "{text}"' in page


def test_via_server(complete, place):  # noqa: F811
    """A server's process finds the same ones."""
    here = complete(place, "--json", "--candidates", 3)
    there = complete(place, "--json", "--candidates", 3, "--via-server")

    assert texts(there) == texts(here)


@pytest.mark.parametrize("method", ["align", "one", "off"])
def test_other_methods(complete, place, method):  # noqa: F811
    """They find one, and say so."""
    found = answer(complete(place, "--json", "--candidates", 3, "--healing", method))

    assert len(found["items"]) == 1
    assert any("only exact healing" in note for note in found["notes"])


def test_memory_that_cannot_be_cut(complete, place, tiny_file):  # noqa: F811
    """There are no trees there, and no several texts."""
    model = tiny_file(architecture="mamba")
    found = answer(complete(place, "--json", "--candidates", 3, model=model))

    assert len(found["items"]) <= 1
    assert any("only exact healing" in note for note in found["notes"])


@pytest.mark.parametrize("number", [0, 11, -1, "many", 10**12])
def test_wrong_number(complete, place, number):  # noqa: F811
    """The command line is wrong, and says what is right."""
    result = complete(place, "--candidates", number)

    assert (result.code, result.out) == (2, b"")
    assert "--candidates" in result.err


def test_no_stream_of_several(complete, place):  # noqa: F811
    """Texts that are written at the same time can't be printed one after the other."""
    result = complete(place, "--stream", "--candidates", 2)

    assert result.code == 2
    assert "--candidates" in result.error
