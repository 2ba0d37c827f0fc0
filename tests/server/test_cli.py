"""`midtoken complete`, from the command line to standard output, on tiny models."""

import json
import math

import pytest

from server.completer import Completer
from server.completion_options import CompletionOptions
from server.decoding import METHODS
from server.snapshot import Snapshot
from tests.server.command import run_here, run_process

SOURCE = "def größer(a, b):\n    return sum(a"
REST = ")\n\nprint(größer)\n"
AT = "2:17"


@pytest.fixture
def source(tmp_path):
    """A file with its cursor, at `AT`, before a bracket."""
    path = tmp_path / "a.py"
    path.write_text(SOURCE + REST, encoding="utf-8")
    return path


@pytest.fixture
def complete(capfdbinary, monkeypatch, tiny_file):
    """Runs `midtoken complete` with a tiny model in this process."""

    def run(*arguments, stdin=b"", model=None):
        model = model or tiny_file()
        options = ("--model", model, "--threads", 1, "--context-size", 1024)
        return run_here(capfdbinary, monkeypatch, "complete", *arguments, *options, stdin=stdin)

    return run


def answer(result):
    """The result of `--json`, which must be all that was printed."""
    assert (result.code, result.err) == (0, "")
    assert result.out.endswith(b"\n")
    assert result.out.count(b"\n") == 1
    return json.loads(result.out)


class TestPlain:
    def test_process(self, source, tiny_file):
        """A real process prints the text and a line end, without colours, and nothing else."""
        result = run_process("complete", f"{source}:{AT}", "--model", tiny_file())

        assert (result.code, result.err) == (0, "")
        assert result.out.endswith(b")\n")
        assert result.out.count(b"\n") == 1
        assert b"\x1b" not in result.out

    def test_same_as_json(self, complete, source):
        """The printed text is the text of the first item."""
        [item] = answer(complete(f"{source}:{AT}", "--json"))["items"]

        assert complete(f"{source}:{AT}").out.decode() == item["text"] + "\n"

    def test_no_suggestion(self, complete, source):
        """Where there is nothing to show, standard error says why, and that is no error."""
        result = complete(f"{source}:1:7", "--max-tokens", 1)  # inside a word: no token joins it

        assert (result.code, result.out) == (0, b"")
        assert result.err == "no suggestion: the word does not end in what follows the cursor\n"

    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("prompt", ["fim", "left"])
    def test_stream(self, complete, source, method, prompt):
        """What is streamed is, in the end, what is printed without streaming."""
        options = (f"{source}:3:1", "--healing", method, "--prompt", prompt)

        assert complete(*options, "--stream").out == complete(*options).out != b""

    def test_explain(self, complete, source):
        """The page for people holds the suggestion and the method."""
        [item] = answer(complete(f"{source}:{AT}", "--json"))["items"]
        result = complete(f"{source}:{AT}", "--explain")

        assert (result.code, result.err) == (0, "")
        assert b"exact" in result.out
        assert item["text"][:3].encode() in result.out


class TestStandardInput:
    def test_text(self, complete, source):
        """Text from standard input gives what the same text in a file gives."""
        text = source.read_bytes()
        here = answer(complete(f"-:{AT}", "--stdin-filename", "a.py", "--json", stdin=text))

        assert here["items"] == answer(complete(f"{source}:{AT}", "--json"))["items"]

    def test_process(self, source, tiny_file):
        """The location may stand before or after the options, and behind `--`."""
        text, model = source.read_bytes(), ("--model", tiny_file())
        orders = [(f"-:{AT}", *model), (*model, f"-:{AT}"), (*model, "--", f"-:{AT}")]
        results = [run_process("complete", *order, stdin=text) for order in orders]

        assert [result.code for result in results] == [0, 0, 0]
        assert len({result.out for result in results}) == 1
        assert results[0].out

    def test_name_without_input(self, complete, source):
        """A name for standard input makes no sense with a file."""
        result = complete(f"{source}:1:1", "--stdin-filename", "b.py")

        assert result.code == 2
        assert "--stdin-filename" in result.error


class TestJson:
    def test_shape(self, complete, source, tiny_file):
        """One object with everything that DESIGN says: items, healing, grammar, tokens, times."""
        result = answer(complete(f"{source}:{AT}", "--json"))

        assert set(result) >= {"items", "healing", "grammar", "tokens", "timing_ms", "model"}
        [item] = result["items"]
        assert set(item) == {
            *("text", "range", "score", "confidence", "word_confidence", "probability")
        }
        assert item["range"] == {
            "start": {"line": 1, "character": 16},
            "end": {"line": 1, "character": 17},
        }
        assert item["text"].endswith(")")
        assert item["score"] < 0
        named = {"mode", "backed_up_tokens", "backed_up_text", "covers", "forward_passes"}
        assert set(result["healing"]) >= named
        assert result["healing"]["mode"] == "exact"
        assert set(result["grammar"]) >= {"state", "level", "reason", "checks", "fits"}
        counts = {"prompt", "reused", "evaluated", "generated", "drafted", "accepted"}
        assert set(result["tokens"]) == counts
        assert all(isinstance(value, float) for value in result["timing_ms"].values())
        assert result["model"]["path"] == str(tiny_file())

    def test_numbers(self, complete, source):
        """Counts agree with each other, and every number is one in JSON's sense."""
        result = complete(f"{source}:{AT}", "--json", "--max-tokens", 5)
        json.loads(result.out, parse_constant=pytest.fail)  # NaN and Infinity are no JSON
        tokens = answer(result)["tokens"]

        assert tokens["reused"] == tokens["drafted"] == tokens["accepted"] == 0
        assert 1 <= tokens["generated"] <= 5
        assert tokens["evaluated"] >= tokens["prompt"] + tokens["generated"] - 1

    def test_without_a_suggestion(self, complete, source):
        """An empty list of items comes with a reason."""
        result = answer(complete(f"{source}:1:7", "--json", "--max-tokens", 1))

        assert result["items"] == []
        assert result["empty_reason"]

    def test_utf8(self, source, tiny_file, tmp_path):
        """JSON is UTF-8 whatever the locale, also where a path is not."""
        model = tmp_path / "größe\udcff.gguf"
        model.write_bytes(tiny_file().read_bytes())
        arguments = ("complete", f"{source}:{AT}", "--json", "--model", model)
        result = answer(run_process(*arguments, env={"PYTHONIOENCODING": "latin-1"}))

        assert result["model"]["path"] == str(model)


class TestOptions:
    @pytest.mark.parametrize("method", METHODS)
    def test_healing(self, complete, source, method):
        """Each method is used and named in the report."""
        result = answer(complete(f"{source}:{AT}", "--json", "--healing", method))

        assert result["healing"]["mode"] == method
        assert (result["healing"]["backed_up_text"] == "") == (method == "off")

    def test_left(self, complete, source):
        """Left to right, text after the cursor plays no part for the model."""
        left = ("--json", "--prompt", "left", "--grammar", "off")
        result = answer(complete(f"{source}:{AT}", *left))
        text = SOURCE.encode() + b")"
        same = answer(complete(f"-:{AT}", *left, stdin=text))

        assert result["prompt"] == "left"
        assert result["items"] == same["items"]

    @pytest.mark.parametrize(
        ("mode", "state", "level"),
        [("auto", "on", "window"), ("structural", "on", "structural"), ("off", "off", None)],
    )
    def test_grammar(self, complete, source, mode, state, level):
        """How much of the grammar is kept can be chosen, and is told."""
        grammar = answer(complete(f"{source}:{AT}", "--json", "--grammar", mode))["grammar"]

        assert (grammar["state"], grammar["level"]) == (state, level)
        assert (grammar["reason"] is None) == (state == "on")

    @pytest.mark.parametrize("most", [1, 3])
    def test_max_tokens(self, complete, source, most):
        """No more tokens are written than allowed."""
        result = answer(complete(f"{source}:3:1", "--json", "--max-tokens", most))

        assert result["tokens"]["generated"] <= most
        assert result["ended"] in {"token limit", "stop rule", "stop token", "other wishes"}

    def test_seeds(self, complete, source):
        """The same seed gives the same text, other seeds give others."""

        def sampled(seed):
            sampling = ("--temperature", 1.5, "--top-k", 40, "--top-p", 0.95, "--min-p", 0.01)
            return complete(f"{source}:3:1", *sampling, "--seed", seed).out

        texts = [sampled(seed) for seed in range(5)]

        assert sampled(0) == texts[0]
        assert len(set(texts)) > 1

    def test_no_context(self, complete, source):
        """With no text around the hole, what is typed on the line is the whole prompt."""
        result = answer(complete(f"{source}:{AT}", "--json", "--context-tokens", 0))

        assert result["tokens"]["prompt"] < 16


class TestOtherModels:
    def test_without_fill_in_the_middle(self, complete, source, tiny_file):
        """A model without such tokens completes left to right, and that is said."""
        result = answer(complete(f"{source}:{AT}", "--json", model=tiny_file(fim=False)))

        assert result["prompt"] == "left"
        assert "fill-in-the-middle" in result["notes"][0]

    def test_sentencepiece(self, complete, source, tiny_file):
        """Exact healing knows SentencePiece's merges as well."""
        model = tiny_file(vocabulary="sentencepiece")
        result = answer(complete(f"{source}:{AT}", "--json", model=model))

        assert result["healing"]["mode"] == "exact"
        assert result["healing"]["note"] is None

    def test_other_vocabulary(self, complete, source, tiny_file):
        """Exact healing does not know unigram models: alignment by bytes, and that is said."""
        model = tiny_file(vocabulary="unigram")
        result = answer(complete(f"{source}:{AT}", "--json", model=model))

        assert result["healing"]["mode"] == "align"
        assert "unigram" in result["healing"]["note"]

    def test_memory_that_cannot_be_cut(self, complete, source, tiny_file):
        """A recurrent model evaluates no trees: alignment, and that is said."""
        result = answer(complete(f"{source}:{AT}", "--json", model=tiny_file(architecture="mamba")))

        assert result["healing"]["mode"] == "align"
        assert "cannot be cut" in result["healing"]["note"]

    @pytest.mark.model
    def test_default_model(self, completer: Completer, capfdbinary, monkeypatch, tmp_path):
        """The default model, on the command line, completes a keyword."""
        path = tmp_path / "fibonacci.py"
        text = b"def fibonacci(n):\n    if n < 2:\n        return n\n    retu\n"
        path.write_bytes(text)
        result = run_here(capfdbinary, monkeypatch, "complete", f"{path}:4:9", "--max-tokens", 12)
        snapshot = Snapshot("a", 0, text, len(text) - 1, "python")
        expected = completer.complete(snapshot, CompletionOptions(max_tokens=12))

        assert (result.code, result.err) == (0, "")
        assert result.out.startswith(b"rn fib")
        assert result.out.decode() == expected.items[0].text + "\n"
        assert math.isfinite(expected.items[0].score)
