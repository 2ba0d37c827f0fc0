"""What a keystroke costs in files of growing size, apart from the model.

A person types the next lines of a function, in the middle of files that differ only far from there:
the same code near the cursor, and more and more of the standard library around it. Each key is an
edit, a snapshot, the look into the memory of answers, and a completion of a few tokens; the model
is asked once for each text (`remembering`), and its time is left out. It must not grow.

Times are processor time of the thread: nothing here waits, and other programs are no part of it.

What is not here: the protocol's own work, which sees one line of the file.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from time import thread_time
from typing import Any, cast

import server.answers
import server.asked
import server.completer
import server.decoding
import server.service_request
from server.bench.engine.remembering import Remembering
from server.bench.engine.timing import milliseconds, spread
from server.bench.engine.watch import Part, Watch
from server.bench.holes import Hole, holes, standard_library
from server.completer import Completer
from server.completion_options import CompletionOptions
from server.documents import Change, Document
from server.drafting import Drafter, Drafting
from server.engine import TokenEngine
from server.grammar_checks import GrammarChecks
from server.positions import Encoding, Position, Range
from server.prompt_choice import PromptChoice
from server.service_request import Request

SIZES = (10**3, 10**4, 10**5, 10**6, 10**7, 5 * 10**7)
"""Bytes of a file."""
OPTIONS = CompletionOptions(max_tokens=4, context_tokens=160, multiline="auto")

ENGINE = "engine"
PARTS = (
    Part("edit", Document, "apply"),
    Part("snapshot", Document, "snapshot"),
    Part("keys", server.service_request, "keys_of"),
    Part("place", server.completer, "place_at"),
    Part("place", server.asked, "place_at"),
    Part("place", server.asked, "inside_at"),
    Part("prompt", PromptChoice, "choose"),
    Part("grammar", server.asked, "ladder_for"),
    Part("grammar", GrammarChecks, "begin"),
    Part("healing", server.decoding, "exact_healing"),
    Part("drafts", Drafter, "begin"),
    Part("drafts", Drafting, "guess"),
    Part("writing", server.completer, "generate"),
    Part("fitting", server.asked, "fits_of"),
    Part("showing", server.answers, "present"),
    *(Part(ENGINE, Remembering, name) for name in ("open", "evaluate", "keep")),
)
NAMES = tuple(dict.fromkeys(part.name for part in PARTS if part.name != ENGINE))


def measure(completer: Completer, keys: int, seed: int) -> dict[str, Any]:
    """Milliseconds of a keystroke by part, for each size; of the first one apart from the others.

    Args:
        completer: A loaded model, which heals exactly.
        keys: How many keys are typed in each file.
        seed: Of the place.
    """
    remembering = cast("TokenEngine", Remembering(completer.engine))
    hole = next(
        hole
        for hole in holes(standard_library(), seed)
        if hole.kind == "block" and len(hole.text.decode()) > keys and hole.text.isascii()
    )
    return {
        str(size): _typed(
            Completer(remembering, completer.tokenization, exact=True), hole, size, keys
        )
        for size in SIZES
    }


def _typed(completer: Completer, hole: Hole, size: int, keys: int) -> dict[str, Any]:
    before, after = surrounded(hole.before, hole.after, size)
    text = before + after
    documents: list[Document] = []

    def open_document() -> None:
        documents.append(Document("untitled:a.py", text.decode(), 0, "python", Encoding.UTF16))

    opening = milliseconds(open_document)
    line = before.count(b"\n")
    place = Position(line, len(before.decode().rpartition("\n")[2]))
    watch = Watch(PARTS, clock=thread_time)
    times: list[Mapping[str, float]] = []
    with watch.worn():
        for character in hole.text.decode()[:keys]:
            started = thread_time()
            place = _press(completer, documents[0], place, character)
            whole = thread_time() - started
            found = watch.take()
            times.append({**found, "all": whole - found[ENGINE]})
    return {
        "bytes": len(text),
        "open_ms": round(opening, 3),
        "first_ms": round(1e3 * times[0]["all"], 3),
        "key_ms": spread([1e3 * time["all"] for time in times[1:]]),
        "parts_ms": _parts(times[1:]),
    }


def _press(completer: Completer, document: Document, place: Position, character: str) -> Position:
    """Type a character, and do all that a request for a completion takes; the new place."""
    document.apply(document.version + 1, [Change(character, Range(place, place))])
    if character == "\n":
        place = Position(place.line + 1, 0)
    else:
        place = Position(place.line, place.character + 1)
    snapshot = document.snapshot(place)
    server.service_request.keys_of(Request(document.uri, snapshot, OPTIONS))
    answer = completer.answer(snapshot, OPTIONS)
    server.answers.present(snapshot, answer)
    return place


def _parts(times: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The median of every part, in milliseconds."""
    return {name: spread([1e3 * time.get(name, 0.0) for time in times])["median"] for name in NAMES}


def surrounded(before: bytes, after: bytes, size: int) -> tuple[bytes, bytes]:
    """Both parts of a file of about so many bytes, in whole lines but for the cursor's own."""
    half, code = size // 2, _library()
    earlier = code * (1 + half // len(code)) + b"\n" + before
    later = after + b"\n" + code * (1 + half // len(code))
    start = earlier.find(b"\n", len(earlier) - half) + 1
    return earlier[start:], later[: later.find(b"\n", half) + 1]


@cache
def _library() -> bytes:
    """The modules of the standard library, one after the other; some megabytes."""
    return b"\n".join(_read(path) for path in standard_library())


def _read(path: Path) -> bytes:
    text = path.read_bytes()
    return text if text.isascii() and b"\r" not in text else b""
