"""Suggestions of the real model in Neovim: the file is what was typed and the remainder, exactly.

Neovim 0.11 has a completion menu and Neovim 0.12 has ghost text as well. Both are set up as
`editors/neovim/README.md` says for people without the plugin (`test_neovim_plugin` has it), and the
server is the command that people run.
"""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.cases import CASES, NAMES, Case, each_case
from tests.e2e.editors import NEOVIM_GHOST, NEOVIM_MENU, neovim
from tests.e2e.neovim import Ghost, Neovim, readme_setup

pytestmark = pytest.mark.model

INVOKED = 1

PATIENT = """
vim.lsp.config('midtoken', { init_options = {
  completion = { maxTokens = 16, maxTokensBlock = 32, stopUnsure = 0 },
  trigger = { timeBudget = 60000 },
} })
"""
"""Whole suggestions, however busy the machine and unsure the model is, and short ones."""


def start(requirement: str, setup: str, folder: Path) -> Neovim:
    return Neovim(neovim(requirement), setup, folder)


def setup_for(*headings: str) -> str:
    return "\n".join([readme_setup("Without the plugin"), PATIENT, *map(readme_setup, headings)])


@pytest.fixture(scope="module")
def ghost_editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neovim]:
    """Neovim 0.12 with ghost text."""
    editor = start(NEOVIM_GHOST, setup_for("Ghost text"), tmp_path_factory.mktemp("nvim-ghost"))
    yield editor
    editor.close()


@pytest.fixture(scope="module")
def menu_editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Neovim]:
    """Neovim 0.11 with the completion menu."""
    setup = setup_for("Completion menu")
    editor = start(NEOVIM_MENU, setup, tmp_path_factory.mktemp("nvim-menu"))
    yield editor
    editor.close()


def type_case(editor: Neovim, case: Case, folder: Path) -> None:
    """Open the case's file and type what is typed there."""
    row = case.before.count("\n")
    column = len(case.before.encode()) - len(case.before[: case.before.rfind("\n") + 1].encode())
    editor.open(case.write(folder), row, column)
    editor.type(case.typed)


def take_from_menu(editor: Neovim) -> str:
    """Open the menu and take its first entry; the remainder that the server gave."""
    editor.type("<C-Space>")
    editor.wait("the menu", editor.menu)
    remainder = editor.item("textDocument/completion")["textEdit"]["newText"]
    editor.type("<C-n><C-y>")
    editor.wait("acceptance", lambda: not editor.menu())
    return remainder


def cursor_of(case: Case) -> tuple[int, int]:
    before = case.before + case.typed
    return before.count("\n"), len(before[before.rfind("\n") + 1 :].encode())


@each_case
def test_ghost_text(ghost_editor: Neovim, case: Case, tmp_path: Path) -> None:
    """What is grey is the remainder, and Tab puts exactly that into the file."""
    type_case(ghost_editor, case, tmp_path)
    ghost = ghost_editor.wait("ghost text", ghost_editor.ghost)
    item = ghost_editor.item("textDocument/inlineCompletion", triggerKind=INVOKED)
    remainder, where = item["insertText"], item["range"]
    replaced = where["end"]["character"] - where["start"]["character"]

    assert ghost == Ghost(*cursor_of(case), remainder)
    ghost_editor.type("<Tab>")
    ghost_editor.wait("acceptance", lambda: ghost_editor.ghost() is None)
    written = ghost_editor.written()
    assert written == case.document(remainder, replaced)
    assert case.fits(written), case.accepted_line(written)


@each_case
def test_menu(menu_editor: Neovim, case: Case, tmp_path: Path) -> None:
    """An entry of the menu gives exactly the remainder, and leaves what follows the cursor."""
    type_case(menu_editor, case, tmp_path)
    remainder = take_from_menu(menu_editor)

    written = menu_editor.written()
    assert written == case.document(remainder, 0)
    assert case.fits(written), case.accepted_line(written)


def test_menu_without_convert(menu_editor: Neovim, tmp_path: Path) -> None:
    """Where people enabled completion for all servers, an entry gives the first word, unbroken."""
    case = CASES[0]
    type_case(menu_editor, case, tmp_path)
    menu_editor.lua(
        "local client = vim.lsp.get_clients({ bufnr = 0 })[1]"
        "vim.lsp.completion.enable(false, client.id, 0)"
        "vim.lsp.completion.enable(true, client.id, 0)"
    )
    take_from_menu(menu_editor)

    assert menu_editor.written() == case.document("rn", 0)


def test_names_in_the_menu(menu_editor: Neovim, tmp_path: Path) -> None:
    """Known names are marked entries; one gives its rest, whatever the model has written."""
    case = NAMES
    type_case(menu_editor, case, tmp_path)
    menu_editor.type("<C-Space>")
    entries = menu_editor.wait("the menu", menu_editor.menu)
    names = [number for number, entry in enumerate(entries) if entry["kind"] == "Variable"]
    rests = {"eight", "idth", "ages", "aste", "ins"}
    assert names, entries
    assert {entries[number]["word"] for number in names} <= rests
    assert rests <= {entry["word"] for entry in entries}

    menu_editor.type("<C-n>" * (names[0] + 1) + "<C-y>")
    menu_editor.wait("acceptance", lambda: not menu_editor.menu())
    assert menu_editor.written() == case.document(entries[names[0]]["word"], 0)


def test_one_server_that_two_find(tmp_path: Path, midtoken_home: Path) -> None:
    """Two Neovims that are set up to share have one server, though nobody has started it."""
    editors = []
    try:
        for name in ("first", "second"):
            folder = tmp_path / name
            folder.mkdir()
            editors.append(Neovim(neovim(NEOVIM_MENU), setup_for("One model"), folder))
        for editor in editors:
            type_case(editor, CASES[0], tmp_path)
        first, second = (editor.item("textDocument/completion") for editor in editors)
    finally:
        for editor in editors:
            editor.close()
        servers = [json.loads(path.read_text()) for path in midtoken_home.glob("run/*.json")]
        for server in servers:
            os.kill(server["pid"], signal.SIGTERM)

    assert len(servers) == 1
    # How probable it is depends on the key at which the model was asked.
    assert first | {"detail": ""} == second | {"detail": ""}
    assert first["textEdit"]["newText"].startswith("rn fibonacci(")


def test_one_server_for_two(tmp_path: Path) -> None:
    """Two Neovims, of two versions, write with one server and one model at the same time."""
    command = ["midtoken", "serve", "--tcp", "127.0.0.1:0"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    editors = []
    try:
        port = next(line for line in server.stderr if "serves on" in line).split(":")[-1].strip()
        connect = readme_setup("A server that you start").replace("7777", port)
        for requirement in (NEOVIM_GHOST, NEOVIM_MENU):
            folder = tmp_path / requirement
            folder.mkdir()
            editors.append(Neovim(neovim(requirement), setup_for() + connect, folder))
        for editor in editors:
            type_case(editor, CASES[0], tmp_path)
        first, second = (editor.item("textDocument/completion") for editor in editors)
    finally:
        for editor in editors:
            editor.close()
        server.terminate()
        server.communicate()

    # How probable it is depends on the key at which the model was asked.
    assert first | {"detail": ""} == second | {"detail": ""}
    assert first["textEdit"]["newText"].startswith("rn fibonacci(")
