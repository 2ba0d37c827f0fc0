"""What our own runs install: everything in one version, and only files that have a sum."""

import json
import re
import tomllib

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.server.command import REPOSITORY
from tools.licences import groups, needed

TEXT = (REPOSITORY / "requirements.txt").read_text("utf-8")
PINS = {
    canonicalize_name(match[1]): match[2]
    for match in re.finditer(r"^([\w.-]+)==([^\s;]+)", TEXT, re.MULTILINE)
}


def test_every_line_is_a_version_or_a_sum():
    """There is no address, no path and no option in it, only what any index can have."""
    entries = re.split(r"\n(?=\w)", TEXT.rstrip("\n"))
    pin = r"[\w.-]+==[\w.]+(?: ; [\w .'<>=!()]+)?"
    digest = r" \\\n    --hash=sha256:[0-9a-f]{64}"

    assert entries
    assert [one for one in entries if not re.fullmatch(f"{pin}(?:{digest})+", one)] == []


def test_what_is_asked_for_is_there():
    """The versions are those that pyproject.toml allows; so is what builds the package."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))
    lines = [
        *project["build-system"]["requires"],
        *(line for one in groups() for line in one.lines),
    ]
    asked = [one for one in map(Requirement, lines) if one.name != "midtoken"]

    assert len(asked) > 20
    for one in asked:
        assert one.specifier.contains(PINS[canonicalize_name(one.name)]), one


def test_what_those_need_is_there():
    """Nothing is installed that has no sum."""
    lines = [line for group in groups() for line in group.lines]

    assert needed(lines).keys() <= PINS.keys()


def test_our_runs_install_only_what_has_a_sum():
    """`make` gives pip sums to check, or has it fetch nothing; `make lock` is about new ones."""
    makefile = (REPOSITORY / "Makefile").read_text("utf-8").replace("\\\n", " ")
    recipes = re.sub(r"^lock:.*?\n\n", "", makefile, flags=re.MULTILINE | re.DOTALL)
    installs = [line for line in recipes.splitlines() if "pip install" in line]

    assert len(installs) > 3
    for line in installs:
        checked = "--require-hashes" in line and "--requirement" in line
        assert checked or ("--no-deps --no-build-isolation --editable ." in line), line


def test_packages_of_the_extension_have_sums():
    """npm installs what the lock file says, and runs no script of it."""
    folder = REPOSITORY / "editors/vscode"
    lock = json.loads((folder / "package-lock.json").read_text("utf-8"))
    packages = [entry for path, entry in lock["packages"].items() if path]

    assert len(packages) > 100
    assert [one for one in packages if not one["integrity"].startswith("sha512-")] == []
    assert "ignore-scripts=true" in (folder / ".npmrc").read_text("utf-8").splitlines()
    commands = re.findall(r'npm\("(\w+)"', (folder / "build.py").read_text("utf-8"))
    assert "ci" in commands
    assert not {"install", "i", "add", "update"} & {*commands}
