"""Re-typing under a mask: alignment and one-token healing."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from healing import exact
from healing.constrained import Retyping, aligned, loose, one_token
from healing.covers import covering_tree
from healing.tokenization import Tokenization
from healing.trie import PrefixTrie
from healing.vocabulary import TokenKind, Vocabulary
from tests.healing import toy

TYPED = st.text(toy.ASCII, max_size=10).map(str.encode)
SPLITS = st.sampled_from(sorted(toy.SPLITS))
SEEDS = st.integers(0, 1000)


def retype(
    retyping: Retyping, tokenization: Tokenization, model: toy.TableModel
) -> tuple[tuple[int, ...], bytes]:
    """Follow a constraint greedily; returns the tokens after `kept` and their bytes."""
    path: tuple[int, ...] = ()
    owed = retyping.owed
    while owed:
        row = model(retyping.kept + path)
        wanted = sorted(retyping.allowed(path, owed).tolist(), key=lambda token: -row[token])
        token = next(token for token in wanted if retyping.admits(path, token))
        path += (token,)
        owed = owed[len(tokenization.vocabulary[token]) :]
    return path, tokenization.vocabulary.decode(path)


class TestAligned:
    """Alignment down the covering tree."""

    @settings(deadline=None, max_examples=150)
    @given(SPLITS, TYPED, SEEDS)
    def test_walks_the_tree_and_types_what_was_typed(self, name, typed, seed):
        """Whatever the model wants, the result is a cover: some text is split in this way."""
        tokenization = toy.toy(name)[1]
        tree = covering_tree(typed, tokenization)
        retyping = aligned(tree)

        path, text = retype(
            retyping, tokenization, toy.TableModel(len(tokenization.vocabulary), seed)
        )

        assert (tokenization.vocabulary.decode(retyping.kept) + text).startswith(typed)
        before = retyping.kept + path[:-1]
        if path:
            assert any(
                tree.path(boundary.node) == before and tree.admits(boundary, path[-1])
                for boundary in tree.boundaries
            ) or any(tree.path(node) == retyping.kept + path for node in range(len(tree.nodes)))

    @settings(deadline=None, max_examples=150)
    @given(SPLITS, st.lists(st.integers(0, 33), max_size=6), SEEDS)
    def test_never_refuses(self, name, tokens, seed):
        """Also for text that ends inside what would be one token."""
        tokenization = toy.toy(name)[1]
        ids = tokenization.vocabulary.text_ids()
        typed = tokenization.vocabulary.decode(int(ids[token % len(ids)]) for token in tokens)

        retyping = aligned(covering_tree(typed, tokenization))
        retype(retyping, tokenization, toy.TableModel(len(tokenization.vocabulary), seed))

    def test_equals_exact_with_a_single_boundary_before_the_cursor(self):
        """With one way to go on, the most likely token is the most likely text."""
        tokenization = toy.toy("gpt-2")[1]
        model = toy.TableModel(len(tokenization.vocabulary), seed=3)
        compared = 0
        for text in toy.texts("ab (1", 4):
            tree = covering_tree(text.encode(), tokenization)
            reading = exact.read(
                exact.score(tree, {p: model(p) for p in exact.unscored(tree, {})}, ()), 0
            )
            if len(tree.boundaries) != 1:
                continue
            compared += 1
            retyping, row = aligned(tree), model(tree.trunk)
            wanted = sorted(retyping.allowed((), tree.backed_up).tolist(), key=lambda t: -row[t])
            first = next(token for token in wanted if retyping.admits((), token))
            assert first == reading.leaves[0].token
        assert compared > 20


class TestLoose:
    """Alignment by bytes alone."""

    @settings(deadline=None, max_examples=150)
    @given(SPLITS, TYPED, SEEDS)
    def test_types_what_was_typed(self, name, typed, seed):
        """Each step agrees with the bytes owed, until nothing is owed."""
        tokenization = toy.toy(name)[1]
        retyping = loose(typed, tokenization)

        _, text = retype(retyping, tokenization, toy.TableModel(len(tokenization.vocabulary), seed))

        written = tokenization.vocabulary.decode(retyping.kept)
        assert written + retyping.owed == typed
        assert text.startswith(retyping.owed)
        assert bool(retyping.owed) == bool(typed)

    @settings(deadline=None, max_examples=150)
    @given(st.sampled_from(["unigram", "wordpiece"]), TYPED, SEEDS)
    def test_works_for_other_kinds_of_vocabulary(self, kind, typed, seed):
        """No merge list and no single bytes are needed, only that the text can be spelled."""
        tokenization = toy.other(kind)[1]
        typed = tokenization.vocabulary.decode(
            token
            for token in tokenization.encode(typed)
            if token in set(tokenization.vocabulary.text_ids().tolist())
        )
        retyping = loose(typed, tokenization)

        _, text = retype(retyping, tokenization, toy.TableModel(len(tokenization.vocabulary), seed))

        assert tokenization.vocabulary.decode(retyping.kept) + retyping.owed == typed
        assert text.startswith(retyping.owed)

    def test_takes_back_tokens_while_some_token_starts_with_them(self):
        """`b` and `bb` are taken back because of `bba`; nothing starts with `abb`."""
        tokens = [b"a", b"b", b"bba", b"aa"]
        vocabulary = Vocabulary.from_tokens(tokens, [TokenKind.NORMAL] * 4)
        letters = Tokenization(
            vocabulary,
            PrefixTrie.build(vocabulary),
            lambda text: [b - ord("a") for b in text],
            None,
        )

        retyping = loose(b"aabb", letters)

        assert (retyping.kept, retyping.owed) == ((0, 0), b"bb")
        assert retyping.allowed((), b"bb").tolist() == [1, 2]

    def test_takes_nothing_back_from_nothing(self):
        """An empty text owes nothing."""
        retyping = loose(b"", toy.toy("qwen")[1])

        assert (retyping.kept, retyping.owed) == ((), b"")

    @pytest.mark.parametrize("method", [loose, one_token])
    def test_leaves_alone_what_has_no_token(self, method):
        """What only the unknown token stands for can't be typed again, and is not taken back."""
        tokens = [b"?", b"a", b"b", b"ab"]
        kinds = [TokenKind.UNKNOWN, *[TokenKind.NORMAL] * 3]
        vocabulary = Vocabulary.from_tokens(tokens, kinds)
        letters = Tokenization(
            vocabulary,
            PrefixTrie.build(vocabulary),
            lambda text: [b"?ab".find(byte) if byte in b"ab" else 0 for byte in text],
            None,
        )

        retyping = method(b"12a", letters)
        assert (retyping.kept, retyping.owed) == ((0, 0), b"a")
        retyping = method(b"a1", letters)
        assert (retyping.kept, retyping.owed) == ((1, 0), b"")

    def test_takes_no_way_that_leads_nowhere(self):
        """`a` would be allowed, but no token goes on with `b` alone."""
        vocabulary = Vocabulary.from_tokens([b"a", b"ab", b"abc"], [TokenKind.NORMAL] * 3)
        letters = Tokenization(vocabulary, PrefixTrie.build(vocabulary), lambda _: [1], None)

        retyping = loose(b"ab", letters)

        assert retyping.allowed((), b"ab").tolist() == [1, 2]

    def test_forgets_what_an_encoder_adds(self):
        """An encoder that puts a blank before the text does not make the text begin with one."""
        tokenization = toy.toy("qwen")[1]
        marked = Tokenization(
            tokenization.vocabulary,
            tokenization.trie,
            lambda text: tokenization.encode(b" " + text),
            None,
        )

        retyping = loose(b"1 a", marked)

        assert (retyping.kept, retyping.owed) == ((), b"1 a")


class TestOneToken:
    """The last token again, or a longer one."""

    @settings(deadline=None, max_examples=150)
    @given(SPLITS, TYPED.filter(bool), SEEDS)
    def test_takes_one_step(self, name, typed, seed):
        """All typed tokens but the last stay; one token types the rest and may go on."""
        tokenization = toy.toy(name)[1]
        ids = tokenization.encode(typed)
        retyping = one_token(typed, tokenization)

        path, text = retype(
            retyping, tokenization, toy.TableModel(len(tokenization.vocabulary), seed)
        )

        assert retyping.kept == tuple(ids[:-1])
        assert retyping.owed == tokenization.vocabulary[ids[-1]]
        assert len(path) == 1
        assert text.startswith(retyping.owed)

    def test_owes_nothing_without_text(self):
        """There is no token to take back."""
        retyping = one_token(b"", toy.toy("qwen")[1])

        assert (retyping.kept, retyping.owed) == ((), b"")


@pytest.mark.parametrize("method", [loose, one_token])
@settings(deadline=None, max_examples=40)
@given(data=st.text(max_size=6).map(str.encode) | st.binary(max_size=6))
def test_any_bytes_can_be_typed_again(method, data):
    """A byte-level vocabulary with every byte never refuses, valid UTF-8 or not."""
    tokenization = toy.every_byte()
    model = toy.TableModel(len(tokenization.vocabulary), seed=5)

    retyping = method(data, tokenization)
    _, text = retype(retyping, tokenization, model)

    assert (tokenization.vocabulary.decode(retyping.kept) + text).startswith(data)


@settings(deadline=None, max_examples=40)
@given(data=st.text(max_size=6).map(str.encode) | st.binary(max_size=6))
def test_alignment_can_type_any_bytes_again(data):
    """The covering tree of any bytes has a way to type them."""
    tokenization = toy.every_byte()
    model = toy.TableModel(len(tokenization.vocabulary), seed=5)
    retyping = aligned(covering_tree(data, tokenization))

    _, text = retype(retyping, tokenization, model)

    assert (tokenization.vocabulary.decode(retyping.kept) + text).startswith(data)
