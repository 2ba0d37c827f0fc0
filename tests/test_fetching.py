"""What is fetched once is whole or not there; what can't be had fails in one line."""

import sys

import pytest

from tests.fetching import fetched, run


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "tests.fetching.platformdirs.user_cache_path", lambda *_, **options: tmp_path
    )
    return tmp_path


class TestFetched:
    def test_is_fetched_once(self, cache):
        calls = []

        def fetch(folder):
            calls.append(folder)
            (folder / "file").write_text("x")

        first, second = (fetched("tests", "name", fetch) for _ in range(2))

        assert first == second == cache / "name"
        assert (first / "file").read_text() == "x"
        assert len(calls) == 1

    def test_is_not_there_after_a_failure(self, cache):
        """What was left behind is gone at the next try."""

        def fail(folder):
            (folder / "half").touch()
            run([sys.executable, "-c", "raise SystemExit('no')"])

        with pytest.raises(pytest.fail.Exception):
            fetched("tests", "name", fail)
        assert not (cache / "name").exists()

        folder = fetched("tests", "name", lambda folder: None)
        assert list(folder.iterdir()) == []


class TestRun:
    def test_is_what_the_command_prints(self, tmp_path):
        code = "import os; print(os.environ['WORD'], os.getcwd())"

        assert run([sys.executable, "-c", code], tmp_path, WORD="a b") == f"a b {tmp_path}\n"

    @pytest.mark.parametrize(
        ("command", "said"),
        [
            ([sys.executable, "-c", r"raise SystemExit('one\ntwo')"], "one | two"),
            (["no-such-program", "x y"], "no-such-program is needed on the PATH"),
        ],
    )
    def test_fails_in_one_line(self, command, said):
        """The test fails, and is not skipped."""
        with pytest.raises(pytest.fail.Exception, match=r"\A[^\n]*\Z") as failed:
            run(command)

        assert said in str(failed.value)
