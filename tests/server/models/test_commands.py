"""`midtoken model` as it is typed."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from server import commands
from server.errors import Cancelled, DownloadError, ModelError, UsageError
from server.models import download, store
from server.models.catalog import Model
from tests.server.models.conftest import CONTENT, FakeHub, FakeMirror


def run(*arguments: str, answer: str | None = None) -> Result:
    """Run the group as the top-level command does, which prints errors itself."""
    return CliRunner().invoke(commands.model, arguments, input=answer, standalone_mode=False)


@pytest.fixture
def terminal(monkeypatch):
    """Somebody who can be asked."""
    monkeypatch.setattr(commands, "_can_ask", lambda: True)


class TestPull:
    def test_fetches(self, hub: FakeHub, toy: Model):
        """Progress goes to stderr in lines, stdout stays empty, and the place is told."""
        result = run("pull", "toy", "--yes")

        assert result.exception is None
        assert result.stdout == ""
        assert f"from 127.0.0.1:{hub.port}: 100 % of 300.0 kB\n" in result.stderr
        assert result.stderr.endswith(f"sha256 is right: {store.path_of(toy)}\n")

    def test_is_quick_when_here(self, no_hub: None, toy: Model, put, monkeypatch):
        """A file of the right size is neither read nor asked about."""
        put(toy, CONTENT)
        monkeypatch.setattr(store, "sha256_of", None)
        result = run("pull", "toy")

        assert result.exception is None
        assert result.stderr == f"toy is here: {store.path_of(toy)}\n"

    def test_needs_an_answer(self, hub: FakeHub, toy: Model):
        """Where nobody can be asked nothing is downloaded."""
        result = run("pull", "toy")

        assert isinstance(result.exception, UsageError)
        assert str(result.exception) == (
            "Fetch toy (300.0 kB, licence Apache-2.0)? Nobody can be asked here: say --yes"
        )
        assert hub.requests == []

    def test_no(self, hub: FakeHub, toy: Model, terminal):
        """A no is respected."""
        result = run("pull", "toy", answer="n\n")

        assert isinstance(result.exception, Cancelled)
        assert hub.requests == []

    def test_yes(self, hub: FakeHub, toy: Model, terminal):
        """A yes is enough."""
        assert run("pull", "toy", answer="y\n").exception is None
        assert store.is_whole(toy)

    def test_unknown_name(self, home: Path, toy: Model):
        """A mistyped name gets a suggestion."""
        result = run("pull", "tyo")

        assert isinstance(result.exception, ModelError)

    def test_stopped(self, hub: FakeHub, toy: Model, monkeypatch):
        """Ctrl-C ends in a sentence, not in a traceback."""

        def interrupted(*_args, **_options):
            raise KeyboardInterrupt

        monkeypatch.setattr(download, "pull", interrupted)
        result = run("pull", "toy", "--yes")

        assert isinstance(result.exception, Cancelled)
        assert "`midtoken model pull toy` goes on" in str(result.exception)

    def test_mirror(self, mirrored: FakeMirror):
        """`--mirror` says that it uses the mirror."""
        assert isinstance(run("pull", "toy", "--yes").exception, DownloadError)
        result = run("pull", "toy", "--yes", "--mirror")

        assert result.exception is None
        assert "using the mirror of its bytes on the package index\n" in result.stderr
        assert "from the package index: 100 % of 300.0 kB\n" in result.stderr


class TestOthers:
    def test_list(self, home: Path, toy: Model, put):
        """Piped, the list is tab-separated, one model a line below the headings."""
        headings = "model\tsize\there\tlicence\tdescription\n"
        assert run("list").stdout == f"{headings}toy\t300.0 kB\t-\tApache-2.0\tA toy.\n"
        put(toy, CONTENT)
        assert run("list").stdout == f"{headings}toy\t300.0 kB\there\tApache-2.0\tA toy.\n"

    def test_table(self, home: Path, toy: Model, put, capsys):
        """On a terminal the list is a table with a heading and the folder."""
        put(toy, CONTENT)
        commands._print_table([commands._row(toy)])

        heading, line, *_ = capsys.readouterr().out.splitlines()
        assert heading.split() == ["model", "size", "here", "licence", "description"]
        assert line.split() == ["toy", "300.0", "kB", "yes", "Apache-2.0", "A", "toy."]

    def test_path(self, home: Path, toy: Model, put):
        """The path alone goes to stdout."""
        missing = run("path", "toy")
        assert isinstance(missing.exception, ModelError)
        assert missing.stdout == ""
        path = put(toy, CONTENT)
        assert run("path", "toy").stdout == f"{path}\n"

    def test_verify(self, home: Path, toy: Model, put):
        """Without a name everything that is here is checked."""
        assert isinstance(run("verify").exception, ModelError)
        put(toy, CONTENT)
        assert run("verify").stdout == f"toy\tok\t{toy.files[0].sha256}\n"
        put(toy, bytes(len(CONTENT)))
        assert "is damaged" in str(run("verify").exception)

    def test_remove(self, home: Path, toy: Model, put, terminal):
        """Deleting is asked about, and done after a yes."""
        path = put(toy, CONTENT)
        assert isinstance(run("remove", "toy", answer="n\n").exception, Cancelled)
        assert path.exists()
        result = run("remove", "toy", answer="y\n")
        assert result.stderr.endswith("toy is removed, 300.0 kB are free\n")
        assert not path.exists()

    def test_remove_what_is_not_here(self, home: Path, toy: Model, terminal):
        """Nobody is asked whether to delete what is not there."""
        result = run("remove", "toy", answer="y\n")

        assert isinstance(result.exception, ModelError)
        assert "toy is not on this machine" in str(result.exception)
        assert result.stderr == ""
