"""Which dialect a vocabulary speaks, and with which ids."""

import pytest

from healing.vocabulary import TokenKind, Vocabulary
from server.engine.fim_dialects import DIALECTS, UNNAMED, fim_tokens, token_named
from tests.tiny_model import DIALECT_MARKS

TEXT = [b"def", b" x", b"<", b"PRE", b"]", b"[PREFIX", b"x[PREFIX]"]


def vocabulary_with(*marks: str, kind: TokenKind = TokenKind.CONTROL) -> Vocabulary:
    """Some text, and marks from id 7 on."""
    tokens = [*TEXT, *(mark.encode() for mark in marks)]
    return Vocabulary.from_tokens(
        tokens, [TokenKind.NORMAL] * len(TEXT) + [kind] * (len(tokens) - len(TEXT))
    )


def spoken(*marks: str, model: str = "a model", **announced: int) -> str | None:
    """The name of the dialect."""
    found = fim_tokens(announced, vocabulary_with(*marks), model)
    return found.dialect if found else None


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_every_family_is_known_by_its_marks(dialect):
    """Ids are those of the named tokens; the mark before a text is its own."""
    marks = DIALECT_MARKS[dialect.name]
    vocabulary = vocabulary_with(*marks)
    fim = fim_tokens({}, vocabulary, f"tiny {dialect.name}")

    assert fim is not None
    assert fim.dialect == dialect.name
    assert {vocabulary[mark].decode() for mark in fim.marks} == {*marks}
    written = " ".join(
        f"{{{part}}}" if isinstance(part, str) else vocabulary[part].decode() for part in fim.layout
    )
    assert written == dialect.layout
    assert fim.layout[fim.layout.index("prefix") - 1] == fim.prefix
    assert fim.layout[fim.layout.index("suffix") - 1] == fim.suffix
    assert fim.layout[-1] in {fim.middle, "prefix"}


def test_families_with_the_same_marks():
    """Other marks tell them apart, and Mellum's name does."""
    marks = ("<fim_prefix>", "<fim_middle>", "<fim_suffix>")

    assert spoken(*marks) == "StarCoder"
    assert spoken(*marks, "<file_sep>") == "StarCoder2"
    assert spoken(*marks, "<filename>", model="Mellum 4b Base") == "Mellum"
    marks = ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>")
    assert spoken(*marks, "<|file_sep|>") == "Qwen"
    assert spoken(*marks, "<|file_separator|>") == "CodeGemma"
    assert spoken(*marks, "<|filename|>") == "Granite"


def test_nothing_is_taken_for_marks():
    """A vocabulary without marks, or with some only, has no dialect (SmolLM has files alone)."""
    assert spoken() is None
    assert spoken("<fim_prefix>", "<fim_suffix>") is None
    assert spoken("[PREFIX]") is None
    assert spoken("<repo_name>", "<file_sep>", "<filename>", "<reponame>") is None
    assert spoken("<|x|>", pre=7) is None


def test_announced_ids_come_first():
    """What llama.cpp announces is right; a family whose marks are others isn't spoken."""
    marks = ("<fim_prefix>", "<fim_middle>", "<fim_suffix>", "<a>", "<b>", "<c>")

    assert spoken(*marks, pre=7, suf=9, mid=8) == "StarCoder"
    fim = fim_tokens({"pre": 10, "suf": 11, "mid": 12, "pad": 7}, vocabulary_with(*marks), "")
    assert fim is not None
    assert (fim.dialect, fim.layout) == (UNNAMED, (10, "prefix", 11, "suffix", 12))
    assert fim.marks == {10, 11, 12, 7}


def test_unknown_marks_of_two_kinds_only():
    """Without a middle mark that is known, there is no usual order."""
    assert spoken("<a>", "<b>", pre=7, suf=8) is None


def test_the_name_of_a_file_needs_its_mark():
    """A dialect without the mark for files has no order for names; the plain one stays."""
    fim = fim_tokens({}, vocabulary_with("<fim_prefix>", "<fim_middle>", "<fim_suffix>"), "mellum")

    assert fim is not None
    assert (fim.dialect, fim.named) == ("Mellum", None)


class TestTokenNamed:
    def test_whole_tokens_only(self):
        """A part of a token, or two together, isn't the token."""
        assert token_named(vocabulary_with("<PRE>"), "[PREFIX]") is None
        assert token_named(vocabulary_with("<PRE>", "[PREFIX]"), "[PREFIX]") == 8

    def test_marks_that_a_file_calls_text(self):
        """They are spelled as text is, with a blank."""
        vocabulary = vocabulary_with(" <EOT>", kind=TokenKind.NORMAL)

        assert token_named(vocabulary, "▁<EOT>") == 7

    def test_a_control_token_comes_first(self):
        """Text with the same bytes may come before it."""
        vocabulary = Vocabulary.from_tokens(
            [b"[PREFIX]", b"", b"[PREFIX]"],
            [TokenKind.NORMAL, TokenKind.UNUSED, TokenKind.CONTROL],
        )

        assert token_named(vocabulary, "[PREFIX]") == 2
