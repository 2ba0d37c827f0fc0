"""Documents that hold everything text can hold, for properties."""

from hypothesis import strategies as st

CODE = ["def f(a, b):", "    return a", "print(", "x1", "größer", " = ", "(", ")", "]);", '"', "'"]
BLANKS = ["\n", "\r\n", "\r", "\t", " ", "    ", "\n\n", "\x0c", "\u2028"]
STRANGE = ["日本語", "😀", "e\u0301", "\u200d", "\0", "\ufeff", "\ufffd", "\x1b[0m", "\x7f"]
MARKS = [
    "<|endoftext|>",
    "<|fim_middle|>",
    "<|im_end|>",
    "<|fim_",
    "<tool_call>",
    "```",
    "assistant",
]
BYTES = [b"\x80", b"\xc3", b"\xe6\x97", b"\xf0\x9f\x98", b"\xff\xfe", b"\xed\xa0\x80"]

pieces = st.sampled_from(
    [*(text.encode() for text in [*CODE, *CODE, *BLANKS, *STRANGE, *MARKS]), *BYTES]
)
texts = st.lists(pieces, max_size=12).map(b"".join)


@st.composite
def documents(draw: st.DrawFn) -> tuple[bytes, int]:
    """A text and the byte offset of a cursor anywhere in it, inside characters too."""
    text = draw(texts)
    return text, draw(st.integers(0, len(text)))
