"""Which files the rules of a workspace exclude, compared with git itself."""

import subprocess
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from server.workspace.ignore import is_ignored

LENGTHS = count(1)
PLAIN = [
    "a",
    "a/",
    "/a",
    "b/",
    "/a/*",
    "*/",
    "*.py",
    "?.txt",
    "[ab]",
    "#a",
    "b\\ ",
    "/*/build",
    "a*",
]
STARS = ["*", "**", "/**", "**/*", "**/ab", "a/**", "a/**/", "a/**/b", "b/**/**"]
TAKEN_BACK = [
    "!a.py",
    "!b/",
    "!/a/b",
    "!ab",
    "!*.txt",
    "!build/",
    "!*",
    "!**",
    "!a/**",
    "!/a/*/",
    "!*/",
]
PATTERNS = st.lists(st.sampled_from([*PLAIN, *STARS, *TAKEN_BACK]), max_size=5)


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def ignored(root: Path, path: str) -> bool:
    return is_ignored(root, path.split("/"))


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """A repository with the same names three folders deep."""
    root = tmp_path_factory.mktemp("repository")
    folders = ["a", "a/a", "a/a/build", "a/b", "b", "b/a", "build", "build/ab"]
    names = ["a.py", "b.txt", "ab", "b"]
    paths = sorted({f"{folder}/{name}" for folder in folders for name in names})
    files = [path for path in paths if path not in folders]
    tree(root, dict.fromkeys(files, ""))
    made = subprocess.run(["git", "init", "--quiet", root], check=False, capture_output=True)
    if made.returncode:
        pytest.skip("git is not there")
    return root, files


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(top=PATTERNS, deeper=PATTERNS)
def test_as_git_says(repository, top, deeper):
    """Patterns mean what they mean to git, also in folders and with exceptions."""
    root, files = repository
    comment = "#" * next(LENGTHS)  # a file of the same size and time counts as the same
    (root / ".gitignore").write_text("\n".join([*top, comment]))
    (root / "a/.gitignore").write_text("\n".join([*deeper, comment]))
    asked = subprocess.run(
        ["git", "-C", root, "check-ignore", "--no-index", "--stdin"],
        input="\n".join(files),
        capture_output=True,
        text=True,
        check=False,
    )

    assert [path for path in files if ignored(root, path)] == asked.stdout.splitlines()


def test_midtokenignore_comes_after_gitignore(tmp_path):
    tree(tmp_path, {".gitignore": "generated/*\n", ".midtokenignore": "!generated/x.py\n*.sql\n"})

    assert ignored(tmp_path, "generated/y.py")
    assert not ignored(tmp_path, "generated/x.py")
    assert ignored(tmp_path, "db/dump.sql")


def test_rules_of_the_repository_above(tmp_path):
    """A workspace that is a folder of a repository keeps the repository's rules."""
    tree(tmp_path, {".git/info/exclude": "mine.py\n", ".gitignore": "/app/out/\n", "app/a.py": ""})
    root = tmp_path / "app"

    assert ignored(root, "out/x.py")
    assert ignored(root, "mine.py")
    assert not ignored(root, "a.py")


def test_changed_rules_count(tmp_path):
    tree(tmp_path, {".gitignore": "a.py\n"})
    before = ignored(tmp_path, "a.py"), ignored(tmp_path, "other.py")
    tree(tmp_path, {".gitignore": "other.py\n"})

    assert before == (True, False)
    assert (ignored(tmp_path, "a.py"), ignored(tmp_path, "other.py")) == (False, True)


@pytest.mark.parametrize("folder", ["node_modules", ".git", "lib/site-packages", "x/.venv"])
def test_what_tools_write(tmp_path, folder):
    tree(tmp_path, {".gitignore": "!*\n"})

    assert ignored(tmp_path, f"{folder}/a.py")


@pytest.mark.parametrize(
    "rules",
    [
        b"[z-a]\n!\n\\\n[\n",
        b"\xff\xfe\n\0\n\x80*\n",
        b"*.py\\\n",
        b"#" * (1 << 20),
        b"",
    ],
    ids=["no patterns", "no text", "backslash", "large", "empty"],
)
def test_bad_rules(tmp_path, rules):
    """What is no pattern excludes nothing and stops nothing."""
    (tmp_path / ".gitignore").write_bytes(rules + b"\nb.py\n")

    assert not ignored(tmp_path, "a/c.py")
    assert ignored(tmp_path, "b.py") == (len(rules) < 1 << 18)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "pattern", ["*a" * 40 + "b", "**/" * 40 + "b", "x*" * 30, "a*****b*****c*d*e*f"]
)
def test_hostile_patterns(tmp_path, pattern):
    """A pattern that backtracks for hours elsewhere is cut: it excludes no less than it says."""
    (tmp_path / ".gitignore").write_text(f"{pattern}\n!{pattern}\n")

    assert ignored(tmp_path, "a" * 200 + "/" + "a/" * 100 + "c") in {True, False}


def test_links_to_rules_are_not_read(tmp_path):
    """As git has it: a link could name any file of the machine."""
    outside = tmp_path / "rules"
    outside.write_text("a.py\n")
    root = tmp_path / "root"
    root.mkdir()
    (root / ".gitignore").symlink_to(outside)

    assert not ignored(root, "a.py")
