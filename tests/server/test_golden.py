"""Golden cases of what becomes of a model's text: one line or many, whatever stands around it."""

import pytest

from healing.stitch import Stitch
from server.blocks import inside_at, should_stop_block
from server.rules import place_at, settled
from tests.server.golden import applied, finished, golden_cases, snapshot_of

CASES = golden_cases()


def beginnings(case: dict) -> list[bytes]:
    """What the model has written after each character, all of it last."""
    generated = case["generated"]
    return [generated[: end + 1].encode() for end in range(len(generated))]


@pytest.mark.parametrize("case", CASES)
def test_result(case):
    """The document is as a person would want it; where nothing is shown, the case says why."""
    where = snapshot_of(case)
    result = finished(case, case["generated"].encode(), ended=case.get("finished", False))

    assert applied(where, result) == case["result"].replace("\n", case.get("line_end", "\n"))
    assert result.empty_reason == case.get("reason")


@pytest.mark.parametrize("case", CASES)
def test_stops_in_time(case):
    """Written one character after the other, it stops where more makes no difference."""
    where = snapshot_of(case)
    place, inside = place_at(where), inside_at(where)
    whole = finished(case, case["generated"].encode(), ended=case.get("finished", False))

    for generated in beginnings(case):
        if should_stop_block(place, generated, inside, case.get("multiline", "auto")):
            stopped = finished(case, generated, ended=True)
            assert (stopped.text, stopped.range_end) == (whole.text, whole.range_end)


@pytest.mark.parametrize("case", CASES)
def test_cut_off_anywhere(case):
    """A text that is cut off, in the middle of a character too, gives a whole document."""
    where = snapshot_of(case)
    stitch = Stitch()
    for byte in case["generated"].encode():
        stitch.push(bytes([byte]))
        result = finished(case, bytes(stitch.text[: stitch.given]), ended=False)

        before, shown, after = applied(where, result).replace("⟧", "⟦").split("⟦")
        assert (before + after).encode() == (
            where.text[: where.cursor] + where.text[where.cursor + result.range_end :]
        )
        assert "\ufffd" not in shown


@pytest.mark.parametrize("case", CASES)
def test_streamed_text_stays(case):
    """What is streamed while one line is written is the beginning of what is shown."""
    case = case | {"multiline": "never"}
    where = snapshot_of(case)
    place, inside = place_at(where), inside_at(where)
    generated, streamed = b"", []
    for generated in beginnings(case):
        streamed.append(settled(place, generated))
        if should_stop_block(place, generated, inside, "never"):
            break

    shown = finished(case, generated, ended=True).text
    assert all(shown.startswith(part) for part in streamed)
