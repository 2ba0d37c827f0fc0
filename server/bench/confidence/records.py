"""Suggestions as they are judged: how sure their beginnings were, and whether they are right."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from zlib import crc32

from server.bench.confidence.fit import Example, fit
from server.confidence import UNCALIBRATED, WORD_END, Calibration, Judged

FOLDS = 5


@dataclass(frozen=True)
class Record:
    """One suggestion of `suggestions.suggestion_at`."""

    file: str
    language: str
    shown: bytes
    agreed: int
    """So many of its first bytes are right."""
    ends: tuple[int, ...]
    logprobs: tuple[float, ...]

    @staticmethod
    def of(result: Mapping[str, Any]) -> "Record":
        """From what is written on the disk."""
        tokens = result["tokens"]
        return Record(
            result["file"],
            result["language"],
            result["shown"].encode(),
            result["agreed"],
            tuple(end for end, _ in tokens),
            tuple(logprob for _, logprob in tokens),
        )

    @property
    def fold(self) -> int:
        """The part of the files that its file belongs to: the same for all places in it."""
        return crc32(f"{self.language}/{self.file}".encode()) % FOLDS

    @cached_property
    def word(self) -> int:
        """How many bytes the first word takes."""
        return self.judged(UNCALIBRATED).word_size

    @cached_property
    def line(self) -> int:
        """How many bytes the first line takes."""
        return self.judged(UNCALIBRATED).line_size

    def judged(self, calibration: Calibration) -> Judged:
        """The suggestion as a server judges it."""
        return Judged(self.shown, self.ends, self.logprobs, calibration)

    def examples(self) -> list[Example]:
        """All its beginnings of whole words."""
        sizes = {end.end() for end in WORD_END.finditer(self.shown)} | {len(self.shown)}
        tokens = self.judged(UNCALIBRATED).tokens
        return [
            Example(tuple(tokens(size)), size <= self.agreed, 1 / len(sizes))
            for size in sorted(sizes)
        ]


def fitted(records: Sequence[Record]) -> Calibration:
    """The constants for these suggestions."""
    return fit([example for record in records for example in record.examples()])


def held_out(records: Sequence[Record]) -> list[Calibration]:
    """For each suggestion, constants that were fitted to files of other parts than its own."""
    others = ([record for record in records if record.fold != fold] for fold in range(FOLDS))
    by_fold = [fitted(part) if part else UNCALIBRATED for part in others]
    return [by_fold[record.fold] for record in records]
