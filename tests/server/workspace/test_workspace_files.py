"""Reading the workspace's files, and only those."""

import os
import sys

import pytest

from server.workspace import files
from server.workspace.files import inside, is_source, read_source, walk


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    return folder.resolve()


def write(path, content="x = 1\n"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def walked(root, **limits):
    return [name for some in walk(root, **limits) for name in some]


def test_a_source_file_is_read_with_lf(root):
    assert read_source(root, write(root / "a.py", b"x\r\ny\rz\n")) == b"x\ny\nz\n"


@pytest.mark.parametrize(
    "name", [".env", "keys/server.pem", ".npmrc", "secrets/a.py", "out/a.py", ".git/config"]
)
def test_secrets_and_ignored_files_are_not_read(root, name):
    write(root / ".gitignore", "out/\n")

    assert read_source(root, write(root / name)) is None


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"a\0b",
        b"x" * 5000,
        b"x = 1\n" * 100_000,
        b"a\n" + b"y" * 2001 + b"\n",
        b"z" * (1 << 20),
    ],
    ids=["empty", "binary", "one line", "large", "a long line", "a line of 1 MB"],
)
def test_what_people_do_not_write_is_not_read(root, content):
    assert not is_source(content)
    assert read_source(root, write(root / "a.py", content)) is None


def test_links_out_of_the_workspace_are_not_followed(root, tmp_path):
    write(tmp_path / "outside/a.py")
    (root / "a.py").symlink_to(tmp_path / "outside/a.py")
    (root / "folder").symlink_to(tmp_path / "outside")

    assert read_source(root, root / "a.py") is None
    assert read_source(root, root / "folder/a.py") is None
    assert read_source(root, root / "../outside/a.py") is None
    assert walked(root) == []


def test_links_inside_the_workspace_lead_only_to_allowed_files(root):
    write(root / ".env")
    write(root / "b.py", "y = 2\n")
    (root / "plain.py").symlink_to(root / ".env")
    (root / "a.py").symlink_to(root / "b.py")
    (root / "server.pem").symlink_to(root / "b.py")

    assert read_source(root, root / "plain.py") is None
    assert read_source(root, root / "server.pem") is None
    assert read_source(root, root / "a.py") == b"y = 2\n"


def test_loops_of_links_end(root):
    (root / "a").mkdir()
    (root / "a/up").symlink_to(root)
    (root / "x.py").symlink_to(root / "y.py")
    (root / "y.py").symlink_to(root / "x.py")
    write(root / "a/b.py")

    assert walked(root) == ["a/b.py"]
    assert read_source(root, root / "x.py") is None
    assert read_source(root, root / "a/up/a/up/a/b.py") == b"x = 1\n"


@pytest.mark.skipif(sys.platform == "win32", reason="pipes have no names in folders there")
def test_a_pipe_is_not_waited_for(root):
    os.mkfifo(root / "pipe.py")

    assert read_source(root, root / "pipe.py") is None


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read all")
def test_unreadable_files_are_skipped(root):
    write(root / "a.py").chmod(0)
    write(root / "b/c.py")
    (root / "b").chmod(0)
    try:
        assert read_source(root, root / "a.py") is None
        assert walked(root) == ["a.py"]
    finally:
        (root / "b").chmod(0o700)


@pytest.mark.parametrize("path", ["missing.py", "a\0b.py", "x" * 5000, ""])
def test_there_is_no_such_file(root, path):
    assert inside(root, root / path) in {None, root}
    assert read_source(root, root / path) is None


def test_a_walk_finds_what_may_be_read_in_order(root):
    write(root / ".gitignore", "out/\n*.log\n")
    for name in ["b.py", "a/z.py", "a/b/c.py", "out/x.py", "a/y.log", ".env", "node_modules/m.js"]:
        write(root / name)

    assert walked(root) == [".gitignore", "b.py", "a/z.py", "a/b/c.py"]


def test_a_walk_is_slow_and_bounded(root, monkeypatch):
    """A step looks at a few entries; a caller who stops has paid for no more."""
    monkeypatch.setattr(files, "SLICE", 4)
    for number in range(40):
        write(root / f"{number:02}.py")
    seen = []
    wanted = files._is_wanted
    monkeypatch.setattr(
        files, "_is_wanted", lambda *arguments: seen.append(1) or wanted(*arguments)
    )
    steps = walk(root)
    before = len(seen)
    first = next(step for step in steps if step)

    assert before == 0
    assert first == ["00.py", "01.py", "02.py", "03.py"]
    assert len(seen) == 4
    assert all(len(step) <= 4 for step in steps)
    assert len(walked(root, most=10)) == 10
