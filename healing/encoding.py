"""Text to token ids, for any bytes, with nothing but text in the result.

Tokenizers encode valid UTF-8 and like to do more than that: normalise it, add marks, turn the text
`<|endoftext|>` into the end of the text. An `Encode` function does none of this: it is total over
bytes, what it returns decodes to exactly what it was given, and what spells a special token gets
ordinary ids.
"""

import json
import re
from collections.abc import Callable
from itertools import zip_longest

from tokenizers import Tokenizer

Encode = Callable[[bytes], list[int]]
"""Bytes to ids, as the model's training would have split them; the ids decode to the same bytes."""


def encode_bytes(encode_text: Encode, byte_ids: dict[int, int], data: bytes) -> list[int]:
    """Encode any bytes with an encoder for valid UTF-8.

    Args:
        encode_text: Encodes valid UTF-8.
        byte_ids: Byte value to the token of this single byte, for bytes that are not UTF-8.
        data: The text.

    Returns:
        The ids of the longest valid runs, and of every other byte by itself.

    Raises:
        ValueError: A byte outside valid UTF-8 has no token of its own.
    """
    # Bytes that are not UTF-8 come out as lone surrogates, which no valid text contains.
    runs = re.split("([\udc80-\udcff]+)", data.decode("utf-8", "surrogateescape"))
    ids: list[int] = []
    for text, broken in zip_longest(runs[::2], runs[1::2], fillvalue=""):
        if text:
            ids += encode_text(text.encode())
        for byte in broken.encode("utf-8", "surrogateescape"):
            if byte not in byte_ids:
                raise ValueError(f"no token spells the byte 0x{byte:02x}")
            ids.append(byte_ids[byte])
    return ids


def plain_text_tokenizer(tokenizer: Tokenizer) -> Tokenizer:
    """A copy that only splits: no normaliser, no added tokens, no marks around the text.

    Raises ValueError if the tokenizer cannot be rebuilt without them.
    """
    description = json.loads(tokenizer.to_str())
    description.update(
        added_tokens=[], normalizer=None, post_processor=None, truncation=None, padding=None
    )
    try:
        return Tokenizer.from_str(json.dumps(description))
    except Exception as error:  # the library raises bare Exception
        raise ValueError(
            f"the tokenizer does not work without its added tokens: {error}"
        ) from error


def tokenizer_encode(tokenizer: Tokenizer, byte_ids: dict[int, int]) -> Encode:
    """The `Encode` function of a Hugging Face tokenizer with a byte-level alphabet."""
    plain = plain_text_tokenizer(tokenizer)

    def encode_text(text: bytes) -> list[int]:
        ids: list[int] = plain.encode(text.decode(), add_special_tokens=False).ids
        return ids

    return lambda data: encode_bytes(encode_text, byte_ids, data)
