"""`midtoken bench heal`: prompts, scores, tasks, results that go on, and the peer."""

import json
from itertools import islice
from types import SimpleNamespace

import numpy as np
import pytest

from healing.covers import covering_tree
from healing.exact import read, score
from server.bench.heal.peers import LlamaServer, hole_texts
from server.bench.heal.places import PROSE, STRATA, Place, place_in, places
from server.bench.heal.prompts import KINDS, prompt_at, truth, word_start
from server.bench.heal.repeat import CUTS, DOMAINS
from server.bench.heal.scores import score_healed, score_unhealed
from server.bench.heal.summary import summarise
from server.bench.heal.tables import markdown
from server.bench.heal.tasks import all_tasks, peer_tasks
from server.bench.heal.writing import how_right, similarity, write
from server.bench.holes import Hole
from server.bench.llama_server import fetch
from server.bench.results import Results
from server.engine import ROOT
from server.errors import DocumentError, DownloadError, EngineError
from tests.server.command import run_here

CONTEXT = 60


def some(stratum, count=20):
    return list(islice(places(stratum, 0), count))


class TestPrompts:
    @pytest.mark.parametrize(
        ("before", "word"),
        [
            (b"x = foo(ba", b"(ba"),
            (b"x = fo", b" fo"),
            (b"x = ", b" = "),
            (b"def f():\n    ", b"\n    "),
            (b"", b""),
            (b"a:\n", b"\n"),
        ],
    )
    def test_word(self, before, word):
        """A word begins with the sign before it, an indentation with the line end."""
        assert before[word_start(before) :] == word

    @pytest.mark.parametrize("kind", KINDS)
    def test_same_text(self, tiny_completer, kind):
        """Wherever the hole begins, head and typed text spell the same text before the cursor."""
        place = place_in("a.py", b"def total(self):\n    return self.numbers\n", 27)
        vocabulary = tiny_completer.tokenization.vocabulary
        texts = set()
        for edge in ("cursor", "word", "line"):
            prompt = prompt_at(tiny_completer, place, kind, edge, CONTEXT)
            ids = [token for token in prompt.head if vocabulary.kind(token) == 1]
            text = vocabulary.decode(ids)
            texts.add((text.removesuffix(place.after) if kind == "fim" else text) + prompt.typed)
        assert texts == {place.before}

    def test_truth(self, tiny_completer):
        """The true boundaries around a cursor in a word, and at its end."""
        for cut in range(1, 12):
            place = place_in("a.py", b"return self.numbers\n", cut)
            prompt = prompt_at(tiny_completer, place, "fim", "line", CONTEXT)
            true = truth(tiny_completer, prompt, place)
            text = tiny_completer.tokenization.vocabulary.decode(true.tokens)
            assert text == b"return self.numbers"
            assert true.aligned == (true.start == cut)
            assert tiny_completer.tokenization.vocabulary.decode(true.left) == text[: true.start]
            assert true.start <= cut < cut + true.visible
            assert true.aligned or true.start < cut


@pytest.fixture(scope="module")
def scores(tiny_completer):
    """Scores at some places of each stratum, by kind of prompt."""
    found = []
    for stratum in STRATA:
        for place in some(stratum, 3):
            for kind in KINDS:
                prompt = prompt_at(tiny_completer, place, kind, "line", CONTEXT)
                healed = score_healed(
                    tiny_completer.engine,
                    tiny_completer.tokenization,
                    prompt,
                    place.gold,
                    truth(tiny_completer, prompt, place),
                )
                found.append((place, kind, prompt, healed))
    return found


class TestScores:
    def test_all_there(self, scores):
        """Every method has a score everywhere, the control too: the true path is in every tree."""
        for _, _, _, healed in scores:
            assert set(healed) == {"one", "align", "exact", "control"}
            for one in healed.values():
                assert one.byte_logprob <= 0
                assert one.token_logprob <= one.byte_logprob + 0.05  # a right text has a right byte

    def test_exact(self, tiny_completer, scores):
        """Exact healing's score is what its whole distribution says, every leaf checked."""
        for place, _, prompt, healed in scores[::5]:
            tree = covering_tree(prompt.typed, tiny_completer.tokenization)
            rows = {}
            for path in [tree.trunk, *map(tree.path, range(len(tree.nodes)))]:
                slot = tiny_completer.engine.open([*prompt.head, *path])
                [row] = tiny_completer.engine.evaluate(slot, [], [ROOT])
                rows[path] = row.copy()
            reading = read(score(tree, rows, tiny_completer.engine.stops), 0)
            shares = {text: share for text, share, _ in reading.visible()}
            byte = reading.next_byte()[place.gold[0]]
            token = sum(shares[text] for text in shares if text and place.gold.startswith(text))
            assert healed["exact"].byte_logprob == pytest.approx(np.log(byte), abs=0.05)
            assert healed["exact"].token_logprob == pytest.approx(np.log(token), abs=0.05)

    def test_nothing_to_heal(self, tiny_completer):
        """With nothing typed, one token, alignment, exact and control are what the model says."""
        place = place_in("a.py", b"import os\nimport sys\n", 10)
        prompt = prompt_at(tiny_completer, place, "fim", "line", CONTEXT)
        assert prompt.typed == b""
        engine, tokenization = tiny_completer.engine, tiny_completer.tokenization
        true = truth(tiny_completer, prompt, place)
        healed = score_healed(engine, tokenization, prompt, place.gold, true)
        off = score_unhealed(engine, tokenization, prompt, place.gold)
        assert healed["one"].byte_logprob == pytest.approx(off.byte_logprob, abs=1e-3)
        for method in ("align", "control"):
            assert healed[method].byte_logprob == pytest.approx(
                healed["exact"].byte_logprob, abs=1e-3
            )

    def test_probabilities(self, tiny_completer):
        """Over all next bytes, each method's probabilities are those of one distribution."""
        place = place_in("a.py", b"import os\nprint(reader.total())\n", 18)
        engine, tokenization = tiny_completer.engine, tiny_completer.tokenization
        prompt = prompt_at(tiny_completer, place, "left", "line", CONTEXT)
        true = truth(tiny_completer, prompt, place)
        sums = dict.fromkeys(("one", "align", "exact", "control"), 0.0)
        for byte in range(256):
            found = score_healed(engine, tokenization, prompt, bytes([byte]), true)
            for method in sums:
                sums[method] += float(np.exp(found[method].byte_logprob))
        for method, total in sums.items():
            assert 0.9 < total < 1.05, method  # the end of the text has the rest


class TestWriting:
    def test_how_right(self):
        """What counts as right to the end of the token, the word and the line."""
        whole = how_right(b"turn x\n", b"turn x", 4)
        assert (whole.token, whole.word, whole.line) == (True, True, True)
        word = how_right(b"turn y", b"turn x", 4)
        assert (word.token, word.word, word.line) == (True, True, False)
        longer = how_right(b"turned", b"turn x", 2)
        assert (longer.token, longer.word, longer.line) == (True, False, False)
        none = how_right(b"", b"turn x", 4)
        assert (none.token, none.word, none.line) == (False, False, False)
        assert how_right(b"x):\n", b"x):", 3).line

    def test_token_over_the_line_end(self):
        """A true token may reach beyond the end of the line."""
        assert how_right(b"):\n    ", b"):", 3).token

    @pytest.mark.parametrize(
        ("one", "other", "expected"),
        [("", "", 1.0), ("abc", "abc", 1.0), ("abc", "", 0.0), ("abcd", "abd", 0.75)],
    )
    def test_similarity(self, one, other, expected):
        """One minus the share of characters that have to be edited, both ways."""
        assert similarity(one, other) == similarity(other, one) == expected

    def test_write(self, tiny_completer):
        """Every method writes, on every kind of prompt."""
        [place] = some("inside a word", 1)
        for kind in KINDS:
            for method in ("off", "one", "align", "exact", "loose"):
                edge = "cursor" if method == "off" else "line"
                prompt = prompt_at(tiny_completer, place, kind, edge, CONTEXT)
                true = truth(tiny_completer, prompt, place)
                found = write(tiny_completer, prompt, method, true, place.rest)
                assert found.token or not found.word or not found.line


class TestResults:
    def test_goes_on(self, tmp_path):
        """What was written is there again; other settings are another run in the same file."""
        path = tmp_path / "results.jsonl"
        Results.open(path, {"seed": 0}).add(("task", "group", 3), {"a": 1})
        Results.open(path, {"seed": 1}).add(("task", "group", 3), {"a": 2})

        assert Results.open(path, {"seed": 0}).found == {("task", "group", 3): {"a": 1}}
        assert sum("settings" in line for line in path.read_text().splitlines()) == 2

    def test_machine(self, tmp_path):
        """The machine is described with the build of llama.cpp, which figures depend on."""
        path = tmp_path / "results.jsonl"
        Results.open(path, {})
        machine = json.loads(path.read_text())["machine"]

        assert machine["cores"] >= 1
        assert all(name.isupper() or name[-1].isdigit() for name in machine["llama_cpp_features"])
        assert machine["llama_cpp_features"]

    def test_torn(self, tmp_path):
        """A last line that was cut off is left out, and the next result stands by itself."""
        path = tmp_path / "results.jsonl"
        results = Results.open(path, {})
        results.add(("task", "group", 0), {})
        with path.open("a") as file:
            file.write('{"run": "')
        Results.open(path, {}).add(("task", "group", 1), {})

        assert len(Results.open(path, {}).of("task")["group"]) == 2

    def test_other_file(self, tmp_path):
        """A file of something else is left alone."""
        path = tmp_path / "results.jsonl"
        path.write_text("[1, 2]\n")
        with pytest.raises(DocumentError, match="line 1"):
            Results.open(path, {})
        assert path.read_text() == "[1, 2]\n"


@pytest.fixture(scope="module")
def results(tiny_completer, tmp_path_factory):
    """One item of each group of each task."""
    results = Results.open(tmp_path_factory.mktemp("heal") / "results.jsonl", {})
    for task in all_tasks(tiny_completer, 1, 0, CONTEXT):
        for group in task.items:
            item = task.item(group, 0)
            if item is not None:
                results.add((task.name, group, 0), task.measure(item))
    return results


class TestTasks:
    def test_figures(self, results):
        """Figures of all tasks, JSON-ready, and tables of them."""
        figures = json.loads(json.dumps(summarise(results)))

        assert set(figures["scores"]["fim"]) == {*STRATA, *PROSE}
        for kind in KINDS:
            for group in figures["scores"][kind].values():
                assert {"off", "one", "align", "exact", "control"} <= set(group["methods"])
        assert set(figures["writing"]["fim"]["line start"]["methods"]) == {
            *("off", "one", "align", "exact", "word")
        }
        assert len(figures["repeat"]) == len(DOMAINS) * len(CUTS) - 1  # see TestRepeat
        assert figures["lines"]["methods"]["exact"]["match"]["count"] == 2
        settings = {"model": "tiny", "seed": 0, "context_tokens": CONTEXT}
        machine = {"processor": "p", "cores": 1, "python": "3", "llama_cpp_python": "0"}
        tables = markdown(figures, settings, machine)
        for heading in ("First visible token", "log P of the next byte", "Repeat task", "Rest of"):
            assert heading in tables

    def test_peer_is_joined(self, results):
        """A peer's results stand beside ours on the same items."""
        results.add(("peer lines", "line", 0), {"llama-server": [True, True, 1.0, False, False]})
        figures = summarise(results)["lines"]

        assert figures["methods"]["llama-server"]["match"]["count"] == 1
        assert "exact - llama-server" in figures["differences"]

    def test_gaps(self, tmp_path):
        """In a run that is not done, a peer's result stands beside ours of the same number."""
        results = Results.open(tmp_path / "results.jsonl", {})
        for index in (0, 2):
            results.add(("lines", "line", index), {"exact": [True, index == 2, 1.0, False, False]})
            ruled = [True, index == 2, 1.0, False, False]
            results.add(("peer lines", "line", index), {"llama-server, our rules": ruled})
        results.add(("peer lines", "line", 1), {"llama-server, our rules": [True] * 5})
        difference = summarise(results)["lines"]["differences"]["exact - llama-server, our rules"]

        assert difference["match"]["count"] == 2
        assert (difference["match"]["low"], difference["match"]["high"]) == (0.0, 0.0)

    def test_rewrites_of_one_hole(self, tmp_path):
        """Rewrites of one hole are no independent holes."""
        results = Results.open(tmp_path / "results.jsonl", {})
        for index in range(8):
            changed = {"off": bool(index % 2), "exact": False}
            results.add(
                ("rewrites", "line", index), dict.fromkeys(("quotes", "blank typed"), changed)
            )
        every, one = (summarise(results)["rewrites"][way]["methods"] for way in ("all", "quotes"))

        assert (every["off"]["changed"]["count"], one["off"]["changed"]["count"]) == (16, 8)
        for method in ("off", "exact"):
            for end in ("mean", "low", "high"):
                assert every[method]["changed"][end] == one[method]["changed"][end]

    def test_peer_may_end_in_a_blank(self, tiny_completer):
        """Before more code a blank that the peer writes is its answer, not an accident."""
        hole = Hole("a.py", "inside", b"x = y", b" + ", b"z\n")
        server = SimpleNamespace(infill=lambda *_: b" + ")
        lines = peer_tasks(tiny_completer, server, 1, 0, CONTEXT)[1]

        assert lines.measure(hole)["llama-server"][1] is True  # the file is as it was

    def test_same_items(self, tiny_completer):
        """A task with more items starts with the same ones."""
        few, many = (all_tasks(tiny_completer, count, 0, CONTEXT)[0] for count in (1, 30))
        assert few.item("after a space", 0) == many.item("after a space", 0)


class TestCommand:
    def run(self, capture, patch, tiny_file, folder, *options):
        model = ("--model", tiny_file(), "--threads", 1, "--context-size", 1024)
        return run_here(
            capture, patch, "bench", "heal", "--cuts", 1, "--out", folder, *model, *options
        )

    def test_run(self, capfdbinary, monkeypatch, tiny_file, tmp_path):
        """A run leaves results, figures and tables; the next one has nothing to do."""
        first = self.run(capfdbinary, monkeypatch, tiny_file, tmp_path, "--context-tokens", 40)
        assert first.code == 0
        assert "First visible token right" in first.out.decode()
        written = (tmp_path / "results.jsonl").read_text()
        second = self.run(
            capfdbinary, monkeypatch, tiny_file, tmp_path, "--context-tokens", 40, "--json"
        )
        assert (tmp_path / "results.jsonl").read_text() == written
        report = json.loads(second.out)
        assert report == json.loads((tmp_path / "summary.json").read_text())
        assert report["figures"]["lines"]["methods"]["exact"]["match"]["count"] == 2

    def test_minutes(self, capfdbinary, monkeypatch, tiny_file, tmp_path):
        """A run that has no time left says what there is."""
        result = self.run(capfdbinary, monkeypatch, tiny_file, tmp_path, "--minutes", 0)
        assert result.code == 0
        assert (tmp_path / "results.jsonl").read_text().count("\n") <= 2

    def test_other_vocabulary(self, capfdbinary, monkeypatch, tiny_file, tmp_path):
        """A model that exact healing can't do is one line on standard error."""
        model = tiny_file(architecture="mamba")
        result = run_here(
            capfdbinary, monkeypatch, "bench", "heal", "--out", tmp_path, "--model", model
        )
        assert result.code == 1
        assert "memory cannot be cut" in result.error


class TestPeer:
    @pytest.mark.parametrize("after", [b")\nz = 1\n", b"\nz = 1\n"], ids=["bracket", "line end"])
    def test_texts(self, tiny_completer, after):
        """The peer is given the texts of our own prompt."""
        place = Place("a.py", b"x = 1\nprint(ro", b"w", after)
        before, behind = hole_texts(tiny_completer, place, CONTEXT)
        assert before == "x = 1\nprint(ro"
        assert behind == "\nz = 1\n"  # a bracket at the cursor belongs to the hole

    def test_does_not_start(self, tiny_file, tmp_path):
        """A package that is not there is told in one line."""
        with pytest.raises(EngineError, match="ended with code 1"):
            LlamaServer(tmp_path, tiny_file(), 1)

    def test_not_to_be_had(self, monkeypatch, tmp_path):
        """A download that fails is told in one line, and leaves nothing."""
        monkeypatch.setenv("MIDTOKEN_HOME", str(tmp_path))
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        with pytest.raises(DownloadError, match="could not be fetched"):
            fetch()
        assert not list((tmp_path / "cache" / "peers").iterdir())
