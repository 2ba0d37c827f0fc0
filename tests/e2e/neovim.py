"""Neovim without a screen, driven over its own interface: keys in, ghost text, menus and files out.

Its set-up is what `editors/neovim/README.md` tells people to write. Nothing waits for a fixed time:
between two looks at a condition Neovim goes on by itself, and a limit says what was waited for.
"""

import contextlib
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pynvim
import pytest

from tests.e2e.editors import Program

README = Path(__file__).parents[2] / "editors" / "neovim" / "README.md"

LIMIT_S = 40.0
"""Far more than anything takes; a model on a busy machine is slow to start."""
LOOK_EVERY_S = 0.02

_RAW_ITEM = """
local method, context = ...
local params = vim.lsp.util.make_position_params(0, 'utf-8')
if next(context) then params.context = context end
local answers = vim.lsp.buf_request_sync(0, method, params, 60000)
for _, answer in pairs(answers or {}) do
  if answer.result then return answer.result.items[1] end
end
"""

_GHOST = """
local spaces = vim.api.nvim_get_namespaces()
local space = spaces['nvim.lsp.inline_completion']
local marks = space and vim.api.nvim_buf_get_extmarks(0, space, 0, -1, { details = true }) or {}
if #marks == 0 then return nil end
local function text(chunks)
  return table.concat(vim.tbl_map(function(chunk) return chunk[1] end, chunks))
end
local details = marks[1][4]
local lines = vim.tbl_map(text, details.virt_lines or {})
table.insert(lines, 1, text(details.virt_text))
return { row = marks[1][2], column = marks[1][3], text = table.concat(lines, '\\n') }
"""


@dataclass(frozen=True)
class Ghost:
    """Grey text in a window, and where it begins."""

    row: int
    column: int
    """Bytes before it on its line, from zero; the row counts from zero as well."""
    text: str


def readme_setup(heading: str) -> str:
    """The Lua code below a heading of the README (the title's comes before all headings)."""
    sections = re.split(r"^#+ ", README.read_text(encoding="utf-8"), flags=re.MULTILINE)
    section = next(part for part in sections if part.startswith(heading))
    return "\n".join(re.findall(r"^```lua\n(.*?)^```", section, re.DOTALL | re.MULTILINE))


class Neovim:
    """One Neovim with one server, for any number of files after each other."""

    def __init__(self, program: Program, setup: str, folder: Path) -> None:
        """Start with a set-up in Lua; the folder is its home."""
        init = folder / "init.lua"
        # Long messages would make Neovim wait for Enter, and answer nothing until then.
        init.write_text(f"vim.o.messagesopt = 'wait:0,history:100'\n{setup}", encoding="utf-8")
        command = [*program.command, "--embed", "--headless", "--clean", "-u", str(init)]
        with pytest.MonkeyPatch.context() as patch:
            for kind in ("CONFIG", "DATA", "STATE", "CACHE"):
                patch.setenv(f"XDG_{kind}_HOME", str(folder / kind.lower()))
            self.nvim = pynvim.attach("child", argv=command)
        self.nvim.options["swapfile"] = False
        self.nvim.ui_attach(90, 20, rgb=True)  # without a screen it shows no menus

    def close(self) -> None:
        """End Neovim, and the server with it."""
        self.nvim.command("stopinsert")
        with contextlib.suppress(OSError, EOFError):  # it is gone before it can answer
            self.nvim.command("qall!")
        self.nvim.close()

    def wait(self, what: str, condition: Callable[[], Any]) -> Any:
        """The condition's first value that is true; fails with what was waited for."""
        limit = time.monotonic() + LIMIT_S
        while not (found := condition()):
            if time.monotonic() > limit:
                status = self.nvim.vars.get("midtoken_status")
                messages = self.nvim.exec_lua("return vim.fn.execute('messages')")
                pytest.fail(f"waited for {what}: the server is {status}; {messages.strip()}")
            time.sleep(LOOK_EVERY_S)
        return found

    def lua(self, code: str, *arguments: Any) -> Any:
        """Run Lua code."""
        return self.nvim.exec_lua(code, *arguments)

    def open(self, path: Path, line: int, column: int) -> None:
        """Edit a file and stand in insert mode, so many lines and bytes from its start."""
        self.nvim.input("<Esc>")
        self.nvim.command(f"edit! {path}")
        self.wait(
            "the server to have the file",
            lambda: self.lua("return #vim.lsp.get_clients({ bufnr = 0, name = 'midtoken' }) > 0"),
        )
        self.wait("the model", lambda: self.nvim.vars.get("midtoken_status") in {"ready", "busy"})
        at_end = len(self.nvim.current.buffer[line].encode()) == column
        self.nvim.current.window.cursor = (line + 1, column)
        self.nvim.input("A" if at_end else "i")
        self.wait("insert mode", lambda: self.nvim.api.get_mode()["mode"] == "i")

    def type(self, keys: str) -> None:
        """Press keys, one after the other."""
        for key in re.findall(r"<[^<>]+>|.", keys.replace("\n", "<CR>"), re.DOTALL):
            self.nvim.input(key)

    def item(self, method: str, **context: Any) -> dict[str, Any] | None:
        """The first item of a request at the cursor, as the server answers it."""
        return self.lua(_RAW_ITEM, method, context)

    def ghost(self) -> Ghost | None:
        """The ghost text that is shown."""
        found = self.lua(_GHOST)
        return Ghost(**found) if found and found["text"] else None

    def menu(self) -> list[dict[str, Any]]:
        """The entries of the completion menu that is open."""
        shown = self.nvim.funcs.complete_info(["pum_visible", "items"])
        return shown["items"] if shown["pum_visible"] else []

    def written(self) -> bytes:
        """The file, after the buffer was written to it."""
        self.nvim.input("<Esc>")
        self.wait("normal mode", lambda: self.nvim.api.get_mode()["mode"] == "n")
        self.nvim.command("silent write")
        return Path(self.nvim.current.buffer.name).read_bytes()
