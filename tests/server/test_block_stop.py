"""Stopping as a text grows, against a fresh look at each text."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from server.block_stop import BlockStop
from server.blocks import should_stop_block
from server.rules import Place
from tests.server.test_blocks import insides, places, texts, wishes

cuts = st.lists(st.integers(0, 200), max_size=12)


@given(places, texts, texts, insides, wishes, cuts, cuts, st.sampled_from([b"\n", b"\r\n", b"\r"]))
@settings(max_examples=400)
def test_as_a_fresh_look(place, text, other, inside, wish, first, second, line_end):
    """Whatever was asked before: shorter texts, longer ones, and ones that went on otherwise."""
    stop = BlockStop(place, inside, wish)
    text, other = (one.replace(b"\n", line_end) for one in (text, other))

    for at, to in zip(first, second, strict=False):
        for asked in (text[:at], text[:at] + other[:to], text[: at + to]):
            assert stop(asked) == should_stop_block(place, asked, inside, wish)


@given(places, texts, insides, wishes)
@example(Place(b"x = [", b"]", b"", "python"), b"\n  1,\n  2]", b"", "always")
def test_byte_by_byte(place, text, inside, wish):
    """A text that grows, to its end: also behind the place where it might have stopped."""
    stop = BlockStop(place, inside, wish)

    for size in range(len(text) + 1):
        assert stop(text[:size]) == should_stop_block(place, text[:size], inside, wish)


def test_lines_are_read_once(monkeypatch):
    """Only the line that grows is read again."""
    place = Place(b"def f():", b"", language="python")
    stop = BlockStop(place, b"", "always")
    text = b"".join(b"\n    a%d = b" % number for number in range(20))
    stop(text)
    read = []
    reader = type(stop._marks[0].reader)
    original = reader.read
    monkeypatch.setattr(
        reader, "read", lambda self, *line: read.append(line[1]) or original(self, *line)
    )

    assert not stop(text + b" + c")
    assert not stop(text + b" + c\n")
    assert not stop(text + b" - c")

    last = b"    a19 = b"
    assert read == [last + b" + c", last + b" + c", b"", last + b" - c"]
