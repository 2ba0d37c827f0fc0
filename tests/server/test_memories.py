"""Memories that can't be cut, or only forget: the same answers as from a fresh start, all the same.

A person types along, deletes, and goes from one document to the other and back; the models are tiny
ones of each kind. What is compared is greedy text. Where the shape of a batch alone can change it,
as two texts are as good as equally likely, it may differ.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.completer import Completer
from server.completion_options import CompletionOptions
from server.service import Request, Service
from server.snapshot import Snapshot
from server.worker import Worker
from tests.server.engine.fresh import refuse_cuts
from tests.server.engines import Noisy, Watched, around

KINDS = {
    "recurrent": {"architecture": "mamba"},
    "hybrid": {"architecture": "jamba"},
    "sliding window": {"architecture": "gemma3"},
    "recurrent, no middle mark": {"architecture": "mamba", "dialect": "Codestral"},
    "refusing": {},
}
INDIVISIBLE = [kind for kind in KINDS if kind != "sliding window"]
OPTIONS = CompletionOptions(max_tokens=6)

DOCUMENTS = {
    "a.py": ("import os\n\n\nclass Reader:\n", "    def read(self, path):\n        return", "\n"),
    "b.py": ("words = []\n", "print(len(words), end=None)", "\nfor word in words:\n    pass\n"),
}
moves = st.lists(
    st.tuples(st.sampled_from(sorted(DOCUMENTS)), st.integers(0, 36)), min_size=2, max_size=6
)
"""Where in which document's line the cursor goes, one after the other."""


@pytest.fixture(params=list(KINDS))
def kind(request):
    return request.param


@pytest.fixture
def completer(load_tiny, kind, monkeypatch):
    """A model with this kind of memory, just loaded."""
    if kind == "refusing":
        refuse_cuts(monkeypatch)
    return load_tiny(**KINDS[kind])


def snapshot_of(name, typed):
    before, line, after = DOCUMENTS[name]
    start = before + line[:typed]
    return Snapshot(name, 0, (start + after).encode(), len(start.encode()), "python")


def text_of(completion):
    return completion.items[0].text if completion.items else ""


class Fresh:
    """Answers with nothing in memory."""

    def __init__(self, completer):
        self.completer = completer
        self.known = {}

    def text(self, snapshot):
        key = (snapshot.text, snapshot.cursor)
        if key not in self.known:
            engine = Watched(self.completer.engine)
            self.known[key] = text_of(around(self.completer, engine).complete(snapshot, OPTIONS))
            engine.forget()
        return self.known[key]

    def agrees(self, text, snapshot):
        """Whether a fresh start gives this text, or could by noise alone."""
        if text == self.text(snapshot):
            return True
        engine = self.completer.engine
        noisy = (around(self.completer, Noisy(engine, seed)) for seed in range(24))
        return text in {text_of(other.complete(snapshot, OPTIONS)) for other in noisy}


@pytest.fixture
def fresh(load_tiny, kind, completer):
    """A second engine with the same model and the same method of healing."""
    oracle = load_tiny(**KINDS[kind])
    if kind == "refusing":  # both find that out
        for each in (oracle, completer):
            each.complete(snapshot_of("a.py", 20), OPTIONS)
    return Fresh(oracle)


def test_what_is_said(completer, kind):
    """The report names the kind of memory, and why healing is by alignment."""
    first = completer.complete(snapshot_of("a.py", 20), OPTIONS)
    completion = completer.complete(snapshot_of("a.py", 21), OPTIONS)
    model = completion.as_json()["model"]

    assert first.items
    assert model["memory"] == {"refusing": "attention"}.get(kind, kind.partition(",")[0])
    assert model["trees"] == (kind not in INDIVISIBLE)
    if kind in INDIVISIBLE:
        assert completion.healing.mode == "align"
        assert "cannot be cut" in (completion.healing.note or "")
        assert any("cannot be cut" in note for note in completion.notes)
    else:
        assert (completion.healing.mode, completion.healing.note) == ("exact", None)


def test_going_back_and_forth(completer, kind, fresh):
    """Typing along, deleting and another document: as if each request were the first."""

    @given(moves)
    @settings(deadline=None, max_examples=15)
    def check(steps):
        for name, typed in steps:
            snapshot = snapshot_of(name, typed)
            text = text_of(completer.complete(snapshot, OPTIONS))
            assert fresh.agrees(text, snapshot), (name, typed)

    check()


def test_character_by_character(completer, fresh):
    """A whole line, forth and back again."""
    for typed in [*range(0, 37, 3), *range(36, -1, -4)]:
        snapshot = snapshot_of("a.py", typed)
        assert fresh.agrees(text_of(completer.complete(snapshot, OPTIONS)), snapshot), typed


def test_the_prompt_is_read_once(completer, fresh):
    """While a line is typed, a character costs what was typed and what is written, not the rest."""
    before = DOCUMENTS["a.py"][0] * 8
    costs = []
    for typed in range(26):
        start = before + DOCUMENTS["a.py"][1][:typed]
        snapshot = Snapshot("a.py", 0, (start + "\n").encode(), len(start), "python")
        costs.append(completer.complete(snapshot, OPTIONS).tokens)
    first, *later = costs

    assert first.reused < 4
    assert first.evaluated > 80
    assert all(tokens.reused > 80 and tokens.evaluated < 30 for tokens in later), later


def test_more_documents_than_slots(completer, fresh):
    """Whose memory was given to others is read again."""
    for number in [0, 1, 2, 3, 4, 5, 0, 3, 0]:
        text = f"x{number} = {number}\nfor i in ran".encode()
        snapshot = Snapshot(f"{number}.py", 0, text, len(text), "python")
        assert fresh.agrees(text_of(completer.complete(snapshot, OPTIONS)), snapshot), number


@pytest.mark.asyncio
async def test_through_the_server(completer, fresh):
    """What editors are shown: typed along from memory, typed otherwise, deleted, another document.

    Text that is typed as it was shown leaves the rest of it; that is no new answer of the model.
    """
    worker: Worker[Completer] = Worker()
    await worker.load(lambda: completer)
    service = Service(worker)

    async def shown(name, before, after):
        text = (before + after).encode()
        snapshot = Snapshot(name, 1, text, len(before.encode()), "python")
        return text_of(await service.complete(Request(name, snapshot, OPTIONS))), snapshot

    for name in [*DOCUMENTS, *DOCUMENTS]:
        before, line, after = DOCUMENTS[name]
        for typed in (12, 20, 16, 3):
            text, snapshot = await shown(name, before + line[:typed], after)
            assert fresh.agrees(text, snapshot), (name, typed)
            for size in range(1, len(text.rstrip())):
                rest, _ = await shown(name, before + line[:typed] + text[:size], after)
                assert rest == text[size:]
