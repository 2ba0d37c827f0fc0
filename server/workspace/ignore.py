"""Which files of a workspace are left alone: `.gitignore`, `.midtokenignore`, and what tools write.

The rules are git's: files in deeper folders come before those above, later lines before earlier
ones, and what lies in an ignored folder can't be taken back. `.midtokenignore` has the same form
and is read after `.gitignore`, so it may exclude more, and take back what git alone leaves out::

    *.sql          # no dumps
    !generated/    # git leaves them out, but they show how names are used

Where the workspace is a part of a repository, the repository's files above it count as well. The
files are read again when they change.

Patterns become regular expressions (`pathspec`), which could take for ever on a hostile one. A
pattern with many wildcards is therefore cut where they become too many: it then excludes more.

What is not here: git's rules for all repositories of a person (`core.excludesFile`), and secrets
(`secret_files`), which no rule takes back.
"""

import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

FILES = (".gitignore", ".midtokenignore")
"""Read in this order in every folder: of two rules, the later one counts."""

NEVER = frozenset(
    {
        ".git",
        ".hg",
        ".jj",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
        ".svn",
        ".tox",
        ".venv",
        "__pycache__",
        "node_modules",
        "site-packages",
        "venv",
    }
)
"""Folders that tools write: nobody's own code."""

LARGEST = 1 << 18
"""Bytes of a file with rules; what comes after them is not read."""

LONGEST_PATH = 1000
"""Characters of a path below the repository; longer ones are ignored."""

MOST_STARS = 3
"""Wildcards of one name in a pattern. Four may look at a name of 200 characters for a tenth of a
second, five for three seconds (measured); patterns that people write have one or two."""

MOST_DOUBLE_STARS = 2
"""Wildcards for folders in a pattern."""

Rules = tuple[tuple[re.Pattern[str], bool], ...]
"""Expressions for whole paths (folders with `/` at the end), and whether what fits is excluded; the
last line of a file first."""


@dataclass(frozen=True)
class FolderRules:
    """What counts for the entries of one folder."""

    layers: tuple[tuple[str, Rules], ...]
    """The path from the folder that rules stand in (empty, or with `/` at its end), and the rules;
    what decides first comes first."""
    longest: int
    """The most characters that a name may have."""

    def exclude(self, name: str, *, is_folder: bool = False) -> bool:
        """Whether an entry is left alone, in a folder that is not."""
        if (is_folder and name in NEVER) or len(name) > self.longest:
            return True
        entry = name + "/" * is_folder
        for before, rules in self.layers:
            path = before + entry
            for pattern, excludes in rules:
                if pattern.fullmatch(path):
                    return excludes
        return False


def is_ignored(root: Path, parts: Sequence[str], *, is_folder: bool = False) -> bool:
    """Whether rules exclude a path, or a folder on the way to it.

    Args:
        root: The workspace's folder, resolved.
        parts: The names on the way from the root to the path.
        is_folder: Whether the path is a folder.
    """
    return any(
        rules_of(root, parts[:at]).exclude(name, is_folder=is_folder or at < len(parts) - 1)
        for at, name in enumerate(parts)
    )


def rules_of(root: Path, parts: Sequence[str]) -> FolderRules:
    """The rules for the entries of a folder; its files are read if they have changed."""
    top = repository_of(root)
    names = (*root.relative_to(top).parts, *parts)
    layers: list[tuple[str, Rules]] = []
    for depth in range(len(names), -1, -1):
        before = "".join(f"{name}/" for name in names[depth:])
        folder = top.joinpath(*names[:depth])
        layers += [(before, rules) for rules in _rules_in(folder, is_top=depth == 0)]
    return FolderRules(tuple(layers), LONGEST_PATH - sum(len(name) + 1 for name in names))


def repository_of(root: Path) -> Path:
    """The nearest folder, from the root upwards, that is a repository; else the root."""
    return next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), root)


def _rules_in(folder: Path, *, is_top: bool) -> Iterator[Rules]:
    """The rules that stand in a folder; what decides first comes first."""
    names = (".git/info/exclude", *FILES) if is_top else FILES
    for name in reversed(names):
        path = folder / name
        try:
            found = path.lstat()
        except (OSError, ValueError):
            continue
        if stat.S_ISREG(found.st_mode):
            yield _parsed(path, found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=1024)
def _parsed(path: Path, _changed: int, _size: int) -> Rules:
    """The rules of a file in one state."""
    try:
        with path.open("rb") as file:
            text = file.read(LARGEST)
    except OSError:
        text = b""
    # Names come from the system in the same way, whatever bytes they are.
    lines = text.decode("utf-8-sig", "surrogateescape").split("\n")
    rules = [rule for line in lines for rule in _compiled(_bounded(line.removesuffix("\r")))]
    return tuple(reversed(rules))


def _bounded(rule: str) -> str:
    """A pattern that is matched in bounded time and excludes no less; empty if there is none."""
    rule = re.sub(r"\*{3,}", "*", rule)
    taken: list[str] = []
    doubles = 0
    for name in rule.split("/"):
        doubles += name == "**"
        stars = [star.start() for star in re.finditer(r"\*", name)]
        if doubles > MOST_DOUBLE_STARS or (name != "**" and len(stars) > MOST_STARS):
            if rule.startswith("!"):
                return ""  # it would take back more than it says
            return "/".join([*taken, name if name == "**" else name[: stars[MOST_STARS - 1] + 1]])
        taken.append(name)
    return rule


def _compiled(rule: str) -> Iterator[tuple[re.Pattern[str], bool]]:
    """An expression for whole paths, and whether it excludes; nothing for what is no pattern.

    For pathspec, `a/**` is also the folder `a` itself, for git only what lies in it; and it does
    not look at whole paths for what everything fits (`**`).
    """
    from pathspec import GitIgnoreSpec  # heavy, and not needed where nothing is gathered

    rule = re.sub(r"(?<=[^*/!])(?:/\*\*)+(/?)\Z", r"/**/*\1", rule)
    rule = re.sub(r"\A(!?)/?(?:\*\*/)*\*\*?(/?)\Z", r"\1?*\2", rule)
    try:
        found = GitIgnoreSpec.from_lines([rule]).patterns
    except (ValueError, re.error):
        return
    for pattern in found:
        if pattern.regex is not None:
            yield pattern.regex, bool(pattern.include)
