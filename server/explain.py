"""`midtoken complete --explain`: how a completion came about, on one page for people.

The line of the cursor comes first, marked as compilers do it, so that it reads without colours::

    2 |     return celsius * 9/5 + 32
      |            ~~~~+++++++++++++++
      ~ typed again by the model   + suggested

Below it stand the numbers of the report (`server.report` says what they mean). What is not here:
anything that the report does not hold; nothing is computed or guessed for this page.
"""

import math

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from server.confidence import is_fitted
from server.grammar.report import GrammarReport
from server.models.files import megabytes
from server.report import Completion, Item
from server.snapshot import Snapshot, line_bounds, offset_at, position_at
from server.terminal import (
    count,
    crop_left,
    crop_right,
    duration,
    full_block,
    make_console,
    print_row,
    quoted,
    shown_path,
)
from server.visible import visible

BAR_CELLS = 20
CANDIDATE_CELLS = 24
SHOWN_BYTES = 4096
"""So much of a line on either side of the cursor is looked at: more than any terminal is wide."""

_BACKED_UP = "bold yellow"
_SUGGESTED = "bold green"
_TIMES = {
    "load_model": "loading the model",
    "load_tables": "loading the tables",
    "first_text": "first text",
}
_PROMPTS = {
    "fim": "fim (the text on both sides of the cursor)",
    "left": "left (only the text before the cursor)",
}


def explain(snapshot: Snapshot, completion: Completion) -> None:
    """Print a completion and how it came about.

    Args:
        snapshot: What was completed.
        completion: The answer to it.
    """
    console = make_console()
    line, column = position_at(snapshot.text, snapshot.cursor)
    place = f"{visible(snapshot.uri)}:{line + 1}:{column + 1}"
    console.print(Text.assemble((place, "bold"), ("  " + visible(snapshot.language), "dim")))
    console.print()
    item = completion.items[0] if completion.items else None
    _print_line(console, snapshot, completion, item)
    console.print()
    _print_suggestion(console, snapshot, completion, item)
    _print_healing(console, completion)
    _print_grammar(console, completion.grammar)
    _print_costs(console, completion)
    said = dict.fromkeys([*completion.notes, completion.healing.note or ""])
    for note in filter(None, said):
        print_row(console, "note", note)


def _print_line(
    console: Console, snapshot: Snapshot, completion: Completion, item: Item | None
) -> None:
    """The cursor's line as it would become, with marks under it."""
    start, end = line_bounds(snapshot.text, snapshot.cursor)
    cursor = min(snapshot.cursor, end)
    typed = _decoded(snapshot.text[max(start, cursor - SHOWN_BYTES) : cursor])
    replaced = 0 if item is None else _replaced_bytes(snapshot, item)
    rest = visible(_decoded(snapshot.text[cursor + replaced : end][:SHOWN_BYTES]))
    # What was backed up over may start on a line before this one.
    taken_back = completion.healing.backed_up_text.rpartition("\n")[2]
    cut = max(len(typed) - len(taken_back), 0)
    suggested = visible(item.text) if item else ""

    number = str(position_at(snapshot.text, snapshot.cursor)[0] + 1)
    cells = max(console.width - len(number) - len(" | "), 20)
    backed_up = crop_left(visible(typed[cut:]), cells // 3)
    before = crop_left(visible(typed[:cut]), cells // 2 - cell_len(backed_up))
    suggested = crop_right(suggested, cells - cell_len(before + backed_up))
    rest = crop_right(rest, cells - cell_len(before + backed_up + suggested)) if rest else ""

    gutter, edge = number + " | ", " " * len(number) + " | "
    console.print(
        Text.assemble(
            (gutter, "dim"), before, (backed_up, _BACKED_UP), (suggested, _SUGGESTED), rest
        )
    )
    marks = ("+" * cell_len(suggested), _SUGGESTED) if item else ("^", "bold")
    indent, again = " " * cell_len(before), ("~" * cell_len(backed_up), _BACKED_UP)
    console.print(Text.assemble((edge, "dim"), indent, again, marks))
    legend = ["~ typed again by the model"] if backed_up else []
    legend.append("+ suggested" if item else "^ the cursor")
    console.print(Text(" " * len(edge) + "   ".join(legend), style="dim"))


def _print_suggestion(
    console: Console, snapshot: Snapshot, completion: Completion, item: Item | None
) -> None:
    if item is None:
        reason = completion.empty_reason or "no reason was given"
        print_row(console, "no text", f"nothing is suggested: {reason}")
    else:
        print_row(console, "suggestion", Text(quoted(item.text), style=_SUGGESTED))
        length = _replaced_bytes(snapshot, item)
        old = _decoded(snapshot.text[snapshot.cursor : snapshot.cursor + length])
        if old:
            first, last = item.start[1] + 1, item.end[1]
            columns = f"column {first}" if first == last else f"columns {first} to {last}"
            print_row(console, "replaces", f"{quoted(old)} ({columns})")
        else:
            print_row(console, "replaces", "nothing: it is inserted at the cursor")
        print_row(console, "probability", f"{item.probability:.1%} of all of it")
        for number, other in enumerate(completion.items[1:], 2):
            shown = Text(quoted(other.text), style=_SUGGESTED)
            print_row(
                console, f"also ({number})", Text.assemble(shown, f"  {other.probability:.1%}")
            )
        sure = math.exp(min(item.score, 0.0))
        print_row(console, "score", f"{item.score:.3f} ({sure:.0%} a token in the mean)")
        print_row(
            console,
            "confidence",
            f"{item.confidence:.0%} for the line, {item.word_confidence:.0%} for its first word"
            f"{_whose(completion)}",
        )
    print_row(console, "rules", ", ".join(completion.rules) or "none changed the text")
    print_row(console, "ended by", completion.ended)
    bans = completion.bans
    if bans.went_back or bans.refused or bans.note:
        note = f" ({bans.note})" if bans.note else ""
        print_row(
            console, "bans", f"went back {bans.went_back} times, refused {bans.refused}{note}"
        )


def _whose(completion: Completion) -> str:
    """What is to be said of figures that were not fitted to a model."""
    return "" if is_fitted(completion.model.name) else " (calibrated on another model)"


def _print_healing(console: Console, completion: Completion) -> None:
    healing = completion.healing
    if healing.mode == "off":
        what = "off: the text stays as it was typed, the model goes on from there"
    elif not healing.backed_up_text:
        what = f"{healing.mode}: nothing had to be typed again"
    else:
        tokens = count(healing.backed_up_tokens, "token")
        what = f"{healing.mode}: {tokens} taken back, {quoted(healing.backed_up_text)}"
    print_row(console, "healing", what)
    looked_at = f"{count(healing.covers, 'cover')} looked at, " if healing.covers else ""
    print_row(
        console,
        "",
        f"{looked_at}{count(healing.tree_tokens, 'tree token')}, "
        f"{count(healing.forward_passes, 'forward pass')}",
    )
    names = [crop_right(quoted(text), CANDIDATE_CELLS) for text, _ in healing.candidates]
    widest = max(map(cell_len, names), default=0)
    block, label = full_block(console), "first text"
    for name, (_, share) in zip(names, healing.candidates, strict=True):
        padded = name + " " * (widest - cell_len(name))
        bar = block * round(BAR_CELLS * min(max(share, 0.0), 1.0))
        print_row(console, label, Text.assemble(padded, f"  {share:6.1%}  ", (bar, "green")))
        label = ""


def _print_grammar(console: Console, report: GrammarReport) -> None:
    if report.state == "off":
        print_row(console, "grammar", f"off: {report.reason}")
        return
    print_row(
        console,
        "grammar",
        f"{report.language}, {report.level}: {count(report.checks, 'text')} asked about, "
        f"{report.refused} refused",
    )
    if report.reason:
        print_row(console, "", report.reason)
    if report.fits is not None:
        fits = "fits" if report.fits else "does not fit"
        print_row(console, "", f"what follows the cursor {fits} after the suggestion")


def _print_costs(console: Console, completion: Completion) -> None:
    tokens, model = completion.tokens, completion.model
    print_row(console, "prompt", _PROMPTS.get(completion.prompt, completion.prompt))
    drafted = f", {tokens.drafted} drafted ({tokens.accepted} accepted)" if tokens.drafted else ""
    print_row(
        console,
        "tokens",
        f"{tokens.prompt} prompt ({tokens.reused} reused), {tokens.evaluated} evaluated, "
        f"{tokens.generated} generated{drafted}",
    )
    times = [
        f"{_TIMES.get(name, name.replace('_', ' '))} {duration(value)}"
        for name, value in completion.timing_ms.items()
    ]
    print_row(console, "time", ", ".join(times) or "not measured")
    size = f", {megabytes(model.size_bytes)}" if model.size_bytes else ""  # not all engines tell
    print_row(console, "model", f"{model.name} ({model.description}{size})")
    print_row(console, "", shown_path(model.path))
    if model.lora:
        scale = f"scale {model.lora.scale:g}"
        print_row(console, "adapter", f"{shown_path(model.lora.path)} ({scale})")
    layers = f"{model.offloaded_layers} of {count(model.layers, 'layer')} on a GPU, "
    print_row(
        console,
        "runs on",
        # An engine elsewhere does not say where its layers are.
        f"{model.backend} ({layers if model.layers else ''}"
        f"context of {count(model.context_tokens, 'token')})",
    )


def _replaced_bytes(snapshot: Snapshot, item: Item) -> int:
    """The length in bytes of what the item's range holds."""
    (line, character), (_, end) = item.start, item.end
    if end == character:
        return 0
    first = offset_at(snapshot.text, line + 1, character + 1)
    return offset_at(snapshot.text, line + 1, end + 1) - first


def _decoded(text: bytes) -> str:
    return text.decode(errors="backslashreplace")
