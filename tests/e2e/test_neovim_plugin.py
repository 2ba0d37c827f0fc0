"""The plugin in real Neovims: set up as its README says, with the real server and model."""

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pynvim
import pytest

from tests.e2e.cases import CASES, Case, each_case
from tests.e2e.editors import NEOVIM_GHOST, NEOVIM_MENU, neovim
from tests.e2e.neovim import README, Neovim, readme_setup
from tests.e2e.test_neovim import INVOKED, PATIENT, take_from_menu, type_case

pytestmark = pytest.mark.model

KEYS = """
require('midtoken').setup({
  keys = { accept = '<Tab>', accept_word = '<C-l>', accept_line = '<C-j>', next = '<M-n>' },
})
"""

ASK = "textDocument/completion"

# As a list, since the shell of a command line would be found as well, and be gone a moment later.
PIDS = "return vim.fn.system({'pgrep', '-P', vim.fn.getpid(), '-f', 'serve'})"


def plugin_setup(*more: str) -> str:
    """The README's set-up with the path of this repository's plugin."""
    setup = readme_setup("Neovim").replace("/path/to/midtoken/editors/neovim", str(README.parent))
    return "\n".join([PATIENT, setup, *more])


@pytest.fixture(scope="module")
def ghost_editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neovim]:
    """Neovim 0.12 with the plugin and all of its keys."""
    folder = tmp_path_factory.mktemp("plugin-ghost")
    editor = Neovim(neovim(NEOVIM_GHOST), plugin_setup(KEYS), folder)
    yield editor
    editor.close()


@pytest.fixture(scope="module")
def menu_editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neovim]:
    """Neovim 0.11 with the plugin as the README sets it up."""
    folder = tmp_path_factory.mktemp("plugin-menu")
    editor = Neovim(neovim(NEOVIM_MENU), plugin_setup(), folder)
    yield editor
    editor.close()


@pytest.fixture(params=["ghost_editor", "menu_editor"])
def editor(request: pytest.FixtureRequest) -> Neovim:
    """Each of the two."""
    return request.getfixturevalue(request.param)


def shown_remainder(editor: Neovim) -> tuple[str, int]:
    """The remainder that is shown, and how many characters after the cursor it replaces."""
    editor.wait("ghost text", editor.ghost)
    item = editor.item("textDocument/inlineCompletion", triggerKind=INVOKED)
    where = item["range"]
    return item["insertText"], where["end"]["character"] - where["start"]["character"]


def messages(editor: Neovim) -> str:
    return editor.lua("return vim.fn.execute('messages')")


@each_case
def test_accepting_all(ghost_editor: Neovim, case: Case, tmp_path: Path) -> None:
    type_case(ghost_editor, case, tmp_path)
    remainder, replaced = shown_remainder(ghost_editor)
    ghost_editor.type("<Tab>")
    ghost_editor.wait("acceptance", lambda: ghost_editor.ghost() is None)
    assert ghost_editor.written() == case.document(remainder, replaced)


def test_accepting_word_by_word(ghost_editor: Neovim, tmp_path: Path) -> None:
    """`rn`, then ` fibonacci`: each key gives one word, and the rest is still shown."""
    case = CASES[0]
    type_case(ghost_editor, case, tmp_path)
    remainder, _ = shown_remainder(ghost_editor)
    words = re.findall(r"\s*\w+|\s*[^\w\s]", remainder)
    for word in words[:3]:
        before = ghost_editor.nvim.current.line
        ghost_editor.wait("ghost text", ghost_editor.ghost)
        ghost_editor.type("<C-l>")
        line = before + word
        ghost_editor.wait(word, lambda line=line: ghost_editor.nvim.current.line == line)
    assert ghost_editor.written() == case.document("".join(words[:3]), 0)


def test_a_word_before_a_closer_leaves_the_closer(ghost_editor: Neovim, tmp_path: Path) -> None:
    case = Case("word", "rows = load()\nfor row in rows:\n    print(", "ro", ")\n", r".*")
    type_case(ghost_editor, case, tmp_path)
    remainder, _ = shown_remainder(ghost_editor)
    assert remainder.startswith("w")
    ghost_editor.type("<C-l>")
    ghost_editor.wait("the word", lambda: "row" in ghost_editor.nvim.current.line)
    assert ghost_editor.written() == case.document("w", 0)


def test_accepting_a_line_of_a_block(ghost_editor: Neovim, tmp_path: Path) -> None:
    case = next(case for case in CASES if case.name == "crlf block")
    type_case(ghost_editor, case, tmp_path)
    remainder, _ = shown_remainder(ghost_editor)
    assert "\n" in remainder
    first = remainder.split("\n")[0]
    ghost_editor.type("<C-j>")
    ghost_editor.wait("the line", lambda: ghost_editor.nvim.current.line == case.typed + first)
    assert ghost_editor.written() == case.document(first, 0)


def test_accepting_after_typing_along(ghost_editor: Neovim, tmp_path: Path) -> None:
    """What was typed of the suggestion since it was shown is not inserted again."""
    case = CASES[0]
    type_case(ghost_editor, case, tmp_path)
    remainder, replaced = shown_remainder(ghost_editor)
    ghost_editor.type(remainder[:2] + "<Tab>")
    ghost_editor.wait("acceptance", lambda: ghost_editor.ghost() is None)
    assert ghost_editor.written().startswith(case.document(remainder, replaced)[:-1])


def test_keys_without_a_suggestion_do_what_they_always_do(
    ghost_editor: Neovim, tmp_path: Path
) -> None:
    ghost_editor.open(Case("tab", "", "", "x = 1\n", "").write(tmp_path), 0, 0)
    ghost_editor.type("<Tab>")
    ghost_editor.wait("the blanks", lambda: ghost_editor.nvim.current.line == "    x = 1")


def test_another_suggestion(ghost_editor: Neovim, tmp_path: Path) -> None:
    """With one suggestion the next one is the same; the file is as it was."""
    type_case(ghost_editor, CASES[0], tmp_path)
    ghost_editor.wait("ghost text", ghost_editor.ghost)
    ghost_editor.type("<M-n>")
    ghost_editor.wait("ghost text", ghost_editor.ghost)
    assert ghost_editor.nvim.current.line == CASES[0].typed


def test_notes_reach_the_server(ghost_editor: Neovim, tmp_path: Path) -> None:
    """What is shown, accepted and left is told once each."""
    type_case(ghost_editor, CASES[0], tmp_path)
    ghost_editor.lua("""
      told = {}
      local client = vim.lsp.get_clients({ name = 'midtoken' })[1]
      local notify = client.notify
      client.notify = function(self, method, params)
        if vim.startswith(method, 'midtoken/') then
          table.insert(told, { method, params.length or vim.NIL })
        end
        return notify(self, method, params)
      end
    """)
    ghost_editor.type("<BS>")
    told = "return told"
    ghost_editor.wait("a note", lambda: ghost_editor.lua(told))
    before = ghost_editor.nvim.current.line
    ghost_editor.type("<Tab>")
    ghost_editor.wait("acceptance", lambda: len(ghost_editor.lua(told)) > 1)
    length = len(ghost_editor.nvim.current.line) - len(before)
    assert ghost_editor.lua(told)[:2] == [
        ["midtoken/didShow", None],
        ["midtoken/didAccept", length],
    ]
    ghost_editor.lua("vim.lsp.get_clients({ name = 'midtoken' })[1].notify = nil")


@each_case
def test_menu(menu_editor: Neovim, case: Case, tmp_path: Path) -> None:
    type_case(menu_editor, case, tmp_path)
    remainder = take_from_menu(menu_editor)

    assert menu_editor.written() == case.document(remainder, 0)


def test_status_and_status_line(editor: Neovim, tmp_path: Path) -> None:
    type_case(editor, CASES[0], tmp_path)
    editor.wait(
        "the status line",
        lambda: editor.lua("return require('midtoken').statusline()") == "midtoken ready",
    )
    said = editor.lua("return vim.fn.execute('Midtoken')").strip()
    assert re.match(r"midtoken ready: Qwen2\.5.* on ", said), said
    editor.nvim.command("stopinsert | new")
    assert editor.lua("return require('midtoken').statusline()") == ""
    editor.nvim.command("bwipeout!")


def test_the_report_of_the_last_suggestion(editor: Neovim, tmp_path: Path) -> None:
    type_case(editor, CASES[0], tmp_path)
    editor.item("textDocument/completion")
    editor.nvim.command("stopinsert")
    editor.nvim.command("Midtoken report")
    editor.wait("the report", lambda: editor.nvim.current.buffer.name.endswith("report"))
    assert "backed_up_text" in "\n".join(editor.nvim.current.buffer[:])
    editor.type("<Esc>q")
    editor.wait("its end", lambda: not editor.nvim.current.buffer.name.endswith("report"))


@pytest.mark.parametrize("where", ["", " here"])
def test_the_page_of_a_suggestion(editor: Neovim, tmp_path: Path, where: str) -> None:
    """It lies in a file that nobody else may read, and is opened as the person opens pages."""
    case = CASES[0]
    type_case(editor, case, tmp_path)
    editor.item("textDocument/completion")
    editor.nvim.command("stopinsert")
    editor.lua("opened = nil; vim.ui.open = function(path) opened = path end")
    editor.nvim.command(f"Midtoken explain{where}")
    editor.wait("the page", lambda: editor.lua("return opened"))
    page = Path(editor.lua("return opened"))

    assert "All the ways to spell what you typed" in page.read_text("utf-8")
    assert not page.parent.stat().st_mode & 0o077


def test_log_and_doctor_open_windows(editor: Neovim, tmp_path: Path) -> None:
    type_case(editor, CASES[0], tmp_path)
    editor.type("<Esc>")
    editor.nvim.command("Midtoken log")
    assert editor.nvim.current.buffer.name.endswith("lsp.log")
    editor.nvim.command("bwipeout!")
    editor.nvim.command("Midtoken doctor")
    buffer = editor.nvim.current.buffer
    assert buffer.options["buftype"] == "terminal"
    editor.wait("the doctor", lambda: "qwen2.5-coder" in "\n".join(buffer[:]))
    editor.nvim.command("bwipeout!")


def test_toggling_a_buffer_and_everything(editor: Neovim, tmp_path: Path) -> None:
    type_case(editor, CASES[0], tmp_path)
    editor.type("<Esc>")
    attached = "return #vim.lsp.get_clients({ name = 'midtoken', bufnr = 0 })"
    for scope in ("buffer", ""):
        said = editor.lua(f"return vim.fn.execute('Midtoken toggle {scope}')")
        assert "midtoken is off" in said
        editor.wait("the end", lambda: editor.lua(attached) == 0)
        said = editor.lua(f"return vim.fn.execute('Midtoken toggle {scope}')")
        assert "midtoken is on" in said
        editor.wait("a server", lambda: editor.lua(attached) == 1)
    editor.wait("the model", lambda: editor.nvim.vars.get("midtoken_status") == "ready")


def test_unknown_commands_and_what_can_be_written(editor: Neovim) -> None:
    with pytest.raises(pynvim.NvimError, match="there is no `dance`: choose doctor, explain, log"):
        editor.nvim.command("Midtoken dance")
    complete = "return vim.fn.getcompletion(..., 'cmdline')"
    assert editor.lua(complete, "Midtoken re") == ["report", "restart"]
    assert editor.lua(complete, "Midtoken toggle ") == ["buffer"]
    assert editor.lua(complete, "Midtoken explain h") == ["here"]
    assert editor.lua(complete, "Midtoken log ") == []


def test_wrong_options_are_named(editor: Neovim) -> None:
    setup = "local _, message = pcall(require('midtoken').setup, ...) return message"
    assert "there is no option `ghost`" in editor.lua(setup, {"ghost": True})
    assert "keys has no `take`" in editor.lua(setup, {"keys": {"take": "<Tab>"}})


def test_health(editor: Neovim, tmp_path: Path) -> None:
    type_case(editor, CASES[0], tmp_path)
    editor.type("<Esc>")
    editor.nvim.command("checkhealth midtoken")
    said = "\n".join(editor.nvim.current.buffer[:])
    assert re.search(r"OK.*midtoken.*\d+\.\d+", said), said
    assert re.search(r"OK.*server \d+ runs for \d+ buffer.*utf-8", said), said
    assert "ERROR" not in said
    editor.nvim.command("bwipeout!")


def test_two_buffers_have_suggestions_of_their_own(ghost_editor: Neovim, tmp_path: Path) -> None:
    for case in CASES[:2]:
        type_case(ghost_editor, case, tmp_path)
        remainder, replaced = shown_remainder(ghost_editor)
        ghost_editor.type("<Tab>")
        ghost_editor.wait("acceptance", lambda: ghost_editor.ghost() is None)
        assert ghost_editor.written() == case.document(remainder, replaced)


def test_help_is_found(editor: Neovim) -> None:
    editor.nvim.command(f"helptags {README.parent / 'doc'}")
    editor.nvim.command("help midtoken-keys")
    assert editor.nvim.current.buffer.name.endswith("midtoken.txt")
    editor.nvim.command("bwipeout!")


@pytest.mark.parametrize("requirement", [NEOVIM_GHOST, NEOVIM_MENU])
def test_a_missing_server_is_said_once(requirement: str, tmp_path: Path) -> None:
    missing = "vim.lsp.config('midtoken', { cmd = { '/nowhere/midtoken', 'serve' } })"
    editor = Neovim(neovim(requirement), plugin_setup(missing), tmp_path)
    try:
        for name in ("one.py", "two.py"):
            (tmp_path / name).write_text("x = 1\n")
            editor.nvim.command(f"edit {tmp_path / name}")
        said = messages(editor)
        assert said.count("/nowhere/midtoken is not on the PATH: install midtoken") == 1
        editor.nvim.command("checkhealth midtoken")
        assert "/nowhere/midtoken is not on the PATH" in "\n".join(editor.nvim.current.buffer[:])
    finally:
        editor.close()


def kill_server(editor: Neovim) -> None:
    """Without warning, as the system does where memory is short."""
    [pid] = editor.wait("a server", lambda: editor.lua(PIDS).split())
    os.kill(int(pid), signal.SIGKILL)
    editor.wait("its end", lambda: pid not in editor.lua(PIDS).split())


def test_a_server_that_is_killed_starts_again(editor: Neovim, tmp_path: Path) -> None:
    """In the middle of a request, while typing goes on: no key is lost, suggestions come back."""
    case = CASES[0]
    type_case(editor, case, tmp_path)
    editor.lua("vim.lsp.buf_request(0, ..., vim.lsp.util.make_position_params(0, 'utf-8'))", ASK)
    kill_server(editor)
    editor.type("rn")
    editor.wait("the message", lambda: "ended with signal 9 and starts again" in messages(editor))
    editor.type("<BS><BS>")
    editor.wait("the model", lambda: editor.nvim.vars.get("midtoken_status") == "ready")
    editor.wait("a suggestion", lambda: editor.item("textDocument/completion"))

    assert editor.nvim.current.line == case.typed
    assert editor.written() == case.document("", 0)


def test_a_server_that_dies_again_and_again_is_said(editor: Neovim, tmp_path: Path) -> None:
    """It is not started for ever; the command starts it, and the file is as it was."""

    def status() -> str:
        return str(editor.nvim.vars["midtoken_status"])

    type_case(editor, CASES[0], tmp_path)
    editor.type("<Esc>")
    for _ in range(5):
        if status() != "error":
            kill_server(editor)
            editor.wait("news", lambda: status() in {"starting", "error"})
    editor.wait("an error", lambda: status() == "error")
    assert "the server ended with signal 9 again" in messages(editor)
    editor.nvim.command("Midtoken restart")
    editor.wait("the model", lambda: status() == "ready")

    assert editor.written() == CASES[0].document("", 0)
