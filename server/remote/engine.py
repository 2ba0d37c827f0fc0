"""A model that runs elsewhere, as the rest of midtoken sees an engine.

It tokenizes, knows its marks, and writes text (`write`). What needs logits is
refused (`no_logits`).
How an engine is told what an answer has to begin with (a *form*) is found out with the
first answer that shows it: fields that an engine does not know are ignored by most.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import exp, log1p

from healing.vocabulary import Vocabulary
from server.engine import FimTokens, ModelInfo
from server.errors import RemoteError
from server.remote.apis import Ask, Piece
from server.remote.client import Client, message_of
from server.remote.discovery import Found
from server.remote.events import DONE
from server.remote.no_logits import NoLogits
from server.remote.shapes import expected_from
from server.remote.vocabulary import Known, twin_of

REFUSALS = frozenset({400, 422})
"""What an engine answers to a form that it does not like, among other things."""


MOST_EVENTS = 4
"""For each token that was asked for: an answer that has more of them does not end by itself."""


SUREST = -1e-6
"""No token is surer: 0 is what engines say that tell no probabilities."""


class NotForcedError(RemoteError):
    """The engine can't be made to begin an answer with given bytes."""


@dataclass
class _Forms:
    """How an engine is told to begin, as far as that is found out."""

    left: tuple[str, ...]
    """Those that are not known to fail, best first."""
    is_proven: bool = False
    """Whether the first of them has worked."""


class RemoteEngine(NoLogits):
    """A `TokenEngine` without logits. All methods but `cancel` belong to one thread at a time."""

    def __init__(
        self, client: Client, found: Found, known: Known, forms: _Forms | None = None
    ) -> None:
        """Take what was found out over."""
        self._client, self._found, self._known = client, found, known
        self._forms = forms or _Forms(found.api.forms)
        self._evaluated = self._passes = 0
        kind = known.kind
        self.info = ModelInfo(
            path=client.url,
            name=found.model,
            description=f"served by {found.name}",
            size_bytes=found.size_bytes,
            vocabulary_type=kind,
            backend=f"{found.name} at {client.url}",
            layers=0,
            offloaded_layers=0,
            note=None,
            context_tokens=found.context_tokens,
            add_bos=bool(known.start),
            trees=False,
            add_blank=known.add_blank,
            fill_in=known.fim.dialect if known.fim else None,
            remote=True,
        )

    def twin(self) -> "RemoteEngine":
        """The same engine for another thread, which asks it at the same time."""
        client = self._client.twin()
        return RemoteEngine(
            client, self._found, twin_of(self._known, client, self._found), self._forms
        )

    @property
    def shows_key(self) -> bool:
        """Whether a key crosses the network readable."""
        return self._client.tells_key_to_others

    @property
    def known(self) -> Known:
        """The tokenizer, and how much of it is known."""
        return self._known

    @property
    def vocabulary(self) -> Vocabulary:
        """The bytes of every token that is known."""
        return self._known.tokenization.vocabulary

    @property
    def fim(self) -> FimTokens | None:
        """Fill-in-the-middle ids, or None where the model has none."""
        return self._known.fim

    @property
    def bos(self) -> int | None:
        """The token before every text, where there is one."""
        return self._known.start[0] if self._known.start else None

    @property
    def stops(self) -> frozenset[int]:
        """Ids that end a completion."""
        return self._known.stops

    @property
    def evaluated_tokens(self) -> int:
        """Tokens that the engine has read and written for us, as far as it tells."""
        return self._evaluated

    @property
    def forward_passes(self) -> int:
        """Answers that were asked for."""
        return self._passes

    @property
    def can_force(self) -> bool:
        """Whether there may be a way to force an answer's beginning."""
        return bool(self._forms.left)

    def forces_nothing(self) -> None:
        """Every form has failed, and asking without one has not: ask for none any more."""
        self._forms.left = ()

    def encode(self, text: bytes) -> list[int]:
        """Text to ids. Everything is text: what spells a special token gets ordinary ids."""
        return self._known.tokenization.encode(text)

    def write(self, ask: Ask) -> Iterator[Piece]:
        """What the engine writes after the forced bytes, as it comes; closing stops it.

        Raises:
            NotForcedError: It does not begin as forced, in whatever form it is told to.
            RemoteError: It is not there, refuses or fails.
            Cancelled: `cancel` was called.
        """
        if not ask.forced:
            yield from self._pieces(ask, None)
            return
        refusal: RemoteError | None = None
        forms = self._forms
        for form in forms.left[:1] if forms.is_proven else forms.left:
            try:
                yield from self._after_forced(ask, form)
                return
            except NotForcedError as error:
                refusal = error
            except RemoteError as error:
                if forms.is_proven or error.status not in REFUSALS:
                    raise
                refusal = NotForcedError(str(error), error.status)
        raise refusal or NotForcedError("this engine can't be made to begin with given text")

    def _after_forced(self, ask: Ask, form: str) -> Iterator[Piece]:
        """The pieces after the forced bytes, which have to come first."""
        owed = ask.forced
        for piece in self._pieces(ask, form):
            before = owed
            common = min(len(owed), len(piece.text))
            if piece.text[:common] != owed[:common]:
                raise NotForcedError(
                    f"{self._client.url} does not begin as it is told to by {form}"
                )
            owed = owed[common:]
            if owed and piece.ended == "stop token":
                raise NotForcedError(
                    f"{self._client.url} ends before what {form} tells it to write"
                )
            if common and not owed:
                self._forms.left, self._forms.is_proven = (form,), True
            text = piece.text[common:]
            logprobs = piece.logprobs
            if before and len(logprobs) == 1 and logprobs[0]:
                logprobs = (_share(logprobs[0], piece, before),)
            # Tokens that spell nothing but forced bytes say nothing of what comes after them.
            yield replace(piece, text=text, logprobs=logprobs if text else ())

    def _pieces(self, ask: Ask, form: str | None) -> Iterator[Piece]:
        api = self._found.api
        self._passes += 1
        self._evaluated += len(ask.tokens)
        reused, left = 0, MOST_EVENTS * (ask.max_tokens + 1)
        stream = self._client.stream(api.path, api.body(ask, form))
        try:
            for event in stream:
                if event == DONE:
                    return
                with expected_from(self._client.url):
                    piece = api.piece(self._read(event))
                if piece.reused is not None:
                    self._evaluated -= piece.reused - reused
                    reused = piece.reused
                self._evaluated += len(piece.logprobs)
                yield piece
                left -= 1
                if piece.ended is not None:
                    return
                if not left:
                    raise RemoteError(
                        f"{self._client.url} goes on after {ask.max_tokens} tokens: see its own log"
                    )
            # Half an answer looks like a whole one to the standard library.
            raise RemoteError(f"{self._client.url} broke off its answer: see its own log")
        finally:
            stream.close()  # type: ignore[attr-defined]

    def _read(self, event: str) -> dict[str, object]:
        """One event as JSON. Raises RemoteError for an error, and for what is neither."""
        try:
            found = json.loads(event)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise RemoteError(f"{self._client.url} sends events that are no JSON: see its own log")
        if "error" in found or found.get("object") == "error":
            said = self._client.shown(message_of(event) or "it does not say why")
            raise RemoteError(f"{self._client.url} failed ({said}): see its own log")
        return found

    def cancel(self) -> None:
        """Close the connection of the running `write`, and let none begin until `resume`."""
        self._client.cancel()

    def resume(self) -> None:
        """Forget an earlier `cancel`."""
        self._client.resume()

    def close(self) -> None:
        """Break off what is running; nothing else is held."""
        self._client.cancel()


def _share(logprob: float, piece: Piece, owed: bytes) -> float:
    """Natural log of a token's probability among those that agree with the forced bytes.

    Of them, only those count that the engine tells: where it tells none, the token is sure.
    """
    agreeing = [
        other
        for text, other in piece.rivals
        if text != piece.text and text and (text.startswith(owed) or owed.startswith(text))
    ]
    weights = [exp(min(700.0, other - logprob)) for other in agreeing]  # below what overflows
    return min(SUREST, -log1p(sum(weights)))
