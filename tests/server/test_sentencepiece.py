"""Completions by models with vocabularies of characters, from the document to the suggestion.

These are SentencePiece's, and Gemma 4's, which has the same pieces and a list of merges.
"""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from healing.sampling import Sampling
from server.completer import Completer
from server.completion_options import CompletionOptions
from server.rules import place_at
from server.snapshot import Snapshot, line_bounds, with_lf
from tests.server.documents import documents
from tests.server.engines import Watched, around


@pytest.fixture(scope="module", params=["sentencepiece", "characters"])
def model(request, load_tiny) -> Completer:
    """It has no marks for a hole: it completes from the left."""
    return load_tiny(vocabulary=request.param)


@given(documents(), st.sampled_from(["exact", "align", "off"]))
@example(("a▁b ▁".encode(), 8), "exact")
@example((b"", 0), "exact")
@example((b"impo", 4), "exact")
@example((b"  impo", 6), "exact")
@example(("größ".encode(), 5), "exact")
@example((b"assistant\r\n", 10), "exact")
def test_the_model_reads_and_writes_what_is_there(model, document, method):
    """All that was typed, unaltered, then the answer; before it SentencePiece's one blank."""
    text, cursor = document
    watched = Watched(model.engine)
    snapshot = Snapshot("a.txt", 0, text, cursor, "plaintext")
    options = CompletionOptions(method, context_tokens=500, max_tokens=6, rules_off=frozenset())

    generation = around(model, watched).answer(snapshot, options).generation
    backed_up = generation.healing.backed_up_text.encode()
    bos, *tokens = watched.slots[-1].tokens

    assert bos == model.engine.bos
    assert {*tokens} <= {*model.tokenization.vocabulary.text_ids().tolist()}
    spelled = model.tokenization.vocabulary.decode(tokens)
    line, _ = line_bounds(text, cursor)
    before = with_lf(text[:line]) + place_at(snapshot).typed
    if b"\xef\xbf\xbd" not in backed_up:  # else it starts within a character
        assert before.endswith(backed_up)
    lead = b" " if model.engine.info.add_blank else b""
    whole = lead + before + generation.text
    common = min(len(spelled), len(whole))
    assert spelled[:common] == whole[:common]
    if generation.ended == "stop token":  # then all tokens are there
        assert spelled.startswith(whole)
    generation.text.decode()


@pytest.mark.parametrize("typed", [b"", b" ", b"im"])
@pytest.mark.parametrize("method", ["exact", "align", "one"])
def test_the_first_blank_is_nobodys(model, typed, method):
    """SentencePiece's own blank before a text is taken back with it, and not reported as typed."""
    snapshot = Snapshot("a.txt", 0, typed, len(typed), "plaintext")

    healing = model.complete(snapshot, CompletionOptions(method, max_tokens=1)).healing

    assert typed.decode().endswith(healing.backed_up_text)


def test_kinds_are_named(load_tiny):
    """In the report, for people who wonder how a model is healed."""
    kinds = {
        kind: load_tiny(vocabulary=kind).engine.info.vocabulary_type
        for kind in ("bpe", "sentencepiece", "characters", "unigram")
    }

    assert kinds == {
        "bpe": "byte-level BPE",
        "sentencepiece": "SentencePiece BPE",
        "characters": "BPE of characters",
        "unigram": "unigram",
    }


def test_exact_healing_is_what_is_done(model):
    """With candidates and a tree, as for vocabularies of bytes."""
    snapshot = Snapshot("a.py", 0, b"import sy", 9, "python")

    healing = model.complete(snapshot).healing

    assert (healing.mode, healing.note) == ("exact", None)
    assert healing.backed_up_text.endswith("sy")
    assert healing.candidates


@pytest.mark.parametrize(
    ("typed", "must_follow"),
    [('{"path": fal', "se"), ("[1, nu", "ll"), ('{"größe": tru', "e"), ('{"日本": [tr', "ue")],
)
def test_grammar(model, typed, must_follow):
    """A grammar knows bytes alone: pieces, blanks and tokens of single bytes are masked alike."""
    text = typed.encode()
    options = CompletionOptions(max_tokens=30, sampling=Sampling(1.0, seed=1))
    answer = model.answer(Snapshot("a.json", 0, text, len(text), "json"), options)

    assert answer.grammar.state == "on"
    assert answer.generation.masked
    written = answer.generation.text.decode()
    common = min(len(written), len(must_follow))
    assert written[:common] == must_follow[:common] != ""
    assert any(begins_json(typed + written + more) for more in ("", "e", "ue", "l", "ll"))


def begins_json(text: str) -> bool:
    """Whether nothing is wrong with a text but that it ends."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return error.pos >= len(text.rstrip()) or "Unterminated" in error.msg
    return True
