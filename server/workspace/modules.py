r"""Which file of the workspace an import means.

Python: relative imports from the file's own package; others from the folders above it that are no
packages themselves, from `src` and the like, and last from wherever the workspace has a package of
that name. JavaScript and TypeScript: relative paths, with the endings that may be left out. Go: the
module's path in `go.mod`, and then all files of a package.

What can't be found by a name alone is not found: nothing is run, and no tool's configuration but
`go.mod` is read.
"""

import re
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from posixpath import normpath

from server.plain_files import fault_of
from server.workspace.files import inside, state_of, walk

PYTHON_ROOTS = ("", "src", "lib", "python")
"""Folders of a workspace that packages are often in."""

SCRIPT_ENDINGS = (".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts")
"""What may be left out of a path, likeliest first."""

_SOURCES_OF = {".js": (".ts", ".tsx"), ".mjs": (".mts",), ".cjs": (".cts",), ".jsx": (".tsx",)}
"""What a path that names compiled code is compiled from."""

MOST_FILES = 32
"""Files of one package that are looked at."""

SEARCHED = 50_000
"""Entries of folders that are looked at for packages in unusual places."""

_GO_MODULE = re.compile(rb"^module[ \t]+\"?([^\s\"]+)", re.MULTILINE)


class Modules:
    """Where the files of one workspace's modules are."""

    def __init__(self, root: Path, stopped: Callable[[], bool] = lambda: False) -> None:
        """Look at nothing yet.

        Args:
            root: The workspace's folder, resolved.
            stopped: Is asked while the workspace is searched: True ends the search.
        """
        self._root = root
        self._stopped = stopped
        self._homes: dict[str, list[str]] | None = None

    def files(self, language: str, importer: Path, module: str) -> list[Path]:
        """The files of a module, real paths that may be read; none if it is not of the workspace.

        Args:
            language: The importing file's language.
            importer: The importing file's path.
            module: The module as it is written in the import.
        """
        if "\0" in module or not module:
            return []
        if language == "python":
            return self._first(self._python(importer, module))
        if language == "go":
            folder = self._go(importer, module)
            return [] if folder is None else self.package(folder)
        return self._first(_script(importer, module))

    def package(self, folder: Path) -> list[Path]:
        """The files of a Go package: those of a folder, but for tests."""
        try:
            names = sorted(path.name for path in folder.glob("*.go"))
        except OSError:
            return []
        sources = [name for name in names if not name.endswith("_test.go")]
        found = (inside(self._root, folder / name) for name in sources[:MOST_FILES])
        return [path for path in found if path is not None]

    def _first(self, candidates: Iterator[Path]) -> list[Path]:
        for path in candidates:
            real = inside(self._root, path) if fault_of(path) is None else None
            if real is not None:
                return [real]
        return []

    def _python(self, importer: Path, module: str) -> Iterator[Path]:
        level = len(module) - len(module.lstrip("."))
        names = [name for name in module.lstrip(".").split(".") if name]
        if level:
            yield from _python_files(importer.parents[min(level, len(importer.parents)) - 1], names)
            return
        above = [folder for folder in importer.parents if folder.is_relative_to(self._root)]
        for folder in above:
            if fault_of(folder / "__init__.py") is not None:
                yield from _python_files(folder, names)
        for part in PYTHON_ROOTS:
            yield from _python_files(self._root / part, names)
        if names[0] not in sys.stdlib_module_names:
            for home in self._homes_of(names[0]):
                yield from _python_files(self._root / home, names)

    def _homes_of(self, name: str) -> list[str]:
        """The folders with a package of a name in it, by one search of the workspace."""
        if self._homes is None:
            self._homes = {}
            for found in walk(self._root, SEARCHED):
                if self._stopped():
                    break
                for path in found:
                    if path.endswith("/__init__.py"):
                        home, _, package = path.rpartition("/")[0].rpartition("/")
                        self._homes.setdefault(package, []).append(home)
        return self._homes.get(name, [])

    def _go(self, importer: Path, module: str) -> Path | None:
        """The folder of a package, by the nearest `go.mod` above the importing file."""
        for folder in importer.parents:
            if not folder.is_relative_to(self._root):
                return None
            if (own := _go_module(self._root, folder)) is not None:
                below = module.removeprefix(own)
                is_own = module.startswith(own) and (not below or below.startswith("/"))
                return folder / below.strip("/") if is_own else None
        return None


def _python_files(folder: Path, names: list[str]) -> Iterator[Path]:
    path = folder.joinpath(*names)
    if names:
        yield path.with_name(f"{path.name}.py")
        yield path.with_name(f"{path.name}.pyi")
    yield path / "__init__.py"


def _script(importer: Path, module: str) -> Iterator[Path]:
    if not module.startswith(("./", "../")) and module not in {".", ".."}:
        return
    path = importer.parent / normpath(module)
    if not path.name:
        return
    for source in _SOURCES_OF.get(path.suffix, ()):
        yield path.with_suffix(source)
    yield path
    for ending in SCRIPT_ENDINGS:
        yield path.with_name(path.name + ending)
    for ending in SCRIPT_ENDINGS:
        yield path / f"index{ending}"


def _go_module(root: Path, folder: Path) -> str | None:
    """The path of the module that starts in a folder; None if none does."""
    path = inside(root, folder / "go.mod")
    state = state_of(path) if path is not None else None
    if path is None or state is None:
        return None
    return _go_module_of(path, state.changed_ns, state.size)


@lru_cache(maxsize=64)
def _go_module_of(path: Path, _changed: int, _size: int) -> str | None:
    try:
        found = _GO_MODULE.search(path.read_bytes())
    except OSError:
        return None
    return found[1].decode(errors="replace") if found else None
