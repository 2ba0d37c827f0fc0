"""What goes back when the decoder does: a grammar's mask, the stitch, and what a watcher keeps."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from healing.stitch import Stitch
from server.explain_page.trace import Step, Trace
from tests.server.grammar.test_mask import is_start, mask_at, signs


@given(signs, st.lists(signs.filter(bool), max_size=5), st.lists(signs.filter(bool), max_size=3))
def test_a_mask_as_if_it_had_not_been_written(before, kept, taken_back):
    """Taken back, it answers and reports as one that was never told."""
    if not is_start(before):
        return
    mask, alone = (mask_at(before, b"])\n", b"\n", inside=True) for _ in range(2))
    text = b""
    for piece in kept:
        if is_start(before + text + piece):
            mask.push(piece)
            alone.push(piece)
            text += piece
    longer = text
    for piece in taken_back:
        if is_start(before + longer + piece):
            mask.may_end()
            mask.push(piece)
            longer += piece
    assert mask.report().reason == alone.report().reason

    mask.back(len(text))
    alone.may_end()
    mask.may_end()

    for question in (b"a", b")", b"]a", b"([", b" b\n"):
        assert mask.fitting(question) == alone.fitting(question)
    assert mask.wanted == alone.wanted
    assert len(mask.report().steps_ms) == len(alone.report().steps_ms)
    for one in (mask, alone):
        one.push(b"a")
    assert mask.fits(len(text) + 1) == alone.fits(len(text) + 1)


@given(st.text("aé日", max_size=6).map(str.encode), st.integers(0, 18))
def test_a_stitch(text, length):
    """What is given afterwards is whole characters, as if no more had come."""
    stitch, alone = Stitch(), Stitch()
    stitch.push(text)
    alone.push(text[:length])

    stitch.back(length)

    assert stitch == alone


def test_a_trace(tiny_completer):
    """The last choices are forgotten, or all."""
    trace = Trace(tiny_completer.engine.vocabulary, tiny_completer.engine.stops)
    step = Step(1, 0.5, b"", ())
    trace.steps = [replace(step, token=token) for token in range(5)]

    trace.went_back(2)
    assert [one.token for one in trace.steps] == [0, 1, 2]
    trace.went_back(None)
    assert trace.steps == []
