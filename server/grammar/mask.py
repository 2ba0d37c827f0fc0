"""What the decoding loop asks of a grammar: may this text come next, may the text end here?"""

from typing import Protocol


class Mask(Protocol):
    """The grammar's view of the text after the cursor, as it is being written."""

    @property
    def decides(self) -> bool:
        """Whether the grammar knows better than the model what is wanted here."""

    def allows(self, text: bytes) -> bool:
        """Whether the text written so far could go on with this (any bytes, also half characters).

        Takes some 3 to 15 us for a token.
        """

    def fitting(self, text: bytes) -> int:
        """How many bytes of a text could come next; all of them if it is allowed.

        What is refused from a byte on is refused however it goes on.
        """

    def could_end(self) -> bool:
        """Whether the text could end here: what follows the hole would fit."""

    def may_end(self) -> bool:
        """The same, asked because the model wants to end here: a refusal may be noted."""

    def push(self, text: bytes) -> None:
        """Note that this was written; it was allowed before."""

    def back(self, length: int) -> None:
        """Take back all but the first bytes of what was written."""

    def twin(self) -> "Mask":
        """Another one at the same place, whose questions are neither counted nor noted here."""
