"""The picture of ghost text in Neovim: `python -m tests.e2e.neovim_picture docs/neovim.svg`.

The real editor with the plugin and the real model, in a terminal; what its screen shows is drawn.
"""

import io
import re
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI

from tests.e2e.editors import NEOVIM_GHOST, neovim
from tests.e2e.neovim import README
from tests.e2e.screen import Terminal

CODE = '''\
"""Temperatures from a file."""


def celsius_to_fahrenheit(celsius):
    return celsius * 9 / 5 + 32


def mean(values):
    total = sum(values)


print(mean(map(celsius_to_fahrenheit, [12, 14, 19])))
'''
LINE = CODE.split("\n").index("    total = sum(values)") + 1

SETUP = f"""
vim.opt.runtimepath:append('{README.parent}')
require('midtoken').setup({{ keys = {{ accept = '<Tab>' }} }})
vim.lsp.config('midtoken', {{ init_options = {{ trigger = {{ timeBudget = 60000 }} }} }})
vim.lsp.enable('midtoken')
vim.o.termguicolors, vim.o.number, vim.o.laststatus = true, true, 2
vim.o.statusline = ' %f  %= %{{v:lua.require("midtoken").statusline()}} '
"""

COLUMNS, ROWS = 72, 17


def main() -> None:
    """Draw the picture into the file that is named."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "temperatures.py").write_text(CODE)
        (folder / "init.lua").write_text(SETUP)
        home = {f"XDG_{kind}_HOME": name for kind in ("CONFIG", "STATE")}
        arguments = ["--clean", "-u", "init.lua", f"+{LINE}", "temperatures.py"]
        terminal = Terminal(neovim(NEOVIM_GHOST), arguments, home, folder, (COLUMNS, ROWS))
        try:
            terminal.wait("the model", lambda lines: "midtoken ready" in "\n".join(lines))
            terminal.press("o")
            terminal.press("retu")
            terminal.wait("ghost text", lambda lines: "return total" in "\n".join(lines))
            console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
            for line in terminal.styled():
                console.print(line, soft_wrap=True)
        finally:
            terminal.close()
    drawn = console.export_svg(title="Neovim", theme=MONOKAI, unique_id="neovim")
    # The drawing asks a server for its font; every viewer has a monospaced one of its own.
    drawn = re.sub(r"\s*@font-face \{.*?\}", "", drawn, flags=re.DOTALL)
    Path(sys.argv[1]).write_text(drawn.replace("Fira Code", "ui-monospace"), encoding="utf-8")


if __name__ == "__main__":
    main()
