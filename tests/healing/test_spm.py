"""SentencePiece vocabularies: exact covers, bytes where there is no character, nothing altered."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from healing import exact
from healing.covers import covering_tree
from healing.tokenization import Tokenization
from healing.vocabulary import TokenKind
from tests.healing import oracle, spm
from tests.healing.real import file_of, tokenization_of_file
from tests.healing.structure import holds, is_utf8
from tests.healing.toy import TableModel, texts

EXACTLY = 1e-9
REACH = 4
"""Continuations of the oracle: the longest piece."""
TEXTS = st.text(spm.ALPHABET + "ßx▁本", max_size=12)
LENIENT = settings(
    deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(scope="module")
def toy(tmp_path_factory) -> Iterator[Tokenization]:
    with spm.toy(tmp_path_factory.mktemp("spm")) as found:
        yield found


@pytest.fixture(scope="module")
def llama() -> Iterator[Tokenization]:
    with tokenization_of_file(file_of("llama-spm")) as found:
        yield found


@pytest.fixture(scope="module", params=["llama-spm", "baichuan", "gemma-4"])
def real(request) -> Iterator[Tokenization]:
    with tokenization_of_file(file_of(request.param)) as found:
        yield found


def one_of_each_first_byte(tokenization: Tokenization) -> list[str]:
    """A character for each first byte, as far as there is one that has no token of its own."""
    kinds, trie, found = tokenization.vocabulary.kinds, tokenization.trie, {}
    for code in [*range(0x800), *range(0x10FFFF, 0x7FF, -0x3F)]:
        if not 0xD800 <= code < 0xE000:
            text = chr(code).encode()
            if (kinds[trie.spelling(text)] == TokenKind.BYTE).all():
                found[text[0]] = chr(code)
    return list(found.values())


def read(tokenization: Tokenization, typed: bytes, model: TableModel) -> exact.Reading:
    tree = covering_tree(typed, tokenization)
    rows = {path: model(path) for path in exact.unscored(tree, {})}
    return exact.read(exact.score(tree, rows, [1]), unchecked=0)


def error(
    tokenization: Tokenization, typed: bytes, covers: set[oracle.Cover], seed: int = 1
) -> float:
    """The largest difference to brute force in any probability; infinity for a wrong text."""
    vocabulary = tokenization.vocabulary
    model = TableModel(len(vocabulary), seed)
    visible, next_byte = oracle.distribution(
        covers, model, vocabulary.__getitem__, len(typed), stop_token=1
    )
    reading = read(tokenization, typed, model)
    ours = {text: probability for text, probability, _ in reading.visible()}
    if ours.keys() != visible.keys():
        return np.inf
    differences = [abs(ours[text] - visible[text]) for text in visible]
    return max(*differences, float(np.abs(reading.next_byte() - next_byte).max()))


class TestEncoder:
    """Any text is split as SentencePiece does it, with no blank before it."""

    @LENIENT
    @given(text=TEXTS)
    @example(text="b1")
    @example(text="ab11b1(")
    @example(text="    a")
    def test_splits_like_sentencepiece(self, toy, text):
        """But for a `▁` that was typed: its bytes spell it, as a blank is something else."""
        parts = text.split("▁")
        wanted = spm.split(parts[0])
        for part in parts[1:]:
            wanted += [b"\xe2", b"\x96", b"\x81", *spm.split(part)]

        ids = toy.encode(text.encode())

        assert [toy.vocabulary[token] for token in ids] == wanted
        assert set(ids) <= set(toy.vocabulary.text_ids().tolist())

    @pytest.mark.parametrize(
        "text", ["</s>", "<s> x", "<unk>", "<0x0A>", "<0x0A", "a</s>b", "▁", "a▁▁ b", "\x00\x01"]
    )
    def test_text_is_text_in_a_real_vocabulary(self, llama, text):
        """Names of marks and of byte tokens are letters."""
        ids = llama.encode(text.encode())

        assert llama.vocabulary.decode(ids) == text.encode()
        assert set(ids) <= set(llama.vocabulary.text_ids().tolist())


class TestBruteForce:
    """The distribution is that of all texts which start with what is typed."""

    @staticmethod
    def covers(toy: Tokenization, typed: str) -> set[oracle.Cover]:
        """By the simple method; the ids of pieces are known, as no two spell the same."""
        ids = {toy.vocabulary[token]: token for token in reversed(range(len(toy.vocabulary)))}
        ids |= {toy.vocabulary[token]: token for token in range(3 + 256, len(toy.vocabulary))}
        sizes = {token: len(piece) for piece, token in ids.items()}
        continuations = [*texts(spm.ALPHABET[:6], REACH), *one_of_each_first_byte(toy)]
        splits = ([ids[piece] for piece in spm.split(typed + more)] for more in continuations)
        return oracle.crossing(splits, sizes, len(typed.encode()))

    @pytest.mark.parametrize("typed", ["", "a", "ab (", "  ", "a\n  ", "ab1é", "xß", "1é1", "b"])
    def test_equals_brute_force(self, toy, typed):
        """Next byte and first visible text have the oracle's probabilities, to 1e-9."""
        assert error(toy, typed.encode(), self.covers(toy, typed)) < EXACTLY

    @settings(parent=LENIENT, max_examples=15)
    @given(typed=st.text(spm.ALPHABET + "ß", max_size=7), seed=st.integers(0, 1000))
    def test_equals_brute_force_for_any_text(self, toy, typed, seed):
        """Any text, any model."""
        assert error(toy, typed.encode(), self.covers(toy, typed), seed) < EXACTLY

    @pytest.mark.parametrize("typed", ["import nump", "x = größ"])
    def test_equals_brute_force_in_a_real_vocabulary(self, llama, typed):
        """Every token of Llama 2 that could come across the cursor is tried, whole."""
        vocabulary, data = llama.vocabulary, typed.encode()
        continuations = {b"", *map(str.encode, one_of_each_first_byte(llama))}
        for start in range(max(0, len(data) - vocabulary.longest), len(data) + 1):
            owed = data[start:]
            spelled = (vocabulary[token] for token in llama.trie.extending(owed).tolist())
            continuations |= {piece[len(owed) :] for piece in spelled if is_utf8(piece)}
        splits = (llama.encode(data + more) for more in continuations)
        sizes = {token: len(vocabulary[token]) for token in range(len(vocabulary))}

        assert error(llama, data, oracle.crossing(splits, sizes, len(data))) < EXACTLY


class TestBytes:
    """Tokens of single bytes stand for characters that have none of their own, and only these."""

    def leaf(self, tokenization: Tokenization, typed: bytes, byte: int) -> bool:
        """Whether a byte's token is admitted at the cursor."""
        [token] = [
            token
            for token in np.flatnonzero(tokenization.vocabulary.kinds == TokenKind.BYTE).tolist()
            if tokenization.vocabulary[token] == bytes([byte])
        ]
        tree = covering_tree(typed, tokenization)
        return any(
            tree.admits(boundary, token)
            for boundary in tree.boundaries
            if boundary.start == len(typed)
        )

    @pytest.mark.parametrize(
        ("byte", "admitted"),
        [(0x61, False), (0x20, False), (0x0A, True), (0xC3, False), (0xE6, True), (0x80, False)],
    )
    def test_first_bytes(self, llama, byte, admitted):
        """All that begins like é has tokens, what begins like 日 has not, nor has a line end."""
        assert self.leaf(llama, b"a", byte) == admitted
        assert not self.leaf(llama, b"a", 0xC0)
        assert not self.leaf(llama, b"a", 0xFF)

    def test_a_byte_whose_characters_all_have_tokens(self, toy):
        """`C3` goes on to ß; if only é could come, it would be é's own token."""
        assert self.leaf(toy, b"a", 0xC3)
        assert self.leaf(toy, b"a\xc3", 0x9F)
        assert not self.leaf(toy, b"a\xc3", 0xA9)

    @pytest.mark.parametrize("cut", [1, 2, 3])
    def test_unfinished_character(self, llama, cut):
        """Half a character can be finished, by bytes or by the whole character's token."""
        text = "x = '𒀀".encode()

        tree = covering_tree(text[:-cut], llama)

        assert holds(tree, llama.encode(text + b"'"))
        assert [b.start for b in tree.boundaries if b.stop] == [len(text) - cut]

    def test_a_half_that_has_a_token_when_whole(self, llama):
        """The first byte of é is never a token here, so only é's own can come of it."""
        tree = covering_tree("cafè".encode()[:-1], llama)

        assert holds(tree, llama.encode("cafè x".encode()))
        assert len(b"caf") in {boundary.start for boundary in tree.boundaries}


class TestHardCases:
    """Those of other tokenizers that are hard here too."""

    @pytest.mark.parametrize(
        ("typed", "more"),
        [
            ("import nump", "y as np"),
            ("raise NotImpleme", "ntedError"),
            ("def f(x):\n    ", "return x"),
            ("def f(x):\n  ", "  return x"),
            ("\tif a:\n\t\t", "return"),
            ("return ", "x"),
            ("return ", "1"),
            ("x = foo(", "x)"),
            ("def f(self):", "\n    pass"),
            ('s = """', '\n"""'),
            ('url = "https:', "//x"),
            ("n = 123", "45"),
            ("a = 1\r\n", "\r\nb"),
            ("👨", "\u200d👩\u200d👧"),
            ("日", "本語"),
            ("cafe\u0301", " x"),
            ('s = "<|endoftext|', '>"'),
            ("# " + "-" * 50, "-" * 30),
            (" " * 70, " " * 9 + "x"),
            ("", "import"),
            ("e", "ach"),
            ("\ufeffimp", "ort os"),
            ("ab\u00a0", "c"),
            ("a▁", "b"),
            ("a", "▁b"),
        ],
    )
    def test_the_tokenizers_own_way_is_in_the_tree(self, real, typed, more):
        """Wherever the cursor stands."""
        whole = (typed + more).encode()
        tree = covering_tree(typed.encode(), real)

        assert real.vocabulary.decode(real.encode(whole)) == whole
        assert holds(tree, real.encode(whole))

    def test_blanks_before_a_word(self, llama):
        """The last blank of an indentation belongs to the word."""
        tree = covering_tree(b"x:\n    ", llama)

        word = llama.trie.spelling(b" return")[0]
        starts = {
            b.start
            for b in tree.boundaries
            if word in llama.trie.extending(tree.typed[b.start :]) and tree.admits(b, word)
        }
        assert starts == {6, 7}  # the last blank, or a fifth one
        assert tree.backed_up == b"    "
