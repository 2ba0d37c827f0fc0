"""The vocabulary as llama.cpp sees it, and plain text as ids."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from healing.vocabulary import TokenKind
from server.engine.llama_vocabulary import vocabulary_of
from server.engine.tables import load_tables
from server.errors import EngineError
from tests.tiny_model import ADDED, END, FIM_TOKENS, REPOSITORY_TOKENS, train_tokenizer


@pytest.mark.parametrize("vocabulary", ["bpe", "sentencepiece", "characters"])
def test_it_agrees_with_the_model_file(make_engine, vocabulary):
    """llama.cpp and our reader of files find the same bytes and kinds."""
    engine = make_engine(vocabulary=vocabulary)
    ours = load_tables(Path(engine.info.path)).vocabulary

    theirs = vocabulary_of(engine._loaded.vocabulary)

    assert [theirs[token] for token in range(len(theirs))] == [
        ours[token] for token in range(len(ours))
    ]
    assert theirs.kinds.tolist() == ours.kinds.tolist()


def test_fim_tokens(make_engine):
    """The marks are found by their names; a model without them has None."""
    engine = make_engine(files=True)
    fim = engine.fim
    names = [engine.vocabulary[token].decode() for token in (fim.prefix, fim.middle, fim.suffix)]

    assert names == FIM_TOKENS[:3]
    assert fim.dialect == engine.info.fill_in == "Qwen"
    assert {engine.vocabulary[token].decode() for token in fim.marks} == {
        *FIM_TOKENS,
        *REPOSITORY_TOKENS,
    }
    without = make_engine(fim=False)
    assert without.fim is without.info.fill_in is None


def test_stops_are_the_marks(make_engine):
    """Ends and marks of structure end a completion; added text does not."""
    engine = make_engine(files=True)

    assert {engine.vocabulary.kind(token) for token in engine.stops} == {TokenKind.CONTROL}
    assert len(engine.stops) == 7
    plain = make_engine(fim=False)
    assert [plain.vocabulary[token].decode() for token in plain.stops] == [END]


def test_bos(make_engine):
    """Models name the token that their texts begin with, and whether they do."""
    engine = make_engine(vocabulary="sentencepiece")

    assert (engine.bos, engine.info.add_bos) == (1, True)
    assert not make_engine().info.add_bos


@given(data=st.one_of(st.binary(max_size=40), st.text(max_size=40).map(str.encode)))
@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_come_back(engines, data):
    """Text in, the same bytes out: nothing is added, replaced or normalised."""
    for engine in engines:
        ids = engine.encode(data)

        assert engine.vocabulary.decode(ids) == data
        assert not set(ids) & engine.stops


@pytest.fixture
def engines(make_engine):
    """Vocabularies of bytes and of characters."""
    kinds = ("bpe", "sentencepiece", "characters")
    return [make_engine(vocabulary=kind) for kind in kinds]


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\x00",
        b"a\x00b",
        b"\xff\xfe",
        b"\xe2\x82",
        "größer".encode(),
        "e\u0301".encode(),
        b"\r\n\t ",
        END.encode(),
        b"x<|fim_middle|>y<|file_sep|>",
        ADDED.encode(),
        b"<tool_call><tool_call>",
        b" leading blank",
    ],
)
@pytest.mark.parametrize("vocabulary", ["bpe", "sentencepiece", "characters"])
def test_text_is_text(make_engine, vocabulary, text):
    """What spells a special or an added token gets ordinary ids."""
    engine = make_engine(vocabulary=vocabulary)
    ids = engine.encode(text)

    assert engine.vocabulary.decode(ids) == text
    assert set(ids) <= set(engine.vocabulary.text_ids().tolist())


def test_plain_text_is_split_as_in_training(engine):
    """Without added tokens in it, text gets the ids of the tokenizer that made the vocabulary."""
    text = 'def read(self):\n    return "größer"\n'

    assert engine.encode(text.encode()) == train_tokenizer().encode(text).ids


def test_a_byte_without_a_token_is_named(engine):
    """A vocabulary that can't spell a byte says which one, and what to do."""
    engine._encoder._bytes.clear()

    with pytest.raises(EngineError, match=r"0xff.*save the file as UTF-8"):
        engine.encode(b"\xff")
