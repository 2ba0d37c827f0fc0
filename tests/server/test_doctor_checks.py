"""The doctor's single checks: processors, processes that die, folders, editors."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.doctor import build, cpu, editors, first_run, places
from server.doctor.cpu import FLAGS, Processor, missing, this_processor, unused
from server.doctor.first_run import check_first_run
from server.engine.llama_load import EngineOptions
from server.models import store
from server.models.catalog import CATALOG, DEFAULT_MODEL
from tests.tiny_model import write_tiny_model

X86 = """processor\t: 0
model name\t: Some CPU @ 2.00GHz
flags\t\t: fpu sse pni ssse3 avx avx2 f16c fma bmi2 avx512f
"""
ARM = "processor\t: 0\nBogoMIPS\t: 48.00\nFeatures\t: fp asimd asimddp i8mm\n"


class TestProcessor:
    @pytest.mark.parametrize(
        ("text", "features", "lacking", "more"),
        [
            (X86, ["SSE3", "AVX2", "FMA", "OPENMP", "REPACK"], [], ["AVX512"]),
            (X86, ["AVX2", "AMX_INT8", "AVX512_VNNI"], ["AMX_INT8", "AVX512_VNNI"], ["AVX512"]),
            (ARM, ["NEON", "DOTPROD", "SVE"], ["SVE"], ["MATMUL_INT8"]),
        ],
    )
    def test_compared(self, tmp_path, text, features, lacking, more):
        """What a build uses and what the processor has are compared, whatever each calls it."""
        file = tmp_path / "cpuinfo"
        file.write_text(text)
        flags = this_processor(file).flags

        assert missing(features, flags) == lacking
        assert set(more) <= set(unused(features, flags))

    @given(st.sets(st.sampled_from(sorted(FLAGS))), st.sets(st.sampled_from(sorted(FLAGS))))
    def test_nothing_is_both(self, features, has):
        """An instruction is used, lacking or unused: the three say the same of it."""
        flags = frozenset(FLAGS[name] for name in has)

        assert set(missing(features, flags)) == features - has
        assert set(unused(features, flags)) == has - features

    def test_unknown(self, tmp_path):
        """Where the system does not tell, nothing is claimed."""
        assert this_processor(tmp_path / "none").flags is None

    @pytest.mark.parametrize(
        ("processor", "state"),
        [
            (Processor("x", frozenset(FLAGS.values())), "ok"),
            (Processor("x", frozenset({"avx"})), "warning"),
            (Processor("x", None), "note"),
        ],
    )
    def test_told(self, monkeypatch, processor, state):
        """What is lacking is a warning with the command that mends it."""
        monkeypatch.setattr(build, "this_processor", lambda: processor)
        finding = build._processor_finding(["AVX", "AVX2"])

        assert finding.state == state
        assert ("GGML_NATIVE=OFF" in finding.remedy) == (state == "warning")

    @pytest.mark.skipif(sys.platform != "linux", reason="reads Linux's files")
    def test_here(self):
        """Our own build runs on the machine that tests it."""
        assert cpu.this_processor().name
        [finding] = [one for one in build.check_library(None) if one.name == "processor"]
        assert finding.state == "ok"


class TestFirstRun:
    OPTIONS = EngineOptions(n_ctx=256, threads=1, tensor_split=(1.0,))

    def test_well(self, tmp_path):
        """A process that ends well says nothing, for the library and for a model."""
        path = write_tiny_model(tmp_path / "tiny.gguf")

        assert list(check_first_run("llama.cpp", None, self.OPTIONS)) == []
        assert list(check_first_run("model", path, self.OPTIONS)) == []

    def test_errors_are_left_to_others(self, tmp_path):
        """What raises errors does so here, too, where it is told."""
        path = write_tiny_model(tmp_path / "v.gguf", weights=False)

        assert list(check_first_run("model", path, self.OPTIONS)) == []

    @pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
    @pytest.mark.parametrize(
        ("name", "said", "advice"),
        [
            ("SIGILL", "an instruction that this processor does not have", "GGML_NATIVE=OFF"),
            ("SIGSEGV", "a fault in its memory", "--gpu-layers 0"),
            ("SIGABRT", "a failed check of its own", "--verbose"),
            ("SIGKILL", "short of memory", "smaller model"),
            ("SIGBUS", "the system", "again"),
        ],
    )
    def test_deaths(self, monkeypatch, name, said, advice):
        """A process that is ended is a problem that names the cause and what to do."""
        killing = f"import os, signal; os.kill(os.getpid(), signal.{name})"
        monkeypatch.setattr(first_run, "_CODE", f"{killing} # {{path}}")
        [finding] = check_first_run("model", None, self.OPTIONS)

        assert (finding.state, finding.name) == ("problem", "model")
        assert said in finding.found
        assert advice in finding.remedy
        assert finding.facts == {"ended_by": name}

    def test_hanging(self, monkeypatch):
        """A process that does not end is ended, and that is a problem."""
        monkeypatch.setattr(first_run, "_CODE", "import time; time.sleep(60) # {path}")
        monkeypatch.setattr(first_run, "PATIENCE_SECONDS", 0.2)
        [finding] = check_first_run("model", None, self.OPTIONS)

        assert (finding.state, finding.facts) == ("problem", {"ended_by": "timeout"})

    def test_an_own_folder_is_not_trusted(self, tmp_path, monkeypatch):
        """Modules of the folder that the doctor was started in are not run."""
        (tmp_path / "server.py").write_text("import os; os.abort()")
        (tmp_path / "json.py").write_text("import os; os.abort()")
        monkeypatch.chdir(tmp_path)

        assert list(check_first_run("llama.cpp", None, self.OPTIONS)) == []


class TestPlaces:
    @pytest.fixture(autouse=True)
    def _home(self, tmp_path, monkeypatch):
        monkeypatch.setenv("MIDTOKEN_HOME", str(tmp_path / "home"))

    def found(self):
        return {finding.name: finding for finding in places.check_places()}

    def test_nothing_yet(self):
        """Folders that are not there yet can be made, and nothing is made now."""
        found = self.found()

        assert (found["models"].state, found["cache"].state) == ("ok", "ok")
        assert found["models"].facts["models"] == []
        assert found["models"].facts["writable"]
        assert found["cache"].facts["size_bytes"] == 0
        assert not Path(os.environ["MIDTOKEN_HOME"]).exists()

    def test_unfinished(self):
        """What a broken download has left is named, with the two ways to go on."""
        file = CATALOG[DEFAULT_MODEL].files[0]
        part = store.part_path(file, file.sha256)
        part.parent.mkdir(parents=True)
        part.write_bytes(bytes(1500))
        finding = self.found()["models"]

        assert finding.state == "note"
        assert f"unfinished: {DEFAULT_MODEL} (1.5 kB)" in finding.found
        assert f"`midtoken model pull {DEFAULT_MODEL}` goes on" in finding.remedy
        assert finding.facts["unfinished"] == {DEFAULT_MODEL: 1500}

    def test_little_space(self, monkeypatch):
        """A disk that is nearly full is a warning."""
        usage = type("usage", (), {"free": 5_000_000})
        monkeypatch.setattr(places.shutil, "disk_usage", lambda _: usage)
        finding = self.found()["models"]

        assert (finding.state, "make room" in finding.remedy) == ("warning", True)
        assert "5 MB free" in finding.found

    def test_a_file_in_the_way(self, tmp_path):
        """A home that is no folder can't be written to."""
        (tmp_path / "home").write_text("")
        found = self.found()

        assert (found["models"].state, found["cache"].state) == ("warning", "warning")
        assert "MIDTOKEN_HOME" in found["models"].remedy

    def test_sizes(self, tmp_path):
        """The cache is as large as its files."""
        folder = tmp_path / "home" / "cache" / "tables"
        folder.mkdir(parents=True)
        (folder / "a.tables").write_bytes(bytes(2000))

        assert self.found()["cache"].facts["size_bytes"] == 2000

    def test_what_is_kept_of_documents(self, tmp_path):
        """Where it is, how much it is, and how it is deleted."""
        assert self.found()["warm start"].found == "nothing is kept of documents"
        folder = tmp_path / "home" / "cache" / "states"
        folder.mkdir(parents=True)
        (folder / "a.state").write_bytes(bytes(2000))
        (folder / "b.state").write_bytes(bytes(3000))
        finding = self.found()["warm start"]

        assert finding.facts == {"path": str(folder), "states": 2, "size_bytes": 5000}
        assert finding.found.startswith("2 prompts of documents, 5.0 kB in ")
        assert "engine.warmStart 0 deletes them" in finding.found


class TestEditors:
    @pytest.fixture(autouse=True)
    def home(self, tmp_path, monkeypatch):
        monkeypatch.setenv("HOME", str(tmp_path))
        for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "NVIM_APPNAME"):
            monkeypatch.delenv(name, raising=False)
        return tmp_path

    def write(self, home, name, text="midtoken"):
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def test_none(self):
        """Without a set-up the way to one is said."""
        finding, command = editors.check_editors()

        assert (finding.state, finding.facts) == ("note", {"found": {}})
        assert "editors/" in finding.remedy
        assert command.state in {"ok", "note"}

    @pytest.mark.parametrize(
        ("editor", "name"),
        [
            ("VS Code", ".vscode/extensions/midtoken.midtoken-0.1.0/package.json"),
            ("VS Code", ".vscode-server/extensions/midtoken.midtoken-0.1.0/package.json"),
            ("VS Code", ".local/share/code-server/extensions/midtoken.midtoken-1/package.json"),
            ("Neovim", ".config/nvim/init.lua"),
            ("Neovim", ".config/nvim/lua/plugins/completion.lua"),
            ("Emacs", ".emacs.d/init.el"),
            ("Emacs", ".emacs"),
            ("Helix", ".config/helix/languages.toml"),
        ],
    )
    def test_found(self, home, editor, name):
        """Each editor is found by its extension or by a file that mentions midtoken."""
        path = self.write(home, name)
        [[found, paths]] = editors.set_ups().items()

        assert found == editor
        assert path in paths or path.parent in paths

    def test_others_are_not(self, home):
        """Files that do not mention it, other extensions, pipes and unreadable files are none."""
        self.write(home, ".config/nvim/init.lua", "vim.o.number = true")
        self.write(home, ".config/helix/languages.toml", "")
        self.write(home, ".vscode/extensions/other.other-1/package.json")
        if hasattr(os, "mkfifo"):
            os.mkfifo(home / ".emacs")

        assert editors.set_ups() == {}

    def test_other_places(self, home, monkeypatch):
        """The variables that move configurations are followed."""
        monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "mine"))
        monkeypatch.setenv("NVIM_APPNAME", "vim2")
        path = self.write(home, "mine/vim2/init.vim")

        assert editors.set_ups() == {"Neovim": [path]}

    def test_command_is_missing(self, home, monkeypatch):
        """An editor that is set up and can't find the command is a warning."""
        self.write(home, ".config/helix/languages.toml")
        monkeypatch.setenv("PATH", str(home))
        finding, command = editors.check_editors()

        assert (finding.state, command.state) == ("ok", "warning")
        assert "the whole path" in command.remedy

    def test_another_command(self, home, monkeypatch):
        """Another installation on the PATH is told."""
        self.write(home, "bin/midtoken", "#!/bin/sh\n").chmod(0o755)
        monkeypatch.setenv("PATH", str(home / "bin"))
        _, command = editors.check_editors()

        assert (command.state, command.facts["is_this_one"]) == ("note", False)
        assert "another installation" in command.found
