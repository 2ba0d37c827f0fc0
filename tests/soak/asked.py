"""What was asked, and what may be answered to it.

Everything here is a function of the question and the answer, so that each check is tested with
answers that a server never gives (`test_soak_checks`).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.server.lsp.editors import Editor
from tests.soak.texts import index_of

INLINE, MENU = "textDocument/inlineCompletion", "textDocument/completion"
RANK, EXPLAIN, MODELS = "midtoken/rank", "midtoken/explain", "midtoken/models"
COUNTERS, COMMAND = "midtoken/counters", "workspace/executeCommand"

CANCELLED = -32800

_CLOSERS = re.compile(r"[)\]}\"'`;,:> \t]*")
"""What an edit may replace behind the cursor."""


@dataclass
class Asked:
    """A request, and the document as it was then."""

    method: str
    at: float
    """Seconds on the event loop's clock."""
    order: int
    """The how manyeth message of its connection it was."""
    uri: str = ""
    text: str = ""
    cursor: int = 0
    editor: Editor | None = None
    start: int = 0
    """Where an edit of ghost text begins: at the cursor, or at the selected entry's start."""
    selected: str = ""
    """The text of the menu entry that was selected."""
    labels: tuple[str, ...] | None = None
    token: str | None = None
    """Under which parts of the answer come."""
    cancelled: bool = False
    edited: int | None = None
    """The first message after it that changed or closed its document; None if none did."""
    late: bool = False
    """Whether it was told already that it has no answer."""


def faults_of(asked: Asked, message: dict[str, Any], proven: int, *, leaving: bool) -> list[str]:
    """What is wrong with an answer; nothing if all is well.

    Args:
        asked: The request.
        message: The answer.
        proven: The last message of which it is known that the server had read it by then: it has
            answered that one, or a later one.
        leaving: Whether the server is told to end in any way, which takes back what is under way.
    """
    if ("result" in message) == ("error" in message):
        return ["an answer is either a result or an error"]
    if "error" in message:
        code = message["error"].get("code")
        if code == CANCELLED and (asked.cancelled or leaving):
            return []
        return [f"refused without a reason: {message['error']}"]
    result = message["result"]
    shape = _wrong_shape(asked.method, result)
    if shape:
        return [f"{shape}: {str(result)[:200]}"]
    typed = result.get("typed", "") if isinstance(result, dict) else ""
    if not asked.text[: asked.cursor].endswith(typed):
        return [f"the server's text is another one: it has {typed!r} before the cursor"]
    items = items_of(asked.method, result)
    check = {INLINE: _faults_of_ghost, MENU: _faults_of_entry, RANK: _faults_of_rank}
    found = [f"{fault}: {item}" for item in items for fault in check[asked.method](asked, item)]
    if items and asked.edited is not None and asked.edited <= proven:
        found.append(f"stale: it was asked before message {asked.edited}, which changed the text")
    return found


def items_of(method: str, result: Any) -> list[dict[str, Any]]:
    """The suggestions of a result; none if it is another kind of result."""
    if method not in {INLINE, MENU, RANK} or not isinstance(result, dict):
        return []
    return result.get("items", [])


def _wrong_shape(method: str, result: Any) -> str | None:
    """A sentence if a result is none of its method's."""
    if method == EXPLAIN:
        right = isinstance(result, dict) and len({"html", "problem"} & set(result)) == 1
    elif method == MODELS:
        right = isinstance(result, dict) and bool(result.get("models"))
    elif method == COUNTERS:
        right = isinstance(result, dict) and "requests" in result
    elif method == RANK:
        right = result is None or "problem" in result or {"typed", "items"} <= set(result)
    elif method == COMMAND:
        right = result is None or isinstance(result, dict)
    elif method in {INLINE, MENU}:
        right = result is None or (isinstance(result, dict) and isinstance(result["items"], list))
    else:
        return None
    return None if right else f"no result of {method}"


def _faults_of_ghost(asked: Asked, item: dict[str, Any]) -> Iterator[str]:
    yield from _faults_of_edit(asked, item["range"], item["insertText"], asked.start)
    if not item["insertText"].startswith(asked.selected):
        yield "the selected entry is lost"


def _faults_of_entry(asked: Asked, item: dict[str, Any]) -> Iterator[str]:
    edit, is_name = item["textEdit"], item["detail"].startswith("name · ")
    ranges = [edit[key] for key in ("range", "insert", "replace") if key in edit]
    assert asked.editor is not None
    start = index_of(asked.text, ranges[0]["start"], asked.editor)
    if start is None or start > asked.cursor:
        yield "it begins at no place before the cursor"
        return
    typed, new = asked.text[start : asked.cursor], edit["newText"]
    if re.search(r"\s", typed):
        yield f"it replaces {typed!r}"
    if not is_name:  # a name may be meant by letters that it does not begin with
        if not new.startswith(typed):
            yield f"what was typed is altered: {typed!r}"
        yield from _faults_of_edit(asked, ranges[0], new, start)
    if not item["label"].strip() or re.search(r"[\r\n]", item["label"]):
        yield "the label is no line of text"


def _faults_of_edit(asked: Asked, where: dict[str, Any], new: str, start: int) -> Iterator[str]:
    """What is wrong with an edit that has to begin at a place before the cursor or at it."""
    assert asked.editor is not None
    first, last = (index_of(asked.text, where[end], asked.editor) for end in ("start", "end"))
    if first is None or last is None:
        yield "the range is none of the text's"
    elif first != start or last < asked.cursor or where["start"]["line"] != where["end"]["line"]:
        yield f"the range does not lie at the cursor: {first} to {last}, and not {asked.cursor}"
    else:
        replaced = asked.text[asked.cursor : last]
        rest = iter(new)
        if not _CLOSERS.fullmatch(replaced):
            yield f"text after the cursor is lost: {replaced!r}"
        elif not all(closer in rest for closer in replaced.strip(" \t")):
            yield f"a closer after the cursor is lost: {replaced!r}"
    if not new:
        yield "it inserts nothing"
    if "\ufffd" in new and "\ufffd" not in asked.text:
        yield "half a character"


def _faults_of_rank(asked: Asked, item: dict[str, Any]) -> Iterator[str]:
    if asked.labels is not None and asked.labels[item["index"]] != item["label"]:
        yield "the label is not the one that was given with this number"
    if item["logprob"] > 1e-6:
        yield "a probability of more than 1"
