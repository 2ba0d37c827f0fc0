"""Running a model, seen from above: slots of evaluated text, and trees of tokens after them.

A `TokenEngine` gives the logits of every node of a token tree in one forward pass. Healing, drafts
and candidates all need exactly this and no more. The engine owns ids and the KV cache; it knows
nothing of documents, prompts or healing methods. `llama` runs llama.cpp in this process.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from healing.vocabulary import Vocabulary

Row = NDArray[np.float32]
"""Logits, shape (vocabulary,)."""

ROOT = -1
"""In `TokenEngine.evaluate`: the parent of a tree's first tokens, the last token of the slot."""


Gap = Literal["prefix", "suffix", "name"]
"""A place for text in a prompt: before the hole, after it, or the file's name and a line end."""
Layout = tuple[int | Gap, ...]
"""The marks and the places for text of a prompt, in order."""


@dataclass(frozen=True)
class FimTokens:
    """Ids of a model's fill-in-the-middle marks, and their order (see `fim_dialects`)."""

    dialect: str
    """The family that it was trained like."""
    prefix: int
    suffix: int
    middle: int | None
    """The mark after which the answer begins; None if it goes on from the prefix."""
    layout: Layout
    """The order for any hole. If it ends with `prefix`, the answer is more of that text."""
    named: Layout | None = None
    """The order with the file's name, where that was trained."""
    healed: Layout | None = None
    """A better order for a hole whose left edge is healed."""
    file: int | None = None
    """The mark before each file of a repository, where that was trained."""
    repository: int | None = None
    """The mark before a repository's name, where that was trained."""
    after_repository: bytes = b""
    """What stands between that name and the mark of the first file."""
    marks: frozenset[int] = frozenset()
    """All marks of the dialect; each of them ends an answer."""


@dataclass(frozen=True)
class Lora:
    """A LoRA adapter: a file of small weights that are added to a model's own."""

    path: str
    scale: float = 1.0
    """How much of it counts."""


@dataclass(frozen=True)
class ModelInfo:
    """What a report says of the model and of where it really runs."""

    path: str
    """The model file."""
    name: str
    """The name in the model file's metadata, else the file's name."""
    description: str
    """Architecture, size and quantisation, as llama.cpp describes them."""
    size_bytes: int
    vocabulary_type: str
    """`byte-level BPE`, `BPE of characters`, `SentencePiece BPE`, `WordPiece`, `unigram`, `RWKV` or
    `none`."""
    backend: str
    """Where the layers run: `CPU`, or the devices, as in `CUDA0: NVIDIA H200`."""
    layers: int
    """Layers of the model (repeating ones and the output layer, as llama.cpp counts them)."""
    offloaded_layers: int
    """How many of them the load log reports on a GPU."""
    note: str | None
    """A sentence for people when the device is not what was asked for, else None."""
    context_tokens: int
    """Cells of the KV cache, shared by all slots."""
    add_bos: bool
    """Whether text prompts start with the beginning-of-sequence token."""
    trees: bool
    """Whether branches can be cut from the memory; False for recurrent and hybrid models."""
    memory: str = "attention"
    """How it remembers a text: `attention`, `sliding window`, `recurrent` or `hybrid`."""
    lora: Lora | None = None
    """The adapter that is added to its weights."""
    add_blank: bool = False
    """Whether the tokenizer puts a blank before a text (SentencePiece)."""
    fill_in: str | None = None
    """The dialect of its fill-in-the-middle marks; None if it completes from the left only."""
    device_bytes: int = 0
    """Memory on GPUs that the load log reports: weights, the KV cache and working space."""
    remote: bool = False
    """Whether it runs elsewhere and gives text alone: no logits, so no trees and no ranking."""


@dataclass(eq=False)
class Slot:
    """One text in the engine's memory. Only the engine changes it."""

    sequence: int
    """The sequence id in the KV cache."""
    tokens: list[int]
    """The slot's text as ids."""
    resident: int
    """How many of them the KV cache holds; the others are evaluated by the next `evaluate`."""
    reused: int
    """How many tokens were resident when the slot was opened (for reports)."""


class TokenEngine(Protocol):
    """A model in this process. All methods but `cancel` belong to one thread at a time."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The bytes of every token."""

    @property
    def info(self) -> ModelInfo:
        """The model and the device."""

    @property
    def fim(self) -> FimTokens | None:
        """Fill-in-the-middle ids, or None where the model has none."""

    @property
    def bos(self) -> int | None:
        """The beginning-of-sequence id, where there is one."""

    @property
    def stops(self) -> frozenset[int]:
        """Ids that end a completion: ends of text and turn, and all marks of prompt structure."""

    @property
    def evaluated_tokens(self) -> int:
        """Tokens put through the model since it was loaded (prompt, tree and text)."""

    @property
    def forward_passes(self) -> int:
        """Calls of the model since it was loaded, each with one batch of tokens."""

    def encode(self, text: bytes) -> list[int]:
        """Text to ids. Everything is text: what spells a special token gets ordinary ids."""

    def open(self, tokens: Sequence[int]) -> Slot:
        """A slot whose text is `tokens` (at least one), sharing the longest prefix in memory.

        Nothing is evaluated yet. The least recently used slot makes room if all are taken; whoever
        uses that one afterwards gets an EngineError. Raises EngineError if `tokens` are none, do
        not fit the context, or are not all ids of the vocabulary.
        """

    def open_beside(self, tokens: Sequence[int]) -> Slot:
        """A slot for a little while, that no other slot makes room for: `drop` it soon.

        It shares the longest prefix in memory as others do, that of a tree that was evaluated just
        now included: the tree stays. Raises EngineError as `open` does, if there are too many such
        slots, and for a model without trees.
        """

    def evaluate(
        self, slot: Slot, nodes: Sequence[tuple[int, int]], want: Sequence[int]
    ) -> list[Row]:
        """The logits after some tokens of a tree that continues the slot's text.

        Args:
            slot: The text that the tree continues; what is not resident is evaluated first, the
                rest of it in the same batch as the tree where it fits.
            nodes: `(parent, token)` in topological order; a parent is an index into `nodes` or
                `ROOT`. There is one tree in memory at a time: it stays until its slot's `keep`,
                `cut` or `drop`, or the next `evaluate` of any slot. No nodes and nothing wanted
                only evaluates what is not resident.
            want: Indices of nodes (or `ROOT`) whose rows are returned, in this order.

        Returns:
            A float32 row of shape (vocabulary,) for each wanted node: views that are valid until
            the next `evaluate`; copy what you keep.

        Raises:
            Cancelled: After `cancel()`; the tree is dropped, the slot cut back to what is resident.
            EngineError: The batch could not be evaluated; the slot is cut back likewise. Also for
                branches on a model without trees, and for a slot that is gone.
            ValueError: A parent does not come before its node, or a wanted node does not exist.
        """

    def evaluate_each(self, slots: Sequence[Slot], tokens: Sequence[int]) -> list[Row]:
        """Let several texts grow by a token each, in one forward pass.

        What is not resident of a slot is evaluated first, in the same pass where it fits.

        Returns:
            For each slot the logits after its token, as `evaluate` returns rows.

        Raises:
            Cancelled: After `cancel()`; no text has grown.
            EngineError: As `evaluate` does, likewise; and for a model without trees.
            ValueError: A slot is there twice, or there are not as many tokens as slots.
        """

    def keep(self, slot: Slot, node: int) -> None:
        """Make the path from the root to `node` part of the slot's text; forget other branches.

        All of it is resident afterwards, except where the memory can't be cut or the tree had more
        leaves than the engine has sequences: then the rest is evaluated by the next `evaluate`.
        Raises EngineError if the slot's tree is no longer in memory.
        """

    def cut(self, slot: Slot, length: int) -> None:
        """Shorten the slot's text to its first `length` tokens (at least one).

        Where the memory can't be cut, the whole text is evaluated again by the next `evaluate`.
        """

    def drop(self, slot: Slot) -> None:
        """Free the slot and everything that only it holds; a slot that is gone already is fine."""

    @property
    def state_key(self) -> str:
        """All that the states of `save` depend on beside their text: the model and how it runs.

        Raises EngineError or OSError if that can't be found out.
        """

    def held(self, tokens: Sequence[int]) -> int:
        """How many of the first tokens a slot has in memory, so that `open` need not read them."""

    def save(self, tokens: Sequence[int]) -> NDArray[np.uint8] | None:
        """What the memory holds of a text, as bytes; None if no slot holds all of it.

        A tree that was evaluated before can't be kept afterwards. Raises EngineError if the model's
        file has changed.
        """

    def restore(self, tokens: Sequence[int], state: NDArray[np.uint8]) -> bool:
        """Put back what `save` gave for a text, in a slot that stays until it is evicted.

        The state must be one of an engine with the same `state_key`, untouched: hardly anything of
        it is checked. False if there is no room for it. Raises EngineError as `open` does.
        """

    def cancel(self) -> None:
        """Stop the running `evaluate` and every later one until `resume`; from any thread."""

    def resume(self) -> None:
        """Forget an earlier `cancel`."""

    def close(self) -> None:
        """Free the model. The engine cannot be used afterwards."""
