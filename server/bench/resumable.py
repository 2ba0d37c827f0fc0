"""Benchmarks that keep each result: a run may end at any moment, and a later one goes on.

What is not here: results on the disk (`results`), and what is measured (`command` of each).
"""

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

import click

from server.bench.results import Key, Results
from server.terminal import make_console

QUICK_MINUTES = 9.0
"""How long a quick run measures."""


@dataclass(frozen=True)
class Job:
    """Something to measure."""

    key: Key
    """What its result is known by."""
    measure: Callable[[], dict[str, Any] | None]
    """Makes the result, JSON-ready; None if there is none."""


def work_off(jobs: Iterable[Job], count: int, results: Results, minutes: float | None) -> None:
    """Do one job after the other, for at most so many minutes.

    Args:
        jobs: What has no result yet.
        count: How many they are.
        results: Are added to.
        minutes: After so long it stops; None for never.
    """
    started = monotonic()
    for number, job in enumerate(jobs):
        if minutes is not None and monotonic() - started > 60 * minutes:
            break
        if sys.stderr.isatty():
            click.echo(f"\r{number:,} of {count:,}: {job.key[0]:15}", err=True, nl=False)
        result = job.measure()
        if result is not None:
            results.add(job.key, result)
    if sys.stderr.isatty():
        click.echo("\r" + 40 * " " + "\r", err=True, nl=False)


def publish(report: Mapping[str, Any], tables: str, folder: Path, *, as_json: bool) -> None:
    """Write what was found into a folder, and print it: as tables or as one JSON object."""
    (folder / "tables.md").write_text(tables, encoding="utf-8")
    (folder / "summary.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if as_json:
        click.echo(json.dumps(report))
    else:
        make_console().print(tables)
