"""Completion lists in which known names stand between what the model has written.

Clients filter a list by the word before the cursor and sort it by how well entries match, before
they look at what the server says of the order. So all entries of such a list replace the same word,
with texts that begin with what is typed, and match it equally well: then the order is ours. (Helix
hides entries that do not match; VS Code puts an entry that matches an empty word last.)

Where a client's list can only insert, only names that go on from the word are in it, and entries
insert what follows the cursor.

What is not here: which names (`name_list`), and entries of written texts alone (`lsp_items`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import attrs
from lsprotocol import types

from server.clients import Client
from server.documents import Document
from server.lsp_items import first_word, lsp_range
from server.name_kinds import Kind
from server.name_list import UNLIKELY, KnownName, NameList
from server.names import word_end, word_start
from server.report import percent
from server.snapshot import Snapshot

_KINDS: dict[Kind, types.CompletionItemKind] = {
    "class": types.CompletionItemKind.Class,
    "function": types.CompletionItemKind.Function,
    "method": types.CompletionItemKind.Method,
    "field": types.CompletionItemKind.Field,
    "variable": types.CompletionItemKind.Variable,
    "module": types.CompletionItemKind.Module,
}

FIRST, LAST = "\0", "\x7f"
"""What texts to sort by begin with: ours come before what other servers say, but for what is hardly
probable."""

LEAST = 1e-3
"""What is less is told by a bound in any case (`report.percent`)."""

GAP = 1000
"""Numbers to sort by between one written text and the next: more than there are names."""


@dataclass(frozen=True)
class ListPlace:
    """Where a list is shown, and what its client can do with entries."""

    document: Document
    snapshot: Snapshot
    client: Client
    can_replace: bool
    """Whether the client knows edits that insert or replace (`insertReplaceSupport`)."""

    @cached_property
    def start(self) -> int:
        """The byte offset where the edits of a list with names begin."""
        if self.client.menu_only_inserts:
            return self.snapshot.cursor
        return word_start(self.snapshot.text, self.snapshot.cursor, self.snapshot.language)

    @cached_property
    def word(self) -> str:
        """The word that they replace."""
        return self.snapshot.text[self.start : self.snapshot.cursor].decode(errors="replace")

    @cached_property
    def inserted(self) -> types.Range:
        """Where that word is. On a line of a megabyte it takes milliseconds to tell."""
        return lsp_range(self.document, self.start, self.snapshot.cursor)

    @cached_property
    def replaced(self) -> types.Range | None:
        """The same with the rest of the word after the cursor; None if edits can't say both."""
        end = word_end(self.snapshot.text, self.snapshot.cursor, self.snapshot.language)
        if not self.can_replace or self.client.menu_only_inserts or end == self.snapshot.cursor:
            return None
        return lsp_range(self.document, self.start, end)


def beside_names(
    place: ListPlace, written: Sequence[types.CompletionItem]
) -> list[types.CompletionItem]:
    """Entries of written texts, best first, as they are in a list with names."""
    return [
        attrs.evolve(
            _from(place.inserted.start, place.word, item) if place.word else item,
            sort_text=_sort_text((number + 1) * GAP),
        )
        for number, item in enumerate(written)
    ]


def _from(start: types.Position, word: str, item: types.CompletionItem) -> types.CompletionItem:
    """An entry that replaces the typed word as well."""
    edit = item.text_edit
    assert isinstance(edit, types.TextEdit)
    return attrs.evolve(
        item,
        filter_text=word + first_word(edit.new_text),
        text_edit=types.TextEdit(types.Range(start, edit.range.end), word + edit.new_text),
    )


def name_items(
    place: ListPlace, written: Sequence[types.CompletionItem], found: NameList
) -> list[types.CompletionItem]:
    """Entries of names, best first, for a list with these entries of written texts.

    Names that are exact stand before the written texts that are less probable than they are, by
    their first words; the others behind all of them.

    Args:
        place: Where the list is shown.
        written: Entries from `beside_names`.
        found: The names, and how probable the first words of the written texts are.
    """
    texts = {_new_text(item).strip() for item in written}
    # Written texts stay in their own order: the least probable one so far counts.
    shares = [*accumulate(found.written, min)]
    items = []
    for number, one in enumerate(found.names):
        before = sum(share >= one.probability for share in shares) if one.exact else len(shares)
        is_likely = one.probability >= UNLIKELY
        sort_text = _sort_text(before * GAP + number + 1, is_likely=is_likely)
        item = _item(place, one, sort_text)
        if item is not None and _new_text(item) not in texts:
            items.append(item)
    return items


def in_order(items: Iterable[types.CompletionItem]) -> list[types.CompletionItem]:
    """A whole list in its order, the first entry chosen."""
    ordered = sorted(items, key=lambda item: item.sort_text or "")
    return [
        attrs.evolve(item, preselect=True if number == 0 else None)
        for number, item in enumerate(ordered)
    ]


def _sort_text(number: int, *, is_likely: bool = True) -> str:
    return f"{FIRST if is_likely else LAST}{number:05}"


def _item(place: ListPlace, name: KnownName, sort_text: str) -> types.CompletionItem | None:
    """A name's entry; None if the client's list can't make the edit."""
    snapshot, shown = place.snapshot, name.text
    if place.client.menu_only_inserts:
        if not name.goes_on:
            return None
        start = word_start(snapshot.text, snapshot.cursor, snapshot.language)
        before = snapshot.text[start : snapshot.cursor]
        shown = name.text.encode()[len(before) :].decode()
    edit: types.TextEdit | types.InsertReplaceEdit = types.TextEdit(place.inserted, shown)
    if place.replaced is not None:
        edit = types.InsertReplaceEdit(shown, place.inserted, place.replaced)
    return types.CompletionItem(
        label=name.text,
        kind=_KINDS[name.kind],
        detail=f"name · {_percent(name)}",
        # A name that the word is no beginning of would not match it.
        filter_text=name.text if name.goes_on else f"{place.word} {name.text}",
        sort_text=sort_text,
        insert_text_format=types.InsertTextFormat.PlainText,
        text_edit=edit,
    )


def _new_text(item: types.CompletionItem) -> str:
    assert item.text_edit is not None
    return item.text_edit.new_text


def _percent(name: KnownName) -> str:
    shown = percent(name.probability)
    return shown if name.exact or name.probability < LEAST else f"at most {shown}"
