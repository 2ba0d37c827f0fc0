"""`midtoken bench typing`: what is typed, who types it, and the run against a real server."""

import json
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.bench.corpus import Target, given_files, standard_library, take_out
from server.bench.doubling import is_doubled
from server.bench.typing.figures import percentile, summarise
from server.bench.typing.replay import Page, Replay
from server.bench.typing.suggesters import Midtoken
from server.bench.typing.typist import (
    Edit,
    Hole,
    Suggestion,
    Typist,
    accepted,
    first_line,
    next_key,
    open_hole,
)
from server.client import ServerClient
from server.completion_options import CompletionOptions
from server.engine.llama_load import EngineOptions
from server.errors import DocumentError
from server.via_server import completion_settings, server_settings
from tests.server.command import run_here, run_process

FUNCTION = "def f(x):\n    y = [x]\n\n    return y"
TARGETS = [target for source in islice(standard_library(3), 12) for target in source.targets]


def type_all(hole):
    """Type to the end; the number of keys."""
    pressed = 0
    while (edit := next_key(hole)) is not None:
        hole.apply(edit)
        pressed += 1
    return pressed


class TestCorpus:
    def test_whole(self):
        """The pieces and the targets of a source are its file."""
        text = "import os\n\nclass A:\n    def f(self):\n        return 1\n\nx = 2\n"
        source = take_out("a.py", text, [4], [5])

        assert source.targets[0].text == "def f(self):\n        return 1"
        assert source.pieces[0] + source.targets[0].text + source.pieces[1] == text

    def test_seed(self):
        """The same seed gives the same functions, another one others."""
        names = [[source.name for source in islice(standard_library(n), 5)] for n in (1, 1, 2)]

        assert names[0] == names[1] != names[2]

    def test_far_apart(self):
        """Two functions of a file are at least fifty lines apart."""
        sources = [source for source in islice(standard_library(0), 20) if len(source.targets) > 1]

        assert sources
        assert all(source.pieces[1].count("\n") >= 50 for source in sources)

    def test_python_brackets(self):
        """Brackets in strings and comments are typed as any character; others have partners."""
        target = Target('f("(", [a])  # (', "python")

        assert target.pairs == {1: 10, 7: 9}

    def test_other_language(self, tmp_path):
        """In other languages, a function is what is indented under a line, with its last brace."""
        path = tmp_path / "a.go"
        path.write_text("package a\n\nfunc f() {\n\tx := g(1)\n\treturn\n}\n")
        source = next(given_files([str(path)], 0))

        assert source.targets[0].text == "func f() {\n\tx := g(1)\n\treturn\n}"
        assert len(source.targets[0].pairs) == 3

    def test_brace_below(self, tmp_path):
        """A brace on a line of its own belongs to the line before it; comments are not typed."""
        path = tmp_path / "a.c"
        path.write_text("/* About\n   this.\n   And that. */\nint\nf (int x)\n{\n  return x;\n}\n")
        source = next(given_files([str(path)], 0))

        assert source.targets[0].text == "f (int x)\n{\n  return x;\n}"

    def test_no_function(self, tmp_path):
        """A file without functions is named."""
        path = tmp_path / "a.py"
        path.write_text("x = 1\n")
        with pytest.raises(DocumentError, match=r"a\.py"):
            next(given_files([str(path)], 0))


class TestTyping:
    @given(st.sampled_from(TARGETS))
    @settings(max_examples=20)
    def test_real_functions(self, target):
        """Typing key by key gives the text, and leaves no bracket behind."""
        hole = open_hole(target)
        pressed = type_all(hole)

        assert (hole.typed, hole.after) == (target.text, "")
        assert pressed == hole.costs[-1]

    @given(st.text("a (\n[)]:", max_size=30), st.text("a (\n[)]", max_size=10), st.data())
    def test_any_state(self, text, typed, data):
        """Whatever stands there, the keys lead to the text."""
        hole = Hole(Target(text.strip(), "plaintext"), typed)
        hole.after = data.draw(st.sampled_from(["", ")", "])"]))
        type_all(hole)

        assert (hole.typed, hole.after) == (text.strip(), "")

    def test_help_of_the_editor(self):
        """Indentation, closed brackets and a blank line cost no keys of their own."""
        keys = len(FUNCTION) - len("    ") * 2  # both indentations are the editor's

        assert open_hole(Target(FUNCTION, "python")).costs[-1] == keys

    @given(st.sampled_from(TARGETS), st.data())
    @settings(max_examples=20)
    def test_right_acceptance(self, target, data):
        """Accepting what is right, at any place, leads to the text with fewer keys."""
        hole = open_hole(target)
        for _ in range(data.draw(st.integers(0, hole.costs[-1]))):
            hole.apply(next_key(hole))
        if not hole.is_right or hole.is_done:
            return
        line = first_line(hole.rest)
        replaced = hole.after if line.endswith(hole.after) else ""
        hole.apply(accepted(Suggestion(line, replaced), len(line)))
        type_all(hole)

        assert (hole.typed, hole.after) == (target.text, "")

    def test_part_of_a_suggestion(self):
        """A word before a closed bracket leaves the bracket; the whole takes it in."""
        suggestion = Suggestion("a, b)", ")")

        assert accepted(suggestion, 1) == Edit("acceptance", "a")
        assert accepted(suggestion, 5) == Edit("acceptance", "a, b)", removed_after=1)


class TestTypist:
    def test_same_again(self):
        """The same seed has the same rhythm."""
        gaps = [[typist.gap("character") for _ in range(9)] for typist in map(Typist, (5, 5, 6))]

        assert gaps[0] == gaps[1] != gaps[2]

    def test_rhythm(self):
        """Half of the gaps are shorter than 180 ms."""
        typist = Typist(0)
        gaps = [typist.gap("character") for _ in range(4000)]

        assert percentile(gaps, 0.5) == pytest.approx(0.18, rel=0.08)

    @pytest.mark.parametrize(
        ("text", "mistaken", "length"),
        [
            ("ef f(x):\n    y", False, 8),
            ("ef f(z):", False, 2),
            ("ef f(z):", True, 2),
            ("oes", False, 0),
            ("oes", True, 3),
            ("e", False, 0),
        ],
        ids=["line", "word", "word before mistake", "wrong", "mistake", "one key"],
    )
    def test_choice(self, text, mistaken, length):
        """A right line is accepted, else a right word; a wrong line only by mistake."""
        hole = open_hole(Target(FUNCTION, "python"))
        hole.apply(next_key(hole))

        assert Typist(0).choice(hole, Suggestion(text, "", mistaken)) == length


class TestDoubling:
    @pytest.mark.parametrize(
        ("before", "text", "after", "rest", "doubled"),
        [
            ("    retu", "return x", "", "rn x", True),
            ("    retu", "rn y", "", "rn x", False),
            ("a\n    ", "    return", "", "return", True),
            ("a:\n    ", "return", "", "return", False),
            ("f(", "a)", ")", "a)", False),
            ("f(", "b)", ")", "a)", True),
            ("x = 1\n", "y = 2\nreturn x", "\nreturn x\n", "y = 3", True),
            ("ha ", "ha ha", "", "ha ha", False),
        ],
    )
    def test_cases(self, before, text, after, rest, doubled):
        """Words, indentation, brackets and lines that stand there already are found."""
        assert is_doubled(before, text, after, rest) is doubled


class QuickTypist(Typist):
    """A typist without gaps, who waits only for the server."""

    def gap(self, kind):
        return 0.0 if kind == "character" else 0.02


class TestReplay:
    @pytest.fixture
    async def record(self, tiny_file):
        """A short run against a real process with a tiny model, slow enough to get answers."""
        options = {
            **server_settings(tiny_file(), EngineOptions(n_ctx=1024, threads=1)),
            **completion_settings(CompletionOptions(max_tokens=4)),
            "trigger": {"debounce": 0, "timeBudget": 60_000},
        }
        async with await ServerClient.start() as client:
            await client.initialize(options)
            await client.ready(60)
            midtoken = Midtoken(client, cancel=False)
            replay = Replay(midtoken, standard_library(0), QuickTypist(0), fast=100)
            yield await replay.run(80)

    async def test_run(self, record):
        """Every request is answered, nothing fails, and all figures are there."""
        figures = json.loads(json.dumps(summarise(record)))

        assert figures["keys"] == record.requests == sum(figures["answers"].values())
        assert figures["keys_needed_without"] >= 80
        assert sum(stretch.keys for stretch in record.stretches) == record.pressed - record.slips
        assert (figures["errors"], figures["unanswered"]) == ([], 0)
        assert figures["tokens_per_key"] > 0
        assert len(figures["memory"]) > 1
        assert {"jump", "switch"} & set(figures["keys_by_event"])

    def test_page(self):
        """The text of a page and its cursors agree while both holes are typed in."""
        source = take_out("a.py", "a = 1\ndef f(x):\n    pass\nb\nc(1)\nd\n", [2, 5], [3, 5])
        page = Page("file:///a.py", source)
        for hole in (page.holes[1], page.holes[0], page.holes[1]):
            hole.apply(next_key(hole))

        assert page.text == "a = 1\nd\nb\nc()\nd\n"
        assert page.text[: page.cursor(0)] == "a = 1\nd"
        assert page.text[: page.cursor(1)] == "a = 1\nd\nb\nc("


class TestCommand:
    def test_table(self, tiny_file, tmp_path):
        """Piped, the figures are plain text, and the input's own files are typed."""
        path = tmp_path / "a.py"
        path.write_text(FUNCTION + "\n")
        options = ("--model", tiny_file(), "--threads", 1, "--context-size", 1024)
        result = run_process("bench", "typing", path, "--keys", 5, "--fast", 100, *options)

        assert result.code == 0
        assert "\x1b" not in result.out.decode()
        for label in ("keystrokes saved", "without the model", "event loop", "waiting shortened"):
            assert label in " ".join(result.out.decode().split())

    def test_home(self, tiny_file, tmp_path):
        """The server neither knows what others have left in its home, nor leaves anything there."""
        path, home = tmp_path / "a.py", tmp_path / "home"
        path.write_text(FUNCTION + "\n")
        options = ("--model", tiny_file(), "--threads", 1, "--context-size", 1024, "--fast", 100)
        environment = {"MIDTOKEN_HOME": str(home)}
        result = run_process("bench", "typing", path, "--keys", 5, *options, env=environment)

        assert result.code == 0
        assert not (home / "cache").exists()

    def test_both(self, tiny_file, tmp_path):
        """With the peer, both are beside each other, and everything is written down."""
        path = tmp_path / "a.py"
        path.write_text(FUNCTION + "\n")
        options = ("--model", tiny_file(), "--threads", 1, "--context-size", 1024)
        out = tmp_path / "out"
        more = ("--both", "--patient", "--fast", 100, "--out", out)
        result = run_process("bench", "typing", path, "--keys", 5, *more, *options)

        assert result.code == 0, result.error
        assert "llama-server" in result.out.decode()
        figures = json.loads((out / "typing.json").read_text())
        assert [run["errors"] for run in figures["results"].values()] == [[], []]
        assert figures["results"]["llama-server"]["answers"]["completions"] > 0
        assert figures["settings"]["peer"]["n_batch"] == 512
        assert (out / "typing.md").read_text().startswith("Text of")
        assert (out / "typing.png").exists()

    @pytest.mark.parametrize("content", [None, "x = 1\n"], ids=["missing", "no function"])
    def test_bad_file(self, capfdbinary, monkeypatch, tiny_file, tmp_path, content):
        """A file that can't be typed is one line on standard error."""
        path = tmp_path / "a.py"
        if content is not None:
            path.write_text(content)
        arguments = ("bench", "typing", path, "--model", tiny_file())
        result = run_here(capfdbinary, monkeypatch, *arguments)

        assert result.code == 1
        assert "a.py" in result.error

    def test_files_and_projects(self, capfdbinary, monkeypatch, tiny_file):
        """One or the other is typed, and none is left out in silence."""
        arguments = ("bench", "typing", "a.py", "--project", "flask", "--model", tiny_file())
        result = run_here(capfdbinary, monkeypatch, *arguments)

        assert result.code == 2
        assert result.error.startswith("files are typed instead of projects")
