"""How engines are asked to split a text into tokens: `/tokenize`, and what it answers.

llama-server tells the tokens' text, and leaves special tokens alone unless it is told not to. vLLM
tells the tokens' names as the tokenizer's file writes them, and finds special tokens in any text.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from healing.vocabulary import byte_level_alphabet
from server.errors import RemoteError
from server.remote.client import Client
from server.remote.shapes import expected_from

_BYTE = re.compile("<0x([0-9A-F]{2})>")

Pieces = list[tuple[int, bytes]]
"""Tokens with what they spell."""


class EngineTokenizer(Protocol):
    """How an engine is asked about texts. All methods raise RemoteError."""

    @property
    def finds_marks(self) -> bool:
        """Whether special tokens are found in any text."""

    def pieces(self, text: str) -> Pieces:
        """The tokens of a text."""

    def marks(self, text: str) -> Pieces:
        """The same, where special tokens are found in it, with their names."""

    def whole(self, text: str) -> list[int]:
        """The ids of a text, with what the engine puts before it."""


@dataclass(frozen=True)
class LlamaTokenizer:
    """llama-server's."""

    client: Client
    finds_marks: bool = False

    def pieces(self, text: str) -> Pieces:
        """See `EngineTokenizer`."""
        with expected_from(self.client.url):
            return _llama_pieces(self._asked(text))

    def marks(self, text: str) -> Pieces:
        """See `EngineTokenizer`."""
        with expected_from(self.client.url):
            return _llama_pieces(self._asked(text, parse_special=True))

    def whole(self, text: str) -> list[int]:
        """See `EngineTokenizer`."""
        return _tokens(self._asked(text, parse_special=True, add_special=True, with_pieces=False))

    def _asked(self, text: str, **wishes: bool) -> Any:  # noqa: ANN401 (any JSON)
        usual = {"add_special": False, "parse_special": False, "with_pieces": True}
        return self.client.post("/tokenize", {"content": text, **usual, **wishes})


@dataclass(frozen=True)
class VllmTokenizer:
    """vLLM's."""

    client: Client
    model: str
    finds_marks: bool = True

    def pieces(self, text: str) -> Pieces:
        """See `EngineTokenizer`."""
        with expected_from(self.client.url):
            return _vllm_pieces(self._asked(text), text.encode())

    def marks(self, text: str) -> Pieces:
        """See `EngineTokenizer`."""
        with expected_from(self.client.url):
            answer = self._asked(text)
            names = [str(name).encode() for name in answer.get("token_strs") or []]
            return list(zip(_tokens(answer), names, strict=False))

    def whole(self, text: str) -> list[int]:
        """See `EngineTokenizer`."""
        return _tokens(self._asked(text, add_special_tokens=True))

    def _asked(self, text: str, **wishes: bool) -> Any:  # noqa: ANN401 (any JSON)
        usual = {"add_special_tokens": False, "return_token_strs": True}
        body = {"model": self.model, "prompt": text, **usual, **wishes}
        return self.client.post("/tokenize", body)


def _tokens(answer: object) -> list[int]:
    found = answer.get("tokens") if isinstance(answer, dict) else None
    if not isinstance(found, list) or not all(type(token) is int for token in found):
        raise RemoteError(
            "the engine's /tokenize gives no tokens: set midtoken.remote.tokenizer "
            "(--remote-tokenizer) to the model's tokenizer.json or GGUF file"
        )
    return found


def _llama_pieces(answer: Mapping[str, Any]) -> Pieces:
    found = answer.get("tokens") if isinstance(answer, dict) else None
    pieces: Pieces = []
    for one in found if isinstance(found, list) else ():
        piece = one.get("piece") if isinstance(one, dict) else None
        if isinstance(piece, str):
            pieces.append((int(one["id"]), piece.encode()))
        elif isinstance(piece, list):  # a part of a character, as numbers
            pieces.append((int(one["id"]), bytes(piece)))
    return pieces


def _vllm_pieces(answer: Mapping[str, Any], text: bytes) -> Pieces:
    """Tokens and what they spell; vLLM tells their names as the tokenizer's file writes them."""
    tokens = _tokens(answer)
    names = answer.get("token_strs") or []
    for spell in (_byte_level, _with_blanks):
        spelled = [spell(str(name)) for name in names]
        if b"".join(spelled) == text and len(spelled) == len(tokens):
            return list(zip(tokens, spelled, strict=True))
    return []


def _byte_level(name: str) -> bytes:
    translated = name.translate(byte_level_alphabet())
    try:
        return translated.encode("latin-1")
    except UnicodeEncodeError:
        return b""


def _with_blanks(name: str) -> bytes:
    byte = _BYTE.fullmatch(name)
    return bytes([int(byte[1], 16)]) if byte else name.replace("▁", " ").encode()
