"""The prompts of every family, token by token, against the formats as the families publish them.

The models are tiny and say nothing sensible, but their vocabularies have each family's marks. What
a prompt should be is written as text with the marks in it, and llama.cpp makes the ids of it: it
reads marks in text, which midtoken never does.
"""

import ctypes

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from healing.rows import RowCache
from server.beside import Beside
from server.completion_options import CompletionOptions
from server.decoding import METHODS, generate
from server.engine.llama_library import load_library
from server.prompt import build_prompt
from server.rules import place_at
from server.snapshot import Snapshot, with_lf
from server.workspace.chunks import Chunk
from tests.server.documents import documents
from tests.server.engines import Watched
from tests.tiny_model import DIALECT_MARKS

# Prefix and suffix are the text around a hole; a blank before the prefix is SentencePiece's own.
FORMATS = {
    "StarCoder": "<fim_prefix>{prefix}<fim_suffix>{suffix}<fim_middle>",
    "StarCoder2": "<fim_prefix>{prefix}<fim_suffix>{suffix}<fim_middle>",
    "SantaCoder": "<fim-prefix>{prefix}<fim-suffix>{suffix}<fim-middle>",
    "Mellum": "<fim_suffix>{suffix}<fim_prefix>{prefix}<fim_middle>",
    "Qwen": "<|fim_prefix|>{prefix}<|fim_suffix|>{suffix}<|fim_middle|>",
    "CodeGemma": "<|fim_prefix|>{prefix}<|fim_suffix|>{suffix}<|fim_middle|>",
    "Granite": "<|fim_prefix|>{prefix}<|fim_suffix|>{suffix}<|fim_middle|>",
    "DeepSeek-Coder": "<｜fim▁begin｜>{prefix}<｜fim▁hole｜>{suffix}<｜fim▁end｜>",
    "CodeLlama": "<s>▁<PRE>▁<SUF>{suffix}▁<MID> {prefix}",
    "Codestral": "<s>[SUFFIX]{suffix}[PREFIX] {prefix}",
    "Seed-Coder": "<[fim-suffix]>{suffix}<[fim-prefix]>{prefix}<[fim-middle]>",
}
UNHEALED = FORMATS | {"CodeLlama": "<s>▁<PRE> {prefix}▁<SUF>{suffix}▁<MID>"}
NAMED = {
    "StarCoder2": "<file_sep><fim_prefix>a.py\n{prefix}<fim_suffix>{suffix}<fim_middle>",
    "Mellum": "<filename>a.py\n<fim_suffix>{suffix}<fim_prefix>{prefix}<fim_middle>",
    "Qwen": "<|file_sep|>a.py\n<|fim_prefix|>{prefix}<|fim_suffix|>{suffix}<|fim_middle|>",
}
OTHERS = "lib/b.py\ndef area(a, b): ...\n", "c.py\nWIDTH = 3\n"
WITH_OTHERS = {
    "StarCoder2": "<repo_name>project<file_sep>{0}<file_sep>{1}"
    "<file_sep><fim_prefix>src/a.py\n{prefix}<fim_suffix>{suffix}<fim_middle>",
    "Mellum": "<filename>{0}<filename>{1}"
    "<filename>src/a.py\n<fim_suffix>{suffix}<fim_prefix>{prefix}<fim_middle>",
    "Qwen": "<|repo_name|>project\n<|file_sep|>{0}<|file_sep|>{1}"
    "<|file_sep|>src/a.py\n<|fim_prefix|>{prefix}<|fim_suffix|>{suffix}<|fim_middle|>",
}
"""Other files before the document, where a family says how."""
SENTENCEPIECE = {"CodeLlama", "Codestral"}
GOES_ON = {"CodeLlama", "Codestral"}
"""The answer goes on from the prefix: no mark separates them."""

BEFORE, TYPED, AFTER = "import os\n\n\n", "def group(words", "\n    return words\n"


@pytest.fixture(scope="module")
def model_of(load_tiny):
    """A completer that speaks a dialect; each is loaded once."""
    loaded = {}

    def model(dialect):
        if dialect not in loaded:
            kind = "sentencepiece" if dialect in SENTENCEPIECE else "bpe"
            loaded[dialect] = load_tiny(dialect=dialect, vocabulary=kind)
        return loaded[dialect]

    return model


def prompt_of(completer, snapshot, *, anchored=True, beside=None):
    engine = completer.engine
    return build_prompt(
        snapshot,
        place_at(snapshot),
        completer.tokenization,
        fim=engine.fim,
        start=(engine.bos,) if engine.info.add_bos else (),
        root=engine.bos,
        budget=400,
        anchored=anchored,
        lead=b" " if engine.info.add_blank else b"",
        beside=beside,
    )


def beside():
    """Two other files of a project."""
    chunks = (name_and_text.partition("\n") for name_and_text in OTHERS)
    parts = tuple(Chunk(name, text.encode()) for name, _, text in chunks)
    return Beside("project", "src/a.py", parts)


def snapshot_of(before, after):
    return Snapshot("src/a.py", 0, (before + after).encode(), len(before.encode()), "python")


def ids_of(completer, text):
    """The ids of text with marks in it, by llama.cpp."""
    data, ids = text.encode(), (ctypes.c_int32 * 1024)()
    vocabulary = completer.engine._loaded.vocabulary
    count = load_library().llama_tokenize(vocabulary, data, len(data), ids, 1024, False, True)
    assert count >= 0
    return tuple(ids[:count])


@pytest.mark.parametrize("dialect", FORMATS)
class TestFormats:
    def test_healed(self, model_of, dialect):
        """The hole starts at the line, and the answer with what is typed on it."""
        completer = model_of(dialect)
        prompt = prompt_of(completer, snapshot_of(BEFORE + TYPED, AFTER))
        whole = BEFORE + TYPED
        before = whole[: len(whole) - len(prompt.typed)]

        assert prompt.head == ids_of(
            completer, FORMATS[dialect].format(prefix=before, suffix=AFTER)
        )
        assert before + prompt.typed.decode() == whole
        assert dialect in GOES_ON or before == BEFORE

    def test_unhealed(self, model_of, dialect):
        """Without healing the hole is at the cursor."""
        completer = model_of(dialect)
        prompt = prompt_of(completer, snapshot_of(BEFORE + TYPED, AFTER), anchored=False)
        text = UNHEALED[dialect].format(prefix=BEFORE + TYPED, suffix=AFTER)

        assert (prompt.head, prompt.typed) == (ids_of(completer, text), b"")

    def test_named(self, model_of, dialect):
        """The file's name comes first where its place is known, and nothing else is there."""
        completer = model_of(dialect)
        prompt = prompt_of(completer, snapshot_of("", "\n"), anchored=False)
        text = NAMED.get(dialect, UNHEALED[dialect])
        blank = " " if dialect == "Codestral" else ""  # what is written goes on from it
        text = text.replace(" {prefix}", "{prefix}").format(prefix=blank, suffix="\n")

        assert prompt.head == ids_of(completer, text)

    def test_other_files(self, model_of, dialect):
        """They come first: each with its mark where there is one, else as text."""
        completer = model_of(dialect)
        snapshot = snapshot_of(BEFORE + TYPED, AFTER)
        prompt = prompt_of(completer, snapshot, beside=beside())
        whole = BEFORE + TYPED
        before = whole[: len(whole) - len(prompt.typed)]
        text = WITH_OTHERS.get(dialect)
        if text is None:
            text = FORMATS[dialect].replace("{prefix}", "{0}{1}src/a.py\n{prefix}")

        assert prompt.head == ids_of(completer, text.format(*OTHERS, prefix=before, suffix=AFTER))
        assert prompt.typed == prompt_of(completer, snapshot).typed

    def test_other_files_that_spell_marks(self, model_of, dialect):
        """Whatever is in them, and whatever they are called, is text."""
        completer = model_of(dialect)
        spelled = "".join(DIALECT_MARKS[dialect])
        part = Chunk(f"{spelled}\n.py", spelled.encode() + b"\n")
        plain = prompt_of(completer, snapshot_of(BEFORE, AFTER), beside=beside())
        prompt = prompt_of(
            completer, snapshot_of(BEFORE, AFTER), beside=Beside(spelled, spelled, (part, part))
        )

        def marks(head):
            return [token for token in head if token in completer.engine.fim.marks]

        assert marks(prompt.head) == marks(plain.head)

    @pytest.mark.parametrize("method", METHODS)
    def test_a_completion_comes_out(self, model_of, dialect, method):
        """Each method gives text, with no mark in it; the report names the dialect."""
        completer = model_of(dialect)
        options = CompletionOptions(method, max_tokens=6)
        done = [
            completer.complete(snapshot_of(text, AFTER), options)
            for text in (BEFORE + TYPED, BEFORE + TYPED + "):\n    ", BEFORE + "fro", "")
        ]

        assert any(completion.items for completion in done)
        for completion in done:
            assert (completion.prompt, completion.model.fill_in) == ("fim", dialect)
            assert "fill-in" not in " ".join(completion.notes)

    def test_the_head_stays_while_a_line_is_typed(self, model_of, dialect):
        """In whatever order: what is in memory serves the whole line."""
        completer = model_of(dialect)
        line = "    return sorted(found)"
        heads = {
            prompt_of(completer, snapshot_of(BEFORE + TYPED + ":\n" + line[:at], AFTER)).head
            for at in range(len(line) + 1)
        }

        assert len(heads) == 1

    def test_marks_end_an_answer(self, model_of, dialect):
        """All of them, and none is text."""
        engine = model_of(dialect).engine

        assert engine.fim.marks <= engine.stops
        assert not engine.fim.marks & {*engine.vocabulary.text_ids().tolist()}

    def test_text_that_spells_marks(self, model_of, dialect):
        """It stays text, also where a file calls marks text, and with a blank for `▁`."""
        engine = model_of(dialect).engine
        for mark in DIALECT_MARKS[dialect]:
            for spelled in (mark.encode(), mark.replace("▁", " ").encode()):
                ids = engine.encode(b"x = '" + spelled + b"'" + spelled)

                assert engine.vocabulary.decode(ids) == b"x = '" + spelled + b"'" + spelled
                assert not engine.stops & {*ids}


@pytest.mark.parametrize("dialect", ["CodeLlama", "Codestral", "Mellum"])
def test_any_document(model_of, dialect):
    """Marks, text, and an answer that spells what is typed and the remainder, and no more."""
    completer = model_of(dialect)
    lead = b" " if completer.engine.info.add_blank else b""

    @given(documents(), st.sampled_from(["exact", "align", "one", "off"]))
    @settings(deadline=None, max_examples=60)
    def check(document, method):
        text, cursor = document
        engine = Watched(completer.engine)
        method, _ = completer._method(method)
        snapshot = Snapshot("a.py", 0, text, cursor, "python")
        prompt = prompt_of(completer, snapshot, anchored=method != "off")
        generation = generate(
            engine,
            completer.tokenization,
            prompt,
            method,
            rows=RowCache(),
            max_tokens=4,
            should_stop=lambda _: False,
        )
        tokens = engine.slots[-1].tokens[len(prompt.head) :]
        spelled = engine.vocabulary.decode(tokens)
        whole = prompt.typed + generation.text
        common = min(len(spelled), len(whole))

        assert spelled[:common] == whole[:common]
        before = with_lf(text[:cursor]).removesuffix(b"\n")
        assert before.endswith(prompt.typed.removeprefix(lead).removesuffix(b"\n"))

    check()
