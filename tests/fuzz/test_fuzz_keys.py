"""Keys of what is remembered: what has the same key is the same, and damage is no answer."""

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from server.completion_options import CompletionOptions
from server.engine import table_cache
from server.engine.table_cache import Entry
from server.service_request import Request, keys_of
from server.snapshot import Snapshot, with_lf
from tests.fuzz.havoc import damaged, that_ends
from tests.server.documents import documents, texts

LANGUAGES = ["python", "json", "markdown", "c", "plaintext"]
SEEN = 200
"""Bytes before the cursor, which every key must hold."""

snapshots = st.builds(
    lambda document, language, name: Snapshot(name, 1, *document, language),
    documents(),
    st.sampled_from(LANGUAGES),
    st.sampled_from(["file:///a.py", "untitled:1", "b.json"]),
)


def keys(snapshot: Snapshot) -> list[tuple[object, bytes]]:
    """The keys of an answer at a place."""
    return keys_of(Request("d", snapshot, CompletionOptions()))


@given(snapshots, st.integers(0, 60), st.integers(0, 20), texts)
def test_answers(one, start, length, put):
    """One key and one typed text stand for one text before the cursor."""
    before, after = one.text[: one.cursor], one.text[one.cursor :]
    changed = before[:start] + put + before[start + length :]
    other = replace(one, text=changed + after, cursor=len(changed))
    with that_ends():
        mine, others = keys(one), keys(other)

    assert all(isinstance(hash(key), int) for key, _ in mine)
    assert keys(one) == mine
    if mine[0] == others[0]:
        ends = [with_lf(place.text[: place.cursor])[-SEEN:] for place in (one, other)]
        assert ends[0] == ends[1]


@given(snapshots, st.binary(min_size=1, max_size=4))
@example(Snapshot("a.py", 1, b"one\r", 4, "python"), b"\n")
def test_typed(snapshot, more):
    """Whoever types on has another first pair, but for an LF after a CR: that is one line end."""
    before, after = snapshot.text[: snapshot.cursor], snapshot.text[snapshot.cursor :]
    typed = before + more
    other = replace(snapshot, text=typed + after, cursor=len(typed))

    if with_lf(typed) != with_lf(before):
        assert keys(other)[0] != keys(snapshot)[0]


MODEL = b"GGUF" + bytes(range(200))
ENTRY = Entry({"model": "gpt2", "n": 3}, {"a": np.arange(9), "b": np.zeros((2, 3), np.uint8)})


def stored() -> tuple[str, bytes]:
    """The name and the content of an entry."""
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder, "model.gguf")
        model.write_bytes(MODEL)
        table_cache.store(model, MODEL[:150], ENTRY, Path(folder, "cache"), 1)
        [path] = Path(folder, "cache").iterdir()
        return path.name, path.read_bytes()


NAME, CONTENT = stored()


@given(st.data())
def test_damaged_tables(data):
    """An entry that is not as it was written is none."""
    content = data.draw(damaged([CONTENT, CONTENT[:100]]))
    with tempfile.TemporaryDirectory() as folder, that_ends():
        Path(folder, "model.gguf").write_bytes(MODEL)
        Path(folder, NAME).write_bytes(content)
        found = table_cache.find(Path(folder, "model.gguf"), Path(folder), 1)

    assert (found is None) == (content != CONTENT)
