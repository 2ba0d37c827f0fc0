"""An engine elsewhere: whether it answers, what it is, and whether healing works with it."""

from collections.abc import Iterator
from time import perf_counter

from server.doctor.finding import Finding
from server.errors import MidtokenError
from server.models.files import megabytes
from server.option_sections import RemoteSection
from server.remote.completer import RemoteCompleter, load_remote
from server.remote.silence import told_if_slow
from server.snapshot import Snapshot
from server.terminal import count, duration

SAMPLE = b"def fahrenheit(celsius):\n    return cels"


def check_remote(options: RemoteSection) -> Iterator[Finding]:
    """Ask an engine what it is, and for one completion."""
    started = perf_counter()
    try:
        with told_if_slow(options):
            completer = load_remote(options)
    except MidtokenError as error:
        yield Finding("problem", "engine", str(error))
        return
    yield from _engine_findings(completer, 1e3 * (perf_counter() - started))
    try:
        with told_if_slow(options):
            trial = _trial_finding(completer)
        yield trial
    except MidtokenError as error:
        yield Finding("problem", "trial", str(error))
    finally:
        completer.close()


def _engine_findings(completer: RemoteCompleter, milliseconds: float) -> Iterator[Finding]:
    engine, info = completer.remote, completer.remote.info
    yield Finding(
        "ok",
        "engine",
        f"{info.backend}, ready after {duration(milliseconds)}",
        facts={"backend": info.backend, "url": info.path, "ready_ms": round(milliseconds, 1)},
    )
    if engine.shows_key:
        yield Finding(
            "warning",
            "key",
            "it crosses the network readable",
            "use https, or a tunnel (ssh -L)",
        )
    size = f" ({megabytes(info.size_bytes)})" if info.size_bytes else ""
    facts = {"name": info.name, "description": info.description, "size_bytes": info.size_bytes}
    yield Finding("ok", "model", f"{info.name}{size}", facts=facts)
    known = engine.known
    yield Finding(
        "ok" if known.whole else "note",
        "vocabulary",
        f"{count(len(known.tokenization.vocabulary), 'token')} ({info.vocabulary_type})"
        if known.whole
        else "the engine is asked: prompts take longer, and healing goes back a few tokens",
        ""
        if known.whole
        else "set midtoken.remote.tokenizer (--remote-tokenizer) to the model's tokenizer.json",
        {"kind": info.vocabulary_type}
        | ({"tokens": len(known.tokenization.vocabulary)} if known.whole else {}),
    )
    fim = engine.fim
    yield Finding(
        "warning" if fim is None else "ok",
        "fill-in",
        "the model has no fill-in-the-middle tokens: text after the cursor is not used"
        if fim is None
        else f"{fim.dialect} (prefix {fim.prefix}, suffix {fim.suffix})",
        "serve a model for code" if fim is None else "",
        {"dialect": None}
        if fim is None
        else {"dialect": fim.dialect, "prefix": fim.prefix, "suffix": fim.suffix}
        | {"middle": fim.middle},
    )
    yield Finding(
        "ok",
        "context",
        count(info.context_tokens, "token"),
        facts={"tokens": info.context_tokens},
    )


def _trial_finding(completer: RemoteCompleter) -> Finding:
    started = perf_counter()
    snapshot = Snapshot("trial.py", 0, SAMPLE, len(SAMPLE), "python")
    completion = completer.complete(snapshot)
    milliseconds = 1e3 * (perf_counter() - started)
    text = completion.items[0].text if completion.items else ""
    healed = completer.remote.can_force and completion.healing.mode != "off"
    facts = {"text": text, "healed": healed, "total_ms": round(milliseconds, 1)}
    found = f"`cels` becomes `cels{text}` in {duration(milliseconds)}"
    if not healed:
        return Finding(
            "warning",
            "trial",
            f"{found}, unhealed: the engine can't be told how to begin",
            "update it, or start it with structured outputs (vLLM) or a grammar backend (SGLang)",
            facts,
        )
    return Finding("ok", "trial", f"{found}, healed by alignment", facts=facts)
