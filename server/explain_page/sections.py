"""The first half of the page: the place, the covering tree, what may come first, the grammar.

Every section says in a sentence or two what is seen in it. What is not here: the rest of the answer
and what it cost (`more_sections`).
"""

import math
from dataclasses import dataclass, replace
from urllib.parse import unquote

from server.explain_page.facts import Facts, Token
from server.explain_page.markup import (
    Child,
    Element,
    bar,
    chip,
    code,
    cropped,
    element,
    flat,
    likely,
    log_of,
    strip,
)
from server.explain_page.trace import SeenLeaf
from server.explain_page.tree_picture import tree_picture
from server.snapshot import position_at
from server.terminal import count, duration, shown_path

FIRST_TEXTS, SPELLINGS, REFUSED = 8, 4, 8
"""So many are shown; of the others their number and probability are told."""

TYPED_BYTES = 300
"""So much of a long line before the cursor is shown."""

SUGGESTED = 4000
"""So many characters of a suggestion are shown."""

_LEVELS = {
    "full": "the language's grammar, on the whole text before the cursor",
    "window": "the language's grammar, on the part of the text that decides what may follow",
    "statement": "the language's grammar, from the current statement on",
    "structural": "strings, comments and brackets only",
}


_METHODS = {
    "align": "It did so token by token, each time with the likeliest one that agrees. ",
    "one": "It did so in a single step. ",
}


def section(title: str, *children: Child) -> Element:
    """A part of the page under a heading."""
    return element("section", element("h2", title), *children)


def quote(text: bytes | str, class_: str = "") -> Element:
    """A short text within a sentence."""
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    shown, more = cropped(data, 60)
    return element("code", *code(shown), "…" if more else None, class_=class_)


def head_section(facts: Facts) -> Element:
    """Where it is, what is suggested, and in a few words how that came about."""
    snapshot, completion = facts.snapshot, facts.completion
    line, column = position_at(snapshot.text, snapshot.cursor)
    name = shown_path(unquote(snapshot.uri.removeprefix("file://")))
    place = f"{name[-200:]}:{line + 1}:{column + 1}"
    return element(
        "header",
        element("p", "midtoken · how a suggestion came about", class_="brand"),
        element("h1", place),
        _code_around(facts),
        element(
            "p",
            *_key("t0", "t1", text="each shade is a token"),
            *(_key("owed", text="taken back and typed again") if _taken_back(facts) else ()),
            *(_key("new", text="suggested") if completion.items else ()),
            class_="legend",
        ),
        element("p", *_summary(facts), class_="summary"),
        _figures(facts),
        element("p", *_again(facts), class_="muted"),
    )


def _again(facts: Facts) -> list[Child]:
    """What is to be known where the request was made again for the page."""
    first = facts.first
    if first is None:
        return []
    again = "The request was made again for this page"
    if first is facts.completion:
        return [f"{again}; times and counts below are those of the first time."]
    was = quote(first.items[0].text) if first.items else "Nothing"
    since = f"{again}: since then the model has read or written more."
    return [was, f" was suggested when it was asked for. {since}"]


def _key(*classes: str, text: str) -> list[Child]:
    return [*(element("i", class_=f"key {class_}") for class_ in classes), f" {text} "]


def _taken_back(facts: Facts) -> int:
    """How many of the typed tokens were taken back."""
    return min(facts.completion.healing.backed_up_tokens, len(facts.typed_tokens))


def _code_around(facts: Facts) -> Element:
    """The text around the cursor, in tokens, with the suggestion in it."""
    items = facts.completion.items
    kept = len(facts.typed_tokens) - _taken_back(facts)
    room, first = TYPED_BYTES, len(facts.typed_tokens)
    while first and (first > kept or room > 0):
        first -= 1
        room -= len(facts.typed_tokens[first].text)
    suggested: list[Child] = []
    if items:
        shown, more = cropped(items[0].text.encode(), SUGGESTED)
        suggested = [*code(shown, blanks=False, lines=True), "…" if more else None]
    return element(
        "div",
        *strip(facts.before),
        "…" if first else None,
        *strip(facts.typed_tokens[first:kept]),
        element("span", *strip(facts.typed_tokens[kept:]), class_="owed"),
        element("span", class_="caret"),
        element("span", *suggested, class_="new") if items else None,
        *strip(facts.after, "after"),
        class_="text",
    )


def _summary(facts: Facts) -> list[Child]:
    """The whole story in a few sentences."""
    healing, completion = facts.completion.healing, facts.completion
    told: list[Child] = []
    if healing.mode == "off":
        told.append(
            "Healing was off: the text stayed as it was typed, and the model went on from there. "
        )
    elif not healing.backed_up_text:
        told.append(
            "Nothing had to be typed again here: whatever follows, the text before the cursor is "
            "split into the same tokens. "
        )
    else:
        was = "was" if healing.backed_up_tokens == 1 else "were"
        told.append(
            "A language model reads tokens, not letters, and the tokens of an unfinished text are "
            "often not those of the finished one. So "
        )
        told.append(quote(healing.backed_up_text, "owed"))
        told.append(
            f" ({count(healing.backed_up_tokens, 'token')}) {was} taken back, and the model typed "
            "it again, held to what you had typed. "
        )
    if healing.mode in _METHODS:
        told.append(_METHODS[healing.mode])
    if not completion.items:
        told.append(f"Nothing is suggested: {completion.empty_reason or 'no reason was given'}.")
    return told


def _figures(facts: Facts) -> Element:
    """The most telling numbers."""
    completion = facts.completion
    healing, tokens = completion.healing, completion.tokens
    figures: list[tuple[str, str]] = []
    if healing.candidates:
        text, share = healing.candidates[0]
        named = f" “{flat(text.encode())}”" if 0 < len(text) <= 12 else ""
        figures.append((likely(share), f"first text{named}"))
    if completion.items:
        sure = math.exp(min(completion.items[0].score, 0.0))
        figures.append((likely(sure), "a token, in the mean"))
        figures.append((likely(completion.items[0].confidence), "that its line is right"))
    if facts.tree is not None:
        figures.append((f"{facts.tree.count:,}", "last tokens compared"))
    figures.append((f"{tokens.reused:,} of {tokens.prompt:,}", "prompt tokens in memory"))
    total = completion.timing_ms.get("total") or sum(
        completion.timing_ms.get(part, 0.0)
        for part in ("prompt", "grammar", "first_text", "decoding")
    )
    figures.append((duration(total), "in all"))
    return element(
        "dl",
        *(
            element("div", element("dt", label), element("dd", value), class_="figure")
            for value, label in figures
        ),
        class_="figures",
    )


def tree_section(facts: Facts) -> Element | None:
    """The covering tree, drawn."""
    picture = tree_picture(facts)
    if picture is None:
        return None
    return section(
        "All the ways to spell what you typed",
        element(
            "p",
            "Each box is a token, drawn over the characters that it spells. The first ones are in "
            "all ways and stay. Then the ways part: ",
            element("b", "amber", class_="owed"),
            " types again what you had typed (dashed: with the tokens that it had, as it stood), "
            "and the last token of each way goes on behind the cursor with something ",
            element("b", "new", class_="new"),
            ". Probabilities along a way multiply; the bar is a way's share of all ways. The model "
            "computes all of them together, in one pass.",
        ),
        element("div", picture, class_="scroll"),
    )


@dataclass(frozen=True)
class FirstText:
    """A first text after the cursor, and the ways that show it."""

    visible: bytes
    ends: bool
    """Whether it stands for the end of the text."""
    share: float
    """Of what may come."""
    spellings: tuple[SeenLeaf, ...]
    taken: bool


def first_texts(facts: Facts) -> tuple[list[FirstText], float]:
    """What may come first, most probable first, and the share of what was not looked at."""
    tree = facts.tree
    assert tree is not None
    found: dict[bytes, list[SeenLeaf]] = {}
    for leaf in tree.leaves:
        if leaf.verdict == "counts":
            found.setdefault(leaf.visible, []).append(leaf)
    total = max(sum(leaf.share for leaves in found.values() for leaf in leaves) + tree.rest, 1e-300)
    texts = [
        FirstText(
            visible,
            leaves[0].token is None,
            sum(leaf.share for leaf in leaves) / total,
            tuple(leaves),
            any(leaf.taken for leaf in leaves),
        )
        for visible, leaves in found.items()
    ]
    return sorted(texts, key=lambda text: -text.share), tree.rest / total


def first_section(facts: Facts) -> Element | None:
    """What may come first: sums over spellings."""
    if facts.tree is None:
        return None
    texts, rest = first_texts(facts)
    if not texts:
        return None
    shown = texts[:FIRST_TEXTS] + [text for text in texts[FIRST_TEXTS:] if text.taken]
    hidden = len(texts) - len(shown)
    rows = [
        element(
            "tr",
            element("td", _new_chip(text)),
            element("td", bar(text.share, "taken" if text.taken else "")),
            element("td", likely(text.share), class_="number", title=log_of(text.share)),
            element("td", *_spellings(facts, text.spellings)),
            class_="taken" if text.taken else "",
        )
        for text in shown
    ]
    others = max(0.0, 1 - sum(text.share for text in shown))
    more = f"and {count(hidden, 'more text')}" if hidden else "and all others"
    said = (
        "A person sees text, not tokens: where several ways show the same text, their "
        "probabilities add up. What the grammar refuses does not count here. "
    )
    if facts.completion.healing.mode == "exact" and not shown[0].taken:
        said += (
            "The next character is chosen first, by all texts that begin with it together, and "
            "then the most probable of these; so it need not be the first of the list. "
        )
    return section(
        "What may come first after the cursor",
        element("p", said),
        element(
            "table",
            _headings("text", "", "probability", "spelled (only the end that differs)"),
            element("tbody", *rows),
        ),
        element("p", f"{more}: {likely(max(others, rest))}", class_="muted") if others else None,
    )


def _headings(*names: str) -> Element:
    return element("thead", element("tr", *(element("th", name) for name in names)))


def _new_chip(text: FirstText) -> Element:
    token = Token(0, b"end of the text", is_mark=True) if text.ends else Token(0, text.visible)
    return chip(token, "new")


def _spellings(facts: Facts, leaves: tuple[SeenLeaf, ...]) -> list[Child]:
    """Ways to spell one text, each as its tokens."""
    made: list[Child] = []
    whole = sum(leaf.share for leaf in leaves)
    for leaf in leaves[:SPELLINGS]:
        *inner, last = facts.path(leaf)
        typed = b"" if leaf.token is None else last.text[: len(last.text) - len(leaf.visible)]
        parts: list[Child] = [chip(token, "owed") for token in inner]
        if leaf.token is not None:
            new, more = cropped(leaf.visible, 40)
            parts.append(
                element(
                    "span",
                    element("span", *code(typed), class_="owed") if typed else None,
                    element("span", *code(new), "…" if more else None, class_="new"),
                    class_="token",
                )
            )
        of = f" {likely(leaf.share / whole)}" if len(leaves) > 1 and whole else None
        made.append(element("span", *parts, of, class_="spelling"))
    if len(leaves) > SPELLINGS:
        made.append(element("span", f"and {len(leaves) - SPELLINGS} more", class_="muted"))
    return made


def grammar_section(facts: Facts) -> Element:
    """What the grammar allowed, and what it refused."""
    report = facts.completion.grammar
    title = "What the grammar says"
    if report.state == "off":
        return section(title, element("p", f"No grammar was used: {report.reason or 'no reason'}."))
    level = _LEVELS.get(report.level or "", "as much as fits your text")
    said = (
        f"What is written is checked by the {report.language} grammar (level “{report.level}”: "
        f"{level}; {report.window_bytes:,} bytes were read). It was asked about "
        f"{count(report.checks, 'text')} and refused {report.refused:,}."
    )
    refused = _refused(facts)
    return section(
        title,
        element("p", said),
        element("p", f"Nothing better was used because of this: {report.reason}.")
        if report.reason
        else None,
        element("p", "What it would not let come after the cursor, from the red part on:")
        if refused
        else None,
        element("ul", *refused[:REFUSED], class_="refusals") if refused else None,
        element("p", f"and {len(refused) - REFUSED} more", class_="muted")
        if len(refused) > REFUSED
        else None,
        element("p", _FITS[report.fits]) if report.fits is not None else None,
    )


_FITS = {
    True: "What follows the cursor fits after the suggestion.",
    False: "What follows the cursor does not fit after the suggestion.",
}


def _refused(facts: Facts) -> list[Element]:
    """First texts that the grammar refused, each as an entry of a list."""
    found: dict[bytes, SeenLeaf] = {}
    for leaf in facts.tree.leaves if facts.tree is not None else ():
        if leaf.verdict == "refused":
            known = found.get(leaf.visible)
            share = leaf.share + (known.share if known else 0.0)
            found[leaf.visible] = replace(leaf, share=share)
    made = []
    for leaf in sorted(found.values(), key=lambda leaf: -leaf.share):
        if leaf.token is None:
            shown: list[Child] = [chip(Token(0, b"end of the text", is_mark=True), "refused")]
        else:
            fine, wrong = leaf.visible[: leaf.fits], leaf.visible[leaf.fits :]
            wrong, more = cropped(wrong, 40)
            cut = element("del", *code(wrong), "…" if more else None)
            shown = [element("span", *code(fine), cut, class_="token")]
        made.append(element("li", *shown, f" {likely(leaf.share)}"))
    return made
