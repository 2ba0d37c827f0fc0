"""`midtoken complete`: from a location on the command line to text on standard output.

The model runs in a thread of its own, so that Ctrl-C is heard while it computes.
"""

import asyncio
import json
import math
import os
import re
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

import click
from click.core import ParameterSource

from healing.sampling import Sampling
from server.arguments import CompleteArguments, EngineArguments, RequestArguments
from server.completer import ONE_ONLY, Completer, load_completer
from server.completion_options import CompletionOptions
from server.engine import Lora
from server.engine.llama_advice import warn_of
from server.engine.llama_load import EngineOptions
from server.engine.llama_lora import check_there
from server.errors import Cancelled, DocumentError, UsageError
from server.grammar.ladder import Mode
from server.grammar.languages import prepare
from server.models import store
from server.models.catalog import CATALOG
from server.option_sections import RemoteSection
from server.remote.arguments import remote_of, settings_of
from server.remote.silence import told_if_slow
from server.report import Completion, percent
from server.snapshot import Snapshot, language_of, offset_at, parse_location, read_document
from server.via_server import complete_via_server, completion_settings, server_settings
from server.visible import visible

UNWINDING_SECONDS = 2.0
"""How long an interrupted model may take to stop; loading one cannot be stopped."""

MOST_LAYERS = 10_000
"""More than any model has, and few enough for llama.cpp's numbers."""


def run_completion(location: str, options: CompleteArguments) -> None:
    """Complete at a location and print the result as asked for (see `cli.complete`)."""
    snapshot = read_snapshot(location, options["stdin_filename"])
    request = request_of(options)
    remote = remote_of(options)
    engine = engine_options_of(options)
    output = sys.stdout.buffer
    if options["via_server"]:
        settings = completion_settings(request)
        if remote is not None:
            settings["remote"] = settings_of(remote)
        elif not options["server"] or _chooses_model():
            path = model_path(options["model_name"], yes=options["yes"])
            settings |= server_settings(path, engine)
        answer = asyncio.run(complete_via_server(snapshot, settings, options["server"]))
        _print_answer(answer, candidates=request.candidates, as_json=options["as_json"])
        return
    load = loader_of(options, engine, remote, snapshot.language, request)
    streamed = bytearray()

    def stream(text: str) -> None:
        more = text.encode()[len(streamed) :]
        if more:
            streamed.extend(more)
            output.write(more)
            output.flush()

    def work(completers: list[Completer]) -> Completion:
        completer = load(completers)
        return completer.complete(snapshot, request, stream if options["stream"] else None)

    with told_if_slow(remote):
        completion = interruptible(work)
    text = completion.items[0].text if completion.items else ""
    if options["as_json"]:
        _print_json(completion.as_json())
    elif options["explain"]:
        from server.explain import explain

        explain(snapshot, completion)
    else:
        if options["candidates"] > 1:
            _print_texts([(item.text, item.probability) for item in completion.items])
        elif text:
            output.write(text.encode()[len(streamed) :] + b"\n")
            output.flush()
        _tell(completion.notes, completion.empty_reason)


def request_of(options: RequestArguments) -> CompletionOptions:
    """The request's options from the command line's. Raises UsageError."""
    try:
        sampling = Sampling(
            options["temperature"],
            options["top_k"],
            options["top_p"],
            options["min_p"],
            options["seed"],
        )
        return CompletionOptions(
            options["healing"],
            options["prompt"],
            options["max_tokens"],
            options["context_tokens"],
            sampling,
            grammar=cast("Mode", options["grammar"]),
            bans=options["bans"],
            ban_patterns=options["ban_patterns"],
            candidates=options["candidates"],
        )
    except ValueError as error:
        raise UsageError(str(error)) from error


def read_snapshot(location: str, stdin_filename: str | None) -> Snapshot:
    """The document at a location. Raises UsageError or DocumentError."""
    name, line, column = parse_location(location)
    if stdin_filename is not None and name != "-":
        raise UsageError("--stdin-filename names the text on standard input: give `-` as the file")
    # A closed one was replaced by the null device, and no text is not an empty text.
    if name == "-" and getattr(sys.stdin, "name", "") == os.devnull:
        raise DocumentError("standard input is closed: give the text on it, or name a file")
    text = read_document(name, sys.stdin.buffer if name == "-" else None)
    shown = stdin_filename or name
    return Snapshot(shown, 0, text, offset_at(text, line, column), language_of(shown))


def _chooses_model() -> bool:
    """Whether the command line says which model is to run, or how."""
    given = click.get_current_context().get_parameter_source
    names = EngineArguments.__annotations__.keys() - {"yes"}
    return any(given(name) is not ParameterSource.DEFAULT for name in names)


def model_path(name: str, *, yes: bool) -> Path:
    """The model's file; fetches a known one that is missing, if the user agrees."""
    entry = CATALOG.get(name)
    if entry is not None and not store.is_whole(entry) and (yes or sys.stdin.isatty()):
        from server.commands import model

        model.main(["pull", name, *(["--yes"] if yes else [])], standalone_mode=False)
    return store.resolve(name)


def engine_options_of(options: EngineArguments) -> EngineOptions:
    """The engine's options from the command line's.

    Raises UsageError, and ModelError for an adapter that is not there.
    """
    lora = options["lora"]
    if not lora and options["lora_scale"] != 1:
        raise UsageError("--lora-scale goes with --lora")
    adapter = Lora(str(store.expanded(lora)), options["lora_scale"]) if lora else None
    if adapter:  # before anything that takes time
        check_there(adapter)
    return EngineOptions(
        n_ctx=options["context_size"],
        threads=options["threads"],
        gpu_layers=_layers(options["gpu_layers"]),
        main_gpu=options["main_gpu"],
        tensor_split=_shares(options["tensor_split"]),
        flash_attn=cast("Literal['auto', 'on', 'off']", options["flash_attn"]),
        lora=adapter,
    )


def _layers(given: str) -> int | Literal["auto"]:
    if given == "auto":
        return "auto"
    layers = int(given) if re.fullmatch("[0-9]{1,9}", given) else -1
    if not 0 <= layers <= MOST_LAYERS:
        raise UsageError(f"--gpu-layers is `auto` or a number up to {MOST_LAYERS}, not {given!r}")
    return layers


def _shares(given: str) -> tuple[float, ...]:
    try:
        shares = tuple(float(share) for share in given.split(",") if share)
    except ValueError:
        shares = (math.nan,)
    if not all(0 <= share < math.inf for share in shares):
        raise UsageError(f"--tensor-split is numbers with commas, as in 3,1, not {given!r}")
    return shares


def loader_of(
    options: EngineArguments,
    engine: EngineOptions,
    remote: RemoteSection | None,
    language: str,
    request: CompletionOptions,
) -> Callable[[list[Completer]], Completer]:
    """What loads the model of a request, and what its document's language needs.

    A model's file is here then: whoever has to fetch it is asked now.

    Args:
        options: The command line's.
        engine: How a model is run in this process.
        remote: The engine elsewhere, if one is named.
        language: The document's.
        request: The request's options.

    Returns:
        Takes the list of `interruptible`.
    """
    file = None if remote else model_path(options["model_name"], yes=options["yes"])

    def load(completers: list[Completer]) -> Completer:
        if request.grammar != "off":
            prepare(language)
        if file is not None:
            warn_of(engine)
            completers.append(load_completer(file, engine))
        else:
            from server.remote.completer import load_remote

            assert remote is not None
            completers.append(load_remote(remote))
        return completers[-1]

    return load


_Result = TypeVar("_Result")


class _Completers(list[Completer]):
    """The completers that work runs; after `stop`, they are cancelled as soon as they are there."""

    stopped = False

    def append(self, completer: Completer) -> None:
        super().append(completer)
        if self.stopped:
            completer.cancel()

    def stop(self) -> None:
        self.stopped = True
        for completer in self:
            completer.cancel()


def interruptible(work: Callable[[list[Completer]], _Result]) -> _Result:
    """Run work with a model in a thread, and stop it when Ctrl-C is pressed.

    Args:
        work: Is given a list, to which it adds the completer that it runs, and returns the result.

    Raises:
        Cancelled: Ctrl-C was pressed.
        MidtokenError: As `work` does.
    """
    completers = _Completers()
    results: list[_Result] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work(completers))
        except BaseException as error:
            failures.append(error)
        finally:
            done.set()

    # An event, because Python 3.11 takes a thread for ended whose `join` is interrupted. Waiting
    # without a limit could not be interrupted on every system.
    done = threading.Event()
    threading.Thread(target=run, daemon=True).start()
    try:
        while not done.wait(0.05):
            pass
    except KeyboardInterrupt:
        completers.stop()
        done.wait(UNWINDING_SECONDS)
        raise Cancelled("cancelled") from None
    if failures:
        raise failures[0]
    return results[0]


def _print_json(result: dict[str, Any]) -> None:
    """One object on one line: always UTF-8; what is none in a path becomes an escape."""
    line = json.dumps(result, ensure_ascii=False)
    sys.stdout.buffer.write(line.encode(errors="backslashreplace") + b"\n")
    sys.stdout.buffer.flush()


def _print_texts(texts: Sequence[tuple[str, float]]) -> None:
    """Print several continuations, each under a line with its number and probability."""
    for number, (text, probability) in enumerate(texts, 1):
        line = f"--- {number} of {len(texts)}: {percent(probability)} ---\n{text}\n"
        sys.stdout.buffer.write(line.encode())
    sys.stdout.buffer.flush()


def _print_answer(answer: dict[str, Any], *, candidates: int, as_json: bool) -> None:
    """Print what a server process answered, as an answer of this process would be."""
    if as_json:
        _print_json(answer)
        return
    if candidates > 1:
        _print_texts([(item["text"], item["probability"]) for item in answer["items"]])
    elif answer["items"]:
        sys.stdout.buffer.write(answer["items"][0]["text"].encode() + b"\n")
        sys.stdout.buffer.flush()
    _tell(answer["notes"], answer["empty_reason"])


def _tell(notes: Sequence[str], empty_reason: str | None) -> None:
    """Why there is no suggestion, or one alone; other notes, too, where a person reads along."""
    for note in notes if sys.stderr.isatty() else set(notes) & {ONE_ONLY}:
        click.secho(visible(note), dim=True, err=True)
    if empty_reason:
        click.secho(visible(f"no suggestion: {empty_reason}"), dim=True, err=True)
