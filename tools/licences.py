"""Writes docs/licences.md: the licences of all packages that midtoken needs, as they state them.

    python tools/licences.py           # writes the page
    python tools/licences.py --check   # exit code 1 if it is out of date

What is needed is what pyproject.toml names and, in turn, what those need here, as the installed
packages say. A licence that is not allowed, or that nobody has looked at, ends this with its name.
"""

import re
import sys
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import PackageMetadata, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs/licences.md"

ALLOWED = frozenset(
    [
        *("0BSD", "Apache-2.0", "BSD", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "CNRI-Python"),
        *("ISC", "MIT", "MIT-CMU", "MPL-2.0", "PSF-2.0", "Unlicense", "Zlib"),
    ]
)
"""Of packages that users install: they ask for no more than that their notices are kept (MPL-2.0:
and that changes to its own files are published)."""

ALLOWED_FOR_WORK = ALLOWED | {"LGPL-3.0"}
"""Of packages that only people who work on midtoken install: nothing of them is given away."""

SPELLINGS = {
    "Apache": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD 2-Clause License": "BSD-2-Clause",
    "BSD License": "BSD",
    "GNU Lesser General Public License v3 (LGPLv3)": "LGPL-3.0",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
"""What packages call their licences, beside the SPDX names. `BSD` has two or three clauses."""

HEAD = """\
# Licences

midtoken is under Apache-2.0 ([LICENSE](../LICENSE)). Its wheel and its source archive hold files of
its own only. This page is written by `python tools/licences.py` from what the packages themselves
state; `make check` says when it is out of date.
"""

TAIL = """
## Beside the packages of Python

- **llama.cpp**, which `llama-cpp-python` compiles, is under MIT.
- **The default model**, Qwen2.5-Coder-0.5B-Instruct, is under Apache-2.0; `midtoken model list`
  shows the licences of the others. Models are not part of what is given away here.
- **The extension for VS Code** is one file with some packages of npm in it; their licences are in
  it, as `ThirdPartyNotices.txt`, and packaging fails where one is missing.
- Neovim, VS Code, Node.js, Emacs and Helix are fetched for tests, and given to nobody.
"""


@dataclass(frozen=True)
class Group:
    """Packages that come with an installation of some kind, and with none before it."""

    title: str
    lines: tuple[str, ...]
    """Requirements, as in pyproject.toml."""
    allowed: frozenset[str]


def groups() -> tuple[Group, ...]:
    """What pyproject.toml names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    return (
        Group("What users install", tuple(project["dependencies"]), ALLOWED),
        Group("For plots of benchmarks (`midtoken[bench]`)", tuple(extras["bench"]), ALLOWED),
        Group("For work on midtoken (`midtoken[dev]`)", tuple(extras["dev"]), ALLOWED_FOR_WORK),
    )


def needed(lines: Iterable[str]) -> dict[str, PackageMetadata]:
    """The packages of some requirements and all that they need here, by name; midtoken aside.

    Raises importlib.metadata.PackageNotFoundError if one is not installed.
    """
    found: dict[str, PackageMetadata] = {}
    waiting = [(Requirement(line), "") for line in lines]
    seen = set[tuple[str, str]]()
    while waiting:
        requirement, extra = waiting.pop()
        name = canonicalize_name(requirement.name)
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        if name == "midtoken":
            continue
        package = distribution(name)
        found[name] = package.metadata
        for wanted in {"", *requirement.extras}:
            if (name, wanted) not in seen:
                seen.add((name, wanted))
                waiting += [(Requirement(line), wanted) for line in package.requires or ()]
    return found


def licence_of(metadata: PackageMetadata) -> str:
    """The licence that a package states, in SPDX's words where they are known; empty if none."""
    stated = [metadata.get("License-Expression"), metadata.get("License")]
    stated += [
        classifier.rpartition(" :: ")[2]
        for classifier in metadata.get_all("Classifier") or ()
        if classifier.startswith("License ::")
    ]
    known = (SPELLINGS.get(text, text) for text in stated if text)
    return next((text for text in known if is_allowed(text, ALLOWED_FOR_WORK)), "")


def is_allowed(expression: str, allowed: frozenset[str]) -> bool:
    """Whether all licences of an SPDX expression are allowed, also where one could be chosen."""
    names = set(re.sub(r"[()]", " ", expression).split()) - {"AND", "OR"}
    return bool(names) and names <= allowed


def page() -> str:
    """The page as it should be. Raises SystemExit with the package that may not be used."""
    parts, told = [HEAD], set[str]()
    for group in groups():
        packages = needed(group.lines)
        parts.append(f"\n## {group.title}\n\n| package | licence |\n| --- | --- |\n")
        for name in sorted(packages.keys() - told):
            licence = licence_of(packages[name])
            if not is_allowed(licence, group.allowed):
                stated = licence or packages[name].get("License") or "none that is known"
                raise SystemExit(f"{name}: its licence is not allowed here: {stated}")
            parts.append(f"| {name} | {licence} |\n")
        told |= packages.keys()
    return "".join([*parts, TAIL])


def main(arguments: list[str]) -> int:
    """Write the page, or tell that it is out of date."""
    written = page()
    if arguments != ["--check"]:
        PAGE.write_text(written, encoding="utf-8", newline="\n")
    elif not PAGE.is_file() or PAGE.read_text("utf-8") != written:
        print("docs/licences.md is out of date: run `python tools/licences.py`")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
