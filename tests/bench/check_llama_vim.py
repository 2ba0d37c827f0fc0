"""Is llama.vim imitated well? The plugin itself beside the peer of `midtoken bench typing`.

Both are given the same keys by chance, the plugin in Neovim, and a server that answers both in the
same way. Every request and everything that is shown must be the same.

    python -m tests.bench.check_llama_vim [--keys 60] [--seed 1]

Neovim is that of the tests; the plugin is Debian's `vim-llama.cpp` of the suite forky, which moves
on: what is imitated is 0.1.0. Where llama.vim takes lines by chance (chunks of other text), nothing
can be the same; so no key is pressed far from the others, and nobody pauses.
"""

import argparse
import asyncio
import contextlib
import json
import random
import tempfile
import time
import zlib
from dataclasses import dataclass
from pathlib import Path

import pynvim

from server.bench.typing.llama_vim import LlamaVim
from server.positions import Position, Range
from tests.debian import codename, unpack
from tests.e2e.editors import CACHE, NEOVIM_GHOST, neovim
from tests.fetching import fetched
from tests.server.fake_llama import FakeServer

FUNCTION = "def f{0}(a, b):\n    c = a + {0}\n    if c:\n        d(c)\n\n    return c * b\n\n"
TEXT = "".join(FUNCTION.format(number) for number in range(150))
LINE = 450
ALONG = "along"
KEYS = ["a", "b", "a", "b", " ", "    ", "(", ")", "<CR>", "<BS>", "<Left>", ALONG, ALONG, ALONG]
"""What may be pressed; `ALONG` is the first character of what is shown."""
ANSWERS = [
    *("", "  ", ")", ", q)", "b)\n", "a(b", "foo", "ab", "aab ab", "abc\nabd", "    ab\n    ba"),
    *("alpha + beta\n    return alpha", "x = 1\n    y = 2\n    return f0(x)"),
    *("        deep = 3\n\n", "    return c * b", "\n    c = a + 75"),
    "\n\ndef f76(a, b):\n    c = a + 76",
]
FLAGS = ("--clean", "--embed", "-n")
STILL_S = 0.45
"""So long nothing may be asked until the next key; a wish waits for 0.1 s."""


class Answering(FakeServer):
    """The same answer to the same question."""

    def answer(self, body):
        """A text by the checksum of what stands around the cursor."""
        asked = [body["input_prefix"][-300:], body["prompt"], body["input_suffix"][:100]]
        return ANSWERS[zlib.crc32(json.dumps(asked).encode()) % len(ANSWERS)]


@dataclass(frozen=True)
class Step:
    """After a key."""

    key: str
    line: int
    column: int
    """In bytes."""
    shown: list[str]
    lines: list[str]


def until_still(server):
    """Wait until nothing more is asked."""
    count, since = len(server.asked), time.monotonic()
    while time.monotonic() < since + STILL_S:
        time.sleep(0.02)
        if len(server.asked) != count:
            count, since = len(server.asked), time.monotonic()


def plugin(server, folder, file, count, chance):
    """Type with the plugin itself."""
    vim = pynvim.attach("child", argv=[*neovim(NEOVIM_GHOST).command, "--headless", *FLAGS])
    vim.command(f"set rtp^={folder}/usr/share/vim-llama.cpp noautoindent indentexpr=")
    vim.command(
        f'let g:llama_config = {{"endpoint_fim": "{server.address}/infill", "show_info": 0}}'
    )
    vim.command("runtime plugin/llama.vim | call llama#init()")
    vim.command(f"edit! {file} | {LINE}")
    steps, shown = [], []
    for number in range(count):
        key = chance.choice(KEYS) if number else "o"
        if key == ALONG:
            key = shown[0][:1] if shown and shown[0] else "<CR>" if shown[1:] else "a"
        vim.input("<lt>" if key == "<" else key)
        time.sleep(0.05)  # the key itself
        until_still(server)
        marks = vim.api.buf_get_extmarks(
            0, vim.api.create_namespace("vt_fim"), 0, -1, {"details": True}
        )
        shown = [mark[3]["virt_text"][0][0] for mark in marks if mark[3].get("virt_text")]
        shown += [line[0][0] for mark in marks for line in mark[3].get("virt_lines", [])]
        line, column = vim.api.win_get_cursor(0)
        steps.append(Step(key, line - 1, column, shown, vim.api.buf_get_lines(0, 0, -1, False)))
    with contextlib.suppress(EOFError):
        vim.command("qa!")
    return steps


async def imitation(server, steps):
    """Type the same with the imitation; what was shown after each key."""
    editor = LlamaVim(server)
    editor.open("a", "python", TEXT)
    before, shown = TEXT.removesuffix("\n"), []
    for step in steps:
        text = "\n".join(step.lines)
        if text != before:
            editor.change("a", *difference(before, text))
        before = text
        column = len(step.lines[step.line].encode()[: step.column].decode())
        editor.ask("a", Position(step.line, column))
        await asyncio.sleep(0.05)
        await asyncio.to_thread(until_still, server)
        shown.append(list(editor._hint.lines) if editor._hint else [])
    editor.close()
    await editor.finish(10)
    return shown


def difference(before, after):
    """The one range that differs, and its new text."""
    most = min(len(before), len(after))
    start = next((at for at in range(most) if before[at] != after[at]), most)
    end = next(
        (at for at in range(most - start) if before[-1 - at] != after[-1 - at]), most - start
    )

    def place(offset):
        line = before.count("\n", 0, offset)
        return Position(line, offset - before.rfind("\n", 0, offset) - 1)

    return Range(place(start), place(len(before) - end)), after[start : len(after) - end]


def questions(server):
    """What was asked, without what is by chance or of a file's name."""
    return [{**body, "input_extra": len(body["input_extra"])} for body in server.asked]


def main():
    """Compare, and end with 1 if there is a difference."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keys", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    folder = fetched(
        CACHE,
        "vim-llama.cpp",
        lambda place: unpack(
            place, "vim-llama.cpp", (codename(), "forky"), "llama.vim 0.1.0", needs="nothing"
        ),
    )
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch, "a.txt")
        file.write_text(TEXT)
        theirs, ours = Answering(), Answering()
        steps = plugin(theirs, folder, file, options.keys, random.Random(options.seed))
        shown = asyncio.run(imitation(ours, steps))
        theirs.close()
        ours.close()
    asked, same = questions(theirs), questions(ours)
    differences = [
        f"key {number}, {step.key!r}: {step.shown} there, {found} here"
        for number, (step, found) in enumerate(zip(steps, shown, strict=True))
        if (step.shown or [""]) != (found or [""])
    ]
    differences += [
        f"request {number}: {one} there, {other} here"
        for number, (one, other) in enumerate(zip(asked, same, strict=False))
        if one != other
    ]
    print(f"{len(steps)} keys, {len(asked)} requests there, {len(same)} here;", end=" ")
    print(f"{sum(any(step.shown) for step in steps)} times something was shown")
    print("\n".join(differences[:5]) or "no difference")
    raise SystemExit(bool(differences) or len(asked) != len(same))


if __name__ == "__main__":
    main()
