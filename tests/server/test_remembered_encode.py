"""A tokenizer that remembers: the same ids, whatever was asked before."""

from hypothesis import given
from hypothesis import strategies as st

from server.remembered_encode import ENTRY_BYTES, RememberedEncode


@given(st.lists(st.binary(max_size=6)), st.integers(0, 800))
def test_the_same_ids(texts, limit):
    """Callers may do with a list what they like."""
    encode = RememberedEncode(list, limit)
    for text in texts:
        ids = encode(text)
        assert ids == list(text)
        ids.append(0)


def test_what_was_used_last_is_remembered():
    """The text that was asked for longest ago makes room."""
    asked = []
    encode = RememberedEncode(lambda text: asked.append(text) or [*text], 2 * ENTRY_BYTES + 8)
    for text in (b"a", b"b", b"a", b"c", b"a", b"b"):
        encode(text)

    assert asked == [b"a", b"b", b"c", b"b"]
