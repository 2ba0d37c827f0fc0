"""The names that may stand at a place."""

from dataclasses import replace

from server import name_index
from server.name_index import NameIndex
from server.snapshot import Snapshot

OWN = Snapshot("file:///a.py", 1, b"one = two\nprint(t\nthree = 1", 17, "python")
OTHER = Snapshot("file:///b.py", 1, b"two = four", 0, "python")


def test_order():
    """Those before the cursor come first, the last one of them at the head."""
    assert NameIndex().at(OWN) == [b"print", b"two", b"one", b"three"]


def test_other_documents():
    """Names of open documents of the language come as well, each once."""
    c = replace(OTHER, uri="file:///c.c", language="c", text=b"int five;")

    assert set(NameIndex().at(OWN, [OTHER, c])) == {b"print", b"two", b"one", b"three", b"four"}


def test_names_are_kept_until_a_document_changes(monkeypatch):
    """Whatever its version says."""
    looked_at = []
    names_in = name_index.names_in

    def watched(text, *arguments):
        looked_at.append(text)
        return names_in(text, *arguments)

    monkeypatch.setattr(name_index, "names_in", watched)
    index = NameIndex()
    for text in (b"two", b"two", b"six"):
        names = index.at(OWN, [replace(OTHER, text=text)])

    assert [text for text in looked_at if text != OWN.text] == [b"two", b"six"]
    assert b"six" in names
