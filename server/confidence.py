"""How probable it is that a suggestion is right, and how sure it has to be to be shown.

A text is right as far as the same text stands there in the end; that it ends early is no fault. The
product of its tokens' probabilities is the model's own opinion of that. A `Calibration` makes of it
how often such texts are right in real files: its constants are fitted by `midtoken bench confidence
--fit`, for a model by its name, and kept in `confidence.json`. Models that are not there have the
constants of the one that the file names as `general`.

What has been typed is certain: the rest of a suggestion is judged by the tokens of the rest. So its
confidence never falls while it is typed along, and never rises with the length of a text.

What is not here: what is shown (`answers`), and how constants are found (`bench.confidence.fit`).
"""

import json
import logging
import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from importlib.resources import files
from math import exp, expm1, isfinite, log, log1p
from pathlib import Path
from typing import Any

from server.models import store

logger = logging.getLogger("midtoken.confidence")

SUREST = -1e-6
"""No text has a larger logarithm of its probability: the odds stay finite."""

WORD_END = re.compile(rb"[\w\x80-\xff](?=[^\w\x80-\xff])|[^\w\s\x80-\xff]")
"""The last byte of a word that something follows, or a mark, which is never half there."""

_FIRST_WORD = re.compile(rb"\s*(?:[\w\x80-\xff]+|[^\w\s\x80-\xff]*)")
_LINE = re.compile(rb"\s*[^\n]*")


@dataclass(frozen=True)
class Calibration:
    """From the probabilities of a text's tokens to that of the text being right.

    A logistic function of two numbers. Neither weight is negative, so a text is never more probable
    than its beginning.
    """

    bias: float = 0.0
    odds: float = 1.0
    """Weight of the log odds of the product of all tokens."""
    tokens: float = 0.0
    """Weight of minus the logarithm of one more than the number of tokens."""

    def probability(self, logprobs: Sequence[float]) -> float:
        """How probable it is that a text of these tokens is right; 1 without any.

        >>> Calibration().probability([log(0.5), log(0.5)])
        0.25
        """
        if not logprobs:
            return 1.0
        odds, tokens = measures(logprobs)
        value = self.bias + self.odds * odds + self.tokens * tokens
        return round(1 / (1 + exp(-max(-700.0, min(700.0, value)))), 6)


UNCALIBRATED = Calibration()
"""The model's own opinion."""


@dataclass(frozen=True)
class Caution:
    """How sure a suggestion has to be; both are probabilities, and 0 shows everything."""

    least: float = 0.0
    """One whose first line is less sure is not shown."""
    stop: float = 0.0
    """It ends before it would be less sure, but its first word stays."""


BOLD = Caution()


@dataclass(frozen=True)
class Judged:
    """The tokens of a text, of which the first bytes may have been typed."""

    text: bytes
    ends: Sequence[int]
    """Where tokens end, in bytes, ascending."""
    logprobs: Sequence[float]
    calibration: Calibration
    typed: int = 0
    """So many bytes of the text are certain."""

    def tokens(self, size: int) -> Sequence[float]:
        """The log-probabilities of the tokens that hold the first bytes, but for what is typed."""
        first = bisect_left(self.ends, self.typed + 1)
        last = bisect_left(self.ends, size) + 1  # the token that holds the last byte
        return self.logprobs[first:last] if size > self.typed else ()

    def up_to(self, size: int) -> float:
        """How probable it is that the first bytes of the text are right."""
        return self.calibration.probability(self.tokens(size))

    def product(self, size: int) -> float:
        """What the model gives to the first bytes of the text, but for what is typed."""
        return exp(min(0.0, sum(self.tokens(size))))

    @property
    def word_size(self) -> int:
        """Bytes up to the end of the first word after what is typed."""
        return _end(_FIRST_WORD, self.text, self.typed)

    @property
    def line_size(self) -> int:
        """Bytes up to the end of the first line after what is typed that holds anything."""
        return _end(_LINE, self.text, self.typed)

    def first_word(self, shown: int) -> float:
        """The probability of the first word after what is typed, of so many bytes shown."""
        return self.up_to(min(shown, self.word_size))

    def first_line(self, shown: int) -> float:
        """The probability of the first line after what is typed, of so many bytes shown."""
        return self.up_to(min(shown, self.line_size))

    def sure_size(self, least: float) -> int:
        """How many bytes are so probable, in whole words, and at least the first one.

        From the second line on, in whole lines.
        """
        ends = [end.end() for end in WORD_END.finditer(self.text, self.typed)]
        if not ends or ends[-1] < len(self.text):
            ends.append(len(self.text))
        # Probabilities fall along the text.
        number = bisect_left(ends, True, key=lambda end: self.up_to(end) < least)
        size = ends[max(0, number - 1)]
        if self.line_size < size < len(self.text) and self.text[size : size + 1] != b"\n":
            return self.text.rindex(b"\n", self.line_size, size)
        return size


def _end(pattern: re.Pattern[bytes], text: bytes, start: int) -> int:
    found = pattern.match(text, start)
    assert found is not None
    return found.end()


def measures(logprobs: Sequence[float]) -> tuple[float, float]:
    """What a calibration weighs: both fall, or stay, with every further token."""
    total = min(sum(logprobs), SUREST)
    return total - log(-expm1(total)), -log1p(len(logprobs))


def calibration_of(model: str) -> Calibration:
    """The constants for a model, by the name in its file."""
    table, general = _table()
    return table.get(model, table[general])


def is_fitted(model: str) -> bool:
    """Whether constants were fitted for a model."""
    return model in _table()[0]


def own_table() -> Path:
    """The file with constants that were fitted on this machine."""
    return store.folder().parent / "confidence.json"


@lru_cache(maxsize=1)
def _table() -> tuple[dict[str, Calibration], str]:
    """Constants by the model's name, and the name of those for all others."""
    own = json.loads(files("server").joinpath("confidence.json").read_text(encoding="utf-8"))
    table, general = read_table(own), str(own["general"])
    path = own_table()
    try:
        table |= read_table(json.loads(path.read_text(encoding="utf-8")))
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError, TypeError, AttributeError, KeyError) as error:
        logger.warning("%s is left out, as it can't be read: %s", path, error)
    return table, general


def read_table(table: Mapping[str, Any]) -> dict[str, Calibration]:
    """The constants in a table by the model's name. Raises as reading wrong JSON does."""
    return {name: _calibration(values) for name, values in table["models"].items()}


def _calibration(values: Mapping[str, Any]) -> Calibration:
    found = Calibration(*(float(values[field.name]) for field in fields(Calibration)))
    numbers = [found.bias, found.odds, found.tokens]
    if not all(map(isfinite, numbers)) or min(numbers[1:]) < 0:
        raise ValueError(f"no calibration: {dict(values)}")
    return found
