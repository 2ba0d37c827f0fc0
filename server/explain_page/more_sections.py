"""The second half of the page: token by token, what is shown of it, what it cost, the prompt."""

import json
from collections.abc import Sequence

from server.explain_page.facts import Facts, Token
from server.explain_page.markup import (
    Child,
    Element,
    bar,
    chip,
    code,
    cropped,
    element,
    likely,
    log_of,
    strip,
)
from server.explain_page.sections import section
from server.explain_page.trace import Step
from server.grammar.kept import common_prefix
from server.models.files import megabytes
from server.snapshot import with_lf
from server.terminal import count, duration, shown_path

STEPS = 64
"""So many tokens of a suggestion are shown one by one."""

PROMPT_TOKENS = (150, 350)
"""So many tokens are shown of a long prompt's beginning and end."""

WRITTEN = 6000
"""So many characters of the model's text are shown."""

JSON_CHARACTERS = 20_000

_ENDED = {
    "stop token": "The model itself ended the text.",
    "stop rule": "It ended where the line or block was complete.",
    "token limit": "It ended at the limit of tokens.",
    "other wishes": "It ended because the model wanted something that the grammar does not allow.",
    "ban": "It ended because what the model wanted next is banned.",
    "no fitting token": "It ended because the grammar allowed nothing that the model could write.",
    "unsure": "It ended where the rest was too unsure (`completion.stopUnsure`).",
    "not sent": "Nobody was asked for it: the file is one of secrets.",
    "unfinished": "More was still to come when it was shown.",
}

_PARTS = {
    "prompt": "building the prompt",
    "grammar": "reading your text with the grammar",
    "first_text": "until the first text was known (reading the prompt, healing)",
    "decoding": "writing the rest, token by token",
}

_LOADING = {"load_model": "loading the model", "load_tables": "loading its vocabulary"}


def steps_section(facts: Facts) -> Element | None:
    """Every token, with what else could have come."""
    rows: list[Element] = []
    tree = facts.tree
    taken = next((leaf for leaf in tree.leaves if leaf.taken), None) if tree else None
    if taken is not None:
        shown = Token(0, taken.visible) if taken.token is not None else facts.token(None)
        told = element("span", "from the ways above", class_="muted")
        rows.append(_row(1, [chip(shown, "new")], None, [told]))
    first = len(rows)
    for number, step in enumerate(facts.steps[: STEPS - first], first + 1):
        others = [
            _alternative(facts, one.token, one.share, one.refused)
            for one in step.best
            if one.token != step.token
        ]
        if step is facts.steps[-1] and facts.completion.ended == "other wishes":
            others.insert(
                0, element("span", "not written: the text ends before it", class_="other")
            )
        rows.append(_row(number, _chosen(facts, step), step.share, others))
    if not rows:
        return None
    hidden = len(facts.steps) - (len(rows) - first)
    drafted = facts.completion.tokens.drafted
    return section(
        "Then token by token",
        element(
            "p",
            "Each row is one choice: the token that was taken with the model's probability of it, "
            "and the likeliest others. What the grammar refuses is ",
            element("del", "struck out"),
            ".",
            f" From text that is near, {count(drafted, 'token')} were guessed and checked "
            f"together; {facts.completion.tokens.accepted} of them turned out right. That saves "
            "time and changes nothing else."
            if drafted
            else None,
        ),
        element("table", element("tbody", *rows), class_="steps"),
        element("p", f"and {count(hidden, 'more token')}", class_="muted") if hidden else None,
    )


def _row(
    number: int, chosen: Sequence[Child], share: float | None, others: Sequence[Child]
) -> Element:
    return element(
        "tr",
        element("td", str(number), class_="muted number"),
        element("td", *chosen),
        element("td", None if share is None else bar(share, "taken", 80)),
        element("td", likely(share), class_="number", title=log_of(share))
        if share is not None
        else element("td"),
        element("td", *others, class_="others"),
    )


def _chosen(facts: Facts, step: Step) -> list[Child]:
    token = facts.token(step.token)
    if not step.owed or step.token is None:
        return [chip(token, "new")]
    again, new = token.text[: len(step.owed)], token.text[len(step.owed) :]
    return [
        element(
            "span",
            element("span", *code(again), class_="owed"),
            element("span", *code(new), class_="new") if new else None,
            class_="token",
        )
    ]


def _alternative(facts: Facts, token: int | None, share: float, refused: bool) -> Element:
    shown = chip(facts.token(token), most=20)
    if refused:
        shown = element("del", shown)
    return element("span", shown, f" {likely(share)}", class_="other")


def shown_section(facts: Facts) -> Element:
    """From the model's text to the suggestion."""
    completion = facts.completion
    shown = with_lf(completion.items[0].text.encode()) if completion.items else b""
    same = common_prefix(facts.written, shown)
    written, more = cropped(facts.written[same:], WRITTEN)
    fine, _ = cropped(facts.written[:same], WRITTEN)
    ended = _ENDED.get(completion.ended, f"It ended by this: {completion.ended}.")
    if completion.rules:
        rules = ", ".join(f"“{rule}”" for rule in completion.rules)
        said = f"Rules that changed it: {rules}."
    else:
        said = "No rule changed it."
    added = shown[same:]
    return section(
        "From the model's text to the suggestion",
        element("p", f"{ended} {said}"),
        element(
            "div",
            element("span", *code(fine, blanks=False, lines=True), class_="new"),
            element("del", *code(written, blanks=False, lines=True), "…" if more else None)
            if written
            else None,
            element("ins", *code(added[:WRITTEN], blanks=False, lines=True)) if added else None,
            class_="text",
        )
        if facts.written or shown
        else element("p", "The model wrote nothing.", class_="muted"),
        element("p", "Put back by rules is underlined; struck out was cut.", class_="muted")
        if written or added
        else None,
    )


def cost_section(facts: Facts) -> Element:
    """Times, tokens and the model."""
    completion = facts.completion
    timing, tokens, model = completion.timing_ms, completion.tokens, completion.model
    parts = [(said, timing[name]) for name, said in _PARTS.items() if name in timing]
    longest = max((took for _, took in parts), default=0.0) or 1.0
    times = [
        element(
            "tr",
            element("td", said),
            element("td", bar(took / longest, width=200)),
            element("td", duration(took), class_="number"),
        )
        for said, took in parts
    ]
    loads = [
        f"{said} {duration(timing[name])}" for name, said in _LOADING.items() if name in timing
    ]
    share = tokens.reused / max(tokens.prompt, 1)
    drafted = f"; {tokens.drafted:,} drafted, {tokens.accepted:,} of them accepted"
    layers = f"{model.offloaded_layers} of {count(model.layers, 'layer')} on a GPU, "
    where = (  # an engine elsewhere does not say where its layers are
        f"{model.backend}, {layers if model.layers else ''}"
        f"context of {count(model.context_tokens, 'token')}"
    )
    adapter = f", with the adapter {shown_path(model.lora.path)}" if model.lora else ""
    size = f", {megabytes(model.size_bytes)}" if model.size_bytes else ""  # not all engines tell
    return section(
        "What it cost",
        element("table", element("tbody", *times)),
        element("p", f"Before that, once: {', '.join(loads)}.", class_="muted") if loads else None,
        element(
            "p",
            bar(share, "memory", 200),
            f" {tokens.reused:,} of {count(tokens.prompt, 'prompt token')} were in memory from "
            f"earlier requests. {count(tokens.evaluated, 'token')} went through the model (prompt, "
            f"tree and text) for {tokens.generated:,} written"
            + (drafted if tokens.drafted else "")
            + ".",
        ),
        element(
            "p",
            element("b", model.name),
            f" ({model.description}{size}){adapter}, on {where}.",
        ),
        element("p", shown_path(model.path), class_="muted path"),
        *(element("p", note) for note in completion.notes),
    )


def prompt_section(facts: Facts) -> Element:
    """The prompt as the model reads it."""
    kind = facts.completion.prompt
    head, reused = facts.head, facts.completion.tokens.reused
    first, last = PROMPT_TOKENS
    cut = len(head) - last if len(head) > first + last else first
    parts: list[Child] = [*_with_memory(head[:first], 0, reused)]
    if len(head) > first + last:
        parts.append(element("span", f" … {cut - first:,} tokens … ", class_="muted"))
    parts += _with_memory(head[cut:], cut, reused)
    return element(
        "details",
        element("summary", f"The prompt: {count(len(head), 'token')} before what you typed"),
        element(
            "p",
            "Marks in frames are single tokens that no text can spell: they tell the model what is "
            "before the hole and what is after it. "
            if kind == "fim"
            else "Only the text before the cursor is used here. ",
            "What is paler was in memory. At its end stands what you had typed, as the beginning "
            "of the answer.",
        ),
        element(
            "div",
            *parts,
            element("span", *strip(facts.typed_tokens[-100:]), class_="owed"),
            class_="text prompt",
        ),
    )


def _with_memory(tokens: tuple[Token, ...], start: int, reused: int) -> list[Child]:
    """Tokens of the prompt, those in memory paler; `start` is the first one's place."""
    known = max(0, min(len(tokens), reused - start))
    return [element("span", *strip(tokens[:known]), class_="known"), *strip(tokens[known:])]


def report_section(facts: Facts) -> Element:
    """The report for programs."""
    text = json.dumps(facts.completion.as_json(), indent=2, ensure_ascii=False)
    more = len(text) > JSON_CHARACTERS
    return element(
        "details",
        element("summary", "The report as JSON"),
        element("div", text[:JSON_CHARACTERS] + (" …" if more else ""), class_="text"),
    )
