"""Projects whose functions are typed: how they are fetched, which of their files count."""

import io
import os
import sys
import tarfile
import zipfile
from contextlib import suppress

import click
import pytest

from server.bench import fetch
from server.bench.fetch import fetch_debian, fetch_npm, fetch_package
from server.bench.projects import LANGUAGES, PROJECTS, Project, projects_of
from server.bench_cli import typing
from server.errors import DownloadError


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache of its own; what is fetched lies in its `peers`."""
    monkeypatch.setattr(fetch, "default_folder", lambda: tmp_path / "tables")
    return tmp_path / "peers"


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Puts a program of the test's on the PATH, written in Python."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def put(name, code):
        path = folder / name
        path.write_text(f"#!{sys.executable}\nimport sys\nfrom pathlib import Path\n{code}\n")
        path.chmod(0o755)

    return put


def packed():
    """An npm package with one file."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        entry = tarfile.TarInfo("package/a.js")
        entry.size = 2
        archive.addfile(entry, io.BytesIO(b"x\n"))
    return content.getvalue()


class TestFetch:
    def test_npm(self, cache, program, tmp_path):
        """A package is fetched once, with npm, without running anything of it."""
        (tmp_path / "content").write_bytes(packed())
        program(
            "npm",
            f"assert sys.argv[1:] == ['pack', '--loglevel=error', '--ignore-scripts', '@a/b@1']\n"
            f"Path('a-b-1.tgz').write_bytes(Path({str(tmp_path / 'content')!r}).read_bytes())",
        )
        folder = fetch_npm("@a/b", "1")
        program("npm", "sys.exit(1)")

        assert folder == fetch_npm("@a/b", "1") == cache / "npm-@a-b-1"
        assert [path.name for path in folder.rglob("*") if path.is_file()] == ["a.js"]

    def test_two_at_once(self, cache, program):
        """Another process fetches the same, and is done first: that is taken."""
        other = f"Path({str(cache)!r}, 'debian-p')"
        program("apt-get", f"{other}.mkdir(); ({other} / 'theirs').touch(); Path('p.deb').touch()")
        program("dpkg-deb", "Path(sys.argv[3], 'ours').touch()")

        assert [path.name for path in fetch_debian("p").iterdir()] == ["theirs"]
        assert [path.name for path in cache.iterdir()] == ["debian-p"]

    def test_debian(self, cache, program):
        """A Debian package is unpacked beside the system."""
        program("apt-get", "Path('p_1_all.deb').write_text(' '.join(sys.argv[1:]))")
        program("dpkg-deb", "Path(sys.argv[3], 'a').write_text(Path(sys.argv[2]).read_text())")
        folder = fetch_debian("p")

        assert (folder / "a").read_text() == "download --quiet p"
        assert not list(folder.glob("*.deb"))

    def test_failure(self, cache, program):
        """What the client said last is the reason, and nothing is left."""
        program("apt-get", "sys.exit('E: first\\nE: Unable to locate package p')")
        with pytest.raises(DownloadError, match=r"Debian's p .*: E: Unable to locate package p"):
            fetch_debian("p")

        assert list(cache.iterdir()) == []

    def test_no_client(self, cache, monkeypatch):
        """A system without the client says so."""
        monkeypatch.setenv("PATH", "")
        with pytest.raises(DownloadError, match="apt-get"):
            fetch_debian("p")

    def test_damaged(self, cache, program):
        """An archive that is none is thrown away."""
        program("npm", "Path('a.tgz').write_text('no archive')")
        with pytest.raises(DownloadError, match="a 1 could not be fetched"):
            fetch_npm("a", "1")

        assert list(cache.iterdir()) == []

    @pytest.mark.parametrize(
        ("name", "link"),
        [("../out", ""), ("{tmp}/out", ""), ("a", "../../out"), ("a", "{tmp}"), ("a", "/dev/zero")],
    )
    def test_members_that_lead_out(self, cache, program, tmp_path, name, link):
        """An archive with a name or a link that leads out of its folder writes nothing there."""
        entry = tarfile.TarInfo(name.format(tmp=tmp_path))
        entry.type = tarfile.SYMTYPE if link else tarfile.REGTYPE
        entry.linkname = link.format(tmp=tmp_path)
        with tarfile.open(tmp_path / "content", "w:gz") as archive:
            archive.addfile(entry)
            archive.addfile(tarfile.TarInfo("a/out"))
        program(
            "npm",
            f"Path('a.tgz').write_bytes(Path({str(tmp_path / 'content')!r}).read_bytes())",
        )
        before = set(tmp_path.rglob("*"))
        with suppress(DownloadError):
            fetch_npm("a", "1")

        assert {
            path for path in set(tmp_path.rglob("*")) - before if cache not in path.parents
        } <= {cache}
        assert not any(path.is_symlink() for path in cache.rglob("*"))

    def test_a_python_that_unpacks_anything(self, cache, program, monkeypatch, tmp_path):
        """Releases of Python that can't leave out such members unpack nothing."""
        (tmp_path / "content").write_bytes(packed())
        program(
            "npm",
            f"Path('a.tgz').write_bytes(Path({str(tmp_path / 'content')!r}).read_bytes())",
        )
        monkeypatch.delattr(tarfile, "data_filter")
        with pytest.raises(
            DownloadError, match=r"a 1 could not be fetched: Python before 3\.11\.4"
        ):
            fetch_npm("a", "1")

    @pytest.mark.parametrize("name", ["../out", "../../../out", "{tmp}/out"])
    def test_a_wheel_that_leads_out(self, cache, monkeypatch, tmp_path, name):
        """The names of a wheel's members count from its own folder."""

        def download(_, folder):
            with zipfile.ZipFile(folder / "a-1-py3-none-any.whl", "w") as wheel:
                wheel.writestr(name.format(tmp=tmp_path), "x")

        monkeypatch.setattr(fetch, "_run", download)
        folder = fetch_package("a", "1")

        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert files
        assert all(folder in path.parents for path in files)

    def test_wheel(self, cache, monkeypatch, tmp_path):
        """A wheel is unpacked and not kept."""

        def download(command, folder):
            assert command[-1] == "a==1"
            with zipfile.ZipFile(folder / "a-1-py3-none-any.whl", "w") as wheel:
                wheel.writestr("a/b.py", "x\n")

        monkeypatch.setattr(fetch, "_run", download)

        assert [path.name for path in fetch_package("a", "1").iterdir()] == ["a"]


class TestProjects:
    def test_files(self, tmp_path):
        """Tests, examples and what was built are left out, and files that are too large."""
        for name in ("b/c.go", "a.go", "a_test.go", "a.js", "testing/d.go", "vendor/e.go"):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text("x\n")
        (tmp_path / "large.go").write_text("x" * 200_000)
        project = Project("go", lambda: tmp_path, ".", "**/*.go")
        found = project.files()

        assert [str(path.relative_to(tmp_path)) for path in found] == ["a.go", "b/c.go"]
        assert len(project.all_files()) == 6

    def test_choice(self):
        """A language stands for all of its projects, after those that were named."""
        assert projects_of(("rxjs",), ("python",))[0] == "rxjs"
        assert sorted(projects_of((), ("all",))) == sorted(PROJECTS)

    def test_options(self):
        """The command offers what there is, without loading any of it."""
        options = {option.name: option.type for option in typing.params}

        assert isinstance(options["projects"], click.Choice)
        assert sorted(options["projects"].choices) == sorted(PROJECTS)
        assert list(options["languages"].choices) == ["all", *LANGUAGES]
