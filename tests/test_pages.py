"""The pages of documentation name what is there: files, headings, commands, options, modules.

Not here: whether what they say of it is true. Examples of output are compared by whoever releases.
"""

import re
import shlex
from importlib.util import find_spec
from pathlib import Path

import click
import pytest

from server.cli import cli
from server.option_table import OVERRIDES, TABLE
from tests.server.command import REPOSITORY

PAGES = sorted(
    page for place in ("*.md", "docs/*.md", "editors/*/*.md") for page in REPOSITORY.glob(place)
)
_FENCED = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(
    r"`(?:\.venv/bin/)?midtoken ([^`\n|]+)`|^(?:\$ )?midtoken ([^\n|#]+)", re.MULTILINE
)
_MODULE = re.compile(r"python -m ((?:tests|server)\.[\w.]+)")
_TARGET = re.compile(r"`make ([\w-]+)")
_OPTION = re.compile(
    r"`(?:midtoken\.)?((?:completion|engine|filters|remote|trigger)\.(?!json|md)\w+)[` ]"
)

pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))


def headings(page: Path) -> set[str]:
    """The names by which headings of a page are linked to."""
    found = re.findall(r"^#+ (.*)$", _FENCED.sub("", page.read_text("utf-8")), re.MULTILINE)
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in found)
    return {re.sub(r"[^\w\- ]", "", heading).strip().replace(" ", "-") for heading in plain}


@pages
def test_links(page):
    """Those to other pages and pictures, with their headings."""
    for link in re.findall(r"\]\(([^)\s:]+)\)", _FENCED.sub("", page.read_text("utf-8"))):
        file, _, heading = link.partition("#")
        target = page.parent / file if file else page
        assert target.exists(), link
        assert not heading or heading in headings(target), link


@pages
def test_commands(page):
    """Each `midtoken` in code is a command, and its options are the command's."""
    text = page.read_text("utf-8").replace("\\\n", " ")
    code = "\n".join(_FENCED.findall(text)) + "\n".join(re.findall("`midtoken [^`\n]+`", text))
    for words in _COMMAND.findall(code):
        given = shlex.split("".join(words), comments=True)
        if given == ["ready"]:  # a status line says so
            continue
        command: click.Command = cli
        while isinstance(command, click.Group) and given and not given[0].startswith("-"):
            command = command.commands[given.pop(0)]
        known = {
            name for option in command.params for name in (*option.opts, *option.secondary_opts)
        }
        options = {word.partition("=")[0] for word in given if word.startswith("--")}
        assert options <= known | {"--help", "--version"}, words


@pages
def test_modules_and_targets(page):
    """Benchmarks and what `make` makes."""
    text = page.read_text("utf-8")
    makefile = (REPOSITORY / "Makefile").read_text("utf-8")

    assert all(find_spec(module) for module in _MODULE.findall(text))
    for target in _TARGET.findall(text):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


@pages
def test_options(page):
    """Settings by their full name."""
    for option in _OPTION.findall(page.read_text("utf-8")):
        assert option in TABLE or option == OVERRIDES
