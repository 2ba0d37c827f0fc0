"""Everything that a page says, as plain data: gathered with a model, shown without one."""

from dataclasses import dataclass, replace
from time import perf_counter

from healing.covers import ROOT
from healing.vocabulary import TokenKind, Vocabulary
from server.completer import Completer
from server.completion_options import CompletionOptions
from server.confidence import BOLD, Caution
from server.errors import EngineError
from server.explain_page.trace import SeenLeaf, SeenTree, Step, Trace
from server.report import Completion
from server.several import present_all
from server.snapshot import Snapshot, line_bounds, with_lf

LINES_AROUND = 3
"""Lines that are shown before the cursor's line; after it, one fewer."""

BYTES_AROUND = 400
"""Bytes that are shown on each side of the cursor at most."""


@dataclass(frozen=True)
class Token:
    """A token as it is shown."""

    id: int
    text: bytes
    """What it spells; the name of a mark."""
    is_mark: bool = False
    """Whether it is a mark of the prompt's structure, and no text."""


END_OF_TEXT = Token(-1, b"end", is_mark=True)
"""Stands for all marks that end a text."""


@dataclass(frozen=True)
class Facts:
    """One suggestion, and all that is known of how it came about."""

    snapshot: Snapshot
    completion: Completion
    written: bytes
    """What the model wrote after the cursor, before rules; line ends as LF."""
    head: tuple[Token, ...]
    """The prompt before the typed bytes."""
    typed: bytes
    """From the anchor to the cursor; empty if the hole is at the cursor."""
    typed_tokens: tuple[Token, ...]
    """How the tokenizer splits that, as it stands."""
    before: tuple[Token, ...]
    """The text before `typed` that is shown."""
    after: tuple[Token, ...]
    """The text after what is replaced that is shown."""
    tree: SeenTree | None
    """The covering tree, for exact healing."""
    steps: tuple[Step, ...]
    """Choices of tokens, one by one."""
    spelled: dict[int, bytes]
    """What the tokens of tree and steps spell."""
    first: Completion | None = None
    """What was answered when the request was made first, if it was made again for the page. Where
    the same is suggested now, `completion` is this one, with its times and counts."""

    def token(self, token: int | None) -> Token:
        """A token of the tree or of a step."""
        return END_OF_TEXT if token is None else Token(token, self.spelled[token])

    def path(self, leaf: SeenLeaf) -> tuple[Token, ...]:
        """The tokens of a cover after the trunk, the leaf included."""
        assert self.tree is not None
        found: list[int] = []
        node = leaf.node
        while node != ROOT:
            found.append(self.tree.nodes[node].token)
            node = self.tree.nodes[node].parent
        inner = (self.token(token) for token in reversed(found))
        return (*inner, self.token(leaf.token))


def gather(
    completer: Completer,
    snapshot: Snapshot,
    options: CompletionOptions,
    first: Completion | None = None,
    caution: Caution = BOLD,
) -> Facts:
    """Complete at a snapshot's cursor, and keep how that came about.

    Args:
        completer: The model.
        snapshot: The document.
        options: How to complete it.
        first: What was answered when the request was made first; None if it never was.
        caution: How sure it has to be, as it had to be then.

    Raises:
        EngineError: As the completer does; and where it asks nobody, for the reason that it gives.
        Cancelled: As the completer does.
    """
    started = perf_counter()
    engine, tokenization = completer.engine, completer.tokenization
    vocabulary = tokenization.vocabulary
    trace = Trace(vocabulary, engine.stops, options.sampling.temperature or 1.0)
    answer = completer.answer(snapshot, options, watcher=trace)
    timing = {
        **completer.loading_ms,
        **answer.timing_ms,
        "total": 1e3 * (perf_counter() - started),
    }
    completion = present_all(snapshot, b"", replace(answer, timing_ms=timing), caution)
    # Of texts that were asked for by hand others may be known, too.
    if first is not None and _texts(first)[:1] == _texts(completion)[:1]:
        completion = first
    prompt = trace.prompt
    if prompt is None:  # nobody was asked, and a note says why
        raise EngineError(answer.generation.healing.note or "; ".join(answer.notes))
    item = completion.items[0] if completion.items else None

    def spelled(text: bytes) -> tuple[Token, ...]:
        return tuple(_token(vocabulary, token) for token in tokenization.encode(text))

    before, after = around(snapshot, item.replaced_bytes if item else 0)
    own = prompt.typed[prompt.lead :]
    if before.endswith(own):
        before = before[: len(before) - len(own)]
    elif len(own) > len(before):
        before = b""
    tree = trace.tree
    shown = {alternative.token for step in trace.steps for alternative in step.best}
    shown |= {step.token for step in trace.steps}
    if tree is not None:
        shown |= {*tree.trunk, *(node.token for node in tree.nodes)}
        shown |= {leaf.token for leaf in tree.leaves}
    return Facts(
        snapshot=snapshot,
        completion=completion,
        written=answer.generation.text,
        head=tuple(_token(vocabulary, token) for token in prompt.head),
        typed=prompt.typed,
        typed_tokens=spelled(prompt.typed),
        before=spelled(before),
        after=spelled(after),
        tree=tree,
        steps=tuple(trace.steps),
        spelled={token: vocabulary[token] for token in shown if token is not None},
        first=first,
    )


def around(snapshot: Snapshot, replaced: int) -> tuple[bytes, bytes]:
    r"""The text on both sides of a cursor that is shown, with `\n` line ends.

    Args:
        snapshot: The document.
        replaced: Bytes after the cursor that the suggestion replaces.
    """
    text, cursor = snapshot.text, snapshot.cursor
    first, line_end = line_bounds(text, cursor)
    for _ in range(LINES_AROUND):
        first = line_bounds(text, first - 1)[0] if first else 0
    start = max(first, cursor - BYTES_AROUND)
    start = first if start == first else _character(text, start, cursor)
    last = cursor + replaced
    for _ in range(LINES_AROUND):
        end = line_bounds(text, last)[1]
        last = min(end + (2 if text[end : end + 2] == b"\r\n" else 1), len(text))
    # From the start of a character to the start of one.
    stop = _character(text, min(last, cursor + replaced + BYTES_AROUND), len(text))
    here = min(cursor, line_end)  # the cursor may stand between `\r` and `\n`
    return with_lf(text[start:here]), with_lf(text[cursor + replaced : stop])


def _texts(completion: Completion) -> list[str]:
    return [item.text for item in completion.items]


def _character(text: bytes, offset: int, end: int) -> int:
    """The first start of a character from an offset on, up to an end."""
    starts = (at for at in range(offset, min(offset + 4, end)) if text[at] & 0xC0 != 0x80)
    return next(starts, min(offset, end))


def _token(vocabulary: Vocabulary, token: int) -> Token:
    kind = vocabulary.kind(token)
    is_mark = kind not in {TokenKind.NORMAL, TokenKind.BYTE, TokenKind.USER_DEFINED}
    return Token(token, vocabulary[token], is_mark)
