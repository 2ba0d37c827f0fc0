"""`midtoken doctor --json`: the facts that docs/doctor.md promises, of the types that it names."""

import json
import re
from pathlib import Path

import pytest

from server import speed
from server.doctor import command
from server.doctor.command import SCHEMA
from tests.lora import write_lora
from tests.server.command import run_here, run_process

PAGE = Path(__file__).parents[2] / "docs" / "doctor.md"
TYPES = {
    "string": str,
    "integer": int,
    "number": int | float,
    "boolean": bool,
    "list": list,
    "object": dict,
    "null": None,
}
OF_ENDS = {"ended_by"}
"""Facts of llama.cpp's end, which does not come here."""


def promised() -> dict[str, dict[str, list[str]]]:
    """Check to fact to the names of its types, as the page has them."""
    checks = {}
    for name, facts in re.findall(r"^\| `([\w. -]+)`[^|]*\| (.*) \|$", PAGE.read_text(), re.M):
        found = re.findall(r"`(\w+)`: (\w+)(?: or (\w+))?", facts)
        checks[name] = {fact: [kind for kind in kinds if kind] for fact, *kinds in found}
    return checks


@pytest.fixture
def doctor(capfdbinary, monkeypatch, tmp_path, tiny_file):
    """Runs the doctor on a tiny model and gives exit code, object and what is said of errors."""
    monkeypatch.setenv("MIDTOKEN_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(command, "check_first_run", lambda *_: iter(()))  # but in `test_a_process`
    measure = speed.measure
    monkeypatch.setattr(speed, "measure", lambda engine, text: measure(engine, text, seconds=0.02))

    def run(*arguments: object, model: object = None):
        given = ("--model", model or tiny_file(), "--threads", 1, "--context-size", 512)
        result = run_here(capfdbinary, monkeypatch, "doctor", "--json", *given, *arguments)
        assert result.out.count(b"\n") == 1
        return result.code, json.loads(result.out), result.err

    return run


def test_keeps_the_promise(doctor, tmp_path):
    """Every documented fact is there, of its type, and no other."""
    code, said, err = doctor("--lora", write_lora(tmp_path / "adapter.gguf"))
    checks, page = said["checks"], promised()

    assert (code, err, said["usable"], said["schema"]) == (0, "", True, SCHEMA)
    assert {check["name"] for check in checks} == set(page)
    for check in checks:
        assert set(check) == {"name", "state", "found", "remedy", "facts"}
        types = page[check["name"]]
        assert set(check["facts"]) == set(types) - OF_ENDS
        for fact, value in check["facts"].items():
            allowed = [TYPES[kind] for kind in types[fact]]
            assert any(value is None if one is None else isinstance(value, one) for one in allowed)
            if "boolean" not in types[fact]:
                assert not isinstance(value, bool)


def test_states_are_counted(doctor):
    """The counts are those of the checks, for all four states."""
    _, said, _ = doctor()
    states = [check["state"] for check in said["checks"]]

    assert said["counts"] == {
        state: states.count(state) for state in ("ok", "note", "warning", "problem")
    }


def test_same_as_the_table(doctor, capfdbinary, monkeypatch, tiny_file):
    """People are told the same checks, in the same order."""
    _, said, _ = doctor()
    given = ("doctor", "--model", tiny_file(), "--threads", 1, "--context-size", 512)
    table = run_here(capfdbinary, monkeypatch, *given).out.decode()
    rows = [line[9:21].strip() for line in table.splitlines() if line[:9].strip()]

    assert rows == [check["name"] for check in said["checks"]]


def test_a_problem(doctor, tmp_path):
    """What makes completions impossible is exit code 1, in the object and on standard error."""
    code, said, err = doctor(model=tmp_path / "no.gguf")

    assert (code, said["usable"], said["counts"]["problem"]) == (1, False, 1)
    assert err == "midtoken: 1 problem makes completions impossible\n"
    [problem] = [check for check in said["checks"] if check["state"] == "problem"]
    assert problem["name"] == "model file"
    assert "there is no file" in problem["found"]


def test_an_adapter_that_does_not_fit(doctor, tmp_path):
    """It is a problem of the model, which can't be loaded with it."""
    adapter = write_lora(tmp_path / "adapter.gguf", architecture="gemma3")
    code, said, _ = doctor("--lora", adapter)

    assert code == 1
    [problem] = [check for check in said["checks"] if check["state"] == "problem"]
    assert (problem["name"], str(adapter) in problem["found"]) == ("model", True)


def test_a_process(tiny_file):
    """A real process prints the object alone."""
    result = run_process("doctor", "--json", "--model", tiny_file(), "--context-size", 512)

    assert (result.code, result.err) == (0, "")
    assert json.loads(result.out)["schema"] == SCHEMA
