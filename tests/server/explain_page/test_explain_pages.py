"""The page: whole, safe whatever the document holds, bounded, and true."""

import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from healing.sampling import Sampling
from server.completion_options import CompletionOptions
from server.decoding import METHODS
from server.engine import Lora
from server.explain_page.facts import Facts, Token, around, gather
from server.explain_page.page import START, page
from server.explain_page.sections import first_texts
from server.report import Item
from server.snapshot import Snapshot, with_lf
from tests.server.documents import documents
from tests.server.explain_page.parsing import parsed

LARGEST = 300_000
"""Characters of a page, whatever the document."""


def snapshot(text: str | bytes, name: str = "a.py", language: str = "python") -> Snapshot:
    """A document with the cursor at `║`, or at its end."""
    data = text.encode() if isinstance(text, str) else text
    before, _, after = data.partition("║".encode())
    return Snapshot(name, 0, before + after, len(before), language)


def hero(root):
    """The text around the cursor."""
    return root.find("header")[0].find("div", "text")[0]


@pytest.fixture(scope="module")
def facts(tiny_completer) -> Facts:
    """A suggestion with a tree, steps and a grammar."""
    return gather(
        tiny_completer,
        snapshot("import os\n\nclass Reader:\n    def read(self):\n        self.numb║)\n"),
        CompletionOptions(),
    )


def test_parts(facts):
    """All parts are there, in the order in which an answer comes about."""
    root = parsed(page(facts))

    assert [heading.text for heading in root.find("h2")] == [
        "All the ways to spell what you typed",
        "What may come first after the cursor",
        "Then token by token",
        "What the grammar says",
        "From the model's text to the suggestion",
        "What it cost",
    ]
    assert [summary.text.partition(":")[0] for summary in root.find("summary")] == [
        "The prompt",
        "The report as JSON",
    ]
    assert root.find("title")[0].text == "a.py:5:18 · midtoken"


def test_only_its_own_style_may_be_used(facts):
    """The policy forbids everything but the style that is in the page, by its sum."""
    html = page(facts)
    root = parsed(html)
    [style] = [node.text for node in root.find("style")]
    digest = b64encode(sha256(style.encode()).digest()).decode()
    policy = next(m.attributes["content"] for m in root.find("meta") if "content" in m.attributes)

    assert html.startswith(START)
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )


def test_nothing_is_fetched(facts):
    """No address anywhere: neither in attributes nor in the style."""
    assert not re.search(r"https?:|//|url\(|@import|src=|href=", page(facts).replace("://", ""))


@given(
    documents(),
    st.sampled_from(METHODS),
    st.sampled_from(["fim", "left"]),
    st.sampled_from([0.0, 0.9]),
)
@settings(max_examples=40)
def test_any_document(tiny_completer, document, method, prompt, temperature):
    """Whatever text holds: a well-formed page that shows the text around the cursor."""
    text, cursor = document
    taken = Snapshot("a.py", 0, text, cursor, "python")
    options = CompletionOptions(method, prompt, 6, sampling=Sampling(temperature))
    facts = gather(tiny_completer, taken, options)

    html = page(facts)
    root = parsed(html)

    assert len(html) < LARGEST
    shown = b"".join(t.text for t in (*facts.before, *facts.typed_tokens, *facts.after))
    before, after = around(taken, 0 if not facts.completion.items else taken_bytes(facts))
    assert shown == before + after
    assert hero(root).find("span", "caret")


def taken_bytes(facts: Facts) -> int:
    """How much of what follows the cursor the suggestion replaces."""
    return facts.completion.items[0].replaced_bytes


HOSTILE = [
    "</script><script>alert(1)</script>",
    "</style></title></textarea>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    "<!--",
    "]]><![CDATA[",
    '" onmouseover="alert(1)',
    "' style='color:red",
    "&lt;&#x3c;",
    "javascript:alert(1)",
    "\u202eabc\u2066",
    "\0\x1b[2J\x7f\u2028",
    "<|endoftext|><|fim_middle|>",
    "\ud800",
]
hostile = st.lists(st.one_of(st.sampled_from(HOSTILE), st.text()), max_size=3).map("".join)


@given(st.data())
@settings(max_examples=60)
def test_hostile_text_in_every_field(facts, data):
    """No field of the facts can add an element or an attribute, or hide itself."""
    evil = data.draw(hostile)
    raw = evil.encode("utf-8", "surrogatepass")
    text = evil.replace("\ud800", "")  # names of files alone may hold halves of characters
    completion = facts.completion
    drawn = {*facts.tree.trunk, *(node.token for node in facts.tree.nodes)}
    spelled = {token: own if token in drawn else raw + own for token, own in facts.spelled.items()}
    token = Token(1, raw)
    tree = replace(
        facts.tree,
        leaves=tuple(replace(leaf, visible=raw + leaf.visible) for leaf in facts.tree.leaves),
    )
    changed = replace(
        facts,
        snapshot=replace(facts.snapshot, uri=evil, language=evil),
        completion=replace(
            completion,
            items=(Item(text, (0, 0), (0, 0), -0.1),),
            empty_reason=evil,
            ended=evil,
            rules=(evil,),
            notes=(evil,),
            healing=replace(
                completion.healing, backed_up_text=text, candidates=((text, 0.5),), note=text
            ),
            grammar=replace(completion.grammar, state="on", reason=evil, language=evil),
            timing_ms={**completion.timing_ms, evil: 1.0},
            model=replace(
                completion.model,
                name=evil,
                path=evil,
                description=evil,
                backend=evil,
                lora=Lora(evil),
            ),
        ),
        written=raw,
        head=(token, replace(token, is_mark=True)),
        before=(token,),
        after=(token,),
        spelled=spelled,
        tree=tree,
    )

    for variant in (changed, replace(changed, completion=replace(changed.completion, items=()))):
        root = parsed(page(variant))
        policies = [m for m in root.find("meta") if "http-equiv" in m.attributes]
        assert len(policies) == 1
        assert len(root.find("style")) == 1


@pytest.mark.parametrize(
    "text",
    [
        "x = '" + "long " * 200_000 + "el║" + " more" * 200_000 + "'\n",
        "# " + "-" * 100_000 + "║",
        "\n" * 100_000 + "x║" + "\n" * 100_000,
        "日本" * 50_000 + "║",
        "a" * 1_000_000 + "║",
    ],
    ids=["long line", "ruler", "blank lines", "wide", "one word"],
)
def test_size_is_bounded(tiny_completer, text):
    """A large document makes no large page."""
    facts = gather(tiny_completer, snapshot(text), CompletionOptions(max_tokens=4))

    assert len(page(facts)) < LARGEST


def test_many_tokens_are_counted(facts):
    """Of a long suggestion the first tokens are shown, and the number of the others."""
    longer = replace(facts, steps=facts.steps[:1] * 500)
    [steps] = parsed(page(longer)).find("table", "steps")

    assert len(steps.find("tr")) == 64
    assert "and 437 more tokens" in page(longer)


def test_what_was_not_written_is_not_told_as_taken(facts):
    """Where the grammar refuses the model's wishes, the page says that the best of the rest, or the
    last token, was not written."""
    completion = replace(facts.completion, ended="other wishes")
    assert page(facts).count("not written") == 0

    later = parsed(page(replace(facts, completion=completion)))
    at_once = parsed(page(replace(facts, completion=completion, written=b"", steps=())))

    *others, last = later.find("table", "steps")[0].find("tr")
    assert "not written" in last.text
    assert not any("not written" in row.text for row in others)
    assert "the best one, not written" in at_once.find("svg", "tree")[0].text


def test_a_spelled_mark_looks_like_text(tiny_completer):
    """Text that spells a special token is in no mark's frame; marks of the prompt are."""
    html = page(gather(tiny_completer, snapshot("s = '<|fim_middle|>║"), CompletionOptions()))
    root = parsed(html)

    assert not hero(root).find("span", "mark")
    [prompt] = root.find("div", "prompt")
    marks = [mark.text for mark in prompt.find("span", "mark")]
    assert marks == ["<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"]


def test_first_texts_are_sums(facts):
    """Texts are told with the sum of their spellings; all of them and the rest are all there is."""
    texts, rest = first_texts(facts)

    assert sum(text.share for text in texts) + rest == pytest.approx(1)
    assert len({text.visible for text in texts}) == len(texts)
    assert [text.share for text in texts] == sorted((t.share for t in texts), reverse=True)
    assert sum(text.taken for text in texts) == 1
    for text in texts:
        for leaf in text.spellings:
            spelled = b"".join(token.text for token in facts.path(leaf))
            typed = facts.typed[len(facts.typed) - (len(spelled) - len(text.visible)) :]
            assert leaf.token is None or spelled == typed + text.visible


def test_of_an_earlier_request(tiny_completer, facts):
    """A page of what was answered before tells that request's numbers, and says so."""
    first = replace(facts.completion, timing_ms={"total": 98765.0})
    again = gather(tiny_completer, facts.snapshot, CompletionOptions(), first)
    html = page(again)

    assert again.completion is first
    assert "98.77 s" in html
    assert "made again for this page" in html


def test_of_an_earlier_request_with_another_answer(tiny_completer, facts):
    """Where something else is suggested now, the page is about that, and names the earlier one."""
    item = replace(facts.completion.items[0], text="earlier</b>")
    first = replace(facts.completion, items=(item,))
    again = gather(tiny_completer, facts.snapshot, CompletionOptions(), first)
    [told] = parsed(page(again)).find("header")[0].find("p", "muted")

    assert again.completion.items[0].text == facts.completion.items[0].text
    assert told.text.startswith("earlier</b> was suggested when it was asked for.")


def test_of_an_earlier_request_with_others(tiny_completer, facts):
    """It is the same answer if others were known beside it, and the page names them."""
    [item] = facts.completion.items
    first = replace(facts.completion, items=(item, replace(item, text="another")))
    again = gather(tiny_completer, facts.snapshot, CompletionOptions(), first)

    assert again.completion is first
    assert "made again for this page; times and counts" in page(again)


def test_around_starts_and_ends_with_lines():
    """Three lines before the cursor's and two after it; long ones are cut at characters."""
    lines = [f"line {number}".encode() for number in range(10)]
    text = b"\r\n".join(lines)
    at = text.index(b"5") + 1

    before, after = around(Snapshot("a", 0, text, at, "plaintext"), 0)

    assert before == b"line 2\nline 3\nline 4\nline 5"
    assert after == b"\nline 6\nline 7\n"
    wide = "日".encode() * 1000
    before, after = around(Snapshot("a", 0, wide, 1500, "plaintext"), 0)
    assert before.decode()
    assert after.decode()
    assert with_lf(before) == before


@pytest.mark.model
@pytest.mark.parametrize(
    ("text", "taken_back", "first"),
    [
        ("import nump║", [" n", "ump"], "y"),
        ("def fibonacci(n):\n    if n < 2:\n        return n\n    retu║", [" ret", "u"], "rn"),
        ("class Shape:\n    def area(self):\n        raise NotImplementedErr║", None, "or"),
    ],
)
def test_real_pages(completer, text, taken_back, first):
    """What everybody would have written wins, and the page shows what was taken back for it."""
    facts = gather(completer, snapshot(text), CompletionOptions())
    root = parsed(page(facts))
    texts, _ = first_texts(facts)

    assert texts[0].taken
    assert texts[0].visible.decode() == first
    told, share = facts.completion.healing.candidates[0]
    assert told == first
    assert texts[0].share == pytest.approx(share, abs=2e-3)
    [owed] = hero(root).find("span", "owed")
    if taken_back is not None:
        assert [child.plain for child in owed.children] == taken_back
    assert hero(root).find("span", "new")[0].plain == facts.completion.items[0].text
    [picture] = root.find("svg", "tree")
    assert "taken" in picture.text
    assert "as it was typed" in picture.text
