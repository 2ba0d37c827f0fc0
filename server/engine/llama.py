"""The token engine on llama.cpp in this process.

Example::

    engine = load(path, EngineOptions())
    slot = engine.open(engine.encode(b"def main(arg"))
    [row] = engine.evaluate(slot, [], [ROOT])           # what may come next
    left, right = engine.evaluate(slot, [(ROOT, 82), (ROOT, 8)], [0, 1])
    engine.keep(slot, 1)                                # the text is longer by token 8

Every slot owns one sequence of the KV cache; the other sequences are for the branches of a tree.
The invariant, after every return and after every error: `slot.tokens[:slot.resident]` is what the
slot's sequence holds, followed by nothing but the branch of a tree that may still be kept.

What is not here: loading (`llama_load`), a forward pass (`llama_pass`), a tree in memory
(`llama_branches`) and its order (`llama_tree`), what llama.cpp's memory can do (`llama_memory`),
and which token comes next.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Self

from healing.vocabulary import Vocabulary
from server.engine import ROOT, FimTokens, ModelInfo, Slot
from server.engine.fim_dialects import fim_tokens
from server.engine.llama_batch import Batch, Entry
from server.engine.llama_branches import Branches
from server.engine.llama_library import load_library
from server.engine.llama_limits import Limits
from server.engine.llama_load import BESIDE, EngineOptions, Loaded, free, load_model
from server.engine.llama_memory import Memory
from server.engine.llama_pass import Passes
from server.engine.llama_slots import Grown, LlamaSlot, Row, SlotTable
from server.engine.llama_state import State, restore, save
from server.engine.llama_tree import Tree
from server.engine.llama_vocabulary import (
    Encoder,
    announced_marks,
    bos_token,
    stop_tokens,
    vocabulary_of,
)
from server.engine.loaded_files import check_unchanged
from server.engine.state_key import state_key
from server.errors import EngineError


def load(path: Path, options: EngineOptions, vocabulary: Vocabulary | None = None) -> "LlamaEngine":
    """An engine for a model file.

    Args:
        path: The file.
        options: How to run it.
        vocabulary: The file's vocabulary, where it was read already (`tables`); asking llama.cpp
            for it takes most of a second.

    Raises:
        ModelError, EngineError: See `llama_load`.
    """
    loaded = load_model(path, options)
    try:
        vocabulary = vocabulary or vocabulary_of(loaded.vocabulary)
        return LlamaEngine(loaded, vocabulary, options.slots)
    except BaseException:
        free(loaded)
        raise


class LlamaEngine:
    """A `TokenEngine`. All methods but `cancel` belong to one thread at a time."""

    def __init__(self, loaded: Loaded, vocabulary: Vocabulary, slots: int) -> None:
        """Take a loaded model over; `close` frees it."""
        self._loaded: Loaded | None = loaded
        self._context = loaded.context
        self._files = loaded.files
        self._flash_attn = loaded.flash_attn
        self._fim = fim_tokens(announced_marks(loaded.vocabulary), vocabulary, loaded.info.name)
        self._info = replace(loaded.info, fill_in=self._fim.dialect if self._fim else None)
        marks = self._fim.marks if self._fim else frozenset()
        self._vocabulary = vocabulary.with_control(marks)
        self._bos = bos_token(loaded.vocabulary)
        self._stops = stop_tokens(loaded.vocabulary, vocabulary) | marks
        self._encoder = Encoder(loaded.vocabulary, self._vocabulary)
        if self._info.vocabulary_type == "byte-level BPE" and self._encoder.escapes_blanks:
            self._info = replace(self._info, vocabulary_type="BPE of characters")
        size = int(load_library().llama_vocab_n_tokens(loaded.vocabulary))
        self._limits = Limits(min(loaded.info.context_tokens, loaded.trained_tokens), size)
        self._memory = Memory(loaded.context, divisible=loaded.divisible, window=loaded.window)
        beside = max(slots, loaded.n_sequences - BESIDE)
        self._slots = SlotTable(self._memory, slots, range(beside, loaded.n_sequences))
        self._grown: Grown | None = None
        self._viewer: LlamaSlot | None = None
        """The slot whose row is a view of llama.cpp's own buffer."""
        cells = loaded.info.context_tokens
        batch = Batch(loaded.n_ubatch, loaded.n_sequences, size)
        self._passes = Passes(loaded.context, batch, self._slots, cells)
        self._branches = Branches(range(slots, beside), self._memory, self._slots, self._passes)

    @property
    def vocabulary(self) -> Vocabulary:
        """The bytes of every token."""
        return self._vocabulary

    @property
    def info(self) -> ModelInfo:
        """The model and the device. `trees` turns False if the memory refuses to be cut."""
        if self._info.trees and not self._memory.divisible:
            self._info = replace(self._info, trees=False)
        return self._info

    @property
    def fim(self) -> FimTokens | None:
        """Fill-in-the-middle ids, or None where the model has none."""
        return self._fim

    @property
    def bos(self) -> int | None:
        """The beginning-of-sequence id, where there is one."""
        return self._bos

    @property
    def stops(self) -> frozenset[int]:
        """Ids that end a completion."""
        return self._stops

    @property
    def evaluated_tokens(self) -> int:
        """Tokens put through the model since it was loaded."""
        return self._passes.tokens

    @property
    def forward_passes(self) -> int:
        """Calls of the model since it was loaded."""
        return self._passes.count

    @cached_property
    def state_key(self) -> str:
        """What saved states depend on; raises EngineError if a file has changed, and OSError."""
        check_unchanged(self._files)
        return state_key(self.info, self._files, self._flash_attn)

    def encode(self, text: bytes) -> list[int]:
        """Text to ids. Raises EngineError for a byte that the vocabulary can't spell."""
        self._check_open()
        return self._encoder.encode(text)

    def open(self, tokens: Sequence[int]) -> Slot:
        """A slot whose text is `tokens`. Raises EngineError if they are none or too many."""
        slot = self._slots.open(self._text(tokens))
        if self._grown is not None and self._grown.slot not in self._slots:  # it made room
            self._branches.free(self._grown)
            self._grown = None
        return slot

    def open_beside(self, tokens: Sequence[int]) -> Slot:
        """A slot beside the others. Raises EngineError as `open`, and if there are too many."""
        slot = self._slots.open_beside(self._text(tokens))
        if self._grown is not None:
            self._branches.share(self._grown, slot)
        return slot

    def evaluate(
        self, slot: Slot, nodes: Sequence[tuple[int, int]], want: Sequence[int]
    ) -> list[Row]:
        """The logits after some nodes of a tree that continues the slot's text.

        Raises Cancelled, EngineError, and ValueError for a malformed tree or an id without a node.
        """
        own = self._own(slot)
        tree = Tree.of(nodes)
        self._limits.check_tokens(tree.tokens)
        if any(not ROOT <= node < len(tree) for node in want):
            raise ValueError(
                f"a wanted node is outside the tree of {len(tree)} nodes: {list(want)}"
            )
        if not self._memory.divisible and not tree.is_chain:
            raise EngineError(
                f"{self._info.name} can't evaluate branches: the memory of its architecture can't "
                "be cut; use a healing method without trees"
            )
        self._limits.check_length(len(own.tokens) + len(tree))
        self._settle_row(own, tree, want)
        self._forget_tree()
        self._slots.touch(own)
        grown = self._grown = Grown(own, tree)
        if ROOT in want and own.resident == len(own.tokens):
            if own.row is None:
                self._slots.shorten(own, len(own.tokens) - 1)
            else:
                grown.rows[ROOT] = own.row
        try:
            for number, steps in enumerate(tree.rounds(1 + len(self._branches.sequences))):
                if number:
                    self._branches.clear(grown)
                self._branches.evaluate(grown, steps, frozenset(want))
        except BaseException:
            self._forget_tree()
            raise
        if ROOT in want and own.row is None:
            grown.rows[ROOT] = grown.rows[ROOT].copy()
            own.set_row(grown.rows[ROOT])
        return [grown.rows[node] for node in want]

    def evaluate_each(self, slots: Sequence[Slot], tokens: Sequence[int]) -> list[Row]:
        """The logits after one more token of each slot.

        Raises Cancelled, EngineError, and ValueError for a slot that is there twice.
        """
        owns = [self._own(slot) for slot in slots]
        if len({*owns}) < len(owns) or len(tokens) != len(owns):
            raise ValueError("each slot grows by one token")
        if not owns:
            return []
        self._limits.check_tokens(tokens)
        self._limits.check_length(1 + max(len(own.tokens) for own in owns))
        if not self._memory.divisible:
            raise EngineError(f"{self._info.name} can't write several texts at a time")
        if len(owns) + sum(len(own.tokens) - own.resident for own in owns) > self._passes.capacity:
            for own in owns:
                self.evaluate(own, [], [])
        self._keep_view()
        self._forget_tree()
        entries: list[Entry] = []
        last = []
        for own, token in zip(owns, tokens, strict=True):
            self._slots.touch(own)
            text = enumerate([*own.tokens[own.resident :], token], own.resident)
            entries += [Entry(one, at, (own.sequence,), at == len(own.tokens)) for at, one in text]
            last.append(len(entries) - 1)
        try:
            self._passes.run(owns, entries)
        except BaseException:
            for own in owns:
                self._slots.shorten(own, own.resident)
            raise
        for own, token in zip(owns, tokens, strict=True):
            own.tokens.append(token)
            own.resident = len(own.tokens)
            own.set_row(None)
        return [self._passes.row(index) for index in last]

    def keep(self, slot: Slot, node: int) -> None:
        """Make the path from the root to `node` part of the slot's text; forget other branches.

        Raises EngineError if the slot has no tree, and ValueError if the tree has no such node.
        """
        own, grown = self._own(slot), self._grown
        if grown is None or grown.slot is not own:
            raise EngineError("there is no tree to keep a part of; evaluate one first")
        if not ROOT <= node < len(grown.tree):
            raise ValueError(f"node {node} is outside the tree of {len(grown.tree)} nodes")
        path = grown.tree.path(node)
        source, trunk = grown.sequences.get(node, own.sequence), len(own.tokens)
        held = node == ROOT or node in grown.sequences
        if source != own.sequence:
            if self._memory.cut(own.sequence, trunk):
                self._memory.share(source, own.sequence, trunk, trunk + len(path))
            else:
                own.resident, held = 0, False
        own.tokens += [grown.tree.tokens[index] for index in path]
        if held:
            own.resident = len(own.tokens)
        if node != ROOT:
            own.set_row(grown.rows.get(node), is_view=True)
            self._viewer = own
        self._forget_tree()

    def cut(self, slot: Slot, length: int) -> None:
        """Shorten the slot's text to its first `length` tokens; ValueError if it has fewer.

        Where the memory can't be cut, nothing stays resident.
        """
        own = self._own(slot)
        if not 1 <= length <= len(own.tokens):
            raise ValueError(f"a slot of {len(own.tokens)} tokens can't be cut to {length}")
        if self._grown and self._grown.slot is own:
            self._forget_tree()
        if length < len(own.tokens):
            own.set_row(None)
            del own.tokens[length:]
            self._slots.shorten(own, min(length, own.resident))

    def drop(self, slot: Slot) -> None:
        """Free the slot and everything that only it holds; once is enough."""
        if slot not in self._slots:
            return
        own = self._own(slot)
        if self._grown and self._grown.slot is own:
            self._forget_tree()
        self._slots.drop(own)

    def held(self, tokens: Sequence[int]) -> int:
        """How many of the first tokens a slot has in memory."""
        return self._slots.longest_prefix(tokens)[1]

    def save(self, tokens: Sequence[int]) -> State | None:
        """The state after a text; None if no slot holds it. Raises EngineError like `open`."""
        self._check_open()
        check_unchanged(self._files)
        self._forget_tree()
        spare = next(iter(self._branches.sequences), None)
        return save(self._context, self._memory, self._slots, list(tokens), spare)

    def restore(self, tokens: Sequence[int], state: State) -> bool:
        """A slot that holds a text, by its state. Raises EngineError like `open`."""
        self._check_open()
        self._forget_tree()
        slot = self._own(self.open(tokens))
        return restore(self._context, self._memory, self._slots, slot, state)

    def cancel(self) -> None:
        """Stop the running `evaluate` and every later one until `resume`; from any thread."""
        self._passes.abort.set()

    def resume(self) -> None:
        """Forget an earlier `cancel`."""
        self._passes.abort.clear()

    def close(self) -> None:
        """Free the model. Every other method raises EngineError afterwards."""
        loaded, self._loaded = self._loaded, None
        if loaded is not None:
            self._slots.clear()
            self._grown = None
            free(loaded)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    # -- memory ----------------------------------------------------------------------------------

    def _forget_tree(self) -> None:
        """Take the tree out of memory: the slot's sequence ends with what is resident."""
        grown, self._grown = self._grown, None
        if grown is not None:
            self._branches.clear(grown)

    def _settle_row(self, own: LlamaSlot, tree: Tree, want: Sequence[int]) -> None:
        """Before a forward pass: copy the row that is only a view, if it may be asked for again.

        In plain decoding it won't be: the next token is kept, and its row replaces this one.
        """
        plain = self._viewer is own and len(tree) == 1 and ROOT not in want
        if plain and self._memory.divisible:
            own.set_row(None)
        self._keep_view()

    def _keep_view(self) -> None:
        """Copy the row that is only a view."""
        owner, self._viewer = self._viewer, None
        if owner is not None and owner.row is not None and owner.row_is_view:
            owner.set_row(owner.row.copy())

    # -- checks ----------------------------------------------------------------------------------

    def _own(self, slot: Slot) -> LlamaSlot:
        self._check_open()
        return self._slots.own(slot)

    def _text(self, tokens: Sequence[int]) -> list[int]:
        """What may be a slot's text. Raises EngineError."""
        self._check_open()
        check_unchanged(self._files)
        text = list(tokens)
        self._limits.check_tokens(text)
        if not text:
            raise EngineError("there is nothing to evaluate: a prompt needs at least one token")
        self._limits.check_length(len(text) + 1)
        return text

    def _check_open(self) -> None:
        if self._loaded is None:
            raise EngineError("the engine was closed; load the model again")
