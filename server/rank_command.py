"""`midtoken rank`: names for a place on standard input, in order on standard output."""

import codecs
import json
import math
import sys
from dataclasses import asdict

import click

from server.arguments import RankArguments
from server.completer import Completer, CompletionOptions, load_completer
from server.completion import engine_options_of, interruptible, model_path, read_snapshot
from server.engine.llama_advice import warn_of
from server.errors import UsageError
from server.name_index import NameIndex
from server.ranking import Ranking, RankOptions, rank
from server.snapshot import read_document
from server.visible import visible

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
    engine = engine_options_of(options)
    path = model_path(options["model_name"], yes=options["yes"])
    request = RankOptions(
        options["best"],
        options["tokens"],
        options["whole"],
        options["per_token"],
        options["forgiving"],
        CompletionOptions(context_tokens=options["context_tokens"]),
    )

    def work(completers: list[Completer]) -> Ranking:
        warn_of(engine)
        completers.append(load_completer(path, engine))
        names = NameIndex().at(snapshot) if labels is None else labels
        return rank(completers[0], snapshot, names, request)

    found = interruptible(work)
    if options["as_json"]:
        _print(json.dumps(as_json(found), ensure_ascii=False))
        return
    for ranked in found.names:
        sign, kind = "" if ranked.exact else "<", ranked.match
        chance = f"{sign}{math.exp(ranked.logprob):.3%}"
        more = f"  ({kind})" if kind != "start" else ""
        _print(f"{chance:>9}  {visible(ranked.label)}{more}")
    sys.stdout.buffer.flush()
    if labels is None or not labels:
        _tell_nothing(found, is_given=labels is not None)
        return
    for refused in found.refused[:SHOWN_REFUSALS]:
        click.echo(f"label {refused.index + 1} {visible(refused.reason)}", err=True)
    if len(found.refused) > SHOWN_REFUSALS:
        click.echo(f"and {len(found.refused) - SHOWN_REFUSALS} more labels are refused", err=True)


def _print(line: str) -> None:
    """A line of the result: always UTF-8, whatever the terminal's encoding."""
    sys.stdout.buffer.write(line.encode() + b"\n")


def _tell_nothing(found: Ranking, *, is_given: bool) -> None:
    """Why no name is printed, if none is. The numbers of a file's names would tell nobody anything.

    Args:
        found: What was found.
        is_given: Whether there is a list of labels, an empty one.
    """
    if found.names:
        return
    why = "there is no other name in the file"
    if is_given:
        why = "there are no labels: give one a line, or a JSON list"
    elif found.refused:
        why = f"none in the file goes on from what is typed: {visible(found.typed)}"
    click.echo(f"no names: {why}", err=True)


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
