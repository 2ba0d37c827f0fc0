"""What a connection hears that is not let in, and how it is told from anything else."""

import pytest

from server.refusal import MOST_BYTES, refusal, refusal_in


@pytest.mark.parametrize("text", ["the token is wrong", "32 editors", 'a "name"\né'])
def test_there_and_back(text):
    assert refusal_in(refusal(text)) == text


@pytest.mark.parametrize(
    "heard",
    [
        b"",
        b"\r\n\r\n",
        b"\r\n\r\n[1]",
        b'\r\n\r\n{"params": {"message": 1}}',
        b"\r\n\r\n" + b"[" * 3000,
        refusal("a") + b" ",
        refusal("a")[:-1],
        refusal("a").replace(b"midtoken: ", b""),
        refusal("a" * MOST_BYTES),
    ],
)
def test_anything_else(heard):
    assert refusal_in(heard) is None
