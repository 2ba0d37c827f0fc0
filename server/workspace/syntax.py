r"""What a source file declares and imports, whatever its language; broken source as far as it goes.

Syntax trees come from tree-sitter, not from a language's own parser: a document that is being typed
is broken nearly always, and one library reads all languages. Its trees have the same shape around
an error. It takes linear time: 0.1 ms a kilobyte of code, up to 30 ms a kilobyte of hostile text
(measured), which is given up after a while.

Example::

    >>> [one.name for one in read("python", b"def area(a, b): return a * b\n").declared]
    ['area']

What is not here: which node of a tree means what (`python_syntax`, `script_syntax`, `go_syntax`),
and where the file of an import lies (`modules`).
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from time import thread_time
from typing import TYPE_CHECKING

from server.workspace.source_parts import Source

if TYPE_CHECKING:
    from tree_sitter import Language, Node

PIECE = 4096
"""Bytes that the parser is given at a time. It holds the interpreter's lock in between: so other
threads wait some 2 ms at most (a whole file of 1 MB at once: 80 to 220 ms, measured)."""

PATIENCE_S = 1.0
"""A text that takes more of the processor's time is none that people write: the largest of theirs
take 30 ms. How long a busy machine lets it wait says nothing of a text."""

_SCRIPT = ("tree_sitter_javascript", "language", "script_syntax")
_LANGUAGES = {
    "python": ("tree_sitter_python", "language", "python_syntax"),
    "javascript": _SCRIPT,
    "javascriptreact": _SCRIPT,
    "typescript": ("tree_sitter_typescript", "language_typescript", "script_syntax"),
    "typescriptreact": ("tree_sitter_typescript", "language_tsx", "script_syntax"),
    "go": ("tree_sitter_go", "language", "go_syntax"),
}
"""For each language identifier: a package, its function that gives the grammar, and our module that
reads its trees. All of it is loaded when it is needed first: a server must start fast."""

NOTHING = Source((), ())


def read(language: str, text: bytes) -> Source:
    r"""What a text declares and imports.

    Args:
        language: Its identifier; of a language that is not known, nothing is found.
        text: Valid or not; line ends as `\n`.
    """
    known = _LANGUAGES.get(language)
    if known is None:
        return NOTHING
    from tree_sitter import Parser

    package, grammar, module = known
    # A parser of its own: threads can't share one.
    parser = Parser(_grammar(package, grammar))
    end = thread_time() + PATIENCE_S
    try:
        tree = parser.parse(
            lambda offset, _: text[offset : offset + PIECE],
            progress_callback=lambda _, __: thread_time() > end,
        )
    except ValueError:  # out of patience
        return NOTHING
    return _reader(module)(tree.root_node, text)


def is_known(language: str) -> bool:
    """Whether anything can be found in a language."""
    return language in _LANGUAGES


@cache
def _grammar(package: str, name: str) -> "Language":
    from tree_sitter import Language

    return Language(getattr(import_module(package), name)())


def _reader(module: str) -> "Callable[[Node, bytes], Source]":
    read_tree: Callable[[Node, bytes], Source] = import_module(f"{__package__}.{module}").read
    return read_tree
