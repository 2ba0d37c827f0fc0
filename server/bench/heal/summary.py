"""Figures from the results of `midtoken bench heal`, JSON-ready: means with confidence intervals.

Two methods are compared on the same cuts alone, by their numbers: a run that is not done may have
some of one method and others of another one. What is not here: tables (`tables`) and plots.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from server.bench.heal.statistics import difference_of, mean_of
from server.bench.results import Results

SCORES = ("byte_logprob", "byte_right", "token_logprob", "token_right")
WRITTEN = ("token", "word", "line")
JUDGED = ("shown", "match", "similarity", "doubled", "dead_end")
EXECUTED = ("passes", "same")

JSON = dict[str, Any]
Records = Sequence[Mapping[str, Any]]


def summarise(results: Results) -> JSON:
    """All figures of a run; a task that has no results yet has no groups."""
    return {
        "run": results.run,
        "scores": _by_kind(results.of("scores"), _scores),
        "control": _by_kind(results.of("control scores"), _scores),
        "writing": _by_kind(results.of("writing"), _writing),
        "repeat": {
            group: _repeat(records, results.of("peer repeat").get(group, []))
            for group, records in results.of("repeat").items()
        },
        "lines": _lines(results),
        "programs": _programs(results.of("programs").get("random span", [])),
        "rewrites": _rewrites(results.of("rewrites").get("line", [])),
    }


def _by_kind(groups: Mapping[str, Records], figures: Callable[[Records], JSON]) -> JSON:
    """Figures for each kind of prompt, and each group in it."""
    return {
        kind: {
            group: figures([record[kind] for record in records])
            for group, records in groups.items()
            if all(kind in record for record in records)
        }
        for kind in ("left", "fim")
    }


def _columns(records: Records, names: Sequence[str], places: Sequence[int] | None = None) -> JSON:
    """For each method the mean of each value, over the records that have the method.

    Args:
        records: Values by method.
        names: Of the values.
        places: The place of each record, where one has several; all have all methods then.
    """
    return {
        method: {
            name: asdict(
                mean_of([record[method][at] for record in records if method in record], places)
            )
            for at, name in enumerate(names)
        }
        for method in _methods(records)
    }


def _differences(
    records: Records,
    names: Sequence[str],
    pairs: Iterable[tuple[str, str]],
    places: Sequence[int] | None = None,
) -> JSON:
    """For pairs of methods the mean of what the first has more, on the cuts that both have."""
    found: JSON = {}
    for one, other in pairs:
        both = [record for record in records if one in record and other in record]
        if both:
            found[f"{one} - {other}"] = {
                name: asdict(
                    difference_of(
                        [record[one][at] for record in both],
                        [record[other][at] for record in both],
                        places,
                    )
                )
                for at, name in enumerate(names)
            }
    return found


def _methods(records: Records) -> list[str]:
    return list(dict.fromkeys(method for record in records for method in record))


def _scores(records: Records) -> JSON:
    pairs = [("exact", other) for other in ("off", "one", "align", "control", "word")]
    return {
        "methods": _columns(records, SCORES),
        "differences": _differences(records, SCORES, pairs),
    }


def _writing(records: Records) -> JSON:
    pairs = [("exact", other) for other in ("off", "one", "align", "word")]
    return {
        "methods": _columns(records, WRITTEN),
        "differences": _differences(records, WRITTEN, pairs),
    }


def _repeat(records: Records, peers: Records) -> JSON:
    written = [record["writing"] for record in records]
    peer = _columns([record["writing"] for record in peers], WRITTEN)
    return {
        "scores": _columns([record["scores"] for record in records], SCORES),
        "writing": _columns(written, WRITTEN) | peer,
    }


def _lines(results: Results) -> JSON:
    """Both kinds of holes together, as a person would meet them, and each by itself."""
    joined: dict[str, list[Mapping[str, Any]]] = {}
    for (task, kind, index), record in sorted(results.found.items(), key=lambda item: item[0][2]):
        if task == "lines":
            peer = results.found.get(("peer lines", kind, index), {})
            joined.setdefault(kind, []).append({**record, **peer})
    every = [record for records in joined.values() for record in records]
    first = ("exact, grammar", "exact")
    others = ("off", "llama-server", "llama-server, our rules")
    pairs = [(one, other) for one in first for other in others]
    return {
        "methods": _columns(every, JUDGED),
        "differences": _differences(every, JUDGED, pairs),
        "kinds": {kind: _columns(records, JUDGED) for kind, records in joined.items()},
    }


def _programs(records: Records) -> JSON:
    pairs = [("exact", "off"), ("exact", "word"), ("word", "off")]
    return {
        "methods": _columns(records, EXECUTED),
        "differences": _differences(records, EXECUTED, pairs),
    }


def _rewrites(records: Records) -> JSON:
    """The share of suggestions that change, for each way and for all of them."""
    ways: dict[str, list[Mapping[str, Any]]] = {"all": []}
    places: dict[str, list[int]] = {"all": []}
    for place, record in enumerate(records):
        for way, changed in record.items():
            pair = {method: [value] for method, value in changed.items()}
            for name in (way, "all"):
                ways.setdefault(name, []).append(pair)
                places.setdefault(name, []).append(place)
    return {
        way: {
            "methods": _columns(pairs, ("changed",), places[way]),
            "differences": _differences(pairs, ("changed",), [("exact", "off")], places[way]),
        }
        for way, pairs in ways.items()
        if pairs
    }
