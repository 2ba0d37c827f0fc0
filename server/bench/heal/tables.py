"""The figures of `midtoken bench heal` as Markdown.

Shares are in percent, with their 95 % intervals behind them; logarithms are natural. What is not
here: where the figures come from (`summary`).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

JSON = Mapping[str, Any]

METHODS = ("off", "one", "align", "exact", "word", "control")
"""In the order of the columns, as far as there are figures for them."""
KINDS = {"left": "left to right", "fim": "fill in the middle"}


def markdown(figures: JSON, settings: JSON, machine: JSON) -> str:
    """All tables, with a heading each."""
    sections = [_heading(settings, machine)]
    for kind, name in KINDS.items():
        if figures["scores"][kind]:
            sections += [_first_texts(figures, kind, name), _first_bytes(figures, kind, name)]
        if figures["writing"][kind]:
            sections.append(_writing(figures["writing"][kind], name))
    if figures["repeat"]:
        sections.append(_repeat(figures["repeat"]))
    if figures["lines"]["methods"]:
        sections.append(_lines(figures["lines"]))
    if figures["programs"]["methods"]:
        sections.append(_programs(figures["programs"]))
    if figures["rewrites"]:
        sections.append(_rewrites(figures["rewrites"]))
    return "\n\n".join(sections) + "\n"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown; all columns but the first are numbers."""
    lines = [headings, ["---", *("---:" for _ in headings[1:])], *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def percent(mean: JSON | None) -> str:
    """A share with its interval.

    >>> percent({"mean": 0.5, "low": 0.4, "high": 0.61})
    '50.0 (40.0 to 61.0)'
    """
    return _spread(mean, 100.0, 1)


def _spread(mean: JSON | None, factor: float, digits: int, sign: str = "") -> str:
    if mean is None or mean["mean"] is None:
        return "-"
    value, low, high = (factor * mean[name] for name in ("mean", "low", "high"))
    return f"{value:{sign}.{digits}f} ({low:{sign}.{digits}f} to {high:{sign}.{digits}f})"


def _heading(settings: JSON, machine: JSON) -> str:
    return (
        f"Model {settings['model']}, seed {settings['seed']}, prompts of at most "
        f"{settings['context_tokens']} tokens; {machine['processor']}, {machine['cores']} cores, "
        f"Python {machine['python']}, llama-cpp-python {machine['llama_cpp_python']}. "
        "Shares in %, logarithms natural; in brackets 95 % intervals (bootstrap)."
    )


def _present(groups: JSON) -> list[str]:
    found = {method for group in groups.values() for method in group["methods"]}
    return [method for method in METHODS if method in found]


def _count(group: JSON) -> str:
    first = next(iter(group["methods"].values()))
    return str(next(iter(first.values()))["count"])


def _first_texts(figures: JSON, kind: str, name: str) -> str:
    groups = figures["scores"][kind]
    methods = _present(groups)
    rows = []
    for stratum, group in groups.items():
        cells = [percent(group["methods"].get(method, {}).get("token_right")) for method in methods]
        control = figures["control"][kind].get(stratum)
        other = percent(control["methods"]["off"]["token_right"]) if control else "-"
        rows.append([stratum, _count(group), *cells, other])
    return f"### First visible token right, {name}\n\n" + table(
        ["place", "cuts", *methods, "off, other cuts at a token's end"], rows
    )


def _first_bytes(figures: JSON, kind: str, name: str) -> str:
    groups = figures["scores"][kind]
    methods = _present(groups)
    rows = []
    for stratum, group in groups.items():
        values = [group["methods"].get(method, {}).get("byte_logprob") for method in methods]
        cells = ["-" if mean is None else f"{mean['median']:.3f}" for mean in values]
        differences = [
            _spread(group["differences"].get(pair, {}).get("byte_logprob"), 1.0, 2, "+")
            for pair in ("exact - off", "exact - align", "exact - control")
        ]
        rows.append([stratum, *cells, *differences])
    names = [f"mean of exact - {other}" for other in ("off", "align", "control")]
    return f"### log P of the next byte (median), {name}\n\n" + table(
        ["place", *methods, *names], rows
    )


def _writing(groups: JSON, name: str) -> str:
    methods = _present(groups)
    rows = [
        [
            stratum,
            _count(group),
            *(
                " / ".join(
                    f"{100 * group['methods'][method][part]['mean']:.0f}"
                    for part in ("token", "word", "line")
                )
                for method in methods
            ),
            percent_more(group, "line"),
        ]
        for stratum, group in groups.items()
    ]
    return f"### Written right to the end of the token / word / line, {name}\n\n" + table(
        ["place", "cuts", *methods, "lines, exact - off"], rows
    )


def percent_more(group: JSON, part: str) -> str:
    """What exact healing has more than none, in percentage points."""
    return _spread(group["differences"].get("exact - off", {}).get(part), 100.0, 1, "+")


def _repeat(groups: JSON) -> str:
    methods = [
        method
        for method in ("off", "llama-server", "one", "loose", "align", "exact")
        if any(method in group["writing"] for group in groups.values())
    ]
    rows = []
    for name, group in groups.items():
        cells = []
        for method in methods:
            written = group["writing"].get(method)
            cells.append(
                " / ".join(percent(written[part]) for part in ("token", "line")) if written else "-"
            )
        count = next(iter(group["writing"].values()))["token"]["count"]
        rows.append([name, str(count), *cells])
    return "### Repeat task: token / line right\n\n" + table(["cut", "tasks", *methods], rows)


def _lines(lines: JSON) -> str:
    rows = [
        [
            way,
            str(figures["match"]["count"]),
            *(
                percent(figures[part])
                for part in ("shown", "match", "similarity", "doubled", "dead_end")
            ),
        ]
        for way, figures in lines["methods"].items()
    ]
    compared = [
        [
            pair,
            _spread(figures["match"], 100.0, 1, "+"),
            _spread(figures["similarity"], 100.0, 1, "+"),
        ]
        for pair, figures in lines["differences"].items()
    ]
    first = table(
        ["way", "holes", "shown", "as it was", "similarity", "doubled text", "unparsable"], rows
    )
    second = table(["difference", "as it was", "similarity"], compared)
    return f"### Rest of a line, code after it\n\n{first}\n\n{second}"


def _programs(programs: JSON) -> str:
    rows = [
        [
            method,
            str(figures["passes"]["count"]),
            percent(figures["passes"]),
            percent(figures["same"]),
        ]
        for method, figures in programs["methods"].items()
    ]
    rows += [
        [
            pair,
            "",
            _spread(figures["passes"], 100.0, 1, "+"),
            _spread(figures["same"], 100.0, 1, "+"),
        ]
        for pair, figures in programs["differences"].items()
    ]
    return "### HumanEval, random spans filled in\n\n" + table(
        ["method", "programs", "pass their tests", "as it was"], rows
    )


def _rewrites(ways: JSON) -> str:
    rows = [
        [
            way,
            _count(group),
            *(percent(group["methods"][method]["changed"]) for method in ("off", "exact")),
            _spread(group["differences"]["exact - off"]["changed"], 100.0, 1, "+"),
        ]
        for way, group in ways.items()
    ]
    return "### Suggestions that change when the program is only written differently\n\n" + table(
        ["rewrite", "holes", "off", "exact", "exact - off"], rows
    )
