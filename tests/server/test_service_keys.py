"""What answers are remembered by: what is typed, on the cursor's line and on lines before it."""

import pytest

from server.completion_options import CompletionOptions
from server.service import Request, keys_of
from server.snapshot import Snapshot


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("inside", [0, 1])
def test_what_is_typed(line_end, inside):
    """Lines up to the cursor with LF line ends; the half of one is not typed."""
    text = line_end.join([b"a = 1", b"b = 2", b"c = 3"])
    cursor = text.index(line_end + b"c") + inside * (len(line_end) - 1)
    snapshot = Snapshot("a.py", 0, text, cursor, "python")
    wanted = keys_of(Request("a", snapshot, CompletionOptions(grammar="off")))

    assert [typed for _, typed in wanted] == [b"b = 2", b"a = 1\nb = 2"]
