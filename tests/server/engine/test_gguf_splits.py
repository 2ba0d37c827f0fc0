"""Models in several files: the first is given, the others are found, what is wrong is named."""

import numpy as np
import pytest

from server.completer import load_completer
from server.engine import ROOT
from server.engine.gguf import read_metadata
from server.engine.gguf_splits import check_files, parts
from server.engine.llama import load
from server.engine.llama_load import EngineOptions
from server.engine.tables import load_tables
from server.errors import ModelError
from server.snapshot import Snapshot
from tests.split_model import split_model
from tests.tiny_model import write_tiny_model

OPTIONS = EngineOptions(n_ctx=256, threads=1)
TEXT = b"def read(self):\n    ret"


@pytest.fixture
def whole(tmp_path):
    return write_tiny_model(tmp_path / "tiny.gguf")


def row_of(path):
    """The logits after some text."""
    with load(path, OPTIONS) as engine:
        slot = engine.open(engine.encode(TEXT))
        return engine.evaluate(slot, [], [ROOT])[0].copy()


@pytest.mark.parametrize("bare_first", [False, True])
def test_says_the_same(whole, bare_first):
    """A model says the same in one file and in several."""
    first = split_model(whole, 5, bare_first=bare_first)

    assert len(parts(read_metadata(first))) == 5 + bare_first
    check_files(first)
    assert np.array_equal(row_of(first), row_of(whole))


def test_tables_are_of_the_first(whole, tmp_path):
    """Vocabulary and merges come from the first file, and are those of the whole."""
    split, one = load_tables(split_model(whole, 5), tmp_path), load_tables(whole, tmp_path)

    assert list(split.vocabulary) == list(one.vocabulary)
    assert np.array_equal(split.merges, one.merges)


def test_completes(whole):
    """A completer for the first file reports it as one model of full size."""
    completer = load_completer(split_model(whole, 5), OPTIONS)
    try:
        completion = completer.complete(Snapshot("a.py", 0, TEXT, len(TEXT), "python"))
        assert completion.model.size_bytes > 100_000
        assert completion.model.path.endswith("tiny-00001-of-00005.gguf")
    finally:
        completer.close()


def test_missing_files(whole):
    """Missing files are named, in one line."""
    first = split_model(whole, 2)
    names = [path.name for path in parts(read_metadata(first))]
    for name in names[2:]:
        first.with_name(name).unlink()
    with pytest.raises(ModelError) as caught:
        load(first, OPTIONS)

    message = str(caught.value)
    assert "\n" not in message
    assert f"{len(names) - 2} of its {len(names)} files are missing ({', '.join(names[2:5])}" in (
        message
    )
    assert f"and {len(names) - 5} more); put them beside it" in message


def test_one_missing_file(whole):
    """Of a single one no more is said."""
    first = split_model(whole, 8)
    missing = parts(read_metadata(first))[1]
    missing.unlink()

    with pytest.raises(
        ModelError, match=rf"1 of its \d files is missing \({missing.name}\); put it"
    ):
        load(first, OPTIONS)


def test_cut_file(whole):
    """A file in the middle that is too short is named."""
    first = split_model(whole, 5)
    third = parts(read_metadata(first))[2]
    third.write_bytes(third.read_bytes()[:-100])
    with pytest.raises(ModelError, match=r"00003-of-00005\.gguf: truncated"):
        load(first, OPTIONS)


@pytest.mark.parametrize("number", [2, 5])
def test_another_than_the_first(whole, number):
    """Given another file, the first is named."""
    first = split_model(whole, 5)
    with pytest.raises(ModelError, match=f"file {number} of 5; give the first, tiny-00001-of-0000"):
        check_files(parts(read_metadata(first))[number - 1])


def test_another_name(whole):
    """Under another name the others can't be found, and the right name is said."""
    first = split_model(whole, 5)
    renamed = first.rename(first.with_name("mine.gguf"))
    with pytest.raises(ModelError, match=r"must be called mine-00001-of-00005\.gguf"):
        load(renamed, OPTIONS)


def test_of_different_models(whole):
    """A file that holds other tensors than it should is noticed."""
    first = split_model(whole, 5)
    second, third = parts(read_metadata(first))[1:3]
    second.write_bytes(third.read_bytes())
    with pytest.raises(ModelError, match=r"llama.cpp can't load it|not all of one model"):
        load(first, OPTIONS)


def test_one_file(whole):
    """A model that is not split is its only file."""
    assert parts(read_metadata(whole)) == (whole,)
    check_files(whole)


def test_only_a_vocabulary(tmp_path):
    """A vocabulary without weights is none of several files either."""
    path = write_tiny_model(tmp_path / "v.gguf", weights=False)
    with pytest.raises(ModelError, match="holds only a vocabulary"):
        load(path, OPTIONS)
