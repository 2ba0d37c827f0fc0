"""`midtoken bench team`: several people type at once, and one engine elsewhere suggests to all.

Each has a server process of their own, as in an editor, and types other text in the same rhythm
(`bench.typing`). So what reaches the engine is what a team's editors send: what is answered from
memory, joined or debounced does not. What the typists' machine can't keep up with shows in the
figures, too: run it beside the engine's machine, not on it.
"""

import asyncio
import json
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any

import click
from rich.table import Table

from server.arguments import TeamArguments
from server.bench.corpus import project_files
from server.bench.projects import STANDARD_LIBRARY
from server.bench.results import machine
from server.bench.typing.figures import summarise
from server.bench.typing.record import Record, together
from server.bench.typing.replay import Replay
from server.bench.typing.suggesters import Midtoken
from server.bench.typing.typist import Typist
from server.client import ServerClient
from server.errors import UsageError
from server.option_sections import RemoteSection
from server.remote.arguments import remote_of, settings_of
from server.terminal import duration, make_console

MOST_USERS = 64


def run_team(options: TeamArguments) -> None:
    """Run the benchmark and print its figures (see `bench_cli.team`).

    Raises:
        UsageError: No engine is named, or no numbers of users.
        EngineError: The engine can't be asked.
    """
    remote = remote_of(options)
    if remote is None:
        raise UsageError("name the engine: --remote http://HOST:PORT")
    rows = []
    for users in users_of(options["users"]):
        record = asyncio.run(_type_together(remote, users, options["keys"], options["seed"]))
        rows.append(figures_of(record, users))
    figures = {
        "settings": {"url": remote.url, "keys": options["keys"], "seed": options["seed"]},
        "machine": machine(),
        "results": rows,
    }
    if options["as_json"]:
        click.echo(json.dumps(figures))
        return
    console = make_console()
    console.print(
        f"Each types text of {options['keys']:,} keys of Python's standard library "
        f"(gaps of 180 ms in the median), seed {options['seed']}; {remote.url}"
    )
    console.print(_table(rows))
    for row in rows:
        for error in row["errors"][:3]:
            console.print(f"{row['users']} users: {error}", markup=False)


def users_of(given: str) -> list[int]:
    """Numbers of users, as in `1,4,16`. Raises UsageError."""
    parts = given.split(",")
    if not all(part.strip().isdecimal() and len(part.strip()) < 4 for part in parts):
        raise UsageError(f"--users is numbers with commas, as in 1,4,16, not {given!r}")
    users = [int(part) for part in parts]
    if not all(1 <= count <= MOST_USERS for count in users):
        raise UsageError(f"--users is at least 1 and at most {MOST_USERS}")
    return users


async def _type_together(remote: RemoteSection, users: int, keys: int, seed: int) -> Record:
    """Let so many type at once; what happened to all of them."""
    async with AsyncExitStack() as stack:
        clients = []
        for _ in range(users):
            client = await stack.enter_async_context(await ServerClient.start())
            await client.initialize({"remote": settings_of(remote)})
            await client.ready()
            clients.append(client)
        replays = [
            Replay(
                Midtoken(client),
                project_files(STANDARD_LIBRARY, seed + number),
                Typist(seed + number),
                name=f"user-{number}",
            )
            for number, client in enumerate(clients)
        ]
        records = await asyncio.gather(*(replay.run(keys) for replay in replays))
    return together(records)


def figures_of(record: Record, users: int) -> dict[str, Any]:
    """What a team would want to know, JSON-ready; times are None where nothing was shown.

    Args:
        record: What happened to all of them together.
        users: How many they were.
    """
    found = summarise(record)
    seconds = record.real_seconds / users
    asked = record.details.get("forward_passes", 0)
    return {
        "users": users,
        "seconds": round(seconds, 1),
        "keys": record.pressed,
        "requests": record.requests,
        "asked": asked,
        "asked_per_second": round(asked / seconds, 2),
        "tokens_per_second": round(record.tokens / seconds, 1),
        "suggestions": len(record.shown),
        "keystrokes_saved": found["keystrokes_saved"],
        "median_ms": found["new_suggestion_ms"]["median"],
        "p90_ms": found["new_suggestion_ms"]["p90"],
        "unanswered": record.unanswered,  # half a minute after the last key
        "errors": list(dict.fromkeys(record.errors)),
    }


def _table(rows: Sequence[dict[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in (
        "users",
        "asked/s",
        "tokens/s",
        "shown",
        "saved",
        "median",
        "90 %",
        "late",
        "errors",
    ):
        table.add_column(name, justify="right")
    for row in rows:
        times = [
            "-" if row[name] is None else duration(row[name]) for name in ("median_ms", "p90_ms")
        ]
        saved = row["keystrokes_saved"]
        table.add_row(
            str(row["users"]),
            f"{row['asked_per_second']:.2f}",
            f"{row['tokens_per_second']:.0f}",
            str(row["suggestions"]),
            "-" if saved is None else f"{100 * saved:.1f} %",
            *times,
            str(row["unanswered"]),
            str(len(row["errors"])),
        )
    return table
