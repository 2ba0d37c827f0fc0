"""What the language server does at each request and notification of the protocol.

A handler fetches the document, makes a snapshot, awaits the service and shapes the result. It never
waits for the model in the event loop.

Not here: a connection's state, and the notifications about documents, which come first
(`language_server`).
"""

from lsprotocol import types

from server.backend import Backend, Status
from server.client_settings import use_settings
from server.completion_list import completion_list
from server.explain_method import bind_explain_methods
from server.hosting import ALONE, Hosting
from server.language_server import MidtokenServer
from server.lsp_items import inline_items
from server.model_methods import bind_model_methods
from server.rank_method import bind_rank_method
from server.server_log import said_in_log
from server.wishes import Wish


def create_server(backend: Backend, hosting: Hosting = ALONE) -> MidtokenServer:
    """A server for one connection, with all handlers bound."""
    server = MidtokenServer(backend, hosting)
    if not hosting.remote:
        bind_model_methods(
            server, lambda: server.model_options.remote.url or server.model_options.model.name
        )
    server.at_end = bind_explain_methods(server, backend, lambda: server.last, server.request_at)
    bind_rank_method(server, backend, server.request_at, server.documents_now, server.is_current)

    def take(settings: object) -> None:
        server.apply_settings(**{"workspace/configuration": settings})

    async def start() -> None:
        if not server.has_left:
            await backend.start(server.model_options, server.tell_status)

    @server.feature(types.INITIALIZED)
    async def initialized(_: types.InitializedParams) -> None:
        if server.has_left:
            return
        backend.listeners.add(server.tell_status)
        # What is ready is no news for an editor that is about to have another model loaded.
        is_news = backend.options is None or backend.runs(server.model_options)
        server.tell_status(backend.status if is_news else Status("starting"))
        await use_settings(server, take, start)
        if not is_news:  # its settings may have named what runs after all
            server.tell_status(backend.status)

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def changed(params: types.DidChangeConfigurationParams) -> None:
        settings = params.settings
        if isinstance(settings, dict) and settings:
            server.apply_settings(
                **{"workspace/didChangeConfiguration": settings.get("midtoken", settings)}
            )
        await use_settings(server, take, start)

    @server.feature(types.TEXT_DOCUMENT_INLINE_COMPLETION, types.InlineCompletionOptions())
    async def inline(params: types.InlineCompletionParams) -> types.InlineCompletionList | None:
        kind = params.context.trigger_kind
        wish = Wish(
            params.text_document.uri,
            params.position,
            kind is types.InlineCompletionTriggerKind.Automatic,
            params.context.selected_completion_info,
        )
        found = await server.suggest(wish)
        if found is None:
            return None
        server.prepare_after(found)
        document, snapshot, completion = found.document, found.snapshot, found.completion
        return types.InlineCompletionList(
            inline_items(document, snapshot, completion, wish.selected, server.client)
        )

    @server.feature(
        types.TEXT_DOCUMENT_COMPLETION,
        types.CompletionOptions(trigger_characters=list("._-:/\\@#'\"([{<,= ")),
    )
    async def menu(params: types.CompletionParams) -> types.CompletionList | None:
        kind = (
            params.context.trigger_kind if params.context else types.CompletionTriggerKind.Invoked
        )
        automatic = kind is not types.CompletionTriggerKind.Invoked
        typing = server.rhythm.is_typing()
        return await completion_list(
            server,
            Wish(params.text_document.uri, params.position, automatic, is_single=typing),
            params.partial_result_token,
        )

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: types.DidSaveTextDocumentParams) -> None:
        with said_in_log():
            server.surroundings.saved(server.documents.find(params.text_document.uri))

    @server.feature(types.SHUTDOWN)
    def shutdown(_: None) -> None:
        server.own_methods.notes.write()  # at once: an `exit` right after it cancels what waits

    if not hosting.remote:

        @server.command("midtoken.restartModel")
        async def restart() -> None:
            await backend.load(server.model_options, server.tell_status)

    return server
