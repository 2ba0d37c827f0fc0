"""A tokenizer behind HTTP: the engine splits texts, and what it says of tokens is learned.

No engine hands its vocabulary out, and none is needed to build prompts: it is enough to know what
the tokens spell that one was told of. `LearnedVocabulary` grows with each answer.

Where an engine finds special tokens in text that it is asked about, the text is cut inside whatever
looks like one before it is sent.

Not here: how each engine is asked (`splitting`).
"""

import re
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from healing.encoding import Encode
from healing.vocabulary import TokenKind, Vocabulary
from server.engine.fim_dialects import DIALECTS, GAPS
from server.errors import EngineError, RemoteError
from server.remote.splitting import EngineTokenizer, Pieces

ENDS = (
    *("<|endoftext|>", "<|im_end|>", "<|im_start|>", "<|end_of_text|>", "<|eot_id|>", "<|eom_id|>"),
    *("<|end|>", "<|end_of_sentence|>", "<｜end▁of▁sentence｜>", "<|file_separator|>", "<EOT>"),
    *("<end_of_turn>", "<eos>", "</s>", "<s>"),
)
"""Names of tokens that end a text or a turn, in the families of models that are known here."""

_MARK = re.compile("<[|｜/]?[^\\s<>]{1,40}>|\\[[A-Z_/]{2,20}\\]|▁<[A-Z]{2,5}>")
"""What a special token may be called."""

MOST_IDS = 1 << 22
"""More than any vocabulary has."""

SEPARATOR = b"\x01"
"""Stands between texts that are asked for together: no code has it, and it joins nothing."""

MOST_KNOWN = 20_000
"""Texts that are remembered; some megabytes."""


class LearnedVocabulary(Vocabulary):
    """The tokens that one was told of; others spell nothing, and are UNUSED."""

    def __init__(self) -> None:
        super().__init__(b"", np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.uint8))
        self._known: dict[int, tuple[bytes, TokenKind]]
        object.__setattr__(self, "_known", {})

    def copy(self) -> "LearnedVocabulary":
        """Another one that knows the same, and learns by itself. From any thread."""
        other = LearnedVocabulary()
        other._take(self._known.copy())
        return other

    def learn(self, tokens: Iterable[tuple[int, bytes]], kind: TokenKind) -> None:
        """Take tokens in; what is known of one stays."""
        new = {token: (piece, kind) for token, piece in tokens if token not in self._known}
        if not new:
            return
        if not 0 <= min(new) <= max(new) < MOST_IDS:
            raise RemoteError(
                f"the engine's tokenizer has a token {max(new, key=abs)}, which none has: set "
                "midtoken.remote.tokenizer (--remote-tokenizer)"
            )
        self._take(new)

    def _take(self, new: Mapping[int, tuple[bytes, TokenKind]]) -> None:
        self._known.update(new)
        size = max(self._known) + 1
        lengths, kinds = np.zeros(size, np.int64), np.full(size, TokenKind.UNUSED, np.uint8)
        ordered = sorted(self._known)
        for token in ordered:
            lengths[token], kinds[token] = len(self._known[token][0]), self._known[token][1]
        offsets = np.zeros(size + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        blob = b"".join(self._known[token][0] for token in ordered)
        for name, value in (("blob", blob), ("offsets", offsets), ("kinds", kinds)):
            object.__setattr__(self, name, value)
        for name in ("_text_ids", "other_ids", "longest"):  # they are about the smaller one
            self.__dict__.pop(name, None)


class ServedEncode:
    """An `Encode` that asks an engine, and teaches a vocabulary what it hears."""

    def __init__(
        self, ask: Callable[[str], Pieces], vocabulary: LearnedVocabulary, *, cuts_marks: bool
    ) -> None:
        """Nothing is asked yet.

        Args:
            ask: Asks for the tokens of a text.
            vocabulary: Learns.
            cuts_marks: Whether special tokens would be found in the text.
        """
        self._ask, self._vocabulary, self._cuts_marks = ask, vocabulary, cuts_marks
        self._known: dict[bytes, list[int]] = {}

    def __call__(self, text: bytes) -> list[int]:
        """The ids of a text.

        Raises EngineError for text that is no UTF-8, and where an answer does not spell the text.
        """
        if text in self._known:
            return self._known[text].copy()
        pieces = self._asked(text)
        if b"".join(piece for _, piece in pieces) != text:
            raise EngineError(
                "the engine's tokenizer changes texts, so prompts can't be built with it: set "
                "midtoken.remote.tokenizer (--remote-tokenizer) to the model's tokenizer.json "
                "or GGUF file"
            )
        self._vocabulary.learn(pieces, TokenKind.NORMAL)
        return [token for token, _ in pieces]

    def prefetch(self, texts: Iterable[bytes]) -> None:
        """Ask for many short texts at once, so that none of them needs a request of its own.

        They are sent with a character between them that no token shares with a text; where one
        does, that text is asked for when it is wanted. Blanks at an end may be split as before
        another text, which is what comes after a line in a prompt, too.
        """
        if len(self._known) > MOST_KNOWN:
            self._known.clear()
        new = [text for text in dict.fromkeys(texts) if text and text not in self._known]
        new = [text for text in new if SEPARATOR not in text and _is_text(text)]
        if not new:
            return
        pieces = self._asked(SEPARATOR.join(new))
        wanted = iter(new)
        text, found = next(wanted), Pieces()
        for token, piece in [*pieces, (-1, SEPARATOR)]:
            if piece != SEPARATOR:
                found.append((token, piece))
                continue
            if b"".join(one for _, one in found) == text:
                self._vocabulary.learn(found, TokenKind.NORMAL)
                self._known[text] = [one for one, _ in found]
            text, found = next(wanted, b""), Pieces()

    def _asked(self, text: bytes) -> Pieces:
        try:
            characters = text.decode()
        except UnicodeDecodeError as error:
            raise EngineError(
                "the text around the cursor is no UTF-8, which an engine's own tokenizer can't "
                "split: save it as UTF-8, or set midtoken.remote.tokenizer (--remote-tokenizer)"
            ) from error
        pieces: Pieces = []
        for part in without_marks(characters) if self._cuts_marks else [characters]:
            pieces += self._ask(part) if part else []
        return pieces


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def without_marks(text: str) -> list[str]:
    """A text in parts, cut inside everything that may be the name of a special token."""
    parts, start = [], 0
    for match in _MARK.finditer(text):
        parts.append(text[start : match.start() + 1])
        start = match.start() + 1
    return [*parts, text[start:]]


def learn_marks(tokenizer: EngineTokenizer, vocabulary: LearnedVocabulary) -> None:
    """Ask, in one request, which marks of prompts and ends of texts the engine has a token for."""
    names = dict.fromkeys((*_names_of_marks(), *ENDS))
    pieces = tokenizer.marks("\n".join(names))
    known = [(token, name) for token, name in pieces if name.decode(errors="replace") in names]
    vocabulary.learn(known, TokenKind.CONTROL)


def first_tokens(tokenizer: EngineTokenizer, encode: Encode) -> tuple[int, ...]:
    """The tokens that the engine puts before every text."""
    tokens, plain = tokenizer.whole("a"), encode(b"a")
    for start in range(len(tokens) - len(plain) + 1):
        if tokens[start : start + len(plain)] == plain:
            return tuple(tokens[:start])
    return ()


def _names_of_marks() -> list[str]:
    names: dict[str, None] = {}
    for dialect in DIALECTS:
        written = f"{dialect.layout} {dialect.named} {dialect.healed}".split()
        written += [*dialect.telling, *dialect.others, dialect.file, dialect.repository]
        names |= dict.fromkeys(name for name in written if name and name not in GAPS)
    return list(names)
