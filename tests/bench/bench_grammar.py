"""What a keystroke costs before anything is written: the grammar's window and the state behind it.

    python -m tests.bench.bench_grammar [--keys N] [--language NAME ...] [--kilobytes N ...]

prints a table in Markdown: the first request in a document, then keystrokes at one place, each with
a request of its own, then a jump to the middle and keystrokes there. Processor time of the thread
in milliseconds, of this machine at this moment; nothing is asserted. The documents are a part of a
language over and over, with other names; they end inside of an open block.
"""

import argparse
import os
import platform
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import thread_time

import numpy as np

from server.grammar import templates
from server.grammar.json_grammar import json_ladder
from server.grammar.kept import KeptStates
from server.grammar.ladder import Standing, climb
from server.grammar.languages import LADDERS
from server.grammar.report import GrammarReport
from server.grammar.rungs import Ladder
from server.grammar.schemas import with_schema

SIZES_KB = (10, 100, 1000)
KEYS = 200


@dataclass(frozen=True)
class Case:
    """A kind of document."""

    start: str
    part: str
    """Comes again and again, with its number in place of `@`."""
    open: str
    """What the last, unfinished part begins with."""
    typed: str
    """Is typed there, over and over."""

    def text(self, size: int) -> bytes:
        """A document of about so many bytes up to the cursor."""
        parts, length, number = [self.start], len(self.start), 0
        while length < size - len(self.open):
            parts.append(self.part.replace("@", str(number)))
            length += len(parts[-1])
            number += 1
        return "".join([*parts, self.open]).encode()


CASES = {
    "python": Case(
        "import os\n\n\n",
        'def load_@(path, mode=\'r\'):\n    """Read it: {a}."""\n    if os.path.exists(path):\n'
        "        with open(path, mode) as file:  # closes\n            return [\n"
        "                f'{line!r:>10}' for line in file\n            ]\n    return None\n\n\n",
        "class Last:\n    def run(self, count):\n        for i in range(count):\n            ",
        "total = self.add(i, [count])\n            ",
    ),
    "go": Case(
        'package main\n\nimport "fmt"\n\n',
        "// Load@ reads {it}.\nfunc Load@(path string, n int) (map[string]int, error) {\n"
        '\tif n > @ {\n\t\treturn nil, fmt.Errorf("no %q (@)", path)\n\t}\n'
        '\treturn map[string]int{"a": n}, nil\n}\n\n',
        "func main() {\n\tfor i := 0; i < 10; i++ {\n\t\t",
        "total := add(i, []int{2})\n\t\t",
    ),
    "c": Case(
        "#include <stdio.h>\n\n",
        "/* Reads {it}. */\nstatic int load_@(const char *path, int n)\n{\n\tif (n > @) {\n\t\t"
        "printf(\"no %s (\", path);\n\t\treturn '(';\n\t}\n\treturn table[n] + @;\n}\n\n",
        "int main(void)\n{\n\tfor (int i = 0; i < 10; i++) {\n\t\t",
        "total = add(i, (int[]){2});\n\t\t",
    ),
    "typescript": Case(
        'import { open } from "fs";\n\n',
        "/** Reads {it}. */\nexport async function load@(path: string): Promise<Row[]> {\n"
        "  if (/\\.(csv|tsv)$/.test(path)) {\n    return [{ name: `no ${path} (@)`, n: 1 / 2 }];\n"
        "  }\n  return rows.filter((row) => row.n > @);\n}\n\n",
        "export class Last {\n  run(count: number) {\n    for (const i of range(count)) {\n      ",
        "total = this.add(i, [count]);\n      ",
    ),
    "json": Case(
        '{\n  "entries": [\n',
        '    {"name": "entry @", "values": [1, 2, @], "more": {"a": null, "b": "x, y: {"}},\n',
        '    {\n      "name": "last",\n      "values": [',
        "1, 2.5, true, ",
    ),
    "json with schema": Case(
        "{\n",
        '  "entry@": {"name": "entry @", "values": [1, 2, @], "more": {"b": "x, y: {"}},\n',
        '  "name": "last",\n  "values": [',
        "1, 2.5, 7, ",
    ),
    "yaml": Case(
        "# Settings\nversion: 1\nservices:\n",
        '  service_@:\n    image: "name:@"\n    command: [run, --port, 80@]\n    text: |\n'
        "      some words\n    environment:\n      - A=@\n      - B: {c: d}\n",
        "  last:\n    environment:\n      - ",
        "name: a value\n      - ",
    ),
    "toml": Case(
        'title = "Settings"\n\n',
        '[table_@]\nname = "entry @"\nvalues = [1, 2, @]\nmore = { a = true, b = "x" }\n\n',
        "[last]\n",
        'name = [1, "b"]\n',
    ),
    "css": Case(
        "/* Page */\n",
        ".part-@ > a:hover {\n  color: #fff; /* {it} */\n  background: url(a@.png) no-repeat;\n"
        '  content: "}";\n}\n\n',
        "@media (min-width: 100px) {\n  .last {\n    ",
        "margin: calc(1px + 2em) 0;\n    ",
    ),
    "html": Case(
        "<!DOCTYPE html>\n<html>\n<body>\n",
        '<div class="part@"><h2>Part @</h2>\n<p>Some <a href="#@">words</a>.\n<ul><li>one\n<li>two'
        "</ul><!-- <div> -->\n<script>if (a < b) f('</div>')</script></div>\n",
        "<div>\n<ul>\n  ",
        '<li class="a">text</li>\n  ',
    ),
}

SCHEMA = """{
  "type": "object",
  "properties": {
    "name": {"enum": ["first", "last"]},
    "values": {"type": "array", "items": {"type": "number"}}
  },
  "required": ["name"],
  "additionalProperties": {"type": "object"}
}"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=KEYS, help=f"keystrokes (default {KEYS})")
    parser.add_argument("--language", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--kilobytes", nargs="+", type=int, default=SIZES_KB)
    arguments = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    print(f"{arguments.keys} keystrokes, processor time of the thread in milliseconds\n")
    print("| document | kB | first | median | p99 | most | moved up | typing there | checked |")
    print("| --- " * 9 + "|")
    with tempfile.TemporaryDirectory() as folder:
        schema = Path(folder, "schema.json")
        schema.write_text(SCHEMA)
        own = {"json with schema": with_schema(schema, json_ladder)}
        for name in arguments.language:
            ladder = own.get(name) or LADDERS[name]
            templates.prepare(rung.source for rung in ladder(b""))
            for size in arguments.kilobytes:
                print(_row(name, ladder, 1000 * size, arguments.keys), flush=True)


def _row(name: str, ladder: Ladder, size: int, keys: int) -> str:
    """Type in a document of so many bytes; a row of the table."""
    case = CASES[name]
    # Compiled before it is needed, as the server does when a document is opened.
    climb(KeptStates(), "warm", name, ladder, case.text(200))
    request = partial(climb, KeptStates(), f"{name} {size}", name, ladder)
    text, typed = case.text(size), (case.typed * keys)[:keys].encode()
    first, _ = _timed(request, text)
    times = []
    for end in range(len(typed)):
        time, report = _timed(request, text + typed[: end + 1])
        times.append(time)
    above = [_timed(request, text[: len(text) // 2 + end])[0] for end in range(0, keys, 10)]
    median, high, most = np.percentile(times, [50, 99, 100])
    cells = [f"{time:.2f}" for time in (first, median, high, most, above[0], np.median(above))]
    checked = f"{report.level or 'off'}{f' ({report.reason})' if report.reason else ''}"
    return f"| {name} | {size // 1000} | {' | '.join(cells)} | {checked} |"


def _timed(request: Callable[[bytes], Standing], text: bytes) -> tuple[float, GrammarReport]:
    """Milliseconds of the thread's work for a request, and its report."""
    started = thread_time()
    report = request(text).report
    return 1e3 * (thread_time() - started), report


if __name__ == "__main__":
    main()
