"""What was found with the default model, on a real one of another family (SmolLM2, 135M).

It has another vocabulary and another pretokenizer, and no marks for a hole: it completes from the
left.
"""

import logging
from pathlib import Path

import pytest

from server.completer import LEFT_TO_RIGHT, load_completer
from server.completion_options import CompletionOptions
from server.engine.llama_load import EngineOptions
from server.engine.llama_vocabulary import vocabulary_of
from server.engine.tables import load_tables
from server.snapshot import Snapshot
from tests.second_model import second_model
from tests.server.engines import Watched, around

pytestmark = pytest.mark.model

CASES = [
    ("import os\n\nfor name in os.listd", "ir("),
    ("class Foo:\n    def __ini", "t__("),
    ("def mean(xs):\n    total = sum(xs)\n    retu", "rn "),
    ("import sys\n\ndef main():\n    sys.ex", "it("),
    ("import json\n\nwith open('a.json') as file:\n    data = json.lo", "ad"),
    ("try:\n    x = int(text)\nexcept ValueEr", "ror"),
]
"""Text up to a cursor inside a token, and how any completion must go on."""


@pytest.fixture(scope="module")
def completer():
    loaded = load_completer(second_model(), EngineOptions(n_ctx=1024))
    yield loaded
    loaded.close()


def snapshot_of(text, after="\n"):
    return Snapshot("a.py", 0, (text + after).encode(), len(text.encode()), "python")


def text_of(completion):
    return completion.items[0].text if completion.items else ""


def test_the_vocabulary_is_read_right(completer):
    """Our reader of the file and llama.cpp find the same bytes and kinds."""
    ours = load_tables(Path(completer.engine.info.path)).vocabulary
    theirs = vocabulary_of(completer.engine._loaded.vocabulary)

    assert (ours.blob, ours.offsets.tolist()) == (theirs.blob, theirs.offsets.tolist())
    assert ours.kinds.tolist() == theirs.kinds.tolist()


def test_left_to_right_is_said_once(caplog):
    """In the log and with the first completion; then the report's `model` says it."""
    with caplog.at_level(logging.INFO, "midtoken.completer"):
        completer = load_completer(second_model(), EngineOptions(n_ctx=256))
    options = CompletionOptions(max_tokens=2)
    done = [completer.complete(snapshot_of(text), options) for text, _ in CASES[:2]]
    completer.close()

    assert [record.message for record in caplog.records] == [LEFT_TO_RIGHT]
    assert [completion.notes for completion in done] == [(LEFT_TO_RIGHT,), ()]
    assert {(each.prompt, each.as_json()["model"]["fill_in"]) for each in done} == {("left", None)}


def test_words_are_finished(completer, report):
    """With exact healing all are; without, most are not: the text before is cut inside a token."""
    right = {}
    for method in ("exact", "align", "off"):
        options = CompletionOptions(method, max_tokens=6)
        texts = [
            (text_of(completer.complete(snapshot_of(text), options)), to) for text, to in CASES
        ]
        right[method] = sum(text.startswith(to) for text, to in texts)
        assert method != "exact" or right[method] == len(CASES), texts
    report(f"SmolLM2-135M, {len(CASES)} cut words finished: {right}")

    assert right["off"] < right["exact"]


def test_typing_along(completer):
    """Character by character the same as from a fresh start, at small cost."""
    before, line = "def fibonacci(n):\n    if n < 2:\n", "        return n"
    warm = around(completer, Watched(completer.engine))
    options, others, costs = CompletionOptions(max_tokens=3), 0, []
    for typed in range(len(line) + 1):
        snapshot = snapshot_of(before + line[:typed], "\n\nprint(fibonacci(10))\n")
        along = warm.complete(snapshot, options)
        fresh = Watched(completer.engine)
        others += text_of(along) != text_of(around(completer, fresh).complete(snapshot, options))
        fresh.forget()
        costs.append(along.tokens.evaluated - along.tokens.generated + 1)

    assert others <= 1  # by noise, where two are as good as equally likely
    assert max(costs[1:]) <= 8
