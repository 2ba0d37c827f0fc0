"""`midtoken rank`: names for a place on standard input, in order on standard output."""

import codecs
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace

import click

from server.arguments import RankArguments
from server.completer import Completer, load_completer
from server.completion import engine_options_of, interruptible, model_path, read_snapshot
from server.completion_options import CompletionOptions
from server.engine.llama_advice import warn_of
from server.errors import UsageError
from server.fitting_names import fitting_names
from server.name_index import NameIndex
from server.ranking import Ranking, RankOptions, rank
from server.snapshot import Snapshot, read_document
from server.visible import visible

LONG, USUAL_BEST = 500, 50
"""Of a longer list, so many of the best are exact unless the command line says how many: all of
10,000 names would take minutes, and nobody reads them."""

SHOWN_REFUSALS = 5
"""Labels that are refused are named one by one, so many of them."""


def run_rank(location: str, options: RankArguments) -> None:
    """Rank labels at a location and print them (see `rank_cli.rank`).

    Raises UsageError, and whatever reading the files, loading the model and ranking do.
    """
    name = options["labels"]
    if name == "-" and location.startswith("-:"):
        raise UsageError("text and labels can't both be on standard input: name a file for one")
    snapshot = read_snapshot(location, options["stdin_filename"])
    labels = None if name is None else labels_of(read_document(name, sys.stdin.buffer))
    try:
        completion = CompletionOptions(
            context_tokens=options["context_tokens"],
            bans=options["bans"],
            ban_patterns=options["ban_patterns"],
        )
    except ValueError as error:
        raise UsageError(str(error)) from error
    engine = engine_options_of(options)
    path = model_path(options["model_name"], yes=options["yes"])
    names: Sequence[str | bytes] = labels or []
    if labels is None:
        bans, forgiving = completion.compiled_bans(), options["forgiving"]
        names = fitting_names(NameIndex().at(snapshot), snapshot, bans, forgiving=forgiving)
    request = RankOptions(
        _best(options, len(names)),
        options["tokens"],
        options["whole"],
        options["per_token"],
        options["forgiving"],
        completion,
    )

    def work(completers: list[Completer]) -> Ranking:
        warn_of(engine)
        completers.append(load_completer(path, engine))
        return rank(completers[0], snapshot, names, request)

    found = interruptible(work)
    if labels is None:  # nobody has asked for a name that does not fit after all
        found = replace(found, refused=())
    if options["as_json"]:
        _print(json.dumps(as_json(found), ensure_ascii=False))
        return
    for ranked in found.names:
        sign, kind = "" if ranked.exact else "<", ranked.match
        chance = f"{sign}{math.exp(ranked.logprob):.3%}"
        more = f"  ({kind})" if kind != "start" else ""
        _print(f"{chance:>9}  {visible(ranked.label)}{more}")
    sys.stdout.buffer.flush()
    if not found.names:
        click.echo(f"no names: {_why_none(snapshot, found, labels)}", err=True)
        return
    for refused in found.refused[:SHOWN_REFUSALS]:
        click.echo(f"label {refused.index + 1} {visible(refused.reason)}", err=True)
    if len(found.refused) > SHOWN_REFUSALS:
        click.echo(f"and {len(found.refused) - SHOWN_REFUSALS} more labels are refused", err=True)


def _best(options: RankArguments, count: int) -> int | None:
    """How many names are to be exact; says so where that was not asked for."""
    asked = options["best"]
    if asked is not None or count <= LONG:
        return asked
    if options["per_token"]:  # the best of these are known when all are
        if options["tokens"] is None:
            click.echo(f"{count:,} names: this takes a while (--tokens N limits it)", err=True)
        return None
    click.echo(
        f"{count:,} names: the {USUAL_BEST} best will be exact (--best {count} for all)", err=True
    )
    return USUAL_BEST


def _print(line: str) -> None:
    """A line of the result: always UTF-8, whatever the terminal's encoding."""
    sys.stdout.buffer.write(line.encode() + b"\n")


def _why_none(snapshot: Snapshot, found: Ranking, labels: Sequence[str | bytes] | None) -> str:
    """Why no name is printed. The numbers of a file's names would tell nobody anything."""
    if labels is None:
        if not NameIndex().at(snapshot):
            return "there is no other name in the file"
        return f"none in the file goes on from what is typed: {visible(found.typed)}"
    if not labels:
        return "there are no labels: give one a line, or a JSON list"
    first = found.refused[0]
    if len(found.refused) == 1:
        return f"the label {visible(first.reason)}"
    return f"all {len(found.refused):,} labels are refused; label 1 {visible(first.reason)}"


def labels_of(data: bytes) -> list[str | bytes]:
    """Labels from a file: one a line, or a JSON list of strings.

    Raises UsageError for a list of anything else. Lines may hold any bytes: what is no label is
    refused later, by itself.
    """
    data = data.removeprefix(codecs.BOM_UTF8)
    if not data.lstrip().startswith(b"["):
        lines = data.replace(b"\r\n", b"\n").split(b"\n")
        return list(lines[:-1] if lines[-1] == b"" else lines)
    try:
        found: list[str | bytes] = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"labels that begin with `[` are a JSON list, but {error}") from error
    if not all(isinstance(label, str) for label in found):
        raise UsageError('labels in JSON are a list of strings, as in ["get", "get_all"]')
    return found


def as_json(found: Ranking) -> dict[str, object]:
    """What `--json` prints."""
    return {
        "typed": found.typed,
        "names": [asdict(name) for name in found.names],
        "refused": [asdict(label) for label in found.refused],
        "evaluated": found.evaluated,
        "passes": found.passes,
        "timing_ms": {name: round(value, 3) for name, value in found.timing_ms.items()},
    }
