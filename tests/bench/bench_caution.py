"""What thresholds of confidence are worth to somebody who types, many of them for one price.

    python -m tests.bench.bench_caution
    python -m tests.bench.bench_caution --no-mistakes --pair 0:0.3 --pair 0.3:0.3

The replay of `midtoken bench typing --patient`, with the service in this process instead of a
server. What the model writes at a place does not depend on the thresholds: it is asked once for a
text and a cursor, and every pair of thresholds is shown the same. Texts are short (24 tokens), and
prompts of one size (160 tokens). `midtoken bench typing --also` is the same with real servers.
"""

import argparse
import asyncio
from collections.abc import Callable, Sequence

from server.answers import Answer
from server.bench.corpus import project_files
from server.bench.projects import PROJECTS
from server.bench.typing import typist
from server.bench.typing.comparison import compare, interval
from server.bench.typing.figures import summarise
from server.bench.typing.record import Record, together
from server.bench.typing.replay import Replay
from server.bench.typing.suggesters import Offer, Usage
from server.bench.typing.typist import Typist
from server.completer import Completer, load_completer
from server.completion import model_path
from server.completion_options import CompletionOptions
from server.confidence import Caution
from server.documents import Change, Documents
from server.engine.llama_load import EngineOptions
from server.grammar.languages import prepare
from server.lsp_items import completion_options
from server.options import Options, with_values
from server.positions import Encoding, Position, Range
from server.service import Request, Service
from server.snapshot import Snapshot
from server.worker import Worker

PAIRS = ["0:0", "0:0.1", "0:0.2", "0:0.3", "0:0.5", "0.1:0", "0.2:0", "0.3:0.3"]
CHOSEN = ["standard-library", "flask", "fastify", "rxjs", "cobra"]
FAST = 1e6
"""Nobody waits: answers are waited for, and the rest of the time is skipped."""

OPTIONS = with_values(
    Options(),
    {
        "completion.maxTokens": 24,
        "completion.maxTokensBlock": 24,
        "completion.contextTokens": 160,
    },
)


class Remembering:
    """A completer that writes once for a text and a cursor."""

    def __init__(self, completer: Completer) -> None:
        self._completer = completer
        self._known: dict[tuple[str, int, bytes], Answer] = {}

    def __getattr__(self, name: str) -> object:
        return getattr(self._completer, name)

    def answer(
        self,
        snapshot: Snapshot,
        options: CompletionOptions,
        on_progress: Callable[[Answer], None] = lambda _: None,
    ) -> Answer:
        key = snapshot.language, snapshot.cursor, snapshot.text
        if key not in self._known:
            self._known[key] = self._completer.answer(snapshot, options)
        on_progress(self._known[key])
        return self._known[key]


class InProcess:
    """A suggester without a server."""

    name, encoding = "service", Encoding.UTF32

    def __init__(self, worker: Worker[Completer], caution: Caution) -> None:
        self.answers: dict[str, int] = {}
        self.errors: list[str] = []
        self._service, self._caution = Service(worker), caution
        self._documents = Documents(Encoding.UTF32)
        self._task: asyncio.Task[None] | None = None
        self._show: Callable[[Offer | None], None] = lambda _: None

    def listen(self, show: Callable[[Offer | None], None]) -> None:
        self._show = show

    def open(self, uri: str, language: str, text: str) -> None:
        prepare(language)
        self._documents.open(uri, text, 1, language)

    def change(self, uri: str, where: Range, text: str) -> None:
        version = self._documents.find(uri).version + 1
        self._documents.change(uri, version, [Change(text, where)])

    def close_document(self, uri: str) -> None:
        self._documents.close(uri)

    def ask(self, uri: str, position: Position) -> None:
        if self._task is not None:
            self._task.cancel()
        self._task = asyncio.get_running_loop().create_task(self._answer(uri, position))

    async def _answer(self, uri: str, position: Position) -> None:
        document = self._documents.find(uri)
        snapshot = document.snapshot(position)
        options = completion_options(OPTIONS, document.language, snapshot)
        request = Request(uri, snapshot, options, caution=self._caution)
        completion = await self._service.complete(request)
        self._task = None
        kind = "none" if completion is None else "items" if completion.items else "empty"
        self.answers[kind] = self.answers.get(kind, 0) + 1
        if completion is not None:
            items = [Offer(item.text, item.replaced_bytes) for item in completion.items]
            self._show(items[0] if items else None)

    @property
    def owes(self) -> bool:
        return self._task is not None

    async def usage(self) -> Usage:
        return Usage(0, None, {"residentBytes": None, "privateBytes": None})

    async def finish(self, timeout_s: float) -> int:
        if self._task is not None:
            await asyncio.wait([self._task], timeout=timeout_s)
        return int(self._task is not None)


async def typed_with(
    worker: Worker[Completer], caution: Caution, projects: Sequence[str], keys: int
) -> Record:
    """All projects, typed with these thresholds."""
    records = []
    for name in projects:
        suggester = InProcess(worker, caution)
        sources = project_files(name, 0)
        replay = Replay(suggester, sources, Typist(0), name=name, fast=FAST, patient=True)
        records.append(await replay.run(keys))
    return together(records)


async def main(projects: Sequence[str], keys: int, pairs: Sequence[str]) -> None:
    completer = load_completer(model_path("qwen2.5-coder-0.5b", yes=False), EngineOptions())
    worker: Worker[Completer] = Worker()
    await worker.load(lambda: Remembering(completer))
    print(
        "| minConfidence, stopUnsure | saved | more | shown | line right | word right | accepted |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: | --- |")
    first: Record | None = None
    for pair in pairs:
        least, stop = map(float, pair.split(":"))
        record = await typed_with(worker, Caution(least, stop), projects, keys)
        first = first or record
        saved, more = interval(record), compare(record, first)["keystrokes_saved_more"]
        shown = summarise(record)["suggestions"]
        accepted = (shown[f"accepted_{kind}"] for kind in ("lines", "words", "wrong"))
        cells = [
            f"{least:g}, {stop:g}",
            *(
                f"{100 * one['value']:.1f} ({100 * one['low']:.1f} to {100 * one['high']:.1f})"
                for one in (saved, more)
            ),
            str(shown["shown"]),
            f"{100 * shown['line_right']:.1f}",
            f"{100 * shown['word_right']:.1f}",
            ", ".join(map(str, accepted)),
        ]
        print("| " + " | ".join(cells) + " |", flush=True)
    worker.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--project", action="append", choices=PROJECTS)
    parser.add_argument("--keys", type=int, default=260, help="of each project")
    parser.add_argument("--pair", action="append", metavar="MIN_CONFIDENCE:STOP_UNSURE")
    parser.add_argument("--no-mistakes", action="store_true", help="nothing wrong is ever accepted")
    given = parser.parse_args()
    if given.no_mistakes:
        typist.WRONG_SHARE = 0.0
    chosen = [PAIRS[0], *given.pair] if given.pair else PAIRS
    asyncio.run(main(given.project or CHOSEN, given.keys, chosen))
