"""Masks of toy languages: as slow and plain as the definition of a mask."""

from collections.abc import Callable
from itertools import pairwise


class ToyMask:
    """A mask by two plain tests of all that is written after the cursor."""

    def __init__(
        self,
        viable: Callable[[bytes], bool],
        ends: Callable[[bytes], bool] = lambda _: True,
        *,
        decides: bool = False,
    ) -> None:
        """`viable` holds of every first part of a text of which it holds."""
        self.viable, self.ends, self.decides = viable, ends, decides
        self.written = b""
        self.asked: list[bytes] = []
        self.wanted = 0
        """How often the model wanted to end in vain."""

    def allows(self, text: bytes) -> bool:
        return self.fitting(text) == len(text)

    def fitting(self, text: bytes) -> int:
        self.asked.append(text)
        size = 0
        while size < len(text) and self.viable(self.written + text[: size + 1]):
            size += 1
        return size

    def could_end(self) -> bool:
        return self.ends(self.written)

    def may_end(self) -> bool:
        self.wanted += not self.could_end()
        return self.could_end()

    def push(self, text: bytes) -> None:
        self.written += text

    def back(self, length: int) -> None:
        self.written = self.written[:length]

    def twin(self) -> "ToyMask":
        twin = ToyMask(self.viable, self.ends, decides=self.decides)
        twin.written = self.written
        return twin


def no_doubles(text: bytes) -> bool:
    """No byte comes twice in a row."""
    return all(left != right for left, right in pairwise(text))


def brackets(text: bytes) -> bool:
    """Round brackets are closed only if they are open."""
    depth = 0
    for byte in text:
        depth += (byte == ord("(")) - (byte == ord(")"))
        if depth < 0:
            return False
    return True


def closed(text: bytes) -> bool:
    """All brackets are closed."""
    return text.count(b"(") == text.count(b")")
