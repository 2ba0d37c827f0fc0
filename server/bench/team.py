"""`midtoken bench team`: several people type at once, and one model suggests to all.

Each types other text in the same rhythm (`bench.typing`). With an engine elsewhere each has a
server process of their own, as in an editor. So what reaches the engine is what a team's editors
send: what is answered from memory, joined or debounced does not. What the typists' machine can't
keep up with shows in the figures, too: run it beside the engine's machine, not on it.

With `--shared` all of them use one server process, as with `midtoken serve --shared`: it has the
model, or asks the engine.
"""

import asyncio
import json
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

import click
from rich.table import Table

from server.arguments import TeamArguments
from server.bench.corpus import project_files
from server.bench.projects import STANDARD_LIBRARY
from server.bench.results import machine
from server.bench.typing.figures import percentile, summarise
from server.bench.typing.record import Record, together
from server.bench.typing.replay import Replay
from server.bench.typing.suggesters import Midtoken
from server.bench.typing.typist import Typist
from server.client import ServerClient
from server.completion import engine_options_of, model_path
from server.errors import UsageError
from server.remote.arguments import remote_of, settings_of
from server.terminal import duration, make_console
from server.via_server import server_settings

MOST_USERS = 64

SHARED = (sys.executable, "-P", "-m", "server.cli", "serve", "--shared", "--linger", "1")


def run_team(options: TeamArguments) -> None:
    """Run the benchmark and print its figures (see `bench_cli.team`).

    Raises:
        UsageError: No engine is named, or no numbers of users.
        ModelError, EngineError: The model can't be loaded, or the engine can't be asked.
    """
    remote, shared = remote_of(options), options["shared"]
    counts = users_of(options["users"])
    if remote is not None:
        remote = replace(remote, parallel=options["parallel"])
        settings, who = {"remote": settings_of(remote)}, remote.url
    elif shared:
        path = model_path(options["model_name"], yes=options["yes"])
        settings, who = server_settings(path, engine_options_of(options)), options["model_name"]
    else:
        raise UsageError(
            "name the engine: --remote http://HOST:PORT; or let all share a model on this machine: "
            "--shared"
        )
    rows = []
    for users in counts:
        typing = _type_together(settings, users, options["keys"], options["seed"], shared=shared)
        # A model on this machine has a pass for each token: there, what is begun is counted.
        counter = "started" if remote is None else "forward_passes"
        rows.append(figures_of(asyncio.run(typing), users, counter))
    figures = {
        "settings": {
            "url": remote.url if remote else None,
            "model": None if remote else options["model_name"],
            "keys": options["keys"],
            "seed": options["seed"],
            "shared": shared,
            "parallel": remote.parallel if remote else 1,
        },
        "machine": machine(),
        "results": rows,
    }
    if options["as_json"]:
        click.echo(json.dumps(figures))
        return
    console = make_console()
    console.print(
        f"Each types text of {options['keys']:,} keys of Python's standard library "
        f"(gaps of 180 ms in the median), seed {options['seed']}; {who}, "
        f"{'one server for all' if shared else 'a server for each'}"
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


async def _type_together(
    settings: dict[str, Any], users: int, keys: int, seed: int, *, shared: bool
) -> Record:
    """Let so many type at once; what happened to all of them."""
    async with AsyncExitStack() as stack:
        # A place of its own, so that nobody's server is found there.
        place = stack.enter_context(
            TemporaryDirectory(prefix="midtoken-", ignore_cleanup_errors=True)
        )
        start = partial(ServerClient.start, SHARED, {"XDG_RUNTIME_DIR": place})
        clients = []
        for _ in range(users):
            started = await (start() if shared else ServerClient.start())
            client = await stack.enter_async_context(started)
            await client.initialize(settings)
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
        server = Midtoken(clients[0])
        before = await server.usage()
        record = together(await asyncio.gather(*(replay.run(keys) for replay in replays)))
        if shared:  # one counts for all
            record.take_usage(before, await server.usage())
        return record


def figures_of(record: Record, users: int, counter: str = "forward_passes") -> dict[str, Any]:
    """What a team would want to know, JSON-ready; times are None where nothing was shown.

    Args:
        record: What happened to all of them together.
        users: How many they were.
        counter: The server's count of what its model was asked for.
    """
    found = summarise(record)
    new = [one for stretch in record.stretches for one in stretch.new_ms]
    in_time = record.answers.get("items", 0) + record.answers.get("empty", 0)
    seconds = record.seconds / users  # of typing: the end of the last answer is waited for after it
    asked = record.details.get(counter, 0)
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
        "p95_ms": round(percentile(new, 0.95), 1) if new else None,
        "in_time": round(in_time / record.requests, 4) if record.requests else None,
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
        "95 %",
        "in time",
        "late",
        "errors",
    ):
        table.add_column(name, justify="right")
    for row in rows:
        times = [
            "-" if row[name] is None else duration(row[name]) for name in ("median_ms", "p95_ms")
        ]
        table.add_row(
            str(row["users"]),
            f"{row['asked_per_second']:.2f}",
            f"{row['tokens_per_second']:.0f}",
            str(row["suggestions"]),
            _percent(row["keystrokes_saved"]),
            *times,
            _percent(row["in_time"]),
            str(row["unanswered"]),
            str(len(row["errors"])),
        )
    return table


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"
