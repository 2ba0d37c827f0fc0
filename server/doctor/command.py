"""The command: all checks in order, printed as they come, or as one JSON object at the end.

All are made also after a problem, so that one run tells everything that can be told::

    ok       Python      3.12.3 on Linux (x86_64)
    warning  fill-in     the model has no fill-in-the-middle tokens: text after the cursor ...
                         -> choose a model for code (see `midtoken model list`)
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from rich.console import Console
from rich.text import Text

from server.arguments import DoctorArguments, EngineArguments
from server.completion import engine_options_of, model_path
from server.doctor.build import check_library, check_versions
from server.doctor.editors import check_editors
from server.doctor.finding import Finding, State
from server.doctor.first_run import check_first_run
from server.doctor.languages import check_grammars
from server.doctor.model import check_model, file_finding
from server.doctor.places import check_places
from server.doctor.remote import check_remote
from server.engine.gguf_splits import check_files
from server.engine.llama_load import EngineOptions
from server.errors import MidtokenError
from server.models import store
from server.remote.arguments import remote_of
from server.terminal import LABEL_CELLS, count, make_console, print_row

SCHEMA = 1
"""The version of the JSON (docs/doctor.md). A fact that goes or means something else raises it."""
STATE_CELLS = 9

_STYLES: dict[State, str] = {"ok": "green", "note": "dim", "warning": "yellow", "problem": "red"}


def run_doctor(options: DoctorArguments, *, as_json: bool = False) -> None:
    """Print all findings. Raises MidtokenError if any of them is a problem.

    Raises UsageError for engine options that have no meaning, before anything is checked.
    """
    engine_options = engine_options_of(options)
    findings = []
    console = make_console()
    for finding in _findings(options, engine_options):
        findings.append(finding)
        if not as_json:
            _print(console, finding)
    states = Counter(finding.state for finding in findings)
    problems = states["problem"]
    if as_json:
        checks = {
            "schema": SCHEMA,
            "usable": not problems,
            "counts": {state: states[state] for state in get_args(State)},
            "checks": [finding.as_json() for finding in findings],
        }
        line = json.dumps(checks, ensure_ascii=False)
        sys.stdout.buffer.write(line.encode(errors="backslashreplace") + b"\n")
        sys.stdout.flush()
    if problems:
        verb = "makes" if problems == 1 else "make"
        where = "" if as_json else ": see the table"
        raise MidtokenError(f"{count(problems, 'problem')} {verb} completions impossible{where}")


def _findings(options: DoctorArguments, engine_options: EngineOptions) -> Iterator[Finding]:
    yield from check_versions()
    remote = remote_of(options)
    yield from _model_findings(options, engine_options) if remote is None else check_remote(remote)
    yield from check_grammars()
    yield from check_places()
    yield from check_editors()


def _model_findings(options: EngineArguments, engine_options: EngineOptions) -> Iterator[Finding]:
    usable = True
    for finding in _library_findings(engine_options):
        usable = usable and finding.state != "problem"
        yield finding
    try:
        path = _model(options)
        check_files(path)
    except MidtokenError as error:
        yield Finding("problem", "model file", str(error))
        usable = False
    else:
        yield file_finding(options["model_name"], path)
        deaths = list(check_first_run("model", path, engine_options)) if usable else []
        yield from deaths
        usable = usable and not deaths
    if usable:
        yield from check_model(path, engine_options)
    else:
        yield Finding("note", "the rest", "not checked: it needs llama.cpp and a whole model")


def _library_findings(options: EngineOptions) -> Iterator[Finding]:
    """The library, which is loaded here only if it can be loaded at all."""
    deaths = list(check_first_run("llama.cpp", None, options))
    yield from deaths or check_library(options.threads)


def _model(options: EngineArguments) -> Path:
    if options["yes"]:
        return model_path(options["model_name"], yes=True)
    return store.resolve(options["model_name"])


def _print(console: Console, finding: Finding) -> None:
    state = f"{finding.state:<{STATE_CELLS}}"
    label = Text.assemble((state, _STYLES[finding.state]), (finding.name, "bold"))
    print_row(console, label, finding.found, STATE_CELLS + LABEL_CELLS)
    if finding.remedy:
        print_row(console, "", "-> " + finding.remedy, STATE_CELLS + LABEL_CELLS)
