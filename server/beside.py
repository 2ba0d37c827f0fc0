r"""Other places' text in a prompt, before the document's own, the way that the model has seen it.

Models that were trained on whole repositories have a mark before each file, and often one before
the repository's name; then comes the file's path on a line of its own::

    <repository> name ⏎ <file> path ⏎ text <file> path ⏎ text <file> own path ⏎ the document

For other models the same goes without marks at the beginning of the text before the hole::

    path ⏎ text path ⏎ text own path ⏎ the document

What is not here: which places are worth it (`workspace`).
"""

from dataclasses import dataclass

from healing.encoding import Encode
from server.engine import FimTokens
from server.workspace.chunks import Chunk


@dataclass(frozen=True)
class Beside:
    """What stands before a document in its prompt."""

    repository: str
    """The name of the workspace."""
    name: str
    """The document's path below the workspace's folder."""
    chunks: tuple[Chunk, ...]
    """At least one."""


def has_marks(fim: FimTokens | None) -> bool:
    """Whether a model knows marks for files."""
    return fim is not None and fim.file is not None and fim.named is not None


def marked(beside: Beside, fim: FimTokens, encode: Encode) -> list[int]:
    """The ids of all other files, with their marks; the document's own mark is not among them."""
    assert fim.file is not None
    ids: list[int] = []
    if fim.repository is not None:
        ids += [fim.repository, *encode(one_line(beside.repository) + fim.after_repository)]
    for chunk in beside.chunks:
        ids += [fim.file, *encode(one_line(chunk.name) + b"\n" + chunk.text)]
    return ids


def plain(beside: Beside, encode: Encode, lead: bytes) -> list[int]:
    """The ids of all other files and of the document's own name, as text.

    Args:
        beside: What to write.
        encode: The tokenizer.
        lead: What the tokenizer puts before a text in training.
    """
    files = (one_line(chunk.name) + b"\n" + chunk.text for chunk in beside.chunks)
    return encode(lead + b"".join(files) + one_line(beside.name) + b"\n")


def one_line(name: str) -> bytes:
    """A name on one line: names of files may hold anything."""
    return " ".join(name.split()).encode(errors="replace")
