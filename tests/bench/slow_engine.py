"""An engine without a model that takes its time for the first token, however many requests it has.

It is to `midtoken bench team` what an engine with room on a GPU is: requests at once are no slower.
What it writes is no help, so only times say something::

    python -m tests.bench.slow_engine --seconds 0.6    # prints its address; Ctrl-C ends it
    midtoken bench team --remote ADDRESS --shared --parallel 4 --users 4,16
"""

import argparse
import contextlib
import threading

from tests.server.remote.fake_engine import FakeEngine, running


def main() -> None:
    """Serve until it is interrupted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=0.6)
    seconds = parser.parse_args().seconds
    with running(FakeEngine(wish="self.name = name\n", first_s=seconds)) as engine:
        print(engine.url, flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    main()
