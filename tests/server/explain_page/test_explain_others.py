"""The page names all continuations, whatever they hold."""

from dataclasses import replace

import pytest

from server.completion_options import CompletionOptions
from server.explain_page.facts import gather
from server.explain_page.page import page
from server.snapshot import Snapshot
from tests.server.explain_page.parsing import parsed


@pytest.fixture(scope="module")
def several(tiny_completer):
    """A place where three are suggested."""
    text = b"x = 1\ny = "
    snapshot = Snapshot("a.py", 0, text, len(text), "python")
    return gather(tiny_completer, snapshot, CompletionOptions(max_tokens=8, candidates=3))


def table_of(facts):
    """The section's rows, each as its texts; None if it is not there."""
    for section in parsed(page(facts)).find("section"):
        if section.find("h2")[0].text == "Other continuations":
            return [[cell.text for cell in row.find("td")] for row in section.find("tr")]
    return None


def test_all_of_them(several):
    """In their order, each with its number and probability."""
    rows = table_of(several)

    assert [row[0] for row in rows] == ["1", "2", "3"]
    assert [row[1] for row in rows] == [item.text for item in several.completion.items]
    assert all(row[2].endswith("%") or row[2].startswith("1 in") for row in rows)


def test_only_where_there_are_several(several):
    """One suggestion is on the page already."""
    one = replace(several.completion, items=several.completion.items[:1])

    assert table_of(replace(several, completion=one)) is None


def test_hostile_texts(several):
    """Nothing in them is markup, and long ones are cropped."""
    items = several.completion.items
    bad = replace(items[1], text="</code><script>alert(1)</script>" + 100_000 * "x")
    completion = replace(several.completion, items=(items[0], bad))

    written = page(replace(several, completion=completion))

    assert "<script" not in written
    rows = table_of(replace(several, completion=completion))
    assert len(rows[1][1]) < 1000
    assert rows[1][1].startswith("</code><script>")
