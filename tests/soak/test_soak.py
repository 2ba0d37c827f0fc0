"""A run of some seconds, so that what an hour of `make soak` needs is there and works."""

import json
import sys

import pytest

from tests.soak.asked import INLINE
from tests.soak.report import as_json, as_table
from tests.soak.run import Plan, Run

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc"),
]


async def test_some_seconds(tiny_file, tmp_path, report):
    """Nothing is wrong, and something was asked, answered, ended and measured."""
    models = [tiny_file(), tiny_file(architecture="gemma3", seed=5)]
    run = Run(Plan(1, 8, models, kinds=("restarted", "tcp"), people=2, least=5), tmp_path)
    await run.go()

    assert run.faults == [], as_table(run)
    found = json.loads(json.dumps(as_json(run)))
    assert found["all_faults"] == 0
    assert found["sessions"] >= 3
    assert found["messages"] > 20
    assert INLINE in found["requests"]
    assert found["servers"]["tcp"]["at_rest"][-1]["in_use_mib"] > 5
    report(f"soak: {found['messages']} messages in {found['minutes']} minutes")


async def test_what_is_wrong_is_told(tiny_file, tmp_path):
    """A line in the log and a file that stays are in the table, and the run goes on."""
    run = Run(Plan(2, 4, [tiny_file()], kinds=("tcp",), people=1), tmp_path)
    server = run.watched["tcp"].server
    run.place.scratch.joinpath("left").touch()

    async def started(start=server.start) -> None:
        await start()
        server.look_at_line("something is broken")

    server.start = started
    await run.go()

    told = [fault for _, fault, _ in run.faults]
    assert "tcp: the log says: something is broken" in told
    assert f"files are left: {tmp_path / 'scratch' / 'left'}" in told
    assert f"{len(told)} faults" in as_table(run)
    assert all(fault in as_table(run) for fault in told)
