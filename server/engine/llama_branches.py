"""The branches of a tree in llama.cpp's memory: sequences that share the cells of the slot's own.

What is not here: the order of a tree (`llama_tree`), and a forward pass (`llama_pass`).
"""

from collections.abc import Sequence

from server.engine import ROOT
from server.engine.llama_batch import Entry
from server.engine.llama_memory import Memory
from server.engine.llama_pass import Passes
from server.engine.llama_slots import Grown, LlamaSlot, SlotTable
from server.engine.llama_tree import Step


class Branches:
    """The sequences for branches, beside those of the slots. One tree at a time is in them."""

    def __init__(
        self,
        sequences: Sequence[int],
        memory: Memory,
        slots: SlotTable,
        passes: Passes,
    ) -> None:
        """Take sequences that nobody else uses.

        Args:
            sequences: Their ids in the memory.
            memory: The memory.
            slots: The slots that trees continue.
            passes: Forward passes.
        """
        self.sequences = sequences
        self._memory, self._slots, self._passes = memory, slots, passes

    def evaluate(self, grown: Grown, steps: Sequence[Step], want: frozenset[int]) -> None:
        """Evaluate what a slot has pending and then steps of its tree, in as few passes as hold it.

        Raises Cancelled and EngineError as `Passes.run`.
        """
        own, tree, capacity = grown.slot, grown.tree, self._passes.capacity
        trunk = len(own.tokens)
        n_branches = 1 + max((step.branches[-1] for step in steps), default=0)
        sequences = (own.sequence, *self.sequences[: n_branches - 1])
        # Passes that hold nothing of the tree need no branches yet.
        first_shared = trunk
        if steps:
            first_shared = own.resident + (trunk - own.resident) // capacity * capacity
        work = [
            (ROOT, Entry(own.tokens[at], at, sequences[: 1 if at < first_shared else None], False))
            for at in range(own.resident, trunk)
        ]
        if work and ROOT in want:
            work[-1] = (ROOT, work[-1][1]._replace(wanted=True))
        for node, branches in steps:
            wanted = node in want and node not in grown.rows
            held_by = tuple([sequences[branch] for branch in branches])
            entry = Entry(tree.tokens[node], trunk + tree.depths[node], held_by, wanted)
            work.append((node, entry))
            grown.sequences[node] = held_by[0]
        for start in range(0, len(work), capacity):
            chunk = work[start : start + capacity]
            if chunk[0][1].position >= first_shared and grown.n_branches < n_branches:
                for branch in sequences[1:]:
                    self._memory.share(own.sequence, branch, 0, chunk[0][1].position)
                grown.n_branches = n_branches
            # The pass overwrites the rows of earlier ones.
            grown.rows.update({node: row.copy() for node, row in grown.rows.items()})
            self._passes.run([own], [entry for _, entry in chunk])
            own.resident += sum(node == ROOT for node, _ in chunk)
            for index, (node, entry) in enumerate(chunk):
                if entry.wanted:
                    grown.rows[node] = self._passes.row(index)

    def clear(self, grown: Grown) -> None:
        """Take a tree out of memory: the slot's sequence ends with what is resident."""
        self.free(grown)
        grown.sequences.clear()
        self._slots.shorten(grown.slot, grown.slot.resident)

    def free(self, grown: Grown) -> None:
        """Empty the branches alone."""
        for branch in self.sequences[: grown.n_branches - 1]:
            self._memory.clear(branch)
        grown.n_branches = 1

    def share(self, grown: Grown, slot: LlamaSlot) -> None:
        """Let another slot hold what a tree has of its text."""
        trunk = len(grown.slot.tokens)
        if slot.resident < trunk or slot.tokens[:trunk] != grown.slot.tokens:
            return
        for at, node in enumerate(grown.tree.follow(slot.tokens[trunk:]), trunk):
            if node not in grown.sequences:
                break
            if at >= slot.resident:
                self._memory.share(grown.sequences[node], slot.sequence, at, at + 1)
                slot.resident = at + 1
