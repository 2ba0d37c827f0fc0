"""Bad input of every kind: one clear line on standard error, the right exit code, nothing lost."""

import random
import re
from time import perf_counter

import pytest

from server.engine import llama_room
from server.engine.llama_load import usable_cores
from server.models.catalog import DEFAULT_MODEL
from tests.server.command import run_here, run_process

MEGABYTE = 2**20


@pytest.fixture
def command(capfdbinary, monkeypatch):
    """Runs `midtoken` in this process."""
    return lambda *arguments, **more: run_here(capfdbinary, monkeypatch, *arguments, **more)


@pytest.fixture
def complete(command, tiny_file):
    """Runs `midtoken complete` with a tiny model in this process."""

    def run(*arguments, model=None, **more):
        options = ("--model", model or tiny_file(), "--threads", 1)
        return command("complete", *options, *arguments, **more)

    return run


@pytest.fixture
def source(tmp_path):
    """A document of two lines."""
    path = tmp_path / "a.py"
    path.write_bytes(b"import os\nprint(o\n")
    return path


def answered(result):
    """Whether there was a suggestion, or none for a reason."""
    return result.code == 0 and re.fullmatch(r"(no suggestion: .+\n?)?", result.err)


class TestDocuments:
    @pytest.mark.parametrize(
        ("location", "code", "message"),
        [
            ("missing.py:1:1", 1, "missing.py does not exist"),
            (".:1:1", 1, ". is a directory"),
            ("a.py:9:1", 1, "line 9 does not exist: the text has 3 lines"),
            ("a.py:2:9", 1, "column 9 does not exist on line 2: it has 7 characters"),
            ("a.py:99999999999999999:1", 1, "does not exist"),
            ("a.py", 2, "a.py is not a location"),
            ("a.py:2", 2, "a.py:2 is not a location"),
            ("a.py:x:1", 2, "a.py:x:1 is not a location"),
            ("a.py:0:1", 2, "line 0 does not exist"),
            ("a.py:1:-1", 2, "column -1 does not exist"),
            ("", 2, "is not a location"),
        ],
    )
    def test_location(self, complete, source, monkeypatch, location, code, message):
        """What is wrong with a location is said in its own words."""
        monkeypatch.chdir(source.parent)
        result = complete(location)

        assert result.code == code
        assert message in result.error

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"\x7fELF\x02\0\0\0", "is a binary file"),
            ("x = 1\n".encode("utf-16"), "is UTF-16 text"),
        ],
    )
    def test_binary(self, complete, source, content, message):
        """Files that are no text are refused."""
        source.write_bytes(content)
        result = complete(f"{source}:1:1")

        assert result.code == 1
        assert message in result.error

    def test_invalid_utf8(self, complete, source):
        """Bytes that are no UTF-8 are one column each, and stay what they are."""
        text = b'x = "\xff\xfe\x80"\nprint(x\n'
        source.write_bytes(text)
        results = [complete(f"{source}:{at}") for at in ("1:9", "2:8")]

        assert [(result.code, result.err) for result in results] == [(0, "")] * 2
        assert complete(f"{source}:1:11").error.startswith("column 11 does not exist")
        assert source.read_bytes() == text

    def test_empty(self, complete, source):
        """An empty file has one place to complete at."""
        source.write_bytes(b"")
        result = complete(f"{source}:1:1")

        assert (result.code, result.err) == (0, "")
        assert "the text has 1 line" in complete(f"{source}:2:1").error

    def test_large_file(self, complete, tmp_path, report):
        """A file of 50 MB is completed like any other."""
        path = tmp_path / "large.py"
        line = b"def f(a, b):\n    return a + b\n\n"
        path.write_bytes(line * (50 * MEGABYTE // len(line)))
        lines = 3 * (50 * MEGABYTE // len(line))
        started = perf_counter()
        results = [complete(f"{path}:{at}:1") for at in (1, lines // 2, lines + 1)]
        report(f"50 MB file, start, middle and end: {(perf_counter() - started) / 3:.2f} s each")

        assert all(answered(result) for result in results)

    @pytest.mark.parametrize("content", ["ab cd, ", "x", ")", '"', "日", "\t"])
    def test_long_line(self, complete, tmp_path, report, content):
        """A line of 2 MB is completed at its start, in its middle and at its end."""
        path = tmp_path / "long.py"
        line = content * (2 * MEGABYTE // len(content.encode()))
        path.write_text(f"f({line}\n", encoding="utf-8")
        started = perf_counter()
        ats = (1, 3, len(line) // 2, len(line) + 3)
        results = [complete(f"{path}:1:{at}", "--max-tokens", 8) for at in ats]
        report(f"2 MB line of {content!r}: {(perf_counter() - started) / 4:.2f} s each")

        assert all(answered(result) for result in results)


class TestModels:
    def damaged(self, tiny_file, tmp_path, change):
        content = bytearray(tiny_file().read_bytes())
        path = tmp_path / "damaged.gguf"
        path.write_bytes(change(content))
        return path

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda content: content[: len(content) // 2], "truncated"),
            (lambda content: content[:100], "damaged"),
            (lambda _: b"GGUF", "damaged"),
            (lambda _: b"", "is not a GGUF file: it is empty"),
            (
                lambda content: b"PK\3\4" + content[4:],
                r"is not a GGUF file: it starts with 'PK\x03\x04'",
            ),
            (lambda content: content[:8] + b"\xff" * 8 + content[16:], "damaged"),
            (lambda content: content[:200] + b"\xff" * 60 + content[260:], "damaged"),
        ],
    )
    def test_damaged(self, complete, source, tiny_file, tmp_path, change, message):
        """What is no whole model file is named, and told from what is none at all."""
        path = self.damaged(tiny_file, tmp_path, change)
        result = complete(f"{source}:2:8", model=path)

        assert result.code == 1
        assert str(path) in result.error
        assert message in result.error

    def test_random_damage(self, source, tiny_file, tmp_path):
        """Whatever is changed in a file's header, the process ends by itself, with a reason."""
        for seed in range(4):
            flips = random.Random(seed)

            def change(content, flips=flips):
                for _ in range(3):
                    content[flips.randrange(12_000)] = flips.randrange(256)
                return content

            path = self.damaged(tiny_file, tmp_path, change)
            result = run_process("complete", f"{source}:2:8", "--model", path)
            assert (result.code, result.err) == (0, "") or (result.code == 1 and result.error)

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("missing.gguf", "there is no file missing.gguf"),
            ("qwen2.5-coder", "did you mean qwen2.5-coder-"),
            ("~nobody-of-this-name/x.gguf", "there is no file"),
            (".", "is a folder"),
        ],
    )
    def test_not_there(self, complete, source, monkeypatch, name, message):
        """A name that is no model and no file gets a hint."""
        monkeypatch.chdir(source.parent)
        result = complete(f"{source}:2:8", model=name)

        assert result.code == 1
        assert message in result.error

    def test_not_fetched(self, command, source, monkeypatch, tmp_path):
        """A model that is not here is not fetched unasked; the command that does it is named."""
        monkeypatch.setenv("MIDTOKEN_HOME", str(tmp_path / "home"))
        result = command("complete", f"{source}:2:8")

        assert result.code == 1
        assert f"`midtoken model pull {DEFAULT_MODEL}`" in result.error

    def test_only_a_vocabulary(self, complete, source, tiny_file):
        """A file without weights cannot complete anything."""
        result = complete(f"{source}:2:8", model=tiny_file(weights=False))

        assert result.code == 1
        assert "no weights" in result.error

    def test_no_memory(self, complete, source, monkeypatch):
        """Where no context fits the memory, that is said before anything is allocated."""
        monkeypatch.setattr(llama_room, "free_memory", lambda: 100_000)
        result = complete(f"{source}:2:8", "--context-size", 1 << 20)

        assert result.code == 1
        assert "a context of 1,048,576 tokens takes 0.3 GB of memory" in result.error

    @pytest.mark.parametrize("line", [b"print(o", b"a-b+" * 200])
    def test_small_context(self, complete, source, line):
        """What does not fit a small context is left out."""
        source.write_bytes(b"import os\n" * 50 + line)
        result = complete(f"{source}:51:{len(line) + 1}", "--context-size", 16)

        assert result.code == 0
        assert bool(result.out) != result.err.startswith("no suggestion: ")


class TestOptions:
    def test_more_threads_than_cores(self, complete, source, caplog):
        """The line comes, and the suggestion all the same."""
        result = complete(f"{source}:2:8", "--threads", usable_cores() + 1, "--max-tokens", 4)

        assert result.code == 0
        assert f"{usable_cores() + 1} threads have" in caplog.text

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ("--temperature -1", "'--temperature': -1.0 is not in the range 0<=x<=100"),
            ("--temperature nan", "temperature must be between 0 and 100, not nan"),
            ("--top-p 0", "'--top-p': 0.0 is not in the range 0<x<=1"),
            ("--top-k -1", "'--top-k': -1 is not in the range x>=0"),
            ("--min-p 2", "'--min-p': 2.0 is not in the range 0<=x<=1"),
            ("--seed -1", "--seed"),
            ("--max-tokens 0", "--max-tokens"),
            ("--context-tokens -1", "--context-tokens"),
            ("--context-size 15", "--context-size"),
            ("--context-size 99999999999", "--context-size"),
            ("--gpu-layers some", "--gpu-layers is `auto` or a number up to 10000, not 'some'"),
            ("--gpu-layers -1", "not '-1'"),
            ("--gpu-layers 99999", "not '99999'"),
            ("--gpu-layers ٣", "not '٣'"),
            ("--tensor-split 1,nan", "--tensor-split is numbers with commas, as in 3,1, not"),
            ("--tensor-split 1;2", "not '1;2'"),
            ("--threads 0", "--threads"),
            ("--healing magic", "'magic' is not one of 'exact', 'align', 'one', 'off'"),
            ("--prompt right", "'right'"),
            ("--ban=", "'--ban': an empty text bans nothing"),
            ("--remote=", "--remote is an address: write http://HOST:PORT or https://HOST"),
            ("--remote gpu-box:8000", "--remote is an address: write http://HOST:PORT"),
            ("--json --stream", "choose one of --json, --explain and --stream"),
            ("--modle x", "'--model'"),
        ],
    )
    def test_bad_values(self, complete, source, options, message):
        """An option or a value that does not exist is wrong usage, and is named."""
        result = complete(f"{source}:2:8", *options.split())

        assert result.code == 2
        assert message in result.error

    def test_no_command(self, command):
        """Without a command, the help is shown as help, on standard error."""
        result = command()

        assert (result.code, result.out) == (2, b"")
        assert "\n  complete " in result.err

    def test_no_location(self, complete):
        """A missing argument is wrong usage."""
        result = complete()

        assert result.code == 2
        assert "FILE:LINE:COLUMN" in result.error
