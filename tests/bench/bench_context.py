"""What other files' definitions bring: lines that use what another file of the project declares.

    python -m tests.bench.bench_context [PROJECT ...] [--places N] [--seed N] [--budget N]
                                        [--seconds N] [--log FILE] [--model MODEL]

A project is a folder of Python files; this repository if none is named. A place is in a line that
uses a name which its file imports from another file of the project: before the name, or after it,
where its arguments or its members are written. The rest of the line is taken out, and completed
with as many tokens of text around it twice: with other files' definitions among them, and without.
Exact lines are few, so the probability of what stands there is compared as well: in bits a byte of
the line, each token given those before it.

Places of one file come after one another, so that much of a prompt is in memory. After `--seconds`
no further place is begun; with `--log`, results are kept there, and the next run goes on.

Prints a table in Markdown. Nothing is asserted.
"""

import argparse
import ast
import json
import os
import random
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from math import log
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from server.bench.heal.writing import similarity
from server.completer import Completer, load_completer
from server.completion_options import CompletionOptions
from server.engine import ROOT
from server.engine.llama_load import EngineOptions
from server.models import store
from server.models.catalog import DEFAULT_MODEL
from server.snapshot import Snapshot
from server.workspace.chunks import Chunk
from server.workspace.context import Material
from server.workspace.definitions import Definitions
from server.workspace.files import read_source, walk
from server.workspace.modules import Modules
from server.workspace.outline import outline

WAYS = ("with", "without")
PLACES_OF_FILE = 5
SHORTEST_LINE = 12


@dataclass(frozen=True)
class Place:
    """A hole in a file: the rest of a line."""

    file: str
    kind: str
    """`name` (the imported name is to be written) or `use` (what follows it)."""
    before: bytes
    gold: bytes
    after: bytes

    @property
    def key(self) -> str:
        """Names the place in a log."""
        return f"{self.file}:{len(self.before)}"


@dataclass(frozen=True)
class Result:
    """One suggestion."""

    key: str
    kind: str
    way: str
    match: bool
    similarity: float
    bits: float
    """Of the line from its beginning, a byte; less is better."""
    prompt: int
    """Tokens of the prompt."""
    evaluated: int
    text: str
    gold: str


def imported_names(tree: ast.Module, own: set[str]) -> set[str]:
    """What a file imports from modules of its own project."""
    names: set[str] = set()
    for node in ast.walk(tree):
        is_from = isinstance(node, ast.ImportFrom)
        if is_from and (node.level or (node.module or "").partition(".")[0] in own):
            names |= {alias.asname or alias.name for alias in node.names}
    return names


def holes(path: str, text: bytes, own: set[str]) -> Iterator[Place]:
    """The places of a file: for each line, one before a name and one after it."""
    try:
        names = imported_names(ast.parse(text), own)
    except (SyntaxError, ValueError):
        return
    if not names:
        return
    use = re.compile(rb"\b(?:%s)(?:[(.])" % b"|".join(re.escape(n.encode()) for n in sorted(names)))
    start = 0
    for line in text.splitlines(keepends=True):
        content, end = line.rstrip(b"\n"), start + len(line)
        found = use.search(content)
        # What people are told, and what they write in prose, nobody could guess.
        is_code = not re.match(rb"\s*(?:from|import|class|def|raise|[#@\"'])", content)
        is_code &= not re.search(rb"[`\"']", content)
        if found and is_code and len(content.strip()) >= SHORTEST_LINE and found.start():
            for kind, at in (("name", found.start()), ("use", found.end())):
                gold = content[at:]
                if gold.strip(b")]}:, "):
                    after = b"\n" + text[end:]
                    yield Place(path, kind, text[: start + at], gold, after)
        start = end


def places(root: Path, seed: int) -> Iterator[Place]:
    """Places of a project, some of each file, in the order of the file."""
    chance = random.Random(seed)
    paths = [name for some in walk(root) for name in some if name.endswith(".py")]
    paths = [name for name in paths if "test" not in name]
    own = {name.partition("/")[0].removesuffix(".py") for name in paths}
    for name in chance.sample(paths, len(paths)):
        text = read_source(root, root / name)
        found = list(holes(name, text, own)) if text else []
        chosen = chance.sample(found, min(PLACES_OF_FILE, len(found)))
        yield from sorted(chosen, key=lambda place: len(place.before))


def material_of(root: Path, definitions: Definitions, place: Place) -> Material:
    """What other places say at a place: as the language server gathers it, nothing visited."""
    text = place.before + place.after
    needed = definitions.needed(root / place.file, "python", text)
    above = place.before[: place.before.rfind(b"\n") + 1]
    near = above[-6000:]
    short = outline("python", above[: len(above) - len(near)])
    return Material(root.name, place.file, needed, Chunk(place.file, short) if short else None)


def bits_of(
    completer: Completer, snapshot: Snapshot, options: CompletionOptions, gold: bytes
) -> float:
    """Bits a byte that the model needs for the line as it is."""
    engine = completer.engine
    prompt = completer.prompts.choose(completer._site(snapshot, options))
    start = prompt.typed.rfind(b"\n") + 1  # lines before it are there to be read
    line = prompt.typed[start:] + gold
    tokens = engine.encode(line)
    slot = engine.open([*prompt.head, *engine.encode(prompt.typed[:start])])
    nodes = [(at - 1, token) for at, token in enumerate(tokens)]
    rows = engine.evaluate(slot, nodes[:-1], range(ROOT, len(tokens) - 1))
    logs = [float(row[token] - logsumexp(row)) for row, token in zip(rows, tokens, strict=True)]
    return -sum(logs) / log(2) / len(line)


def logsumexp(row: NDArray[np.float32]) -> float:
    """The logarithm of the sum of a row's exponentials."""
    top = float(row.max())
    return top + float(np.log(np.exp(row - top).sum()))


def measure(
    completer: Completer, root: Path, definitions: Definitions, place: Place, budget: int
) -> Iterator[Result]:
    """Both ways at one place."""
    for way in WAYS:
        material = material_of(root, definitions, place) if way == "with" else None
        options = CompletionOptions(max_tokens=32, context_tokens=budget, material=material)
        text = place.before + place.after
        snapshot = Snapshot(str(root / place.file), 0, text, len(place.before), "python")
        done = completer.complete(snapshot, options)
        written = done.items[0].text if done.items else ""
        replaced = done.items[0].replaced_bytes if done.items else 0
        gold = place.gold.decode()
        assert not replaced
        yield Result(
            place.key,
            place.kind,
            way,
            written.strip() == gold.strip(),
            similarity(written.strip(), gold.strip()),
            bits_of(completer, snapshot, options, place.gold),
            done.tokens.prompt,
            done.tokens.evaluated,
            written,
            gold,
        )


def table(results: Sequence[Result], budget: int) -> str:
    """The results in Markdown."""
    lines = [
        f"| {budget:,} tokens | places | exact line | similarity | bits a byte | prompt |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for kind in ("name", "use", "all"):
        for way in WAYS:
            some = [one for one in results if one.way == way and kind in {one.kind, "all"}]
            if some:
                share = sum(one.match for one in some) / len(some)
                alike = sum(one.similarity for one in some) / len(some)
                bits = sum(one.bits for one in some) / len(some)
                prompt = sum(one.prompt for one in some) / len(some)
                lines.append(
                    f"| {kind}, {way} | {len(some)} | {share:.0%} | {alike:.3f} | {bits:.3f} "
                    f"| {prompt:.0f} |"
                )
    pairs: dict[str, dict[str, float]] = {one.key: {} for one in results}
    for one in results:
        pairs[one.key][one.way] = one.bits
    both = [pair for pair in pairs.values() if len(pair) == len(WAYS)]
    better = sum(pair["with"] < pair["without"] for pair in both)
    return "\n".join(lines) + f"\n\nMore probable with them: {better} of {len(both)} places."


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("projects", nargs="*", type=Path, default=[Path(__file__).parents[2]])
    parser.add_argument("--model", default=DEFAULT_MODEL, help="a name, or a GGUF file")
    parser.add_argument("--places", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", type=int, default=2400)
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--log", type=Path)
    given = parser.parse_args()
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    results: list[Result] = []
    if given.log and given.log.exists():
        results = [Result(**json.loads(line)) for line in given.log.read_text().splitlines()]
    known = {one.key for one in results}
    completer = load_completer(store.resolve(given.model), EngineOptions(n_ctx=8192))
    end = time.monotonic() + given.seconds
    for project in given.projects:
        root = project.resolve()
        definitions = Definitions(root, Modules(root))
        for number, place in enumerate(places(root, given.seed)):
            if number == given.places or time.monotonic() > end:
                break
            if place.key in known:
                continue
            both = list(measure(completer, root, definitions, place, given.budget))
            results += both
            if given.log:
                with given.log.open("a") as log:
                    log.writelines(json.dumps(asdict(one)) + "\n" for one in both)
    print(table(results, given.budget))
    completer.close()


if __name__ == "__main__":
    main()
