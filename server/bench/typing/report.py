"""What is said of one or two suggesters: results as data, as tables for people, and as Markdown."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from server.bench.typing.comparison import compare, interval
from server.bench.typing.figures import summarise
from server.bench.typing.record import Record, Stretch, together

JSON = dict[str, Any]


def results_of(records: Mapping[str, Mapping[str, Record]], *, variants: bool = False) -> JSON:
    """Figures of each suggester, in all and by language, and the comparison of two.

    Args:
        records: Runs by suggester and language; of two suggesters, ours first.
        variants: Whether all are ours, with other settings: then each of them says in
            `saved_more` what it saves more than the first one, as a share of all keys.
    """
    wholes = {name: together(list(runs.values())) for name, runs in records.items()}
    results: JSON = {
        name: {
            **_figures(wholes[name]),
            "stretches": [_raw(stretch) for stretch in wholes[name].stretches],
            "languages": {language: _figures(run) for language, run in runs.items()},
        }
        for name, runs in records.items()
    }
    comparison = None
    if variants:
        first, *_ = wholes.values()
        for name, whole in wholes.items():
            results[name]["saved_more"] = compare(whole, first)["keystrokes_saved_more"]
    elif len(records) == 2:
        ours, peer = records.values()
        comparison = {
            **compare(*wholes.values()),
            "languages": {language: compare(ours[language], peer[language]) for language in ours},
        }
    return {"results": results, "comparison": comparison}


def print_comparison(console: Console, figures: Mapping[str, Any]) -> None:
    """Print two suggesters beside each other."""
    for heading, rows in (
        ([""], comparison_rows(figures)),
        (["keystrokes saved"], language_rows(figures)),
    ):
        table = Table(box=None, header_style="bold", pad_edge=False)
        table.add_column(heading[0])
        for name in (*figures["results"], "times"):
            table.add_column(name, justify="right")
        for row in rows:
            table.add_row(*row)
        console.print(table)
        console.print()


def markdown(figures: Mapping[str, Any], heading: str) -> str:
    """The tables for a page."""
    names = [*figures["results"], "times"]
    parts = [heading, _table(["", *names], comparison_rows(figures))]
    parts.append(_table(["keystrokes saved", *names], language_rows(figures)))
    return "\n\n".join(parts) + "\n"


def comparison_rows(figures: Mapping[str, Any]) -> list[list[str]]:
    """Lines of a table: a name, a figure for each suggester, and how many times the peer's."""
    found = list(figures["results"].values())
    comparison = figures["comparison"] or {}
    more = comparison.get("keystrokes_saved_more")

    def row(label: str, cells: Sequence[str], ratio: str = "") -> list[str]:
        times = comparison.get(ratio)
        return [label, *cells, _interval(times, 1, "") if times else ""]

    return [
        row(
            "keystrokes saved (95 % interval)",
            [_interval(one["keystrokes_saved_interval"], 100, " %") for one in found],
            "keystrokes_saved",
        ),
        *([["saved more", "", "", _interval(more, 100, " %")]] if more else []),
        *(
            [row("saved more", [_interval(one["saved_more"], 100, " %") for one in found])]
            if "saved_more" in found[0]
            else []
        ),
        row("suggestions shown", [f"{one['suggestions']['shown']:,}" for one in found]),
        row("right to the end of the first line", [_part(one, "line_right") for one in found]),
        row("right in the first word", [_part(one, "word_right") for one in found]),
        row(
            "accepted: lines, words, wrong ones",
            [
                ", ".join(
                    str(one["suggestions"][f"accepted_{kind}"])
                    for kind in ("lines", "words", "wrong")
                )
                for one in found
            ],
        ),
        row("text written twice", [_part(one, "doubled_text") for one in found]),
        row(
            "keys with a suggestion before the next",
            [_percent(one["keys_with_suggestion"]) for one in found],
        ),
        row(
            "key to new suggestion: median, 90 %",
            [_milliseconds(one["new_suggestion_ms"]) for one in found],
            "new_suggestion_ms",
        ),
        row(
            "key to suggestion on the screen: median, 90 %",
            [_milliseconds(one["on_screen_ms"]) for one in found],
            "on_screen_ms",
        ),
        row("tokens evaluated a key", [_number(one["tokens_per_key"]) for one in found]),
        row(
            "tokens evaluated a saved key", [_number(one["tokens_per_saved_key"]) for one in found]
        ),
        row(
            "processor seconds a saved key",
            [_number(one["cpu_s_per_saved_key"], 2) for one in found],
        ),
        row("errors", [str(len(one["errors"])) for one in found]),
    ]


def language_rows(figures: Mapping[str, Any]) -> list[list[str]]:
    """Lines of a table: what each suggester saves in each language."""
    found = figures["results"]
    ratios = (figures["comparison"] or {}).get("languages", {})
    return [
        [
            language,
            *(
                _interval(one["languages"][language]["keystrokes_saved_interval"], 100, " %")
                for one in found.values()
            ),
            _interval(ratios[language]["keystrokes_saved"], 1, "") if ratios else "",
        ]
        for language in next(iter(found.values()))["languages"]
    ]


def _figures(record: Record) -> JSON:
    return {**summarise(record), "keystrokes_saved_interval": interval(record)}


def _raw(stretch: Stretch) -> JSON:
    """What intervals and pictures can be made of again."""
    return {
        "language": stretch.language,
        "part": stretch.part,
        "keys": stretch.keys,
        "needed": stretch.needed,
        "new_ms": [round(one, 1) for one in stretch.new_ms],
        "screen_ms": [round(one, 1) for one in stretch.screen_ms],
    }


def _table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _interval(found: Mapping[str, float | None], factor: int, unit: str) -> str:
    def text(name: str) -> str:
        number = found[name]
        return "-" if number is None else f"{factor * number:.{1 if unit else 2}f}"

    ends = f" ({text('low')} to {text('high')})" if found["low"] is not None else ""
    return f"{text('value')}{unit}{ends}"


def _part(figures: Mapping[str, Any], name: str) -> str:
    return _percent(figures["suggestions"][name])


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"


def _milliseconds(spread: Mapping[str, Any]) -> str:
    if not spread["count"]:
        return "-"
    return f"{spread['median']:,.0f}, {spread['p90']:,.0f} ms ({spread['count']:,})"


def _number(number: float | None, digits: int = 1) -> str:
    return "-" if number is None else f"{number:,.{digits}f}"
