"""What `make dist` has built: the wheel alone is the whole program; the archive builds it again.

The wheel is installed without the checkout; the packages that it needs are those of the environment
in which the tests run.
"""

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from server import __version__
from tests.server.command import REPOSITORY

DIST = REPOSITORY / "dist"
WHEEL = DIST / f"midtoken-{__version__}-py3-none-any.whl"
ARCHIVE = DIST / f"midtoken-{__version__}.tar.gz"
EXTENSION = DIST / f"midtoken-{__version__}.vsix"
PACKAGES = ("healing", "server")


def run(*command: object, folder: Path, **more: str) -> str:
    """What a command prints in a folder without a checkout; its failure fails the test."""
    hidden = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=environment | more,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def files_of(wheel: Path) -> dict[str, bytes]:
    """The content of a wheel's files by their names, but for when and how it was built."""
    with zipfile.ZipFile(wheel) as archive:
        return {
            name: archive.read(name)
            for name in archive.namelist()
            if not name.endswith(("/", "/RECORD"))
        }


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with the wheel in it."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder, with_pip=True)
    places = {"base": str(folder), "platbase": str(folder)}
    programs = Path(sysconfig.get_path("scripts", "venv", places))
    run(programs / "python", "-m", "pip", "install", "--no-deps", "--quiet", WHEEL, folder=folder)
    ours = Path(sysconfig.get_path("purelib", "venv", places))
    # A folder that is named here is searched, but its own .pth files, which name the checkout, are
    # not read.
    (ours / "needed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return programs


class TestWheel:
    def test_holds_every_file(self):
        """What is in the folders of the packages is in the wheel, data and all."""
        listed = run("git", "ls-files", *PACKAGES, folder=REPOSITORY).splitlines()
        packed = files_of(WHEEL).keys()

        assert listed
        assert [name for name in listed if name not in packed] == []
        assert {name.partition("/")[0] for name in packed} == {
            *PACKAGES,
            f"midtoken-{__version__}.dist-info",
        }

    def test_says_its_version(self, installed, tmp_path):
        """The program is the installed one, not the checkout's."""
        where = "import server, healing; print(server.__file__, healing.__file__)"
        places = run(installed / "python", "-c", where, folder=tmp_path).split()

        assert run(installed / "midtoken", "--version", folder=tmp_path).split()[-1] == __version__
        assert all(Path(place).is_relative_to(installed.parent) for place in places)

    @pytest.mark.parametrize(
        "arguments",
        [
            ("--help",),
            ("complete", "--help"),
            ("model", "list"),
            ("bench", "--help"),
            ("stats", "--json"),
        ],
        ids=" ".join,
    )
    def test_commands(self, installed, tmp_path, arguments):
        """They print something, and need nothing that is not installed."""
        assert run(installed / "midtoken", *arguments, folder=tmp_path, MIDTOKEN_HOME=str(tmp_path))

    def test_every_module_can_be_imported(self, installed, tmp_path):
        """None of them needs tests, tools or the checkout."""
        names = [
            name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            for name in files_of(WHEEL)
            if name.endswith(".py")
        ]
        code = f"import importlib\nfor name in {names!r}: importlib.import_module(name)\nprint(1)"

        assert run(installed / "python", "-c", code, folder=tmp_path) == "1\n"

    @pytest.mark.parametrize(
        ("name", "text", "grammar"),
        [
            ("a.py", "def f(a):\n    return a[", "python"),
            ("a.go", "package a\n\nfunc f() {\n\treturn ", "go"),
            ("a.rs", "fn f() {\n    let a = (", "rust"),
            ("a.ts", "const a = {", "typescript"),
        ],
        ids=lambda value: value if value.startswith("a.") else "",
    )
    def test_completes(self, installed, tmp_path, tiny_file, name, text, grammar):
        """It finds its grammars."""
        (tmp_path / name).write_text(text)
        *before, last = text.split("\n")
        place = f"{name}:{len(before) + 1}:{len(last) + 1}"
        options = ("--model", tiny_file(), "--threads", 1, "--json")
        answer = json.loads(
            run(installed / "midtoken", "complete", place, *options, folder=tmp_path)
        )

        assert answer["grammar"]["state"] != "off", (grammar, answer["grammar"])

    def test_explains(self, installed, tmp_path, tiny_file):
        """It finds the style of its pages."""
        (tmp_path / "a.py").write_text("import o")
        options = ("--model", tiny_file(), "--out", "-")
        page = run(installed / "midtoken", "explain", "a.py:1:9", *options, folder=tmp_path)

        style = (REPOSITORY / "server/explain_page/style.css").read_text("utf-8")
        assert style.strip().splitlines()[-1] in page


class TestArchive:
    def test_holds_the_repository(self):
        """Whoever has the archive can build, test and release as with a checkout."""
        listed = run("git", "ls-files", folder=REPOSITORY).splitlines()
        with tarfile.open(ARCHIVE) as archive:
            members = archive.getmembers()
        packed = {member.name.partition("/")[2] for member in members}
        generated = {"", "PKG-INFO", "setup.cfg"}
        folders = {str(parent) for name in listed for parent in Path(name).parents}

        assert [name for name in listed if name not in packed] == []
        assert all(member.isfile() or member.isdir() for member in members)
        more = packed - set(listed) - folders - generated
        assert {name for name in more if not name.startswith("midtoken.egg-info")} == set()

    def test_builds_the_same_wheel(self, tmp_path):
        """Files and metadata, byte for byte."""
        with tarfile.open(ARCHIVE) as archive:
            archive.extractall(tmp_path, filter="data")
        [folder] = tmp_path.iterdir()
        command = (sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir")
        run(*command, tmp_path / "again", folder=folder)

        assert files_of(tmp_path / "again" / WHEEL.name) == files_of(WHEEL)


class TestExtension:
    def test_is_of_the_same_version(self):
        """It says what the wheel says."""
        with zipfile.ZipFile(EXTENSION) as archive:
            package = json.loads(archive.read("extension/package.json"))

        assert package["version"] == __version__

    def test_holds_the_licences_of_what_is_in_it(self):
        """midtoken's own, and those of the packages that are bundled."""
        with zipfile.ZipFile(EXTENSION) as archive:
            names = archive.namelist()
            notices = archive.read("extension/out/ThirdPartyNotices.txt").decode()

        assert "extension/LICENSE.txt" in names
        assert "vscode-languageclient" in notices
        assert "Permission is hereby granted" in notices
