"""The command's process: outputs that fail or that nobody reads, signals, and how it is started."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.server.command import run_process, start


class TestProcesses:
    @pytest.fixture
    def source(self, tmp_path):
        """A document that some tokens come after."""
        return tmp_path / "a.py"

    @pytest.fixture
    def arguments(self, source, tiny_file):
        """A completion of some tokens, as the tiny model happens to write them."""
        source.write_text("def größer(a, b):\n    return sum(a)\n\nprint(größer)\n", "utf-8")
        return ("complete", f"{source}:2:17", "--model", tiny_file())

    @pytest.mark.parametrize("form", [(), ("--json",), ("--stream",), ("--explain",)])
    def test_nobody_reads(self, arguments, form):
        """If the reader of the output has gone, the command ends without a word."""
        reader, writer = os.pipe()
        os.close(reader)
        process = start(*arguments, *form, stdout=writer)
        os.close(writer)
        _, err = process.communicate(timeout=60)

        assert (process.returncode, err) == (1, b"")

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux")
    @pytest.mark.parametrize("form", [(), ("--json",), ("--stream",)])
    def test_full_disk(self, arguments, form):
        """Output that cannot be written is an error, not a success."""
        with Path("/dev/full").open("wb") as full:
            result = run_process(*arguments, *form, stdout=full)

        assert result.code == 1
        assert result.error == "standard output: No space left on device"

    @pytest.mark.parametrize(
        ("closed", "code", "err"),
        [
            ("<&-", 0, b""),
            (">&-", 1, b"midtoken: standard output is closed: there is nowhere to print to\n"),
            ("2>&-", 0, b""),
        ],
    )
    def test_closed_streams(self, arguments, closed, code, err):
        """Streams that are closed from the start break nothing but what needs them."""
        command = ["sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-m", "server.cli"]
        done = subprocess.run([*command, *map(str, arguments)], capture_output=True, check=False)

        assert (done.returncode, done.stderr) == (code, err)

    def test_closed_input(self):
        """Text that should come from a closed standard input is no empty text."""
        command = ["sh", "-c", 'exec "$@" <&-', "sh", sys.executable, "-m", "server.cli"]
        done = subprocess.run([*command, "complete", "-:1:1"], capture_output=True, check=False)

        assert (done.returncode, done.stdout) == (1, b"")
        assert done.stderr == (
            b"midtoken: standard input is closed: give the text on it, or name a file\n"
        )

    @pytest.mark.parametrize("home", ["a-file/home", "~nobody-of-this-name"])
    def test_no_cache(self, arguments, tmp_path, home):
        """A cache that cannot be written is no cache, and no error."""
        (tmp_path / "a-file").write_bytes(b"")
        home = home if home.startswith("~") else str(tmp_path / home)
        result = run_process(*arguments, env={"MIDTOKEN_HOME": home}, cwd=tmp_path)

        assert (result.code, result.err) == (0, "")

    @pytest.mark.parametrize("moment", ["load", "0", "3", "20"])
    def test_interrupted(self, arguments, source, moment):
        """Ctrl-C ends loading, reading and writing alike: one word, and the model stops at once."""
        text = b"abcdefg = 1\n" * 200 + source.read_bytes()
        source.write_bytes(text)
        options = ("--context-tokens", 1000, "--model", arguments[-1])
        location = f"{source}:202:17"
        module = {"module": "tests.server.interrupt"}
        result = run_process(moment, "complete", location, *options, **module)
        *told, late = result.err.splitlines()

        assert (result.code, result.out, told) == (1, b"", ["midtoken: cancelled"])
        assert late == "0"

    def test_interrupted_by_the_terminal(self, arguments):
        """Ctrl-C while the text is still being typed ends the command as quietly."""
        process = start("complete", "-:1:1", *arguments[2:], module="server.cli")
        assert process.stdin is not None
        process.stdin.write(b"x" * 100_000)  # more than a pipe holds: it is being read
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)

        assert (process.returncode, out) == (1, b"")
        assert err.strip() == b"midtoken: cancelled"

    @pytest.mark.parametrize("module", ["server.cli", "click", "server.models.store"])
    def test_interrupted_while_it_starts(self, module):
        """Ctrl-C before the command is imported ends it without a word."""
        code = f"""
import os, signal, sys
class Finder:
    def find_spec(self, name, *_):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
from server.entry import main
main()
"""
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)

        assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, b"", b"")

    def test_started_as_a_command(self):
        """Once it is imported, Ctrl-C is heard as everywhere, and ignored where it was ignored."""
        code = """
import signal, sys
from server import cli
cli.main = lambda: print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
from server.entry import main
main()
"""
        for ignored in ("", "trap '' INT; "):
            shell = ["sh", "-c", f'{ignored}exec "$@"', "sh", sys.executable, "-c", code]
            done = subprocess.run(shell, capture_output=True, check=True)
            assert done.stdout.split() == [str(not ignored).encode()]
