"""Tests of the reader of model files: what `gguf` writes is read back, and damage has one name."""

import struct
import tracemalloc
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from gguf import GGML_QUANT_SIZES, GGUFEndian, GGUFWriter
from hypothesis import given, settings
from hypothesis import strategies as st

from server.engine import gguf_reader
from server.engine.gguf import check_whole, parse, read_metadata
from server.engine.gguf_reader import Tensor
from server.errors import ModelError

PATH = Path("some.gguf")
TOKENS = [b"", b"a", "Ġ\u4e2d".encode(), b"\xff\x00\xfe", b"x" * 300]


def write(path, *, fill=lambda writer: None, tensors=(), endian=GGUFEndian.LITTLE):
    writer = GGUFWriter(path, "toy", endianess=endian)
    fill(writer)
    for name, array in tensors:
        writer.add_tensor(name, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """A file with every kind of value and two tensors."""

    def fill(writer):
        writer.add_string("a.string", "čaj")
        writer.add_bool("a.flag", True)
        writer.add_uint8("a.u8", 255)
        writer.add_int8("a.i8", -1)
        writer.add_int64("a.i64", -(1 << 60))
        writer.add_uint64("a.u64", (1 << 64) - 1)
        writer.add_float64("a.f64", 0.5)
        writer.add_token_list(TOKENS)
        writer.add_array("a.numbers", [3, -4, 5])
        writer.add_array("a.flags", [True, False])
        writer.add_array("a.floats", [0.5, 1.5])
        writer.add_array("a.nested", [[1, 2], [3, 4]])

    tensors = [
        ("first", np.arange(12, dtype=np.float32).reshape(3, 4)),
        ("second", np.ones(5, dtype=np.float16)),
    ]
    return write(tmp_path_factory.mktemp("gguf") / "whole.gguf", fill=fill, tensors=tensors)


def header(*parts, keys=1, tensors=0, version=3):
    return b"GGUF" + struct.pack("<IQQ", version, tensors, keys) + b"".join(parts)


def string(text: bytes) -> bytes:
    return struct.pack("<Q", len(text)) + text


def key(name: bytes, kind: int, value: bytes) -> bytes:
    return string(name) + struct.pack("<I", kind) + value


class TestReading:
    def test_scalars_come_back(self, whole):
        """Every kind of scalar is read as it was written."""
        metadata = read_metadata(whole)

        assert metadata.text("a.string") == "čaj"
        assert metadata.flag("a.flag") is True
        assert metadata.integer("a.u8") == 255
        assert metadata.integer("a.i8") == -1
        assert metadata.integer("a.i64") == -(1 << 60)
        assert metadata.integer("a.u64") == (1 << 64) - 1
        assert metadata.values["a.f64"] == 0.5

    def test_arrays_come_back(self, whole):
        """Strings keep every byte, numbers their values."""
        metadata = read_metadata(whole)

        assert metadata.strings("tokenizer.ggml.tokens") == TOKENS
        assert metadata.numbers("a.numbers").tolist() == [3, -4, 5]
        assert metadata.numbers("a.flags").tolist() == [True, False]
        assert metadata.numbers("a.floats").tolist() == [0.5, 1.5]

    def test_keys_keep_their_order(self, whole):
        """Keys are listed as the file has them, what follows a nested array included."""
        names = list(read_metadata(whole))

        assert names[:2] == ["general.architecture", "a.string"]
        assert names[-1] == "a.nested"

    def test_tensors_are_listed(self, whole):
        """The table has names, shapes (innermost first), types and places."""
        first, second = read_metadata(whole).tensors

        assert (first.name, first.shape, first.type_id, first.offset) == ("first", (4, 3), 0, 0)
        assert (second.name, second.shape, second.size_bytes) == ("second", (5,), 10)

    def test_block_ends_with_the_metadata(self, whole):
        """The block is the file's start, up to where the tensor table begins."""
        metadata = read_metadata(whole)

        assert whole.read_bytes().startswith(metadata.block)
        assert whole.read_bytes()[len(metadata.block) + 8 :].startswith(b"first")

    @given(st.lists(st.binary(max_size=20)))
    def test_packed_strings_are_the_strings(self, texts):
        """Packing drops the lengths and nothing else."""
        array = struct.pack("<IQ", 8, len(texts)) + b"".join(map(string, texts))

        packed = parse(header(key(b"k", 9, array)), PATH).packed_strings("k")

        assert packed.tolist() == texts
        assert packed.blob == b"".join(texts)

    @given(st.lists(st.binary(max_size=3) | st.sampled_from([b"\0" * 9, b"x" * 300, b"\1\0\0"])))
    def test_short_windows(self, texts):
        """Where the windows of the quick way end makes no difference."""
        array = struct.pack("<IQ", 8, len(texts)) + b"".join(map(string, texts))
        data = header(key(b"k", 9, array)) + b"\0" * 40

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(gguf_reader, "WINDOW_BYTES", 24)
            patch.setattr(gguf_reader, "FEW", 1)
            patch.setattr(gguf_reader, "ONE_BY_ONE", 1)
            assert parse(data, PATH).strings("k") == texts

    @pytest.mark.parametrize("ask", ["text", "integer", "flag", "strings", "numbers"])
    def test_wrong_kinds_are_named(self, whole, ask):
        """Asking for a missing key, or one of another kind, names the file and the key."""
        metadata = read_metadata(whole)

        for name in ("a.f64", "a.missing"):
            with pytest.raises(ModelError, match=f"whole.gguf: metadata '{name}' is"):
                getattr(metadata, ask)(name)

    def test_defaults_stand_in_for_missing_keys_only(self, whole):
        """A default is for a key that is not there, not for one of another kind."""
        metadata = read_metadata(whole)

        assert metadata.text("a.missing", "x") == "x"
        with pytest.raises(ModelError, match="is not true or false"):
            metadata.flag("a.string", False)


class TestWholeness:
    def test_whole_file_passes(self, whole):
        """A file with all its tensors is whole."""
        check_whole(whole)

    def test_padding_after_the_last_tensor_may_be_missing(self, whole, tmp_path):
        """Only the tensors' own bytes count."""
        metadata = read_metadata(whole)
        end = metadata.tensors_start + metadata.tensors[1].offset + 10
        path = tmp_path / "cut.gguf"
        path.write_bytes(whole.read_bytes()[:end])

        check_whole(path)

        path.write_bytes(whole.read_bytes()[: end - 1])
        with pytest.raises(
            ModelError, match=f"truncated: has {end - 1} of {end} bytes; get it anew"
        ):
            check_whole(path)

    @pytest.mark.parametrize("type_id", sorted(GGML_QUANT_SIZES))
    def test_sizes_of_tensor_types(self, type_id):
        """Blocks have the sizes that the `gguf` package knows; rows are whole blocks."""
        elements, size = GGML_QUANT_SIZES[type_id]

        assert Tensor("t", (elements * 2, 3), int(type_id), 0).size_bytes == size * 6

    def test_unknown_tensor_types_have_no_size(self):
        """A type that is newer than this program is no reason to refuse a file."""
        assert Tensor("t", (256,), 4000, 0).size_bytes is None

    def test_file_of_metadata_alone_passes(self, tmp_path):
        """Vocabulary-only files have no tensors to miss."""
        check_whole(write(tmp_path / "vocabulary.gguf"))


class TestDamage:
    def test_missing_file(self, tmp_path):
        """A path that leads nowhere is said to."""
        with pytest.raises(ModelError, match="no such model file"):
            read_metadata(tmp_path / "none.gguf")

    def test_directory(self, tmp_path):
        """A folder is called one."""
        with pytest.raises(ModelError, match="is a folder"):
            read_metadata(tmp_path)

    def test_empty_file(self, tmp_path):
        """An interrupted download may leave an empty file."""
        (tmp_path / "empty.gguf").touch()
        with pytest.raises(ModelError, match="is empty; get it anew from where it came from"):
            read_metadata(tmp_path / "empty.gguf")

    def test_a_file_that_was_pulled(self, tmp_path):
        """Only what midtoken has pulled can be pulled again: its record lies beside it."""
        (tmp_path / "empty.gguf").touch()
        (tmp_path / "empty.gguf.json").touch()
        with pytest.raises(ModelError, match="is empty; remove the model and pull it again"):
            read_metadata(tmp_path / "empty.gguf")

    def test_other_files(self, tmp_path):
        """What is no GGUF file is shown by its first bytes."""
        (tmp_path / "page.gguf").write_bytes(b"<!doctype html>")
        with pytest.raises(ModelError, match=r"not a GGUF model file \(it starts with b'<!do'\)"):
            read_metadata(tmp_path / "page.gguf")

    def test_big_endian(self, tmp_path):
        """Big-endian files are named as such."""
        path = write(tmp_path / "big.gguf", endian=GGUFEndian.BIG)
        with pytest.raises(ModelError, match="big-endian"):
            read_metadata(path)

    @pytest.mark.parametrize("version", [0, 1, 4])
    def test_other_versions(self, version):
        """Versions that are not read are named."""
        with pytest.raises(ModelError, match=f"version {version}; versions 2 and 3"):
            parse(header(keys=0, version=version), PATH)

    def test_version_2(self):
        """Version 2 differs in nothing that is read."""
        assert parse(header(key(b"k", 7, b"\1"), version=2), PATH).flag("k") is True

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (header(keys=1 << 60), "keys are more than the file can hold"),
            (header(keys=0, tensors=1 << 60), "tensors are more than"),
            (header(key(b"k", 7, b"\1"), key(b"k", 7, b"\1"), keys=2), "the key 'k' occurs twice"),
            (header(key(b"k", 13, b"\0" * 8)), "'k' has the unknown type 13"),
            (header(key(b"k", 9, struct.pack("<IQ", 13, 0))), "'k' has the unknown type 13"),
            (header(key(b"\xff", 7, b"\1")), "name of a key is not UTF-8"),
            (header(key(b"k", 8, struct.pack("<Q", 1 << 63))), "a string at byte .* past the end"),
            (header(key(b"k", 9, struct.pack("<IQ", 10, 1 << 61))), "k at byte .* past the end"),
            (header(key(b"k", 9, struct.pack("<IQ", 8, 1 << 61))), "strings are more than"),
            (header(key(b"k", 9, struct.pack("<IQQ", 8, 1, 99))), "a string .* past the end"),
            (header(key(b"k", 9, struct.pack("<IQ", 9, 1) * 9 + b"\0" * 99)), "more than 4 deep"),
            (header(key(b"general.alignment", 4, struct.pack("<I", 3))), "power of two"),
            (header(key(b"general.alignment", 4, struct.pack("<I", 0))), "power of two"),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_damaged_headers(self, data, message):
        """Each kind of damage is said, with the file's name and what to do."""
        with pytest.raises(ModelError, match=f"some.gguf: damaged GGUF header: .*{message}"):
            parse(data + b"\0" * 16, PATH)

    @pytest.mark.parametrize(
        "data",
        [
            header(keys=1 << 40),
            header(keys=0, tensors=1 << 40),
            header(key(b"k", 8, struct.pack("<Q", 1 << 40))),
            header(key(b"k", 9, struct.pack("<IQ", 4, 1 << 40))),
            header(key(b"k", 9, struct.pack("<IQ", 8, 1 << 26))),
            header(key(b"k", 9, struct.pack("<IQ", 9, 1 << 26))),
        ],
        ids=["keys", "tensors", "string", "numbers", "strings", "arrays"],
    )
    def test_no_memory_for_what_is_not_there(self, data):
        """Sizes that lie cost no more than the file has bytes."""
        tracemalloc.start()
        try:
            with pytest.raises(ModelError):
                parse(data + b"\0" * 1000, PATH)
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()

        assert most < 1 << 20

    def test_same_tensor_twice(self):
        """A tensor's name is unique."""
        tensor = string(b"t") + struct.pack("<IQIQ", 1, 4, 0, 0)
        with pytest.raises(ModelError, match="same name"):
            parse(header(tensor, tensor, keys=0, tensors=2), PATH)

    def test_impossible_tensors(self):
        """Sizes that no file can have are refused before they are multiplied out."""
        for shape in ([1 << 62, 4], [1] * 5):
            parts = struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, 0)
            with pytest.raises(ModelError, match="the tensor 't' has"):
                parse(header(string(b"t") + parts, keys=0, tensors=1), PATH)

    def test_long_junk_is_given_up_early(self, monkeypatch):
        """No more strings are walked than any vocabulary has."""
        monkeypatch.setattr(gguf_reader, "MAX_ITEMS", 10)
        array = struct.pack("<IQ", 8, 11) + string(b"") * 11
        with pytest.raises(ModelError, match="11 strings are more than"):
            parse(header(key(b"k", 9, array)), PATH)


def read_everything(data: bytes) -> None:
    metadata = parse(data, PATH)
    for name, value in metadata.values.items():
        if getattr(value, "lengths", None) is not None:
            metadata.strings(name)
        elif getattr(value, "item_type", 9) != 9:
            metadata.numbers(name)
    assert all(tensor.size_bytes is None or tensor.size_bytes >= 0 for tensor in metadata.tensors)


class TestFuzz:
    @given(st.data())
    def test_truncation(self, whole, data):
        """A header cut anywhere is a ModelError."""
        raw = whole.read_bytes()
        metadata = read_metadata(whole)
        end = data.draw(st.integers(0, metadata.tensors_start - 32))

        with pytest.raises(ModelError):
            parse(raw[:end], PATH)

    @settings(max_examples=200)
    @given(st.data())
    def test_changed_bytes(self, whole, data):
        """Whatever bytes change, the header is read or refused, and nothing else happens."""
        raw = bytearray(whole.read_bytes())
        changes = st.tuples(st.integers(0, len(raw) - 1), st.integers(0, 255))
        for place, byte in data.draw(st.lists(changes, min_size=1, max_size=6)):
            raw[place] = byte

        with suppress(ModelError):
            read_everything(bytes(raw))

    @settings(max_examples=200)
    @given(st.data())
    def test_structured_junk(self, data):
        """Headers made of plausible parts in any order are read or refused."""
        numbers = st.sampled_from([0, 1, 2, 8, 9, 12, 255, 1 << 31, 1 << 40, (1 << 64) - 1])
        part = st.one_of(
            numbers.map(lambda n: struct.pack("<Q", n)),
            st.integers(0, 13).map(lambda n: struct.pack("<I", n)),
            st.binary(max_size=4).map(string),
            st.builds(
                key,
                st.binary(min_size=1, max_size=3),
                st.integers(0, 13),
                st.builds(lambda kind, n: struct.pack("<IQ", kind, n), st.integers(0, 13), numbers),
            ),
        )
        parts = data.draw(st.lists(part, max_size=12))
        counts = st.integers(0, 4) | numbers

        with suppress(ModelError):
            read_everything(header(*parts, keys=data.draw(counts), tensors=data.draw(counts)))
