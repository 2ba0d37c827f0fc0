"""The tasks of `midtoken bench heal`: what is done at each place, and what is written down of it.

A `Task` has groups, each an endless stream of items; the same number always means the same item, so
a run can stop anywhere and go on later. Everything that a task returns is JSON. What is not here:
the order of the work, and figures.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import astuple, dataclass, field
from functools import partial
from itertools import islice
from typing import Any

from server.bench.heal.lines import MOST_TOKENS, WAYS, Judged, judge, line_holes, suggest
from server.bench.heal.peers import LlamaServer
from server.bench.heal.places import PROSE, STRATA, Place, places
from server.bench.heal.programs import Span, runs
from server.bench.heal.prompts import KINDS, Edge, Kind, prompt_at, truth
from server.bench.heal.repeat import CUTS, DOMAINS, tasks
from server.bench.heal.rewrites import WAYS as REWRITES
from server.bench.heal.rewrites import normal_form, rewritten
from server.bench.heal.scores import Score, score_exact, score_healed, score_unhealed
from server.bench.heal.writing import fill, how_right, write
from server.bench.holes import Hole
from server.bench.llama_server import NAME
from server.completer import Completer
from server.rules import finish, place_at
from server.snapshot import Snapshot

REPEAT_TOKENS = 600
"""The repeat task's prompts hold all its lines."""

PROGRAM_CONTEXT = 800
PROGRAM_TOKENS = 64
"""More than the longest span has."""

MISSES = 1000
"""So many places in a row that are not at a token's end, and a stratum counts as having none."""

METHODS = ("off", "one", "align", "exact")

JSON = dict[str, Any]


@dataclass
class Task:
    """One kind of measurement."""

    name: str
    count: int
    """Items of each group."""
    items: Mapping[str, Iterator[Place] | Iterator[Hole] | Iterator[Span]]
    """By group; some end."""
    measure: Callable[[Any], JSON]
    _known: dict[str, list[Place | Hole | Span]] = field(default_factory=dict)

    def item(self, group: str, index: int) -> Place | Hole | Span | None:
        """An item by its number; None if the group has no so many."""
        known = self._known.setdefault(group, [])
        known += islice(self.items[group], max(0, index + 1 - len(known)))
        return known[index] if index < len(known) else None


def all_tasks(completer: Completer, cuts: int, seed: int, context: int) -> list[Task]:
    """Our own tasks.

    Args:
        completer: The model.
        cuts: Places a stratum; other tasks take their share of this number.
        seed: Of all that is chosen.
        context: The most tokens of text in a prompt.
    """
    code = {stratum: places(stratum, seed) for stratum in STRATA}
    controls = {
        stratum: _at_token_ends(completer, places(stratum, seed + 1), context) for stratum in STRATA
    }
    repeats = {
        f"{domain}, {cut}": tasks(domain, cut, completer.tokenization, seed)
        for domain in DOMAINS
        for cut in CUTS
    }
    few = max(1, cuts * 3 // 10)
    holes = {kind: _of_kind(kind, seed) for kind in ("line", "inside")}
    return [
        Task(
            "scores",
            cuts,
            code | {stratum: places(stratum, seed) for stratum in PROSE},
            partial(_scores, completer, context),
        ),
        Task("control scores", cuts, controls, partial(_control, completer, context)),
        Task(
            "writing",
            few,
            {stratum: places(stratum, seed) for stratum in STRATA},
            partial(_writing, completer, context),
        ),
        Task("repeat", few, repeats, partial(_repeat, completer)),
        Task("lines", max(1, cuts * 3 // 4), holes, partial(_lines, completer, context)),
        Task(
            "rewrites",
            few,
            {"line": _of_kind("line", seed + 1)},
            partial(_rewrites, completer, context),
        ),
    ]


def program_tasks(completer: Completer, some: Iterator[Span], cuts: int) -> list[Task]:
    """Spans of programs to fill, which are then run."""
    measure = partial(_programs, completer)
    return [Task("programs", max(1, cuts * 3 // 4), {"random span": some}, measure)]


def peer_tasks(
    completer: Completer, server: LlamaServer, cuts: int, seed: int, context: int
) -> list[Task]:
    """The tasks that llama-server does as well, on the same items."""
    ours = {task.name: task for task in all_tasks(completer, cuts, seed, context)}
    repeat, lines = ours["repeat"], ours["lines"]
    return [
        Task("peer repeat", repeat.count, repeat.items, partial(_peer_repeat, completer, server)),
        Task(
            "peer lines", lines.count, lines.items, partial(_peer_line, completer, server, context)
        ),
    ]


def _of_kind(kind: str, seed: int) -> Iterator[Hole]:
    return (hole for hole in line_holes(seed) if hole.kind == kind)


def _at_token_ends(completer: Completer, some: Iterator[Place], context: int) -> Iterator[Place]:
    """The places at the end of a token; ends after `MISSES` others in a row."""
    missed = 0
    for place in some:
        prompt = prompt_at(completer, place, "left", "line", context)
        if truth(completer, prompt, place).aligned:
            missed = 0
            yield place
        elif (missed := missed + 1) == MISSES:
            return


def _rounded(score: Score | Judged) -> list[Any]:
    """The values of a record, for a line of JSON."""
    return [
        round(value, 5) if isinstance(value, float) else bool(value) for value in astuple(score)
    ]


def _kinds(completer: Completer) -> tuple[Kind, ...]:
    return KINDS if completer.engine.fim is not None else ("left",)


def _scores(completer: Completer, context: int, place: Place) -> JSON:
    """For each kind of prompt and each method a score; and whether the cut is at a token's end."""
    engine, tokenization = completer.engine, completer.tokenization
    result: JSON = {}
    for kind in _kinds(completer):
        prompt = prompt_at(completer, place, kind, "cursor", context)
        found = {"off": score_unhealed(engine, tokenization, prompt, place.gold)}
        prompt = prompt_at(completer, place, kind, "line", context)
        true = truth(completer, prompt, place)
        found |= score_healed(engine, tokenization, prompt, place.gold, true)
        if kind == "left":
            result["aligned"] = true.aligned
        else:
            prompt = prompt_at(completer, place, kind, "word", context)
            found["word"] = score_exact(engine, tokenization, prompt, place.gold)
        result[kind] = {method: _rounded(score) for method, score in found.items()}
    return result


def _control(completer: Completer, context: int, place: Place) -> JSON:
    """The unhealed model at a token's end."""
    result: JSON = {}
    for kind in _kinds(completer):
        prompt = prompt_at(completer, place, kind, "cursor", context)
        score = score_unhealed(completer.engine, completer.tokenization, prompt, place.gold)
        result[kind] = {"off": _rounded(score)}
    return result


def _writing(completer: Completer, context: int, place: Place) -> JSON:
    """For each kind of prompt and each method: right to the end of the token, word, line."""
    result: JSON = {}
    for kind in _kinds(completer):
        prompts = {
            edge: prompt_at(completer, place, kind, edge, context)
            for edge in ("cursor", "line", "word")
        }
        true = truth(completer, prompts["line"], place)
        ways: dict[str, tuple[str, Edge]] = {
            method: (method, "cursor" if method == "off" else "line") for method in METHODS
        }
        if kind == "fim":
            ways["word"] = ("exact", "word")
        result[kind] = {
            name: list(astuple(write(completer, prompts[edge], method, true, place.rest)))
            for name, (method, edge) in ways.items()
        }
    return result


def _repeat(completer: Completer, place: Place) -> JSON:
    """For each method its score, if it has one, and what it writes."""
    engine, tokenization = completer.engine, completer.tokenization
    cut = prompt_at(completer, place, "left", "cursor", REPEAT_TOKENS)
    prompt = prompt_at(completer, place, "left", "line", REPEAT_TOKENS)
    true = truth(completer, prompt, place)
    scores = {
        "off": score_unhealed(engine, tokenization, cut, place.gold),
        **score_healed(engine, tokenization, prompt, place.gold, true),
    }
    return {
        "scores": {method: _rounded(score) for method, score in scores.items()},
        "writing": {
            method: list(
                astuple(
                    write(completer, cut if method == "off" else prompt, method, true, place.rest)
                )
            )
            for method in (*METHODS, "loose")
        },
    }


def _lines(completer: Completer, context: int, hole: Hole) -> JSON:
    """For each way of `heal_lines.WAYS` how good its suggestion is."""
    return {
        way: _rounded(judge(hole, *suggest(completer, hole, healing, grammar, context)))
        for way, (healing, grammar) in WAYS.items()
    }


def _rewrites(completer: Completer, context: int, hole: Hole) -> JSON:
    """For each rewrite that changes something, whether a method's suggestion changes."""
    result: JSON = {}
    methods = ("off", "exact")
    before = {method: suggest(completer, hole, method, "off", context)[0] for method in methods}
    for way in REWRITES:
        other = rewritten(way, hole)
        if other is not None:
            result[way] = {
                method: normal_form(suggest(completer, other, method, "off", context)[0])
                != normal_form(before[method])
                for method in methods
            }
    return result


def _programs(completer: Completer, span: Span) -> JSON:
    """For each method, whether the program passes its tests and whether it is as it was."""
    place = Place("program.py", span.before.encode(), span.text.encode(), span.after.encode())
    ways: dict[str, tuple[str, Edge]] = {"off": ("off", "cursor")}
    ways |= {"exact": ("exact", "line"), "word": ("exact", "word")}
    result: JSON = {}
    for name, (method, edge) in ways.items():
        prompt = prompt_at(completer, place, "fim", edge, PROGRAM_CONTEXT, joined=False)
        text = fill(completer, prompt, method, PROGRAM_TOKENS, place.after).decode()
        result[name] = [runs(span.program(text)), text == span.text]
    return result


def _peer_repeat(completer: Completer, server: LlamaServer, place: Place) -> JSON:
    prompt = prompt_at(completer, place, "left", "line", REPEAT_TOKENS)
    text = server.complete(completer, place, MOST_TOKENS, REPEAT_TOKENS)
    visible = truth(completer, prompt, place).visible
    return {"writing": {NAME: list(astuple(how_right(text, place.rest, visible)))}}


def _peer_line(completer: Completer, server: LlamaServer, context: int, hole: Hole) -> JSON:
    """What llama-server writes, as it is and after the rules that our own suggestions pass."""
    place = Place(hole.name, hole.before, hole.text, hole.after)
    text = server.infill(completer, place, MOST_TOKENS, context)
    snapshot = Snapshot(hole.name, 0, hole.before + hole.after, len(hole.before), "python")
    ruled = finish(place_at(snapshot), text + b"\n", finished=True)
    # Blanks at a line's end are taken away; before more code they may be what stood there.
    as_it_comes = text if hole.kind == "inside" else text.rstrip()
    return {
        NAME: _rounded(judge(hole, as_it_comes, 0)),
        f"{NAME}, our rules": _rounded(judge(hole, ruled.text, ruled.range_end)),
    }
