"""requirements.txt: everything that our own runs install, in one version, with sums."""

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
