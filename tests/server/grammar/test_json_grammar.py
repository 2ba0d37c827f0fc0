"""JSON, with comments and without: what is accepted is what is JSON, at every cut."""

import json
import sysconfig
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.grammar.json_grammar import JSON, JSONC, LADDERS, MOST_BYTES, STRUCTURAL
from server.grammar.state import compile_grammar
from tests.server.grammar.corpora import fetch_debian
from tests.server.grammar.corpus import accepts_every_cut, sample
from tests.server.grammar.json_documents import fits, json_text, values, written

ROOT = Path(__file__).parents[3]
STRICT, LENIENT, LOOSE = (
    compile_grammar(source.name, source.lark()) for source in (JSON, JSONC, STRUCTURAL)
)

seeds = st.integers(0, 2**32).map(Random)


def standing(language, text):
    """The level and grammar of the first rung that a text fits; None if none."""
    for rung in LADDERS[language](text):
        state = compile_grammar(rung.source.name, rung.source.lark()).state()
        window = rung.window(text)
        if state.feed(window) == len(window):
            return rung.source.name
    return None


@pytest.mark.parametrize(
    "text",
    [
        " 1 ",
        "-0.5e-3",
        "[]",
        '{"a": [1, {"b": null}], "a": true}\n',
        r'"\u00e4\/\ud83d\ude00\""',
        '"ä\x7f"',
        "\ufeff{}",
        " \t\r\n[ ]\r\n",
    ],
)
def test_json_is_accepted(text):
    assert fits(STRICT, text.encode())


@pytest.mark.parametrize(
    "text",
    [
        *("", "01", "+1", "1.", ".5", "NaN", "truefalse", "[tru]", "\0"),
        *("[1,]", "{,}", "{a: 1}", "[1 2]", '{"a" 1}', "[1] 2", "[1]]", "// x\n1"),
        *("'a'", '"\n"', r'"\x"', r'"\u12"', '"a'),
    ],
)
def test_what_is_no_json_is_not(text):
    assert not fits(STRICT, text.encode())


@pytest.mark.parametrize(
    "text", ["// a\n{}", "[1, /* , ] */ 2,]", '{"a": 1, // x', '{"a": 1,}// end', "/**/ 1 /***/"]
)
def test_comments_and_trailing_commas_are_jsonc(text):
    state = LENIENT.state()

    assert state.feed(text.encode()) == len(text)
    assert STRICT.state().feed(text.encode()) < len(text)


def test_only_one_comma_may_trail():
    assert not fits(LENIENT, b"[1,,]")
    assert not fits(LENIENT, b"[,]")


@given(values, seeds)
def test_every_way_to_write_a_value_is_accepted(value, random):
    text = written(value, random)

    assert fits(STRICT, text)
    assert fits(LENIENT, text)
    assert fits(LENIENT, written(value, random, comments=True))
    assert fits(LOOSE, text)


@settings(max_examples=300)
@given(values, seeds)
def test_the_grammar_and_python_agree_on_broken_text(value, random):
    """A text with something taken out, doubled or put in is JSON for both or for none."""
    text = json.dumps(value, ensure_ascii=False)
    at = random.randrange(len(text))
    other = random.choice(["", text[at] * 2, *'{}[]:,"\\0e.- tn'])
    broken = text[:at] + other + text[at + 1 :]

    try:
        json.loads(broken)
        valid = "NaN" not in broken and "Infinity" not in broken
    except ValueError:
        valid = False

    assert fits(STRICT, broken.encode("utf-8", "replace")) == valid


@pytest.mark.parametrize(
    ("language", "text", "name"),
    [
        ("json", b'{"a": 1, "b', "json"),
        ("json", b'// x\n{"a": 1, "b', "jsonc"),
        ("json", b'{"a": [1,], "b', "jsonc"),
        ("json", b'{"a": /* c */ 1, "b', "jsonc"),
        ("json", b'{"url": "http://x", "b', "json"),
        ("json", b"{a: 'x', b: [", "json (structural)"),
        ("json", b'{"a": ]', None),
        ("jsonc", b'{"a": 1, "b', "jsonc"),
        ("jsonl", b'{"a": ]\n{"a": 1}\n{"b', "jsonl"),
    ],
)
def test_a_file_is_taken_as_what_it_is(language, text, name):
    """Files that are JSONC by habit are called JSON by editors."""
    assert standing(language, text) == name


def test_mistakes_in_closed_members_block_nothing():
    assert standing("json", b'{"a": [1 2], "b": {c}, "d": "open\n, "e": [') == "json"


def test_what_is_too_long_is_not_read():
    assert LADDERS["json"](b" " * (MOST_BYTES + 1)) == ()


def test_every_cut_of_some_real_files():
    folders = [ROOT / "editors", Path(sysconfig.get_path("purelib"))]
    paths = sorted(path for folder in folders for path in folder.rglob("*.json"))

    found = sample(paths, 40, Random(1), json_text, most=50_000)

    assert len(found) >= 5
    assert {path: accepts_every_cut(STRICT, text) for path, text in found.items()} == dict.fromkeys(
        found
    )


@pytest.mark.corpus
def test_every_cut_of_many_real_files(report):
    paths = sorted(fetch_debian("mediawiki").rglob("*.json"))
    found = sample(paths, 400, Random(2), json_text, most=200_000)
    refused = [
        (path, template.name)
        for path, text in found.items()
        for template in (STRICT, LENIENT, LOOSE)
        if accepts_every_cut(template, text) is not None or not fits(template, text)
    ]
    size = sum(map(len, found.values()))
    report(f"json: {len(found)} files, {size:,} cuts: {len(refused)} not accepted")

    assert len(found) >= 300
    assert refused == []


@pytest.mark.corpus
def test_every_cut_of_real_files_with_comments():
    """The same files, written anew with comments and trailing commas."""
    paths = sorted(fetch_debian("mediawiki").rglob("*.json"))
    random = Random(3)
    found = sample(paths, 300, random, json_text, most=30_000)
    refused = [
        path
        for path, text in found.items()
        if not fits(LENIENT, written(json.loads(text), random, comments=True))
    ]

    assert len(found) == 300
    assert refused == []
