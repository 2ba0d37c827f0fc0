"""Ranking for editors: `midtoken/rank`, the order in which known names are likely at a place.

The request::

    {"textDocument": {"uri": …}, "position": …, "labels": ["get", "get_all", …],
     "limit": 10, "tokens": 256, "whole": true, "perToken": false, "forgiving": true}

All but the place may be left out. Without `labels`, the names of the document and of open documents
of its language are ranked, those that fit what is typed and hold nothing banned. `limit` of the
best are exact, unless `tokens` are used up before.

The result::

    {"typed": "ge", "evaluated": 9, "refused": [{"index", "label", "reason"}, …],
     "items": [{"index": 0, "label": "get", "match": "start", "logprob": -0.2, "exact": true,
                "score": -1.3}, …]}

Items come best first; `index` is the place in `labels`. `{"problem"}`, a line for people, where
nothing can be ranked. Null if a newer request for the document came, or the document has changed.
"""

import asyncio
from collections.abc import Callable, Hashable, Sequence
from dataclasses import asdict, replace
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer

from server.backend import Backend
from server.completer import Completer
from server.errors import Cancelled, MidtokenError
from server.fitting_names import fitting_names
from server.lsp_items import place_of
from server.name_index import NameIndex
from server.ranking import Ranking, RankOptions, rank
from server.service_request import Request
from server.snapshot import Snapshot

RANK = "midtoken/rank"

LIMIT = 10
"""Names that are exact unless a client asks for more: a menu shows no more at once."""

TOKENS = 256
"""Tokens that one request evaluates for names, about, unless a client says how many."""


def bind_rank_method(
    server: LanguageServer,
    backend: Backend,
    request_at: Callable[[str, types.Position], Request],
    opened: Callable[[], Sequence[Snapshot]],
    is_current: Callable[[Request], bool],
) -> None:
    """Bind the method to a connection.

    Args:
        server: The connection.
        backend: The model.
        request_at: A request at a place; raises DocumentError.
        opened: The client's open documents.
        is_current: Whether a request's document is still as it was.
    """
    running: dict[Hashable, asyncio.Task[Ranking]] = {}
    index = NameIndex()

    @server.feature(RANK)
    async def ranked(params: Any) -> dict[str, Any] | None:  # noqa: ANN401 (any JSON)
        place, labels, options = place_of(params), _labels(params), _options(params)
        if place is None:
            raise JsonRpcInvalidParams(f"{RANK} needs a textDocument and a position")
        if not backend.is_ready:
            return {"problem": backend.status.message or "the model is not loaded yet"}
        try:
            request = request_at(*place)
        except MidtokenError as error:
            return {"problem": str(error)}
        others = [] if labels is not None else _others(opened(), request.snapshot)

        def work(completer: Completer) -> Ranking:
            chosen, names = options(request), labels
            if names is None:
                bans, forgiving = request.options.compiled_bans(), chosen.forgiving
                known = index.at(request.snapshot, others)
                names = fitting_names(known, request.snapshot, bans, forgiving=forgiving)
            return rank(completer, request.snapshot, names, chosen)

        older = running.get(request.document)
        if older is not None:
            older.cancel()
        mine = running[request.document] = asyncio.ensure_future(
            backend.run(work, request.connection)
        )
        try:
            found = await mine
        except Cancelled:
            return None
        except MidtokenError as error:
            return {"problem": str(error)}
        except asyncio.CancelledError:
            if running.get(request.document) is mine:  # the client cancelled, and nobody else
                raise
            return None
        finally:
            if running.get(request.document) is mine:
                del running[request.document]
        if labels is None:  # nobody has asked for a name that does not fit after all
            found = replace(found, refused=())
        return _shape(found) if is_current(request) else None


def _others(opened: Sequence[Snapshot], own: Snapshot) -> list[Snapshot]:
    return [document for document in opened if document.uri != own.uri]


def _labels(params: object) -> Sequence[str | bytes] | None:
    labels = getattr(params, "labels", None)
    if labels is None:
        return None
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise JsonRpcInvalidParams("labels are a list of strings")
    return labels


def _options(params: object) -> Callable[[Request], RankOptions]:
    """The options of a request, once its place is known."""
    limit, tokens = getattr(params, "limit", LIMIT), getattr(params, "tokens", TOKENS)
    if not (_is_count(limit) and limit > 0 and _is_count(tokens)):
        raise JsonRpcInvalidParams("limit is a number from 1 on, tokens one from 0 on")
    flags = {
        name: getattr(params, key, default)
        for name, key, default in (
            ("whole", "whole", True),
            ("per_token", "perToken", False),
            ("forgiving", "forgiving", True),
        )
    }
    if not all(isinstance(flag, bool) for flag in flags.values()):
        raise JsonRpcInvalidParams("whole, perToken and forgiving are true or false")
    return lambda request: RankOptions(limit, tokens, **flags, completion=request.options)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _shape(found: Ranking) -> dict[str, Any]:
    return {
        "typed": found.typed,
        "items": [asdict(name) for name in found.names],
        "refused": [asdict(label) for label in found.refused],
        "evaluated": found.evaluated,
    }
