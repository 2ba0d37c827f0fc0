"""Real source files in several languages, fetched when a benchmark needs them.

A project is a package of the Python index, Debian or npm. Tests, examples, and what is built or
taken over from elsewhere are left out, by the names of files and folders. What is not here: how
packages are fetched (`fetch`), and which functions are taken (`corpus`).
"""

import re
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from server.bench.fetch import fetch_debian, fetch_npm, fetch_package

LARGEST_BYTES = 100_000
STANDARD_LIBRARY = "standard-library"
_LEFT_OUT = re.compile(
    r"(^|[/_.-])(tests?|examples?|testing|vendor|min|docs?|spec|build)([/_.-]|$)"
)


@dataclass(frozen=True)
class Project:
    """Files of one language."""

    language: str
    fetch: Callable[[], Path]
    """The folder, fetched if it is not there."""
    folder: str
    """The part of it that has the sources."""
    pattern: str
    """Which files of that."""

    def files(self) -> list[Path]:
        """The source files, sorted. Raises DownloadError if they can't be had."""
        root = self.fetch() / self.folder
        return [
            path
            for path in self.all_files()
            if path.stat().st_size <= LARGEST_BYTES
            and not _LEFT_OUT.search(str(path.relative_to(root)).lower())
        ]

    def all_files(self) -> list[Path]:
        """The source files with those that are left out. Raises DownloadError as `files`."""
        found = (self.fetch() / self.folder).glob(self.pattern)
        return sorted(path for path in found if path.is_file() and not path.is_symlink())


def _library() -> Path:
    return Path(sysconfig.get_path("stdlib"))


PROJECTS = {
    STANDARD_LIBRARY: Project("python", _library, ".", "*.py"),
    "flask": Project("python", lambda: fetch_package("flask", "3.1.0"), "flask", "**/*.py"),
    "httpx": Project("python", lambda: fetch_package("httpx", "0.28.1"), "httpx", "**/*.py"),
    "cobra": Project("go", lambda: fetch_debian("golang-github-spf13-cobra-dev"), "usr", "**/*.go"),
    "gnulib": Project("c", lambda: fetch_debian("gnulib"), "usr/share/gnulib/lib", "**/*.c"),
    "fastify": Project("javascript", lambda: fetch_npm("fastify", "5.2.0"), "package", "**/*.js"),
    "rxjs": Project("typescript", lambda: fetch_npm("rxjs", "7.8.1"), "package/src", "**/*.ts"),
    "regex": Project("rust", lambda: fetch_debian("librust-regex-dev"), "usr", "**/*.rs"),
    "react-native": Project(
        "java",
        lambda: fetch_npm("react-native", "0.72.17"),
        "package/ReactAndroid/src/main",
        "**/*.java",
    ),
}
"""Projects by name. Debian's come in the version that the system's lists have."""

LANGUAGES = tuple(sorted({project.language for project in PROJECTS.values()}))


def projects_of(names: tuple[str, ...], languages: tuple[str, ...]) -> list[str]:
    """The names of the projects that were asked for, the standard library if none was.

    >>> projects_of((), ("go",)), projects_of(("flask",), ("go",)), projects_of((), ())
    (['cobra'], ['flask', 'cobra'], ['standard-library'])
    """
    chosen = [*names]
    chosen += [
        name
        for name, project in PROJECTS.items()
        if name not in names and ("all" in languages or project.language in languages)
    ]
    return chosen or [STANDARD_LIBRARY]
