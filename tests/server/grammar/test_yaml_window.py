"""YAML's window: lines that are passed over are those that would not be kept."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from server.errors import GrammarError
from server.grammar import yaml_window as yaml_window_module
from server.grammar.yaml_window import _Lines, yaml_window

ENTRIES = ["a: 1", "b:", "- c", "- d: 2", "-", "-x: 1", "--", "\tg: 1", "? a", ": b", "- |"]
OTHERS = ["---", "...", "--- x", "# c", "", "\t", "x y", '"q: ', "[", "}", "]", "] }"]
texts = st.sampled_from([*ENTRIES, *OTHERS, "key: [", "f: {  "])
lines = st.tuples(st.sampled_from([0, 0, 1, 2, 2, 4, 6]), texts)
documents = st.lists(lines.map(lambda line: " " * line[0] + line[1]), max_size=30)


@settings(max_examples=300, deadline=None)
@given(documents, st.integers(0, 400))
@example(["a:", "  b: [", "  c: d", "  e:"], 0)
@example(["a:", "  b: [", "  c: d", "  ] }", "  e:"], 0)
@example(["- a", "---", "- b", "- c"], 0)
def test_the_same_as_line_by_line(document, offset):
    """Of any text, whole or cut anywhere."""
    text = "\n".join(document).encode()
    text = text[: len(text) - offset % (len(text) + 1)]
    window = yaml_window(text)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_Lines, "above", lambda _, index, below: index - 1)
        assert yaml_window(text) == window


def test_a_key_far_above():
    """A large document under one key."""
    text = b"a: 1\nservices:\n" + b"  one:\n    image: x\n" * 5000 + b"  two:\n    - "

    assert yaml_window(text) == b"services:\n  two:\n    - "


def test_while_a_line_is_typed_the_lines_above_are_read_once():
    text = b"a:\n" + b"  - b: c\n" * 2000
    for end in range(1, 6):
        yaml_window(text + b"  - d: "[:end])
    found = [lines for lines in yaml_window_module._known if lines.text == text]

    assert len(found) == 1
    assert yaml_window(text + b"  - e") == b"a:\n  - e"


@pytest.mark.parametrize("piece", [b"\n", b"  \n", b"# c\n", b"- \n", b"a\n", b"-\n"])
def test_a_few_lines_of_many_are_read(piece, monkeypatch):
    """Blank lines and empty items do not count as what may belong to the cursor's line for ever."""
    read, line = [], _Lines.line

    def counted(lines, index):
        read.append(index)
        return line(lines, index)

    monkeypatch.setattr(_Lines, "line", counted)
    assert yaml_window(piece * 100_000 + b"import o").endswith(b"import o")
    assert len(read) <= yaml_window_module.STRETCH + 1


def test_more_lines_than_anybody_writes():
    with pytest.raises(GrammarError, match="more than 8,192 lines decide"):
        yaml_window(b"- [\n" * 100_000 + b"- ")
