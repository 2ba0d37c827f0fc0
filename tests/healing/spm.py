"""A SentencePiece vocabulary small enough to enumerate texts, and what SentencePiece does with it.

The file is written and then loaded by llama.cpp like any other. `split` is the method in its
simplest form and knows nothing of llama.cpp.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import gguf

from healing.tokenization import Tokenization
from tests.healing.real import tokenization_of_file

PIECES = [
    *("▁a", "ab", "▁(", "▁▁", "▁ab", "(a", "11", "b(", "▁1", "aba", "▁▁▁▁", "aé", "1é1", "bab"),
    *("▁", "a", "b", "(", "1", "é"),
]
"""Best first, the characters last. There is none for a line end, for ß and for all others."""
MARKS = ["</s>", "b1"]
"""Control tokens; text may spell the second one."""
ALPHABET = "ab (1é\n"
"""Of é and ß the first byte is the same."""


def write(path: Path) -> Path:
    """Write the vocabulary alone."""
    names = ["<unk>", *MARKS, *(f"<0x{byte:02X}>" for byte in range(256)), *PIECES]
    kinds = [gguf.TokenType.UNKNOWN, *[gguf.TokenType.CONTROL] * len(MARKS)]
    kinds += [gguf.TokenType.BYTE] * 256 + [gguf.TokenType.NORMAL] * len(PIECES)
    scores = [0.0] * (len(names) - len(PIECES)) + [-float(rank) for rank in range(len(PIECES))]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tokenizer_model("llama")
    writer.add_token_list(names)
    writer.add_token_types(kinds)
    writer.add_token_scores(scores)
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(1)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    return path


@contextmanager
def toy(folder: Path) -> Iterator[Tokenization]:
    """Its tokenization, by llama.cpp; it can be used until the context ends."""
    with tokenization_of_file(write(folder / "toy.gguf")) as found:
        yield found


def split(text: str) -> list[bytes]:
    """How SentencePiece splits a text: the best pair is joined, the first one of equals."""
    symbols = list(text.replace(" ", "▁"))
    while True:
        joined = [left + right for left, right in pairwise(symbols)]
        found = [(PIECES.index(piece), at) for at, piece in enumerate(joined) if piece in PIECES]
        if not found:
            break
        _, at = min(found)
        symbols[at : at + 2] = [joined[at]]
    spelled: list[bytes] = []
    for symbol in symbols:
        data = symbol.replace("▁", " ").encode()
        spelled += [data] if symbol in PIECES else [bytes([byte]) for byte in data]
    return spelled
