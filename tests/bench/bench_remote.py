"""How many of the golden cases an engine elsewhere passes, healed by a beginning that is forced.

    python -m tests.bench.bench_remote                # a llama-server of its own, on this machine
    python -m tests.bench.bench_remote --remote URL   # that engine

With the tokenizer in a file (`--tokenizer`; the default model's own for a llama-server that is
started here) and with the engine's own. The same cases as in the README's first table.
"""

import argparse
from contextlib import nullcontext
from time import perf_counter

from server.bench.llama_server import LlamaProcess, fetch
from server.completion_options import CompletionOptions
from server.engine.llama_load import usable_cores
from server.errors import MidtokenError
from server.models import store
from server.models.catalog import DEFAULT_MODEL
from server.option_sections import RemoteSection
from server.remote.completer import load_remote
from server.snapshot import Snapshot
from tests.server.test_completion_cases import CASES, MAX_TOKENS


def main() -> None:
    """Print a line for each tokenizer, and each case that is not passed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--remote", metavar="URL")
    parser.add_argument("--tokenizer", metavar="PATH", default="")
    given = parser.parse_args()
    model = store.resolve(DEFAULT_MODEL)
    process = nullcontext()
    if given.remote is None:
        process = LlamaProcess(fetch(), model, usable_cores(), {"n_ctx": 2048})
        given.tokenizer = given.tokenizer or str(model)
    with process as started:
        url = given.remote or started.address
        for tokenizer in dict.fromkeys((given.tokenizer, "")):
            try:
                run(RemoteSection(url=url, tokenizer=tokenizer))
            except MidtokenError as error:
                print(error)


def run(section: RemoteSection) -> None:
    """Try all cases with one tokenizer."""
    completer = load_remote(section)
    passed = {"fim": 0, "left": 0}
    failed = []
    started = perf_counter()
    for case in CASES:
        before, after = (part.encode() for part in case.text.split("║"))
        snapshot = Snapshot("case", 0, before + after, len(before), case.language)
        options = CompletionOptions("exact", case.prompt, MAX_TOKENS)
        completion = completer.complete(snapshot, options)
        faults = case.faults(completion.items[0] if completion.items else None)
        if faults:
            failed.append(f"    {case.id}: {'; '.join(faults)}")
        else:
            passed[case.prompt] += 1
    total = {kind: sum(case.prompt == kind for case in CASES) for kind in passed}
    counts = ", ".join(f"{kind} {passed[kind]} of {total[kind]}" for kind in passed)
    print(f"{completer.engine.info.backend}, {completer.engine.info.vocabulary_type}: {counts}")
    print("\n".join([f"    {perf_counter() - started:.0f} s", *failed]))


if __name__ == "__main__":
    main()
