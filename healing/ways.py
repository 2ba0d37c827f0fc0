"""Which ways through a name the tokenizer may take."""

from healing.covers import PROBES, admissible
from healing.exact import Path
from healing.spelled import Endings
from healing.tokenization import Tokenization


class Ways:
    """Admissible steps, each tested once."""

    def __init__(self, tokenization: Tokenization, endings: Endings) -> None:
        """Take what tells how names may end."""
        self._tokenization = tokenization
        self._endings = endings
        self._admitted: dict[tuple[Path, int], bool] = {}

    def admit(self, window: Path, token: int) -> bool:
        """Whether some text is split into this path and this token."""
        key = (window, token)
        if key not in self._admitted:
            self._admitted[key] = admissible(self._tokenization, window, token)
        return self._admitted[key]

    def lead_on(self, window: Path, rest: bytes, *, whole: bool) -> bool:
        """Whether some text with a whole name in it is split along a path of at least one token.

        Args:
            window: The path, to a place in the name.
            rest: What the name has after it.
            whole: Whether the name has to end there.
        """
        if not self.admit(window[:-1], window[-1]):
            return False
        if not rest:
            return True
        trie, vocabulary = self._tokenization.trie, self._tokenization.vocabulary
        last = self._endings.after(rest) if whole else trie.extending(rest)
        return any(
            self.lead_on((*window, token), rest[len(vocabulary[token]) :], whole=whole)
            for token in reversed(trie.prefixes_of(rest))
        ) or any(self.admit(window, token) for token in last[:PROBES].tolist())
