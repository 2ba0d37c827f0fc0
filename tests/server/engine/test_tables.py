"""Tests of a model's tables: built right, agreeing with llama.cpp, and cached without any risk."""

from pathlib import Path

import numpy as np
import pytest
from gguf import GGUFWriter
from hypothesis import given, settings
from hypothesis import strategies as st

from healing.vocabulary import TokenKind, Vocabulary, byte_level_alphabet
from server.engine import table_cache
from server.engine import tables as tables_module
from server.engine.gguf import StringArray, read_metadata
from server.engine.spelling import byte_level_vocabulary
from server.engine.tables import build_tables, load_tables, resolve_merges
from server.errors import ModelError
from tests.server.engine.same_tables import same

N, U, C, A, X, B = (int(kind) for kind in TokenKind)


def write(path, tokens, kinds=None, merges=None, model="gpt2", **extra):
    writer = GGUFWriter(path, "llama")
    writer.add_tokenizer_model(model)
    writer.add_token_list(tokens)
    if kinds is not None:
        writer.add_token_types(kinds)
    if merges is not None:
        writer.add_token_merges(merges)
    for key, value in extra.items():
        name = f"tokenizer.ggml.{key}"
        writer.add_bool(name, value) if isinstance(value, bool) else writer.add_string(name, value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    return path


@pytest.fixture
def toy(tmp_path) -> Path:
    return write(
        tmp_path / "toy.gguf",
        ["a", "Ġ", "Ġa", "ĠaĊ", "Ċ", "<|fim_prefix|>", "中", "<0x0A>"],
        [N, N, N, N, N, N, N, B],
        ["Ġ a", "Ġa Ċ", "Ġ b", "Ġ a"],
        pre="qwen2",
    )


def packed(texts: list[bytes]) -> StringArray:
    offsets = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    return StringArray(b"".join(texts), offsets)


class TestByteLevel:
    def test_tokens_spell_bytes(self, toy):
        """Letters of the alphabet and `<0x0A>` become bytes; what is no text keeps its name."""
        vocabulary = build_tables(read_metadata(toy)).vocabulary

        names = [b"<|fim_prefix|>", "中".encode()]
        assert [vocabulary[i] for i in range(8)] == [
            *(b"a", b" ", b" a", b" a\n", b"\n"),
            *names,
            b"\n",
        ]

    def test_kinds_that_files_get_wrong(self, toy):
        """Marks of structure are CONTROL by name; tokens that nothing can spell are UNUSED."""
        kinds = build_tables(read_metadata(toy)).vocabulary.kinds

        assert kinds.tolist() == [N, N, N, N, N, C, X, B]

    def test_additions_that_are_only_text(self, tmp_path):
        """Runs of blanks and single characters are NORMAL and spell what they say; names are not.

        In GPT-NeoX's vocabulary blanks are written plainly, unlike those of merged tokens.
        """
        tokens = ["a", "   ", "\n\n", "ö", "<tool_call>", "[PAD1]"]
        path = write(tmp_path / "a.gguf", tokens, [N, A, A, A, A, A], pre="gpt-2")

        vocabulary = build_tables(read_metadata(path)).vocabulary

        assert vocabulary.kinds.tolist() == [N, N, N, N, A, A]
        assert [vocabulary[i] for i in range(6)] == [token.encode() for token in tokens]
        assert vocabulary.text_ids().tolist() == [0, 1, 2, 3]

    @pytest.mark.parametrize(
        ("model", "kinds", "exact"),
        [
            ("gpt2", [N], True),
            ("llama", [B], True),
            ("gemma4", [B], True),
            ("llama", [N], False),
            ("t5", [B], False),
            ("bert", [B], False),
        ],
    )
    def test_what_exact_healing_knows(self, tmp_path, model, kinds, exact):
        """Pairs of bytes, or of characters with a token for every byte; nothing else."""
        bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
        path = write(tmp_path / "e.gguf", ["a", *bytes_], [N, *kinds * 256], [], model=model)

        tables = build_tables(read_metadata(path))

        assert tables.exact == exact
        known = tables.neighbours(lambda text: [*text])
        assert (known is not None) == exact

    def test_merges_are_ids_in_order(self, toy):
        """Merges of unknown tokens and repeated ones are left out and counted."""
        tables = build_tables(read_metadata(toy))

        assert tables.merges.tolist() == [[1, 0, 2], [2, 4, 3]]
        assert tables.merges.dtype == np.int32
        assert tables.skipped_merges == 2

    def test_one_sweep_equals_the_simple_way(self):
        """The fast spelling makes what `Vocabulary.from_byte_level` makes."""
        letters = "".join(chr(code) for code, byte in byte_level_alphabet().items() if byte < 256)
        tokens = st.lists(st.tuples(st.text(letters, max_size=4), st.sampled_from([N, C, A, B])))

        @given(tokens)
        def check(drawn):
            texts, kinds = [text for text, _ in drawn], [kind for _, kind in drawn]
            simple = Vocabulary.from_byte_level(texts, kinds)
            fast = byte_level_vocabulary(
                packed([text.encode() for text in texts]), np.array(kinds, np.uint8)
            )
            assert fast.blob == simple.blob
            assert fast.offsets.tolist() == simple.offsets.tolist()
            assert fast.kinds.tolist() == simple.kinds.tolist()

        check()

    @given(st.lists(st.tuples(st.binary(max_size=4), st.sampled_from([N, C, X, B]))))
    def test_any_bytes(self, drawn):
        """Tokens of arbitrary bytes are letters of the alphabet throughout, or no text."""
        texts = [text for text, _ in drawn]
        kinds = np.array([kind for _, kind in drawn], np.uint8)

        vocabulary = byte_level_vocabulary(packed(texts), kinds)

        table = {chr(code): byte for code, byte in byte_level_alphabet().items() if byte < 256}
        for index, (text, kind) in enumerate(drawn):
            letters = text.decode(errors="replace")
            spelled = kind in (N, B) and all(letter in table for letter in letters)
            expected = bytes(table[letter] for letter in letters) if spelled else text
            assert vocabulary[index] == expected
            assert vocabulary.kinds[index] == (X if kind in (N, B) and not spelled else kind)


class TestMerges:
    @given(st.lists(st.text("ab Ġ\n", max_size=5)), st.lists(st.text("ab Ġ\n", max_size=3)))
    def test_equals_the_simple_way(self, merges, tokens):
        """Resolving all at once is splitting one by one at the first blank after the first byte."""
        ids = {token.encode(): index for index, token in enumerate(dict.fromkeys(tokens)) if token}
        expected = {}
        for merge in merges:
            raw = merge.encode()
            at = raw.find(b" ", 1)
            row = [ids.get(part) for part in (raw[:at], raw[at + 1 :], raw[:at] + raw[at + 1 :])]
            if at > 0 and None not in row:
                expected.setdefault(tuple(row[:2]), row)

        resolved = resolve_merges(packed([merge.encode() for merge in merges]), ids)

        assert resolved.tolist() == list(expected.values())

    def test_bytes_outside_utf8_name_nothing(self):
        """Bytes that serve as marks inside are refused in merges, and harm no neighbour."""
        ids = {b"a": 0, b"b": 1, b"ab": 2, b"\xff": 3, b"\xfe": 4, b"a\xff": 5, b"a\xfe": 6}

        resolved = resolve_merges(packed([b"a \xff", b"a b", b"a \xfe"]), ids)

        assert resolved.tolist() == [[0, 1, 2]]


class TestOtherKinds:
    def test_sentencepiece(self, tmp_path):
        """`▁` is a blank in text, `<0x0A>` with the kind BYTE a byte, and there are no merges."""
        tokens = ["<unk>", "▁a▁", "<0xE2>", "▁", "<0x0A>", "<0x 1>"]
        path = write(tmp_path / "spm.gguf", tokens, [U, N, B, C, N, B], model="llama")

        tables = build_tables(read_metadata(path))

        spelled = [tables.vocabulary[i] for i in range(6)]
        assert spelled == [b"<unk>", b" a ", b"\xe2", "▁".encode(), b"<0x0A>", b"<0x 1>"]
        assert tables.merges.shape == (0, 3)
        assert not tables.byte_level

    def test_plainly_written_merges(self, tmp_path):
        """Gemma's vocabulary has merges, with blanks as `▁`."""
        path = write(tmp_path / "g.gguf", ["a", "▁", "▁a"], [N] * 3, ["▁ a"], model="gemma4")

        tables = build_tables(read_metadata(path))

        assert tables.merges.tolist() == [[1, 0, 2]]
        assert tables.vocabulary[2] == b" a"
        assert tables.pretokenizer == "gemma4"
        assert tables.add_bos

    def test_unknown_kind_of_vocabulary(self, tmp_path):
        """What cannot be read is named, with what can."""
        path = write(tmp_path / "r.gguf", ["a"], model="rwkv")
        with pytest.raises(ModelError, match=r"r.gguf: has a .* the kind 'rwkv'.*llama"):
            load_tables(path, tmp_path)

    def test_no_vocabulary(self, tmp_path):
        """A model without a vocabulary completes no text."""
        path = write(tmp_path / "n.gguf", ["a"], model="none")
        with pytest.raises(ModelError, match="has no vocabulary"):
            load_tables(path, tmp_path)

    @pytest.mark.parametrize("tokens", [["a", "b", "a"], ["ab", "b", "ab\0c"]])
    def test_same_token_twice(self, tmp_path, tokens):
        """llama.cpp would abort the process on such a file; here it is an error."""
        path = write(tmp_path / "d.gguf", tokens)
        with pytest.raises(ModelError, match="same token twice"):
            load_tables(path, tmp_path)

    def test_too_few_kinds(self, tmp_path):
        """Every token needs a kind, if any has one."""
        path = write(tmp_path / "k.gguf", ["a", "b"], [N])
        with pytest.raises(ModelError, match="1 kinds for 2 tokens"):
            load_tables(path, tmp_path)

    def test_kinds_may_be_missing_or_unknown(self, tmp_path):
        """Without kinds all tokens are normal; kinds that do not exist are UNUSED."""
        bare = write(tmp_path / "bare.gguf", ["a", "b"])
        odd = write(tmp_path / "odd.gguf", ["a", "b"], [0, 77])

        assert build_tables(read_metadata(bare)).vocabulary.kinds.tolist() == [N, N]
        assert build_tables(read_metadata(odd)).vocabulary.kinds.tolist() == [X, X]

    @pytest.mark.parametrize(
        ("extra", "expected"),
        [
            ({}, (False, False)),
            ({"pre": "llama-bpe"}, (True, True)),
            ({"pre": "llama-bpe", "add_bos_token": False}, (False, True)),
            ({"pre": "qwen2", "add_bos_token": True}, (True, False)),
        ],
    )
    def test_what_files_leave_out(self, tmp_path, extra, expected):
        """The pretokenizer's name decides what a file does not say."""
        tables = build_tables(read_metadata(write(tmp_path / "m.gguf", ["a"], **extra)))

        assert (tables.add_bos, tables.ignore_merges) == expected
        assert tables.pretokenizer == extra.get("pre", "default")


class TestCache:
    def test_cached_tables_are_the_built_ones(self, toy, tmp_path):
        """The second call gives the same tables from the one file in the folder."""
        folder = tmp_path / "cache"
        built = load_tables(toy, folder)
        (entry,) = folder.iterdir()
        written = entry.stat().st_mtime_ns

        assert same(load_tables(toy, folder), built)
        assert entry.stat().st_mtime_ns == written

    def test_cache_is_used(self, toy, tmp_path, monkeypatch):
        """With an entry the metadata are not parsed."""
        load_tables(toy, tmp_path / "cache")
        monkeypatch.setattr("server.engine.tables.read_metadata", None)

        assert load_tables(toy, tmp_path / "cache").pretokenizer == "qwen2"

    def test_arrays_are_read_only(self, toy, tmp_path):
        """Built or cached, nobody can change what others share."""
        for _ in range(2):
            tables = load_tables(toy, tmp_path / "cache")
            arrays = [tables.merges, tables.vocabulary.offsets, tables.vocabulary.kinds]
            assert not any(array.flags.writeable for array in arrays)

    def test_files_that_begin_alike(self, tmp_path, monkeypatch):
        """Another file with the same beginning is never given the first one's tables."""
        monkeypatch.setattr(table_cache, "HEAD_BYTES", 16)
        one = write(tmp_path / "one.gguf", ["a", "b"])
        two = write(tmp_path / "two.gguf", ["a", "c"])
        load_tables(one, tmp_path / "cache")

        assert load_tables(two, tmp_path / "cache").vocabulary[1] == b"c"
        assert load_tables(one, tmp_path / "cache").vocabulary[1] == b"b"
        assert len(list((tmp_path / "cache").iterdir())) == 1

    def test_copies_share_an_entry(self, toy, tmp_path):
        """The entry belongs to the content, not to the path."""
        copy = tmp_path / "copy.gguf"
        copy.write_bytes(toy.read_bytes())
        load_tables(toy, tmp_path / "cache")
        load_tables(copy, tmp_path / "cache")

        assert len(list((tmp_path / "cache").iterdir())) == 1

    def test_unusable_folder_is_no_error(self, toy, tmp_path):
        """Where nothing can be written, the tables are built every time."""
        blocked = tmp_path / "file"
        blocked.touch()

        assert load_tables(toy, blocked / "cache").pretokenizer == "qwen2"
        assert blocked.read_bytes() == b""

    def test_entry_that_cannot_be_replaced_is_no_error(self, toy, tmp_path):
        """A folder in the entry's place is left alone, and nothing half-written stays."""
        folder = tmp_path / "cache"
        load_tables(toy, folder)
        (entry,) = folder.iterdir()
        entry.unlink()
        (entry / "inside").mkdir(parents=True)

        assert load_tables(toy, folder).pretokenizer == "qwen2"
        assert list(folder.iterdir()) == [entry]

    def test_damaged_entries_are_replaced(self, toy, tmp_path):
        """However an entry is cut or changed, the tables are right and the entry is whole again."""
        folder = tmp_path / "cache"
        built = load_tables(toy, folder)
        (entry,) = folder.iterdir()
        good = entry.read_bytes()

        @settings(max_examples=60)
        @given(st.data())
        def check(data):
            bad = bytearray(good[: data.draw(st.integers(0, len(good)))])
            for place in data.draw(st.lists(st.integers(0, max(len(bad) - 1, 0)), max_size=3)):
                if bad:
                    bad[place] ^= data.draw(st.integers(1, 255))
            entry.write_bytes(bad)
            assert same(load_tables(toy, folder), built)
            assert entry.read_bytes() == good

        check()

    def test_entries_of_another_program(self, toy, tmp_path):
        """An entry that is whole but holds something else is replaced."""
        folder = tmp_path / "cache"
        block = read_metadata(toy).block
        table_cache.store(toy, block, table_cache.Entry({"model": "x"}, {}), folder, 1)

        assert load_tables(toy, folder).pretokenizer == "qwen2"

    def test_entries_of_another_version(self, toy, tmp_path, monkeypatch):
        """Each version has its own; none reads or replaces another's."""
        folder = tmp_path / "cache"
        built = load_tables(toy, folder)
        (ours,) = folder.iterdir()
        content = ours.read_bytes()
        monkeypatch.setattr(tables_module, "FORMAT", tables_module.FORMAT + 1)
        monkeypatch.setattr(tables_module, "_unpack", None)

        assert same(load_tables(toy, folder), built)
        assert ours.read_bytes() == content
        assert len(list(folder.iterdir())) == 2

    def test_home_decides_the_folder(self, tmp_path, monkeypatch):
        """`MIDTOKEN_HOME` moves the cache, too."""
        monkeypatch.setenv("MIDTOKEN_HOME", str(tmp_path))
        assert table_cache.default_folder() == tmp_path / "cache" / "tables"

        monkeypatch.delenv("MIDTOKEN_HOME")
        assert table_cache.default_folder().name == "tables"
