"""How the plugin shows ghost text and when it asks for it, with a server that answers as told.

The server is a few lines of Lua in Neovim itself, so nothing here depends on a model.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.editors import NEOVIM_GHOST, NEOVIM_MENU, neovim
from tests.e2e.neovim import README, Neovim

SERVER = """
fake = { text = vim.NIL, over = 0, asked = 0 }
local function answer(method, params)
  if method == 'initialize' then
    local commands = { commands = { 'midtoken.showReport' } }
    return { capabilities = {
      inlineCompletionProvider = true,
      positionEncoding = 'utf-8',
      executeCommandProvider = commands,
    } }
  elseif method == 'textDocument/inlineCompletion' then
    fake.asked = fake.asked + 1
    local from = params.position
    local to = { line = from.line, character = from.character + fake.over }
    local item = { insertText = fake.text, range = { start = from, ['end'] = to } }
    return fake.text ~= vim.NIL and { items = { item } } or nil
  elseif method == 'workspace/executeCommand' then
    return fake.report
  end
end
vim.lsp.config('midtoken', {
  cmd = function(dispatchers)
    fake.tell = function(state)
      dispatchers.notification('midtoken/status', { state = state, message = state })
    end
    return {
      request = function(method, params, callback, replied)
        vim.schedule(function()
          if replied then replied(1) end
          callback(nil, answer(method, params))
        end)
        return true, 1
      end,
      notify = function(method)
        if method == 'initialized' then fake.tell('loading') end
        return true
      end,
      is_closing = function() return false end,
      terminate = function() end,
    }
  end,
})
"""

SETUP = f"""
vim.opt.runtimepath:append({json.dumps(str(README.parent))})
{SERVER}
require('midtoken').setup({{ keys = {{ accept = '<Tab>', accept_word = '<C-l>' }} }})
vim.lsp.enable('midtoken')
"""

LINE = """
local cells = {}
for column = 1, 60 do table.insert(cells, vim.fn.screenstring(1, column)) end
return table.concat(cells)
"""


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neovim]:
    """Neovim 0.12 with the plugin."""
    started = Neovim(neovim(NEOVIM_GHOST), SETUP, tmp_path_factory.mktemp("ghost"))
    yield started
    started.close()


def on_screen(editor: Neovim) -> str:
    """The first line of the screen."""
    editor.nvim.command("redraw")
    return editor.lua(LINE).rstrip()


def edit(editor: Neovim, folder: Path, line: str, *, state: str = "ready") -> None:
    """Open a file with one line and a cursor `|` in it, in insert mode, and a server that is so."""
    before, _, after = line.partition("|")
    editor.nvim.input("<Esc>")
    editor.wait("normal mode", lambda: editor.nvim.api.get_mode()["mode"] == "n")
    (folder / "a.py").write_text(before + after + "\n")
    editor.nvim.command(f"edit! {folder / 'a.py'}")
    attached = "return fake.tell ~= nil and #vim.lsp.get_clients({ bufnr = 0 })"
    editor.wait("the server", lambda: editor.lua(attached))
    editor.wait("its first words", lambda: editor.nvim.vars.get("midtoken_status"))
    editor.lua("fake.tell(...)", state)
    editor.nvim.current.window.cursor = (1, len(before.encode()))
    editor.nvim.input("i" if after else "A")
    editor.wait("insert mode", lambda: editor.nvim.api.get_mode()["mode"] == "i")


def suggest(editor: Neovim, text: str | None, over: int = 0) -> None:
    """What the server suggests from now on."""
    editor.lua("fake.text, fake.over = ...", text, over)


@pytest.mark.parametrize(
    ("line", "text", "over", "shown"),
    [
        ("x = os.path.get|(name) for", "size", 0, "x = os.path.getsize(name) for"),
        ("x = f(|) + 1", "ab)", 1, "x = f(ab) + 1"),
        ("größe = f(|) + 1", "größer", 0, "größe = f(größer) + 1"),
        ("retu|", "rn 1", 0, "return 1"),
    ],
    ids=["text that follows", "a closer that is replaced", "wide characters", "end of line"],
)
def test_nothing_of_the_document_is_covered(
    editor: Neovim, tmp_path: Path, line: str, text: str, over: int, shown: str
) -> None:
    """The screen shows the line as it would be, and Tab makes it so."""
    suggest(editor, text, over)
    edit(editor, tmp_path, line)
    editor.wait("the suggestion", lambda: on_screen(editor) == shown)
    editor.type("<Tab>")
    editor.wait("acceptance", lambda: editor.nvim.current.line == shown)


def test_typing_along_in_the_middle_of_a_line(editor: Neovim, tmp_path: Path) -> None:
    """Neovim draws what is left again at each key; it covers nothing then either."""
    suggest(editor, "size")
    edit(editor, tmp_path, "get|(name)")
    editor.wait("the suggestion", lambda: on_screen(editor) == "getsize(name)")
    suggest(editor, None)  # what is shown is the old one from here on
    for typed in ("gets", "getsi"):
        editor.type(typed[-1] if typed == "gets" else "i")
        editor.wait("the key", lambda typed=typed: editor.nvim.current.line == f"{typed}(name)")
        assert on_screen(editor) == "getsize(name)"


def test_what_was_typed_too_early_is_asked_for_again(editor: Neovim, tmp_path: Path) -> None:
    """A request that came before the model is repeated when the model is ready, without a key."""
    suggest(editor, None)
    edit(editor, tmp_path, "ret|", state="loading")
    asked = editor.lua("return fake.asked")
    editor.type("u")
    editor.wait("a request", lambda: editor.lua("return fake.asked") > asked)
    suggest(editor, "rn 1")
    editor.lua("fake.tell('ready')")
    editor.wait("the suggestion", lambda: on_screen(editor) == "return 1")


def test_nothing_is_asked_for_outside_insert_mode(editor: Neovim, tmp_path: Path) -> None:
    """Where nobody types, a model that becomes ready is no reason to ask."""
    suggest(editor, "rn 1")
    edit(editor, tmp_path, "retu|", state="loading")
    editor.wait("the suggestion", editor.ghost)
    editor.nvim.input("<Esc>")
    editor.wait("normal mode", lambda: editor.nvim.api.get_mode()["mode"] == "n")
    editor.lua("cursor_moved = 0")
    editor.nvim.command("autocmd CursorMovedI * lua cursor_moved = cursor_moved + 1")
    editor.lua("fake.tell('ready')")
    assert editor.lua("return cursor_moved") == 0
    assert editor.ghost() is None


@pytest.mark.parametrize("requirement", [NEOVIM_GHOST, NEOVIM_MENU])
def test_the_report_is_json(requirement: str, tmp_path: Path) -> None:
    """`:Midtoken report` shows what any reader of JSON can read."""
    report = {"items": [{"text": 'a"\n', "score": -1.5}, {}], "empty_reason": None, "n": 3}
    editor = Neovim(neovim(requirement), SETUP, tmp_path)
    try:
        edit(editor, tmp_path, "retu|")
        editor.lua("fake.report = vim.json.decode(...)", json.dumps(report))
        editor.nvim.input("<Esc>")
        editor.nvim.command("Midtoken report")
        editor.wait("the report", lambda: editor.nvim.current.buffer.name.endswith("report"))
        lines = editor.nvim.current.buffer[:]
        assert json.loads("\n".join(lines)) == report
        assert len(lines) > 5
        assert editor.nvim.current.buffer.options["filetype"] == "json"
    finally:
        editor.close()
