"""`midtoken bench typing` in a workspace: what lies on the disk, and that it is in prompts."""

import json
import os
from itertools import islice
from pathlib import Path

import pytest

from server.bench.corpus import given_files
from server.bench.typing import command
from server.bench.typing import replay as replay_module
from server.bench.typing.replay import Replay
from server.bench.typing.suggesters import Usage
from server.bench.typing.typist import Typist
from server.bench.typing.workspace import check_length, laid_out
from server.errors import UsageError
from server.positions import Encoding
from tests.server.command import run_here, run_process

KEYS = 250
LIBRARY = "".join(f"def draw_{number}(shape, width={number}): pass\n" for number in range(20))
MAIN = (
    "import shapes\n\n\n" + "def {0}(shape):\n    shapes.draw_1(shape)\n    shape += 1\n    pass\n"
)
BODY = "    total = first{0}\n    total += second{0}\n    return total"
FUNCTION = "def add_{0}(first{0}, second{0}):\n" + BODY


def module(number, imported):
    """A file of two functions far apart, which imports another one."""
    functions = [FUNCTION.format(f"{number}_{part}") for part in range(2)]
    filling = "\n".join(f"value_{number}_{line} = {line}" for line in range(55))
    head = f"from . import file_{imported}\n\nhere = file_{imported}.there\n\n\n"
    return head + f"\n\n\n{filling}\n\n\n".join(functions) + "\n"


@pytest.fixture
def project(tmp_path):
    """Three files in a package, a copy of one of them, and what says how they are called."""
    folder = tmp_path / "package"
    for number in range(3):
        path = folder / f"file_{number}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(module(number, (number + 1) % 3))
    (folder / "build").mkdir()
    (folder / "build/file_1.py").write_bytes(
        (folder / "file_1.py").read_bytes().replace(b"\n", b"\r\n")
    )
    (folder / "go.mod").write_text("module example.org/package\n")
    return folder


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """Where temporary folders are made."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    return folder


@pytest.fixture
def typed(project):
    """The files that are typed: all but the copy."""
    return [str(path) for path in sorted(project.glob("*.py"))]


@pytest.fixture
def paths(project):
    return sorted(project.rglob("*.py"))


def files_of(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in folder.rglob("*")
        if path.is_file()
    }


class Reading:
    """Suggests nothing; reads the workspace at every key as a server could."""

    name = "reading"
    encoding = Encoding.UTF32
    owes = False

    def __init__(self, folder):
        self.answers, self.errors = {}, []
        self.folder, self.replay, self.asked = folder, None, 0

    def listen(self, show):
        pass

    def open(self, uri, language, text):
        """What is opened is what lies there."""
        path = Path(uri.removeprefix("file://"))
        assert path.is_relative_to(self.folder)
        assert path.read_text() == text

    def change(self, uri, where, text):
        pass

    def close_document(self, uri):
        pass

    def ask(self, uri, position):
        """Nothing on the disk has a text that is still to be typed."""
        self.asked += 1
        texts = files_of(self.folder).values()
        holes = [hole for page in self.replay._pages for hole in page.holes if not hole.is_done]
        assert holes
        assert not any(hole.target.text in text for hole in holes for text in texts)

    async def usage(self):
        return Usage(0, 0.0, {})

    async def finish(self, timeout_s):
        return 0


class QuickTypist(Typist):
    """A typist without gaps."""

    def gap(self, kind):
        return 0.0


class TestFolder:
    def test_as_it_was(self, project, paths, scratch):
        """The project's files are there under the folder that has them all, and then are gone."""
        with laid_out(paths, "some-name") as workspace:
            assert workspace.folder.name == "some-name"
            assert files_of(workspace.folder) == {
                f"package/{name}": text for name, text in files_of(project).items()
            }
            assert workspace.folder.is_relative_to(scratch.resolve())
        assert list(scratch.iterdir()) == []

    def test_gone_after_an_error(self, paths, scratch):
        """An interruption leaves nothing behind."""
        with pytest.raises(KeyboardInterrupt), laid_out(paths):
            raise KeyboardInterrupt

        assert list(scratch.iterdir()) == []

    async def test_solutions(self, paths, typed, project, scratch):
        """While a function is typed, its text is nowhere in the folder; closed files are whole."""
        with laid_out(paths) as workspace:
            suggester = Reading(workspace.folder)
            sources = given_files(typed, 0)
            replay = Replay(suggester, sources, QuickTypist(0), workspace=workspace)
            suggester.replay = replay
            await replay.run(KEYS)
            opened = {page.source.name: page for page in replay._pages}
            left = files_of(workspace.folder)

            assert suggester.asked >= KEYS
            assert replay._opened == 3  # one of them was closed
            for name, text in files_of(project).items():
                if name in opened:
                    assert opened[name].source.pieces[0] in left[f"package/{name}"]
                elif "/" not in name:
                    assert left[f"package/{name}"] == text
            assert "package/build/file_1.py" not in left
        assert files_of(project).keys() == {*map(os.path.basename, typed), "go.mod"} | {
            "build/file_1.py"
        }

    def test_same_function_twice(self, tmp_path):
        """A file that is closed is not kept if it has a function that another one lacks."""
        names = [tmp_path / name for name in ("a.py", "b.py")]
        for path in names:
            path.write_text(FUNCTION.format(1) + "\n")
        sources = [next(given_files([str(path)], 0)) for path in names]
        with laid_out(names) as workspace:
            for source in sources:
                workspace.opened(source, "")
            workspace.closed(sources[0], names[0].read_text())

            assert set(files_of(workspace.folder).values()) == {""}


class TestLength:
    def test_no_file_twice(self, typed):
        """What is allowed opens every file once, whatever is typed first."""
        needed = [
            sum(len(target.text) for target in source.targets)
            for source in islice(given_files(typed, 0), 3)
        ]
        check_length("package", given_files(typed, 0), min(needed))
        with pytest.raises(UsageError, match=r"package: .* every file is typed once"):
            check_length("package", given_files(typed, 0), sum(needed))

    def test_one_file(self, typed):
        """A file alone is no workspace."""
        with pytest.raises(UsageError, match="0 keys at most"):
            check_length("a file", given_files(typed[:1], 0), 1)


class TestCommand:
    def test_both_ways(self, tiny_file, scratch, tmp_path):
        """What other files say is in the prompts of one run; no run leaves anything."""
        paths = [tmp_path / name for name in ("shapes.py", "first.py", "second.py")]
        for path in paths:
            path.write_text(LIBRARY if path.stem == "shapes" else MAIN.format(path.stem))
        home = tmp_path / "home"
        result = run_process(
            *("bench", "typing", *paths, "--keys", 15, "--patient", "--json"),
            *("--model", tiny_file(dialect="Qwen"), "--threads", 1),
            *("--set", "completion.contextTokens=1600", "--set", "completion.maxTokens=2"),
            *("--set", "context.workspace=false", "--also", "context.workspace=true"),
            env={"MIDTOKEN_HOME": str(home), "TMPDIR": str(scratch)},
        )
        assert result.code == 0, result.err
        found = json.loads(result.out)
        without, with_it = found["results"].values()

        assert found["settings"]["in_workspace"] is True
        assert (without["errors"], with_it["errors"]) == ([], [])
        assert without["tokens_evaluated"] < 400 < with_it["tokens_evaluated"]
        assert list(scratch.iterdir()) == []
        assert not home.exists()

    @pytest.mark.parametrize("setting", ["context.workspace=true", "completion.maxTokens=2"])
    def test_only_where_it_is_set(self, monkeypatch, capfdbinary, tiny_file, typed, setting):
        """Files have addresses on the disk if a run is about the workspace, and only then."""
        workspaces = []
        initialize = command.ServerClient.initialize

        async def noted(client, options, workspace=None):
            workspaces.append(workspace)
            return await initialize(client, options, workspace)

        monkeypatch.setattr(command.ServerClient, "initialize", noted)
        monkeypatch.setattr(replay_module, "READING_S", 0.0)
        arguments = ("bench", "typing", *typed, "--keys", 5, "--fast", 100, "--set", setting)
        result = run_here(capfdbinary, monkeypatch, *arguments, "--model", tiny_file())

        assert result.code == 0
        assert [one is not None for one in workspaces] == [setting.startswith("context")]

    def test_too_long(self, monkeypatch, capfdbinary, tiny_file, typed):
        """More keys than the files have are refused before anything is loaded."""
        arguments = ("bench", "typing", *typed, "--also", "context.workspace=true")
        result = run_here(capfdbinary, monkeypatch, *arguments, "--model", tiny_file())

        assert result.code != 0
        assert "every file is typed once" in result.error
