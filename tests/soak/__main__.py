"""Use servers for some minutes: `python -m tests.soak [--minutes N] [--seed N] [--model NAME]`.

The exit code is 1 if something was wrong; then it is printed, with what was done last, and the seed
that does the same again.
"""

import argparse
import asyncio
import json
import signal
import sys
import tempfile
from pathlib import Path

from server.models import store
from server.models.catalog import CATALOG
from tests.soak.report import as_json, as_table
from tests.soak.run import Plan, Run
from tests.tiny_model import write_tiny_model

REAL_CONTEXT = 4096


def main() -> int:
    """Run, and tell what came of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model", help="a real one, by name or path; two tiny ones if not given")
    parser.add_argument("--kinds", default="kept,restarted,tcp,shared", help="of servers")
    parser.add_argument("--people", type=int, default=3, help="at the server on a port")
    parser.add_argument("--pace", type=float, default=1.0, help="2 is half as quick")
    parser.add_argument("--out", type=Path, help="a file for the figures, as JSON")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        models: list[Path | str]
        if arguments.model:
            models = [link_model(arguments.model, folder / "home")]
        else:
            models = [
                write_tiny_model(folder / "tiny.gguf"),
                write_tiny_model(folder / "other.gguf", architecture="gemma3", seed=5),
            ]
        plan = Plan(
            arguments.seed,
            60 * arguments.minutes,
            models,
            bound_s=240 if arguments.model else 60,
            kinds=arguments.kinds.split(","),
            people=arguments.people,
            context_size=REAL_CONTEXT if arguments.model else 1024,
            pace=arguments.pace,
        )
        run = Run(plan, folder)
        asyncio.run(until_told(run))
    print(as_table(run))
    if arguments.out is not None:
        arguments.out.write_text(json.dumps(as_json(run), indent=1) + "\n", encoding="utf-8")
    return 1 if run.faults else 0


async def until_told(run: Run) -> None:
    """Run, and end all servers when it is done or told to end."""
    me = asyncio.current_task()
    assert me is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, me.cancel)
    await run.go()


def link_model(name: str, home: Path) -> str:
    """Have a model of the catalog where servers of this home find it; its name, or its path."""
    if name not in CATALOG:
        return str(Path(name).absolute())
    fetched = store.path_of(CATALOG[name])
    (home / "models").mkdir(parents=True)
    (home / "models" / fetched.name).symlink_to(fetched)
    return name


if __name__ == "__main__":
    sys.exit(main())
