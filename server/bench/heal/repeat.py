r"""The repeat task of Xu et al. (arXiv 2601.23223): a line is written once more.

The answer is in the prompt, so that whatever a model gets wrong is the fault of the cut. Words end
where tokens do not, in code (after punctuation), in German compounds and in Chinese. A line stands
there twice, after three others that do, and the last copy is cut where a word (or a part of one)
ends: inside a token, or at the end of one.

    >>> code_joints(b"    return foo(x)[1:]")
    [15, 17, 18, 20]

What is not here: scores and writing (`scores`, `writing`).
"""

import random
import re
from collections.abc import Iterator

from healing.tokenization import Tokenization
from server.bench.heal.places import Place, code_of, library, sentences

DOMAINS = ("code", "German", "Chinese")
CUTS = ("inside a token", "at a token's end")
EXAMPLES = 3
"""Other lines that are repeated before the one that is to be."""

MISSES = 1000
"""So many lines in a row without a fitting joint, and there is none."""

_LEXEMES = re.compile(rb"\w+|\*\*|//|->|:=|[=!<>+\-*/%&|^]=|\.\.\.|[^\w\s]|\s+")
_LINE = re.compile(rb"(?m)^ *(?!#)(?=\S)[\x20-\x21\x23-\x26\x28-\x7e]{24,70}$")
"""A line of ASCII without quotes: code more often than text."""


def tasks(domain: str, cut: str, tokenization: Tokenization, seed: int) -> Iterator[Place]:
    """Places to go on repeating from; the same ones for a seed.

    There is no end of them, but where a vocabulary has none: it may be without Chinese words.

    Args:
        domain: One of `DOMAINS`.
        cut: One of `CUTS`.
        tokenization: The model's.
        seed: Of what is chosen.
    """
    chance = random.Random(f"{domain} {cut} {seed}")  # noqa: S311 (no secrets here)
    missed = 0
    for lines, joints in _lines(domain, chance):
        ends = _token_ends(lines[-1], tokenization)
        fitting = [at for at in joints if (at in ends) == (cut == CUTS[1])]
        missed = 0 if fitting else missed + 1
        if missed == MISSES:
            return
        if fitting:
            at = chance.choice(fitting)
            doubled = b"".join(2 * (line + b"\n") for line in lines[:-1])
            start = doubled + lines[-1] + b"\n"
            name = "code.py" if domain == "code" else f"{domain}.txt"
            yield Place(name, start + lines[-1][:at], lines[-1][at:], b"\n")


def _token_ends(line: bytes, tokenization: Tokenization) -> set[int]:
    """Offsets in a repeated line at which tokens end."""
    ends, offset = set(), -len(line) - 1
    for token in tokenization.encode(line + b"\n" + line + b"\n"):
        offset += len(tokenization.vocabulary[token])
        ends.add(offset)
    return ends


def _lines(domain: str, chance: random.Random) -> Iterator[tuple[list[bytes], list[int]]]:
    """Lines of which the last is to be cut, and where it may be."""
    while True:
        if domain == "code":
            found = list(dict.fromkeys(_LINE.findall(code_of(chance.choice(library())))))
            if len(found) > EXAMPLES:
                lines = chance.sample(found, EXAMPLES + 1)
                yield lines, code_joints(lines[-1])
        else:
            some = chance.sample(sentences(domain), EXAMPLES + 1)
            text, joints = some[-1].text, some[-1].joints
            offsets = [len(text[:joint].encode()) for joint in joints]
            yield [sentence.text.encode() for sentence in some], offsets


def code_joints(line: bytes) -> list[int]:
    """Offsets after punctuation and before something visible, ascending; none at the line's end."""
    ends = [
        match.end() for match in _LEXEMES.finditer(line) if not re.search(rb"[\w\s]", match[0][-1:])
    ]
    return [end for end in ends if line[end : end + 1].strip()]
