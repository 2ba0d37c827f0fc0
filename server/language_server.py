"""The language server: documents, requests and settings of one or more editors, one model.

pygls carries the messages. Documents and positions are ours (`documents`, `positions`): pygls'
own lines also end at form feeds and U+2028, which corrupts a document at the next edit.

A request that can't be served is answered with null, and the log says why; requests before the
model is loaded are answered with null at once.

Not here: the handlers of requests (`handlers`), which request runs when (`service`), and what an
editor shows of the status.
"""

import logging
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import attrs
from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.protocol import lsp_method

from server import __version__
from server.backend import Backend, Status
from server.busy_status import BusyStatus
from server.clients import client_named
from server.documents import Document, Documents, VersionStep, uri_key
from server.errors import DocumentError
from server.explain_method import Last
from server.grammar.languages import prepare
from server.hosting import ALONE, Hosting, moved_elsewhere
from server.idle import Where
from server.loading_progress import LoadingProgress
from server.lsp_items import (
    change_of,
    folder_of,
    position_of,
    selected_snapshot,
    selection_fits,
)
from server.messages import MessageProtocol
from server.name_requests import NameRequests
from server.option_layers import GUEST, HOST, Problem, merge, read_workspace, sections_set
from server.options import Options
from server.own_methods import bind_own_methods
from server.positions import Encoding, Position, choose_encoding
from server.report import Completion
from server.rhythm import Rhythm
from server.secret_files import NOT_SENT
from server.server_log import prepare_log, said_in_log, set_log
from server.service_request import Request
from server.snapshot import Snapshot, language_of
from server.surroundings import Surroundings
from server.wishes import Wish, request_after, request_of, spot_after, spot_in_new

logger = logging.getLogger("midtoken.server")

STATUS = "midtoken/status"
"""The notification that tells a client how the server is."""

MOST_TOLD = 10
"""Wrong settings that are told at once: a person reads no more, whatever a workspace says."""


class Protocol(MessageProtocol):
    """pygls' messages over our own documents."""

    _server: "MidtokenServer"

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> Any:  # noqa: ANN401 (a generator)
        """Choose the position encoding, as pygls does, before anything else."""
        general = params.capabilities.general
        offered = general.position_encodings if general else None
        self._server.begin(params, choose_encoding(offered))
        self._begun = True
        # Documents and folders are ours; pygls would stumble over an address that is none.
        bare = attrs.evolve(params, root_uri=None, root_path=None, workspace_folders=None)
        return (yield from super().lsp_initialize(bare))

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        """Begin with a document."""
        opened = params.text_document
        self._server.backend.service.forget(self._server.document_key(opened.uri))
        try:
            document = self._server.documents.open(
                opened.uri, opened.text, opened.version, str(opened.language_id or "")
            )
        except DocumentError as error:
            logger.warning("%s", error)
            self._server.tell_once(str(error), "too many documents")
            return
        self._server.prepare_grammar(opened.uri)
        self._server.surroundings.at(document, 0)
        self._server.read_ahead(document, spot_in_new(document, self._server.options))

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        """Edit a document."""
        with said_in_log():
            self._server.edit(params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        """Forget a document, and everything that was under way for it."""
        with said_in_log():
            self._server.close_document(params.text_document.uri)

    def passed_over(self, message: dict[str, Any]) -> None:
        """What was changed by a message that nobody can read is not known any more."""
        if message.get("method") == types.TEXT_DOCUMENT_DID_CHANGE:
            self._server.lose(message.get("params"))


@dataclass(frozen=True)
class Suggested:
    """A completion that is still wanted where it was asked for."""

    document: Document
    snapshot: Snapshot
    request: Request
    """A selected menu entry counts as typed in it."""
    completion: Completion


class MidtokenServer(LanguageServer):
    """One editor's connection."""

    protocol: Protocol

    def __init__(self, backend: Backend, hosting: Hosting = ALONE) -> None:
        prepare_log()
        super().__init__("midtoken", __version__, protocol_cls=Protocol, max_workers=2)
        self.backend = backend
        self.hosting = hosting
        self.protocol.longest_message = hosting.longest_message
        if hosting.remote:
            self.protocol.object_hook = moved_elsewhere
        self.options = Options()
        self.documents = Documents(choose_encoding(None))
        self.client = client_named(None)
        self.rhythm = Rhythm()
        self.last: Last | None = None
        self.has_left = False
        """Whether the connection has ended. What is still under way then is for nobody."""
        self.names = NameRequests(backend, self.documents_now)
        self.own_methods = bind_own_methods(self, backend, self.language_at)
        self.busy = BusyStatus(self.tell_busy)
        self.surroundings = Surroundings(lambda: self.documents, lambda: self.options)
        self.at_end: Callable[[], None] = lambda: None
        """Lets go of what other methods keep on the disk."""
        self._progress = LoadingProgress(self)
        self._layers: dict[str, object] = {}
        self._chooses_model = False
        """Whether this editor has ever said which model is to run, or how."""
        self._folder: Path | None = None
        self._told: set[str] = set()
        self._told_busy: Status | None = None

    def begin(self, params: types.InitializeParams, encoding: Encoding) -> None:
        """Take over what the client says of itself."""
        self.documents = Documents(encoding)
        self.client = client_named(params.client_info.name if params.client_info else None)
        self._layers = {"initializationOptions": params.initialization_options}
        folders = params.workspace_folders or []
        found = [folder_of(one.uri) for one in folders] or [folder_of(params.root_uri)]
        self._folder = found[0]
        self.surroundings.begin(folder for folder in found if folder is not None)
        self.apply_settings()

    def apply_settings(self, **layers: object) -> None:
        """Merge all settings again, the given layers among them; tell what is wrong, once."""
        self._layers.update(layers)
        found: list[tuple[str, object]] = []
        problems: list[Problem] = []
        if self.hosting.settings:
            found.append((HOST, self.hosting.settings))
        if self._folder is not None:
            layer, problems = read_workspace(self._folder)
            found.append(layer)
        guest = GUEST if self.hosting.remote else None
        found += [(guest or name, content) for name, content in self._layers.items()]
        self.options, others = merge(found)
        self._chooses_model |= not sections_set(found).isdisjoint({"model", "engine", "remote"})
        if self._chooses_model and self._is_overruled:
            self.tell_once(
                "other editors use this server's model, so yours is not loaded: name it in "
                "`initializationOptions`, and start the server of this editor again"
            )
        unwritable = set_log(self.options.logging)
        if unwritable and self.tell_once(unwritable):
            logger.warning("%s", unwritable)
        new: dict[str, Problem] = {}
        for problem in [*problems, *others]:
            if problem.subject not in self._told:
                new.setdefault(problem.subject, problem)
        for problem in [*new.values()][:MOST_TOLD]:
            self.tell_once(str(problem), problem.subject)
            logger.warning("%s", problem)
        if len(new) > MOST_TOLD:
            more = f"{len(new) - MOST_TOLD} more settings are wrong"
            if self.tell_once(f"{more}: they are named when settings change next", more):
                logger.warning("%s", more)

    @property
    def model_options(self) -> Options:
        """The options to run the model with. An editor that sets none of these takes what runs."""
        running = self.backend.options
        if running is None or (self._chooses_model and not self._is_overruled):
            return self.options
        return running

    @property
    def _is_overruled(self) -> bool:
        """Whether other editors need a model that these settings would replace."""
        others = self.backend.listeners - {self.tell_status}
        return bool(self.hosting.keeps_model and others and not self.backend.runs(self.options))

    def leave(self) -> None:
        """The connection has ended: nothing of it stays."""
        self.has_left = True
        self.protocol.let_go()
        self.at_end()
        self.own_methods.close()
        self.busy.close()
        self.surroundings.close()
        self.backend.listeners.discard(self.tell_status)
        for document in list(self.documents):
            self.backend.service.forget(self.document_key(document.uri))
            self.documents.close(document.uri)

    def tell(self, kind: types.MessageType, message: str) -> None:
        """Show a message to the person."""
        if self.protocol.writer is not None:
            self.window_show_message(types.ShowMessageParams(kind, f"midtoken: {message}"))

    def tell_once(self, problem: str, subject: str | None = None) -> bool:
        """Warn the person of a problem; False if that was done before, of the same subject."""
        subject = problem if subject is None else subject
        if subject in self._told:
            return False
        self._told.add(subject)
        self.tell(types.MessageType.Warning, problem)
        return True

    def tell_status(self, status: Status) -> None:
        """Tell the client how the server is; an error is shown to the person as well, once."""
        if self.has_left:
            return
        told: dict[str, object] = {"state": status.state, "message": status.message}
        if status.percent is not None:
            told["percent"] = status.percent
        self.protocol.notify(STATUS, told)
        self._progress.follow(status)
        if status.state == "error" and status.message not in self._told:
            self._told.add(status.message)
            self.tell(types.MessageType.Error, status.message)

    def tell_busy(self, busy: bool) -> None:
        """Tell the client that the model computes for it, or that it does no more."""
        status = self.backend.status
        if busy:
            status = Status("busy", self.backend.busy_message(id(self)))
        is_news, self._told_busy = status != self._told_busy, status
        if is_news and self.backend.is_ready:  # else it has been told how the model is
            self.tell_status(status)

    def report_server_error(self, error: Exception, source: Any) -> None:  # noqa: ANN401
        """Messages that can't be read or handled go to the log; the connection goes on."""
        logger.warning("%s: %s", getattr(source, "__name__", source), error)

    def language_at(self, uri: str) -> str:
        """The language of a document; guessed from its address if it is not open."""
        try:
            return self.documents.find(uri).language
        except DocumentError:
            return language_of(unquote(uri))

    def prepare_grammar(self, uri: str) -> None:
        """Have the grammars of a document's language compiled before they are needed."""
        language = self.language_at(uri)
        if self.options.for_language(language).grammar.mode != "off":
            prepare(language)

    def document_key(self, uri: str) -> Hashable:
        """What the service knows a document by: editors do not share theirs."""
        return id(self), uri_key(uri)

    def edit(self, params: types.DidChangeTextDocumentParams) -> None:
        """Apply a client's changes to a document."""
        changes = [change_of(change) for change in params.content_changes]
        document = params.text_document
        step = self.documents.change(document.uri, document.version, changes)
        if step is VersionStep.BACK:
            logger.warning("%s: version %d comes late", document.uri, document.version)
        self.rhythm.key()
        if changes:
            changed = self.documents.find(document.uri)
            if (where := changes[-1].range) is not None:
                self.surroundings.at(changed, changed.offset_at(where.start))
            self.read_ahead(changed, spot_after(changed, changes[-1], self.options))

    def lose(self, params: Any) -> None:  # noqa: ANN401 (of any shape)
        """Follow a document no more: the editor has changed it, and did not say how."""
        try:
            uri = params["textDocument"]["uri"]
            self.close_document(uri)
        except (LookupError, TypeError, AttributeError, DocumentError):
            return
        what = f"{uri!a} is followed no more: a change of it can't be read"
        todo = "close it and open it again, and tell the editor's authors"
        self.tell(types.MessageType.Warning, f"{what}; {todo}")

    def close_document(self, uri: str) -> None:
        """Forget a document, and all that is under way for it. Raises DocumentError if not open."""
        document = self.documents.find(uri)
        self.backend.service.forget(self.document_key(uri))
        self.backend.service.free(uri)
        self.surroundings.closed(document)
        self.documents.close(uri)

    def read_ahead(self, document: Document, where: Where | None) -> None:
        """Have the model read there when it has nothing to do, if that is allowed."""
        options = self.options
        if options.engine.idle_work and options.enabled_for(document.language):
            self.backend.service.idle.at(self.document_key(document.uri), where)
            self.backend.service.idle.rest()

    async def suggest(self, wish: Wish) -> Suggested | None:
        """A completion that is still wanted where it was asked for, or None."""
        if wish.automatic and not self.options.trigger.automatic:
            return None
        try:
            document = self.documents.find(wish.uri)
        except DocumentError as error:
            logger.warning("%s", error)
            return None
        if document.language in self.options.languages.disabled:
            return None
        snapshot = document.snapshot(position_of(wish.position))
        if wish.selected and not selection_fits(document, snapshot, wish.selected):
            return None
        self.surroundings.at(document, snapshot.cursor)
        asked = selected_snapshot(document, snapshot, wish.selected)
        request = self._request(wish, asked)
        with self.busy.waiting():
            completion = await self.backend.complete(request)
        still_open = self.documents.is_open(document)
        if completion is None or not still_open or not document.is_current(snapshot):
            return None
        self.last = request, completion
        if completion.grammar.wrong:
            self.tell_once(f"{completion.grammar.wrong}; its documents are not checked")
        slow = completion.bans.slow
        if slow and self.tell_once(f"{slow} on some texts; nothing is suggested there"):
            logger.warning("%s on some texts; nothing is suggested there", slow)
        if completion.empty_reason == NOT_SENT:
            self.tell_once(NOT_SENT)
        return Suggested(document, snapshot, request, completion)

    def prepare_after(self, suggested: Suggested) -> None:
        """Have the model write what comes after a suggestion, if it has nothing else to do."""
        if self.names.is_active:  # a list with names is about to be answered, and asks for it then
            return
        request = suggested.request
        following = request_after(request, suggested.completion, self.options)
        if following is not None and request.ahead:
            self.backend.service.prepare(following)

    def request_at(self, uri: str, position: types.Position) -> Request:
        """A request that a person makes at a place. Raises DocumentError."""
        document = self.documents.find(uri)
        snapshot = document.snapshot(position_of(position))
        return self._request(Wish(uri, position, automatic=False), snapshot)

    def documents_now(self) -> list[Snapshot]:
        """The open documents, each with the cursor at its start."""
        return [document.snapshot(Position(0, 0)) for document in self.documents]

    def is_current(self, request: Request) -> bool:
        """Whether a request's document is open and as it was."""
        try:
            return self.documents.find(request.snapshot.uri).is_current(request.snapshot)
        except DocumentError:
            return False

    def _request(self, wish: Wish, snapshot: Snapshot) -> Request:
        request = request_of(
            wish,
            self.document_key(wish.uri),
            snapshot,
            self.options,
            offloaded=self.backend.offloaded,
            pause=lambda: self.rhythm.pause(self.backend.service.first_text_s),
            material=self.documents.find(wish.uri).material,
        )
        return replace(request, connection=id(self))
