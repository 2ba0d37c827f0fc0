"""Figures of a replay: what a person would want to know, as data, and as tables.

The shares are of what was counted, and each says of how many. Times are from a key to the arrival
of its suggestion, for the keys that got one. What is not here: how it was measured (`replay`).
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from server.bench.typing.record import Record
from server.models.files import megabytes
from server.terminal import duration, print_row

EVENTS = ("character", "bracket", "enter", "deletion", "acceptance", "jump", "switch")
"""Kinds of events in the order of the table, with what people call them."""
_NAMES = {
    "character": "plain character",
    "bracket": "auto-closed bracket",
    "enter": "Enter",
    "deletion": "deletion",
    "acceptance": "after acceptance",
    "jump": "jump of 50 lines",
    "switch": "file switch",
}
_LABEL_CELLS = 26


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least such a share of them does not exceed (nearest rank).

    >>> percentile([30, 10, 20, 40], 0.5), percentile([30, 10, 20, 40], 0.99)
    (20, 40)
    """
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def summarise(record: Record) -> dict[str, Any]:
    """All figures, JSON-ready. Shares are from 0 to 1, None where nothing was counted."""
    shown = record.shown
    judged = [one for one in shown if not one.slip]
    needed, keys = record.needed, record.pressed
    saved = needed - (keys - record.slips)
    new = [one for stretch in record.stretches for one in stretch.new_ms]
    screen = [one for stretch in record.stretches for one in stretch.screen_ms]
    answered = record.answers.get("items", 0) + record.answers.get("empty", 0)
    return {
        "keys": keys,
        "keys_by_event": dict(record.keys),
        "keys_needed_without": needed,
        "keys_of_slips": record.slips,
        "keystrokes_saved": _share(saved, needed),
        "suggestions": {
            "shown": len(shown),
            "line_right": _share(sum(one.line_right for one in judged), len(judged)),
            "word_right": _share(sum(one.word_right for one in judged), len(judged)),
            "judged": len(judged),
            "doubled_text": _share(sum(one.doubled for one in shown), len(shown)),
            "accepted_lines": record.accepted_lines,
            "accepted_words": record.accepted_words,
            "accepted_wrong": record.accepted_wrong,
        },
        "requests": record.requests,
        "answers": dict(record.answers),
        "unanswered": record.unanswered,
        "errors": list(record.errors),
        "server": dict(record.details),
        "without_model": _share(record.details.get("from_memory", 0), answered),
        "tokens_evaluated": record.tokens,
        "tokens_per_key": _ratio(record.tokens, keys),
        "tokens_per_saved_key": _ratio(record.tokens, saved) if saved > 0 else None,
        "cpu_s": record.cpu_s,
        "cpu_s_per_saved_key": _ratio(record.cpu_s, saved) if saved > 0 else None,
        "new_suggestion_ms": _spread(new, keys),
        "on_screen_ms": _spread(screen, keys),
        "keys_with_suggestion": _share(len(screen), keys),
        "latency_ms": {
            event: _spread(times, record.keys.get(event, 0))
            for event, times in sorted(record.latencies_ms.items())
        },
        "memory": [dict(sample) for sample in record.memory],
        "seconds": round(record.seconds, 1),
        "real_seconds": round(record.real_seconds, 1),
    }


def print_figures(console: Console, figures: Mapping[str, Any]) -> None:
    """Print the figures for people."""
    shown, server = figures["suggestions"], figures["server"]

    def row(label: str, value: str) -> None:
        print_row(console, label, value, _LABEL_CELLS)

    row(
        "keystrokes saved",
        f"{_percent(figures['keystrokes_saved'])}: {figures['keys'] - figures['keys_of_slips']:,} "
        f"keys for what takes {figures['keys_needed_without']:,} without suggestions "
        f"(and {figures['keys_of_slips']} of slips)",
    )
    row(
        "shown suggestions right",
        f"{_percent(shown['line_right'])} to the end of their first line, "
        f"{_percent(shown['word_right'])} in their first word (of {shown['judged']:,})",
    )
    row(
        "accepted",
        f"{shown['accepted_lines']} by line, {shown['accepted_words']} by word, "
        f"{shown['accepted_wrong']} that were wrong and deleted again",
    )
    row("text written twice", f"{_percent(shown['doubled_text'])} of {shown['shown']:,} shown")
    row(
        "on the screen",
        f"before the next key: {_percent(figures['keys_with_suggestion'])} of the keys, after "
        f"{_times(figures['on_screen_ms'])}; {figures['new_suggestion_ms']['count']:,} new ones "
        f"after {_times(figures['new_suggestion_ms'])} (median, 90 %)",
    )
    if "from_memory" in server:
        row(
            "without the model",
            f"{_percent(figures['without_model'])} of the answers "
            f"({server['from_memory']:,} from memory; {server['joined']:,} joined a running job, "
            f"{server['started']:,} jobs, {server['prepared']:,} of them ahead of time)",
        )
    row(
        "tokens evaluated",
        f"{_number(figures['tokens_per_key'])} a key, "
        f"{_number(figures['tokens_per_saved_key'])} a saved one",
    )
    row("processor time", f"{_number(figures['cpu_s_per_saved_key'], 2)} s a saved key")
    if "worst_loop_delay_ms" in server:
        row(
            "event loop",
            f"at worst {duration(server['worst_loop_delay_ms'])} late, "
            f"{duration(server['worst_loop_held_ms'])} without waiting for a core",
        )
    row("memory of the server", _memory_line(figures["memory"]))
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(figures["answers"].items()))
    row(
        "requests",
        f"{figures['requests']:,} keys asked; answers: {kinds}; {figures['unanswered']} unanswered",
    )
    row("errors", "; ".join(figures["errors"][:3]) if figures["errors"] else "none")
    console.print()
    console.print(_latency_table(figures["latency_ms"]))


def _latency_table(latencies: Mapping[str, Any]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("from key to suggestion")
    for heading in ("answered", "median", "p90", "p99"):
        table.add_column(heading, justify="right")
    for event in EVENTS:
        if event in latencies:
            times = latencies[event]
            figures = (duration(times[name]) for name in ("median", "p90", "p99"))
            table.add_row(_NAMES[event], f"{times['count']} of {times['of_keys']}", *figures)
    return table


def _memory_line(samples: Sequence[Mapping[str, int | None]]) -> str:
    def size(sample: Mapping[str, int | None], name: str) -> str:
        number = sample[name]
        return "unknown" if number is None else megabytes(number)

    first, last = samples[0], samples[-1]
    return (
        f"{size(first, 'residentBytes')} at the start, {size(last, 'residentBytes')} at the end; "
        f"without mapped files {size(first, 'privateBytes')} and {size(last, 'privateBytes')}"
    )


def _spread(times: Sequence[float], keys: int) -> dict[str, Any]:
    """How long something took, of so many keys."""
    found = {"median": 0.5, "p90": 0.9, "p99": 0.99}
    return {
        "count": len(times),
        "of_keys": keys,
        **{
            name: round(percentile(times, share), 1) if times else None
            for name, share in found.items()
        },
    }


def _times(spread: Mapping[str, Any]) -> str:
    if not spread["count"]:
        return "-"
    return f"{duration(spread['median'])} and {duration(spread['p90'])}"


def _ratio(part: float | None, whole: float) -> float | None:
    return None if part is None or not whole else round(part / whole, 4)


def _share(part: float, whole: float) -> float | None:
    return round(part / whole, 4) if whole else None


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"


def _number(number: float | None, digits: int = 1) -> str:
    return "-" if number is None else f"{number:,.{digits}f}"
