"""`midtoken bench grammar`: the holes, CPython's word on them, and the figures."""

import json
from dataclasses import replace
from itertools import islice

import pytest

from server.bench.grammar_command import fill, summarise
from server.bench.holes import KINDS, compiles, holes, is_dead_end, standard_library
from server.completer import load_completer
from server.completion_options import CompletionOptions
from server.engine.llama_load import EngineOptions
from server.errors import DocumentError
from tests.server.command import run_here, run_process


@pytest.fixture(scope="module")
def some():
    """Thirty holes."""
    return tuple(islice(holes(standard_library(), 0), 30))


class TestHoles:
    def test_same_again(self, some):
        """The same seed makes the same holes, another one others."""
        assert tuple(islice(holes(standard_library(), 0), 5)) == some[:5]
        assert tuple(islice(holes(standard_library(), 1), 5)) != some[:5]

    def test_kinds(self, some):
        """All kinds are there in turns, each with what it promises."""
        assert [hole.kind for hole in some[:6]] == [*KINDS, *KINDS]
        for hole in some:
            assert hole.text
            assert hole.after.startswith(b"\n") == (hole.kind != "inside")
            assert (b"\n" in hole.text) == (hole.kind == "block")

    def test_judge_of_real_code(self, some):
        """A file compiles with its own text in the hole, and nothing of that text is a dead end."""
        for hole in some:
            assert compiles(hole.before + hole.text + hole.after)
            for length in range(1, len(hole.text) + 1, 11):
                assert not is_dead_end(hole.before + hole.text[:length]), hole.name

    def test_no_holes(self, tmp_path):
        """Files that have no room for holes, or are no Python, are named."""
        path = tmp_path / "a.py"
        path.write_text("x = = 1\n")
        with pytest.raises(DocumentError, match=r"a\.py"):
            next(holes([path], 0))


@pytest.mark.parametrize(
    "text",
    [
        "x = ) + a",
        "if x:\ny = 1\nz",
        "def f(:\n    x",
        "return = 3 + a",
        "x = [1, 2)\ny",
        "for in x: y",
    ],
)
def test_dead_ends(text):
    """Errors before the end of a text are found."""
    assert is_dead_end(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        *("", "x =", "x = (", "if x", "if x:", "if x:\n", "try:\n    x\n", "f('a", 'f("""a\n'),
        *("a is no", "def f(a,", "@", "class A(", "x = y if", "x = y if a", "lambda a", "f'{a"),
        *("import a.", "{1: 2,", "# a", "print(a, b if"),
    ],
)
def test_living_ends(text):
    """What only lacks its end is none."""
    assert not is_dead_end(text.encode())


class TestFilling:
    @pytest.fixture
    def filled(self, tiny_file, some):
        completer = load_completer(tiny_file(), EngineOptions(n_ctx=1024, threads=1))
        yield fill(completer, some[:6], CompletionOptions(max_tokens=4, context_tokens=40))
        completer.close()

    def test_both_ways(self, filled):
        """Every hole is filled with the mask and without."""
        assert [len(some) for some in filled.values()] == [6, 6]
        assert {one.completion.grammar.state for one in filled["off"]} == {"off"}
        for one in filled["off"]:
            assert not (one.compiles and one.dead_end)

    def test_figures(self, filled):
        """All figures are there, and add up."""
        figures = json.loads(json.dumps(summarise(filled)))

        assert figures["holes"] == sum(figures["levels"].values()) == 6
        for run in (figures["mask"], figures["no_mask"]):
            for name in ("shown", "compile", "dead_ends", "bytes"):
                assert run[name] == sum(kind[name] for kind in run["kinds"].values())

    def test_outcome(self, filled, some):
        """What compiles is counted."""
        hole = some[0]
        right = [replace(one, shown=hole.text, compiles=True) for one in filled["off"]]
        figures = summarise({"auto": right, "off": right})

        assert figures["mask"]["compile"] == figures["mask"]["shown"] == 6
        assert figures["mask"]["as_it_was"] == 1
        assert figures["same_text"] == 6


class TestCommand:
    def test_table(self, tiny_file):
        """Piped, the figures are plain text."""
        options = ("--model", tiny_file(), "--threads", 1, "--context-size", 1024)
        result = run_process("bench", "grammar", "--holes", 3, "--max-tokens", 3, *options)

        assert result.code == 0
        assert "\x1b" not in result.out.decode()
        for label in ("the whole file compiles", "cannot be gone on from", "bytes shown", "levels"):
            assert label in " ".join(result.out.decode().split())

    def test_json(self, capfdbinary, monkeypatch, tiny_file, tmp_path):
        """The input's own files, as one object."""
        path = tmp_path / "a.py"
        path.write_text("def f(value):\n    other = [value, 1]\n    return other + [2, 3]\n")
        options = ("--model", tiny_file(), "--threads", 1, "--context-size", 1024, "--json")
        arguments = ("bench", "grammar", path, "--holes", 2, "--max-tokens", 2, *options)
        result = run_here(capfdbinary, monkeypatch, *arguments)

        assert result.code == 0
        assert json.loads(result.out)["holes"] == 2

    @pytest.mark.parametrize("content", [None, "x = 1\n"], ids=["missing", "no room"])
    def test_bad_file(self, capfdbinary, monkeypatch, tiny_file, tmp_path, content):
        """A file that can't be used is one line on standard error."""
        path = tmp_path / "a.py"
        if content is not None:
            path.write_text(content)
        result = run_here(
            capfdbinary, monkeypatch, "bench", "grammar", path, "--model", tiny_file()
        )

        assert result.code == 1
        assert "a.py" in result.error
