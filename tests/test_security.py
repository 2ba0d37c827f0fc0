"""What nobody can make midtoken do, beside what the tests of each part say (`SECURITY.md`)."""

import json
import re
import subprocess
import sys

import gguf
import pytest

from server.option_table import TABLE, USER_ONLY
from tests.server.command import REPOSITORY, run_process
from tests.tiny_model import write_tiny_model

PAGES = ("SECURITY.md", "docs/reliability.md")
EXTENSION = REPOSITORY / "editors/vscode/package.json"

WITHOUT_NETWORK = """
import sys
def refuse(event, arguments):
    if event in {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"}:
        raise SystemExit(f"a connection: {event} {arguments}")
sys.addaudithook(refuse)
from server.cli import main
main(sys.argv[1:])
"""


@pytest.mark.parametrize("page", PAGES)
def test_the_page_names_tests_that_exist(page):
    """Every threat and every fault has a test, which is there."""
    lines = (REPOSITORY / page).read_text("utf-8").splitlines()
    rows = [line for line in lines if line.startswith("| ") and line.split(" | ")[-1] != "test |"]

    assert rows
    for row in rows:
        tests = row.split(" | ")[-1].removesuffix(" |")
        if set(tests) == {"-"}:
            continue
        for test in tests.split(", "):
            file, *names = test.strip("`").split("::")
            content = (REPOSITORY / file).read_text("utf-8")
            for name in names:
                assert re.search(rf"\b(?:def|class) {name}\b", content), test


def test_completing_opens_no_connection(tiny_file, tmp_path):
    """Nothing is asked of any other machine, nor of this one."""
    document = tmp_path / "a.json"
    document.write_text('{"$schema": "https://example.org/s.json", "a": ')
    arguments = ["complete", f"{document}:1:48", "--model", str(tiny_file()), "--json"]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_NETWORK, *arguments],
        cwd=REPOSITORY,
        capture_output=True,
        check=False,
        text=True,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "items" in json.loads(done.stdout)


def test_a_models_chat_template_is_not_run(monkeypatch, tmp_path):
    """A template is a program in a model file; other users of llama.cpp's bindings ran some."""
    ran, folder = tmp_path / "ran", tmp_path / "documents"
    template = "{{ cycler.__init__.__globals__.os.mknod('" + str(ran) + "') }}"
    add_name = gguf.GGUFWriter.add_name

    def with_template(writer: gguf.GGUFWriter, name: str) -> None:
        add_name(writer, name)
        writer.add_chat_template(template)

    monkeypatch.setattr(gguf.GGUFWriter, "add_name", with_template)
    model = write_tiny_model(tmp_path / "template.gguf")
    assert template.encode() in model.read_bytes()
    folder.mkdir()
    (folder / "a.py").write_text("import o")
    for command in ("complete", "explain"):
        done = run_process(command, "a.py:1:9", "--model", model, cwd=folder)
        assert (done.code, done.err) == (0, "")

    assert not ran.exists()


def test_a_workspace_of_vs_code_sets_nothing_that_runs():
    """What is for users alone has a scope that a folder's settings can't reach."""
    package = json.loads(EXTENSION.read_text("utf-8"))
    settings = package["contributes"]["configuration"]["properties"]
    own = {f"midtoken.{row.key}" for row in TABLE.values() if row.user_only}
    restricted = package["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"]

    assert own
    assert {name for name in own if settings[name]["scope"] != "machine"} == set()
    assert {"midtoken.path", "midtoken.address", "midtoken.shared"} | own <= set(restricted)


@pytest.mark.parametrize("section", ["model", "engine", "remote", "logging"])
def test_what_runs_is_for_users_alone(section):
    """A new option of these sections is guarded without anybody thinking of it."""
    assert section in USER_ONLY
