"""`midtoken bench grammar`: holes in Python files, filled with and without the grammar mask.

CPython judges what is written, not the grammar under test. Both runs fill the same holes with the
same model, which reads each prompt once. What is not here: the holes and the judge (`holes`).
"""

import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from healing.sampling import Sampling
from server.arguments import GrammarArguments
from server.bench.holes import KINDS, Hole, compiles, holes, is_dead_end, standard_library
from server.bench.typing.figures import percentile
from server.completer import Completer, load_completer
from server.completion import engine_options_of, interruptible, model_path
from server.completion_options import CompletionOptions
from server.grammar.ladder import Mode
from server.grammar.languages import prepare
from server.report import Completion
from server.snapshot import Snapshot, read_document
from server.terminal import make_console, print_row

MODES: tuple[Mode, ...] = ("auto", "off")
LABEL_CELLS = 26


@dataclass(frozen=True)
class Filled:
    """A hole with a completion."""

    hole: Hole
    completion: Completion
    shown: bytes
    """What is shown; empty if nothing is."""
    compiles: bool
    """Whether the file does, with it."""
    dead_end: bool
    """Whether what is written cannot be gone on from, whatever comes."""


def run_grammar(files: tuple[str, ...], options: GrammarArguments) -> None:
    """Run the benchmark and print its figures (see `bench_cli.grammar`).

    Raises:
        DocumentError: A file can't be read or has no room for holes.
        EngineError: The model can't be run.
    """
    for name in files:
        read_document(name)
    paths = [Path(name) for name in files] or standard_library()
    chosen = list(islice(holes(paths, options["seed"]), options["holes"]))
    model = model_path(options["model_name"], yes=options["yes"])
    request = CompletionOptions(
        max_tokens=options["max_tokens"],
        context_tokens=options["context_tokens"],
        sampling=Sampling(temperature=options["temperature"], seed=options["seed"]),
    )

    def work(completers: list[Completer]) -> dict[Mode, list[Filled]]:
        prepare("python")  # as the server does when a document is opened
        completer = load_completer(model, engine_options_of(options))
        completers.append(completer)
        return fill(completer, chosen, request)

    figures = {
        "model": options["model_name"],
        "seed": options["seed"],
        "temperature": options["temperature"],
        "max_tokens": options["max_tokens"],
        **summarise(interruptible(work)),
    }
    if options["as_json"]:
        click.echo(json.dumps(figures))
    else:
        _print_figures(make_console(), ", ".join(files), figures)


def fill(
    completer: Completer, chosen: Sequence[Hole], request: CompletionOptions
) -> dict[Mode, list[Filled]]:
    """Complete every hole with the mask and without."""
    filled: dict[Mode, list[Filled]] = {mode: [] for mode in MODES}
    for number, hole in enumerate(chosen):
        if sys.stderr.isatty():
            click.echo(f"\r{number:,} of {len(chosen):,} holes ", err=True, nl=False)
        # Turns at being first: the second one finds the prompt in the model's memory.
        for mode in MODES if number % 2 else reversed(MODES):
            multiline = "auto" if hole.kind == "block" else "never"
            options = replace(request, grammar=mode, multiline=multiline)
            filled[mode].append(_fill(completer, hole, options))
    if sys.stderr.isatty():
        click.echo("\r", err=True, nl=False)
    return filled


def _fill(completer: Completer, hole: Hole, options: CompletionOptions) -> Filled:
    text, cursor = hole.before + hole.after, len(hole.before)
    completion = completer.complete(Snapshot(hole.name, 0, text, cursor, "python"), options)
    if not completion.items:
        return Filled(hole, completion, b"", compiles(text), dead_end=False)
    item = completion.items[0]
    shown = item.text.encode()
    written = hole.before + shown
    whole = compiles(written + text[cursor + item.replaced_bytes :])
    return Filled(hole, completion, shown, whole, not whole and is_dead_end(written))


def summarise(filled: dict[Mode, list[Filled]]) -> dict[str, Any]:
    """All figures, JSON-ready."""
    with_mask, without = filled["auto"], filled["off"]
    reports = [one.completion.grammar for one in with_mask]
    masked = [one for one in with_mask if one.completion.grammar.state == "on"]
    steps = [time for one in masked for time in one.completion.grammar.steps_ms]
    timing = [one.completion.timing_ms for one in masked]
    writing = sum(times["first_text"] + times["decoding"] for times in timing)
    checking = sum(one.completion.grammar.check_ms for one in masked)
    return {
        "holes": len(with_mask),
        "mask": _outcome(with_mask),
        "no_mask": _outcome(without),
        "same_text": sum(
            one.shown == other.shown for one, other in zip(with_mask, without, strict=True)
        ),
        "levels": dict(Counter(report.level or "off" for report in reports)),
        "reasons": dict(Counter(report.reason for report in reports if report.reason)),
        "tokens": len(steps),
        "checks": sum(report.checks for report in reports),
        "refused": sum(report.refused for report in reports),
        "token_ms": _spread(steps),
        "share_of_time": round(checking / writing, 4) if writing else None,
        "climb_ms": _spread([report.feed_ms for report in reports]),
        "window_bytes": _spread([report.window_bytes for report in reports]),
    }


def _outcome(filled: Sequence[Filled]) -> dict[str, Any]:
    """What came of one run, in all and by kind of hole."""
    kinds = {kind: [one for one in filled if one.hole.kind == kind] for kind in KINDS}
    return {**_count(filled), "kinds": {kind: _count(some) for kind, some in kinds.items()}}


def _count(filled: Sequence[Filled]) -> dict[str, int]:
    shown = [one for one in filled if one.shown]
    return {
        "shown": len(shown),
        "compile": sum(one.compiles for one in shown),
        "dead_ends": sum(one.dead_end for one in shown),
        "ended_by_model": sum(one.completion.ended == "stop token" for one in shown),
        "ended_by_model_compile": sum(
            one.compiles for one in shown if one.completion.ended == "stop token"
        ),
        "bytes": sum(len(one.shown) for one in shown),
        "as_it_was": sum(one.shown == one.hole.text for one in shown),
    }


def _spread(values: Sequence[float]) -> dict[str, float] | None:
    if not values:
        return None
    return {
        "median": round(percentile(values, 0.5), 3),
        "p99": round(percentile(values, 0.99), 3),
        "max": round(max(values), 3),
    }


def _print_figures(console: Console, files: str, figures: dict[str, Any]) -> None:
    sampling = f"temperature {figures['temperature']:g}" if figures["temperature"] else "greedy"
    console.print(
        f"{figures['holes']} holes in {files or 'modules of the standard library'}, "
        f"seed {figures['seed']}, {figures['model']}, {sampling}, at most "
        f"{figures['max_tokens']} tokens; judged by CPython\n"
    )
    console.print(_outcome_table(figures))
    console.print()
    token, climb, window = (figures[name] for name in ("token_ms", "climb_ms", "window_bytes"))
    tokens = figures["tokens"]
    rows = {
        "same text": f"{figures['same_text']} of {figures['holes']} with and without the mask",
        "levels": ", ".join(f"{level} {count}" for level, count in figures["levels"].items()),
        "not the best level": "; ".join(
            f"{reason} ({count})" for reason, count in list(figures["reasons"].items())[:3]
        )
        or "never",
    }
    if token is not None:
        share = figures["share_of_time"]
        rows["mask"] = (
            f"{token['median']:.2f} ms a token in the median, {token['p99']:.2f} ms at p99, "
            f"{100 * share:.1f} % of the time of writing"
        )
        rows["checks"] = (
            f"{figures['checks'] / tokens:.2f} a token, {figures['refused']} of "
            f"{figures['checks']} refused"
        )
        rows["before writing"] = (
            f"{climb['median']:.1f} ms in the median, {climb['p99']:.1f} ms at p99, for "
            f"{window['median']:.0f} bytes in the median, {window['max']:.0f} at most"
        )
    for label, value in rows.items():
        print_row(console, label, value, LABEL_CELLS)


def _outcome_table(figures: dict[str, Any]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("")
    for heading in ("with the mask", "without"):
        table.add_column(heading, justify="right")
    mask, bare = figures["mask"], figures["no_mask"]

    def row(label: str, name: str, of: str = "shown", kind: str | None = None) -> None:
        cells = [run if kind is None else run["kinds"][kind] for run in (mask, bare)]
        table.add_row(label, *(f"{cell[name]} of {cell[of]}" for cell in cells))

    table.add_row("completions shown", str(mask["shown"]), str(bare["shown"]))
    row("cannot be gone on from", "dead_ends")
    row("the whole file compiles", "compile")
    for kind, what in zip(KINDS, ("rest of a line", "inside a line", "blocks"), strict=True):
        row(f"  {what}", "compile", kind=kind)
    row("  ended by the model", "ended_by_model_compile", of="ended_by_model")
    row("just as it was", "as_it_was")
    table.add_row("bytes shown", f"{mask['bytes']:,}", f"{bare['bytes']:,}")
    return table
