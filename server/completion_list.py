"""The answer to `textDocument/completion`: what the model writes, and known names between it.

With a `partialResultToken` the written entries are sent at once, the names when they are there, and
the answer is empty; without one, the answer has all of them.

What is not here: the entries (`lsp_items`, `name_items`), and when there is time for names
(`name_requests`).
"""

import asyncio
from collections.abc import Sequence

from lsprotocol import types

from server.language_server import MidtokenServer, Suggested
from server.lsp_items import menu_items
from server.name_items import ListPlace, beside_names, in_order, name_items
from server.name_list import NameList
from server.name_requests import NameWish
from server.wishes import Wish


async def completion_list(
    server: MidtokenServer, wish: Wish, token: types.ProgressToken | None
) -> types.CompletionList | None:
    """The list for a wish; None where nothing is to be shown, or not any more.

    Args:
        server: The connection.
        wish: What is asked for.
        token: Where the client wants parts of the list before it is whole; None for nowhere.
    """
    began = asyncio.get_running_loop().time()
    found = await server.suggest(wish)
    if found is None:
        return None

    def tell(items: Sequence[types.CompletionItem]) -> None:
        if token is not None and items:
            part = types.CompletionList(True, [*items])
            server.protocol.notify(types.PROGRESS, types.ProgressParams(token, part))

    written = menu_items(found.document, found.snapshot, found.completion, server.client)
    options = server.options.for_language(found.snapshot.language)
    if not options.completion.names:
        server.prepare_after(found)
        tell(written)
        # What was sent as a part must not come again.
        return types.CompletionList(True, written if token is None else [])
    place = ListPlace(found.document, found.snapshot, server.client, _can_replace(server))
    beside = beside_names(place, written)
    tell(beside)
    known = await _names(server, place, found, beside, began)
    if not server.is_current(found.request):  # places of the list may be gone
        return None
    server.prepare_after(found)
    names = [] if known is None else name_items(place, beside, known)
    tell(names)
    if token is not None:
        return types.CompletionList(True, [])
    return types.CompletionList(True, in_order([*beside, *names]) if names else written)


async def _names(
    server: MidtokenServer,
    place: ListPlace,
    found: Suggested,
    written: Sequence[types.CompletionItem],
    began: float,
) -> NameList | None:
    """The names for a list with these entries; None if there is no time for them."""
    typed = len(place.word)
    texts = [item.text_edit.new_text[typed:].encode() for item in written if item.text_edit]
    with server.busy.waiting():
        return await server.names.beside(NameWish(found.request, tuple(texts), began))


def _can_replace(server: MidtokenServer) -> bool:
    """Whether the client knows edits that insert or replace."""
    document = server.client_capabilities.text_document
    completion = document.completion if document else None
    item = completion.completion_item if completion else None
    return bool(item and item.insert_replace_support)
