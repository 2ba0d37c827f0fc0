"""Prints the README's table of vocabularies: `python -m tests.healing.vocabulary_table`.

Every vocabulary is tried at random cuts (see `structure`); those that exact healing does not know
are listed with what is done instead. `--cuts` says at how many places; names choose vocabularies,
and may be `"default model"`, which is no part of the table otherwise.
"""

import argparse
from collections.abc import Iterator

from server.engine.fim_dialects import fim_tokens
from server.engine.gguf import read_metadata
from server.engine.llama_vocabulary import announced_marks
from server.engine.tables import Tables, load_tables
from tests.healing.real import file_of
from tests.healing.structure import Findings, examine
from tests.vocabularies import vocabularies, vocabulary_only

HEADER = (
    "| vocabulary | kind | pretokenizer | fill-in ids (prefix, suffix, middle) | healing | cuts"
    " | recall | precision | tree tokens, mean (max) |\n"
    "|---|---|---|---|---|---|---|---|---|"
)
KINDS = {
    "gpt2": "BPE of bytes",
    "llama": "SentencePiece BPE",
    "gemma4": "BPE of characters",
    "bert": "WordPiece",
    "t5": "unigram",
}


def row(name: str, cuts: int) -> str:
    """The table's row for a vocabulary, from a run at so many cuts."""
    path = file_of(name)
    tables = load_tables(path)
    pretokenizer = read_metadata(path).text("tokenizer.ggml.pre", "none named")
    start = f"| {name} | {KINDS[tables.model]} | {pretokenizer} | {_marks(name, tables)} |"
    if not tables.exact:
        return f"{start} by bytes | – | – | – | – |"
    found = examine(name, 1, cuts)
    return f"{start} exact | {' | '.join(_figures(found))} |"


def _figures(found: Findings) -> Iterator[str]:
    cuts = found.sizes.total()
    yield f"{cuts:,}"
    yield _share(cuts - len(found.missing), cuts)
    yield f"{_share(found.judged - len(found.invented), found.judged)} of {found.judged:,}"
    yield f"{found.mean_size:.2f} ({max(found.sizes)})"


def _share(part: int, whole: int) -> str:
    return "100 %" if part == whole else f"{100 * part / whole:.3f} %"


def _marks(name: str, tables: Tables) -> str:
    with vocabulary_only(file_of(name)) as pointer:
        fim = fim_tokens(announced_marks(pointer), tables.vocabulary, name)
    return f"{fim.prefix}, {fim.suffix}, {fim.middle} ({fim.dialect})" if fim else "no"


def main() -> None:
    """Print the table, a row as soon as it is there."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("names", nargs="*", default=list(vocabularies()))
    parser.add_argument("--cuts", type=int, default=1000)
    arguments = parser.parse_args()
    print(HEADER, flush=True)
    for name in arguments.names:
        print(row(name, arguments.cuts), flush=True)


if __name__ == "__main__":
    main()
