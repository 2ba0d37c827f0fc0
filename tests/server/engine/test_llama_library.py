"""The library in a process: its log, standard output, and the abort flag."""

import ctypes
import logging
import subprocess
import sys

import pytest

from server.engine.llama_library import (
    AbortFlag,
    _c_library,
    collected_log,
    last_error,
    load_library,
    logger,
)


def run(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a Python of its own."""
    return subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True
    )


def test_it_is_loaded_when_needed():
    """Importing the engine costs no second: the library comes with the first model."""
    run("import sys, server.engine.llama; assert 'llama_cpp' not in sys.modules")


def test_idle_threads_sleep_unless_the_user_says_otherwise():
    """`OMP_WAIT_POLICY` is set before the library is loaded, and a set one is left alone."""
    script = (
        "import os, sys; os.environ.pop('OMP_WAIT_POLICY', None); os.environ.update(**{SET});"
        "from server.engine.llama_library import load_library; load_library();"
        "print(os.environ['OMP_WAIT_POLICY'])"
    )

    assert run(script.replace("{SET}", "{}")).stdout == "passive\n"
    assert run(script.replace("{SET}", "{'OMP_WAIT_POLICY': 'active'}")).stdout == "active\n"


def test_nothing_is_printed(tiny):
    """Loading and running a model writes nothing to standard output or standard error."""
    script = """
import sys
from pathlib import Path
from server.engine import ROOT
from server.engine.llama import load
from server.engine.llama_load import EngineOptions
with load(Path(sys.argv[1]), EngineOptions(n_ctx=256)) as engine:
    slot = engine.open([1, 2])
    engine.evaluate(slot, [(ROOT, 3)], [0])
    engine._passes._batch.decode(engine._context, [])
"""
    done = run(script, str(tiny()))

    assert (done.stdout, done.stderr) == ("", "")


def test_stdout_is_ours_alone():
    """After `protect_stdout` what C code prints goes to standard error."""
    script = """
import os
from server.engine.llama_library import protect_stdout
ours = protect_stdout()
os.write(1, b"from C")
ours.write(b"from us")
ours.close()
"""
    done = run(script)

    assert (done.stdout, done.stderr) == ("from us", "from C")


def test_log_goes_to_logging(tiny, caplog):
    """Every line of the library's log is a record of `midtoken.llama`."""
    from server.engine.llama_load import EngineOptions, free, load_model

    with caplog.at_level(logging.DEBUG, logger="midtoken.llama"):
        free(load_model(tiny(), EngineOptions(n_ctx=256)))

    assert any("general.architecture" in record.message for record in caplog.records)
    assert {record.name for record in caplog.records} == {logger.name}


def test_reason_of_a_failure():
    """The last error that is more than `failed to load`."""
    lines = [
        (4, "llama_model_load: error loading model: tensor 'x' not found"),
        (4, "llama_model_load_from_file_impl: failed to load model"),
        (2, "bye"),
    ]

    assert last_error(lines) == "error loading model: tensor 'x' not found"
    assert last_error([]) == "llama.cpp gave no reason"


def test_the_reason_of_a_failure_that_has_no_line_of_its_own():
    """A device without memory is told of in lines that usually only follow a reason."""
    lines = [
        (4, "alloc_tensor_range: failed to allocate Vulkan0 buffer of size 2097152"),
        (4, "llama_init_from_model: failed to initialize the context: failed to allocate buffer"),
    ]

    assert last_error(lines) == "failed to allocate buffer"


def test_collecting_ends_with_the_block():
    """Lines are collected while the block runs, also in nested blocks, and not afterwards."""
    library = load_library()

    def fail() -> None:
        library.llama_model_load_from_file(b"/nothing.gguf", library.llama_model_default_params())

    with collected_log() as outer:
        with collected_log() as inner:
            fail()
        before = len(inner)
        fail()

    assert before
    assert len(inner) == before
    assert len(outer) == 2 * before


def test_abort_flag_as_c_sees_it():
    """C's `strlen` on the flag's buffer is the answer to `stop?`."""
    flag = AbortFlag()
    answers = []
    for change in (flag.clear, flag.set, flag.set, flag.clear):
        change()
        answers.append((_c_library().strlen(ctypes.byref(flag._buffer)), bool(flag)))

    assert answers == [(0, False), (1, True), (1, True), (0, False)]


def test_a_missing_library_is_explained(monkeypatch):
    """Without llama-cpp-python there is one line that says how to get it."""
    from server.errors import EngineError

    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    load_library.cache_clear()

    with pytest.raises(EngineError, match="pip install --force-reinstall llama-cpp-python"):
        load_library()
    monkeypatch.undo()
    load_library()
