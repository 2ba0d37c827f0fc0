"""Model files: whatever is in one, it is read or refused, by one kind of error, in bounded work."""

import struct
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from server.engine.gguf import parse
from server.engine.gguf_numbers import check_numbers
from server.engine.gguf_reader import Array
from server.engine.gguf_splits import parts, tensor_count
from server.engine.tables import build_tables
from server.errors import ModelError
from tests.fuzz.havoc import damaged, numbers, that_ends
from tests.tiny_model import write_tiny_model

PATH = Path("fuzzed-00001-of-00002.gguf")
KINDS = [{}, {"vocabulary": "sentencepiece"}, {"vocabulary": "characters"}, {"dialect": "Qwen"}]


@cache
def headers() -> tuple[bytes, ...]:
    """The beginnings of some small models, up to their tensors."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for number, kind in enumerate(KINDS):
            path = write_tiny_model(Path(folder, f"{number}.gguf"), weights=False, **kind)
            found.append(path.read_bytes())
    return tuple(found)


def read_everything(data: bytes) -> None:
    """All that is done with a file before llama.cpp sees it."""
    with that_ends(), suppress(ModelError):
        metadata = parse(data, PATH)
        for name, value in metadata.values.items():
            if isinstance(value, Array):
                with suppress(ModelError):
                    metadata.strings(name)
                with suppress(ModelError):
                    metadata.numbers(name)
        with suppress(ModelError):
            parts(metadata)
        tensors = len(metadata.tensors)
        with suppress(ModelError):
            tensors = tensor_count(metadata)
        with suppress(ModelError):
            check_numbers(metadata, tensors)
        tables = build_tables(metadata)
        assert len(tables.merges) == 0 or tables.merges.max() < len(tables.vocabulary)


@given(st.data())
def test_damaged_files(data):
    """Files of real models, changed in some places."""
    read_everything(data.draw(damaged(headers())))


@st.composite
def values(draw: st.DrawFn, depth: int = 3) -> bytes:
    """A type and something that may be a value of it."""
    kind = draw(st.integers(0, 13))
    packed = struct.pack("<I", kind)
    if kind == 9 and depth:
        packed += draw(values(depth - 1))[:4] + struct.pack("<Q", draw(numbers))
        return packed + draw(st.binary(max_size=40))
    if kind == 8:
        return packed + draw(strings)
    return packed + draw(st.binary(max_size=9))


NAMES = [
    *("general.architecture", "general.alignment", "split.count", "split.no", "llama.block_count"),
    *("tokenizer.ggml.model", "tokenizer.ggml.tokens", "tokenizer.ggml.merges"),
    *("tokenizer.ggml.token_type", "tokenizer.ggml.pre", "tokenizer.ggml.scores"),
]
strings = st.one_of(
    st.sampled_from(["llama", "gpt2", "default", *NAMES])
    .map(str.encode)
    .map(lambda text: struct.pack("<Q", len(text)) + text),
    st.builds(lambda size, text: struct.pack("<Q", size) + text, numbers, st.binary(max_size=9)),
)


@given(
    st.sampled_from([2, 3, 3, 3]),
    numbers,
    numbers | st.integers(0, 5),
    st.lists(st.builds(lambda name, value: name + value, strings, values()), max_size=6),
    st.binary(max_size=60),
)
def test_files_of_parts(version, tensors, keys, pairs, rest):
    """Files that are put together from what files have."""
    head = struct.pack("<4sIQQ", b"GGUF", version, tensors, keys)
    read_everything(head + b"".join(pairs) + rest)
