"""Between the protocol's shapes and ours: changes and positions in, suggestions out.

The text of an item is only what comes after the cursor, and its range only what it replaces there:
one line, from the cursor to the last closer that the text contains. Nothing before the cursor is
ever part of an edit, so a client that applies an item leaves what was typed as it is.
"""

import re
from dataclasses import replace
from pathlib import Path

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams
from pygls.uris import to_fs_path

from healing.sampling import Sampling
from server.blocks import allows_block, inside_at
from server.clients import Client
from server.closers import leave_closers
from server.completion_options import CompletionOptions
from server.documents import Change, Document
from server.grammar_checks import RULE as FIT_RULE
from server.names import DASHED
from server.options import Options
from server.positions import Position, Range
from server.report import Completion, Item, percent
from server.rules import place_at
from server.snapshot import Snapshot, line_bounds
from server.workspace.context import Material

_WORD_BEFORE = re.compile(r"\w*\Z")
_DASHED_WORD_BEFORE = re.compile(r"[\w-]*\Z")
_FIRST_WORD = re.compile(r"[^\w\r\n]*\w*")
_LINE_END = re.compile(r"[\r\n]")
FILTERS = {
    "chatter": {"no chatter"},
    "following": {"stopped before what follows", "no overlap"},
    "glued_words": {"no glued words"},
    "fitting": {FIT_RULE},
    "trailing_blanks": {"no trailing blanks", "no line separators"},
    "repeated_lines": {
        "repeats what follows",
        "ended before what follows",
        "ended before a repeat",
    },
}
"""The rules that each filter of the options stands for."""

LABEL_LENGTH = 60
"""Characters of a label in a completion menu."""

Place = tuple[str, types.Position]
"""A document's address, and where in it."""


def lsp_range(document: Document, start: int, end: int) -> types.Range:
    """The range between two byte offsets, in the client's position encoding."""
    first, last = document.position_at(start), document.position_at(end)
    return types.Range(
        types.Position(first.line, first.character), types.Position(last.line, last.character)
    )


def position_of(position: types.Position) -> Position:
    """A protocol position as ours."""
    return Position(position.line, position.character)


def place_of(params: object) -> Place | None:
    """The place in the parameters of a request of our own; None if there is none.

    Raises JsonRpcInvalidParams for numbers that no place has.
    """
    uri = getattr(getattr(params, "textDocument", None), "uri", None)
    position = getattr(params, "position", None)
    line, character = getattr(position, "line", None), getattr(position, "character", None)
    if not (isinstance(uri, str) and isinstance(line, int) and isinstance(character, int)):
        return None
    try:
        return uri, types.Position(line, character)
    except ValueError as error:  # a number that the protocol does not know
        raise JsonRpcInvalidParams(str(error)) from error


def folder_of(uri: str | None) -> Path | None:
    """The folder of a workspace; None if there is none on this machine."""
    try:
        path = to_fs_path(uri) if uri and uri.lower().startswith("file:") else None
    except ValueError:  # not an address
        return None
    return Path(path) if path and "\0" not in path else None


def change_of(change: types.TextDocumentContentChangeEvent) -> Change:
    """A protocol change as ours."""
    if isinstance(change, types.TextDocumentContentChangePartial):
        where = change.range
        return Change(change.text, Range(position_of(where.start), position_of(where.end)))
    return Change(change.text)


def selected_snapshot(
    document: Document, snapshot: Snapshot, selected: types.SelectedCompletionInfo | None
) -> Snapshot:
    """The snapshot as it would be with the selected menu entry in it: its text counts as typed."""
    if selected is None:
        return snapshot
    start, end = selected_offsets(document, selected)
    typed = selected.text.encode(errors="replace")
    text = snapshot.text[:start] + typed + snapshot.text[end:]
    return replace(snapshot, text=text, cursor=start + len(typed))


def selected_offsets(document: Document, selected: types.SelectedCompletionInfo) -> tuple[int, int]:
    """The byte offsets between which the selected menu entry goes."""
    where = selected.range
    first, last = sorted(document.offset_at(position_of(end)) for end in (where.start, where.end))
    return first, last


def selection_fits(
    document: Document, snapshot: Snapshot, selected: types.SelectedCompletionInfo
) -> bool:
    """Whether the selected entry belongs to the cursor: one line around it, nothing else."""
    start, end = selected_offsets(document, selected)
    replaced = snapshot.text[start:end]
    return start <= snapshot.cursor <= end and not set(b"\r\n") & set(replaced)


def completion_options(
    options: Options, language: str, snapshot: Snapshot, material: Material | None = None
) -> CompletionOptions:
    """The options of a request at a place; what other places say is used if the options allow."""
    options = options.for_language(language)
    section = options.completion
    block = allows_block(place_at(snapshot), inside_at(snapshot), section.multiline)
    return CompletionOptions(
        healing=section.healing,
        prompt=section.prompt,
        max_tokens=section.max_tokens_block if block else section.max_tokens,
        context_tokens=None if section.context_tokens == "auto" else section.context_tokens,
        first_seconds=section.first_suggestion_seconds,
        sampling=Sampling(
            section.temperature, section.top_k, section.top_p, section.min_p, section.seed
        ),
        multiline=section.multiline,
        grammar=options.grammar.mode,
        grammar_files=tuple(options.grammar.files.items()),
        grammar_schemas=tuple(options.grammar.schemas.items()),
        material=material if options.context.workspace else None,
        rules_off=frozenset().union(
            *(rules for name, rules in FILTERS.items() if not getattr(options.filters, name))
        ),
        bans=options.filters.bans,
        ban_patterns=options.filters.ban_patterns,
    )


def inline_items(
    document: Document,
    snapshot: Snapshot,
    completion: Completion,
    selected: types.SelectedCompletionInfo | None,
    client: Client,
) -> list[types.InlineCompletionItem]:
    """Ghost text. Where a menu entry is selected, its text is part of the item and its range."""
    start = end = snapshot.cursor
    before = ""
    if selected is not None:
        start, end = selected_offsets(document, selected)
        before = selected.text
    return [
        types.InlineCompletionItem(
            insert_text=before + _lines_for(client, item.text),
            range=lsp_range(document, start, end + item.replaced_bytes),
        )
        for item in completion.items
    ]


def menu_items(
    document: Document, snapshot: Snapshot, completion: Completion, client: Client
) -> list[types.CompletionItem]:
    """Entries of a completion menu, in their order; one that would write blanks only is left out.

    Clients show and filter entries by the word before the cursor, so label and filter text begin
    with it; the edit does not.
    """
    found: list[types.CompletionItem] = []
    shown: set[tuple[str, int]] = set()
    for item in completion.items:
        cursor = snapshot.cursor
        text, replaced = _menu_edit(snapshot, item, client)
        if not text.strip() or (text, replaced) in shown:
            continue
        shown.add((text, replaced))
        line_start = snapshot.text.rfind(b"\n", 0, cursor) + 1
        before = snapshot.text[max(line_start, cursor - 256) : cursor].decode(errors="ignore")
        # Emacs hides entries that do not begin with all of a word.
        is_dashed = snapshot.language in DASHED
        word = (_DASHED_WORD_BEFORE if is_dashed else _WORD_BEFORE).search(before)
        typed = word[0] if word else ""
        label = _LINE_END.split((typed + text).strip(), maxsplit=1)[0]
        found.append(
            types.CompletionItem(
                label=label if len(label) <= LABEL_LENGTH else label[: LABEL_LENGTH - 1] + "…",
                kind=types.CompletionItemKind.Text,
                detail=f"{completion.model.name} · {percent(item.probability)}",
                filter_text=typed + first_word(text),
                sort_text=f"\0{len(found):03}",
                preselect=True if not found else None,
                insert_text_format=types.InsertTextFormat.PlainText,
                text_edit=types.TextEdit(lsp_range(document, cursor, cursor + replaced), text),
            )
        )
    return found


def first_word(text: str) -> str:
    """What a text to be inserted begins with, as far as clients match it: marks, and a word."""
    found = _FIRST_WORD.match(text)
    assert found is not None
    return found[0]


def _menu_edit(snapshot: Snapshot, item: Item, client: Client) -> tuple[str, int]:
    """The text of an entry, and how many bytes after the cursor it replaces."""
    text = _lines_for(client, item.text)
    if not client.menu_only_inserts:
        return text, item.replaced_bytes
    text = _LINE_END.split(text, maxsplit=1)[0]
    if not item.replaced_bytes:
        return text, 0
    cursor = snapshot.cursor
    typed = snapshot.text[line_bounds(snapshot.text, cursor)[0] : cursor]
    closers = snapshot.text[cursor : cursor + item.replaced_bytes]
    return leave_closers(typed, text.encode(), closers).decode(), 0


def _lines_for(client: Client, text: str) -> str:
    """A text with the line ends that the client wants in items."""
    return text.replace("\r\n", "\n") if client.splits_at_lf else text
