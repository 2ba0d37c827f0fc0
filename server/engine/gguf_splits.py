"""Models in several files, `NAME-00001-of-00003.gguf` and so on, as llama.cpp splits them.

The first file has the metadata (and maybe tensors, too). llama.cpp is given its path and looks for
the others beside it, by their names; what is wrong with them is found here, before it does.

What is not here: fetching several files as one model (`server.models`).
"""

import re
from pathlib import Path

from server.engine.damage import anew
from server.engine.gguf import Metadata, check_whole, read_metadata
from server.errors import ModelError

COUNT, NUMBER, TENSORS = "split.count", "split.no", "split.tensors.count"
NAMED = 3
"""So many missing files are named one by one."""

_NAME = re.compile(r"(.+)-([0-9]{5})-of-([0-9]{5})\.gguf", re.DOTALL)


def check_files(path: Path) -> None:
    """Check that a model's files are all there and hold every tensor that their headers list.

    Raises ModelError if a file is missing, too short or damaged, or if `path` is not the first of
    several. What the tensors contain is not checked: that needs the files' hashes.
    """
    metadata = read_metadata(path)
    files = parts(metadata)
    missing = [file.name for file in files if not file.is_file()]
    if missing:
        named = ", ".join(missing[:NAMED])
        more = f" and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
        is_are, it = ("is", "it") if len(missing) == 1 else ("are", "them")
        raise ModelError(
            f"{path}: {len(missing)} of its {len(files)} files {is_are} missing ({named}{more}); "
            f"put {it} beside it, or {anew(path)}"
        )
    for file in files:
        check_whole(file)
    if len(files) > 1:
        found = sum(len(read_metadata(file).tensors) for file in files)
        if found != tensor_count(metadata):
            raise ModelError(
                f"{path}: its {len(files)} files hold {found:,} of {tensor_count(metadata):,} "
                f"tensors, so they are not all of one model; {anew(path)}"
            )


def parts(metadata: Metadata) -> tuple[Path, ...]:
    """The files of a model in their order; for most models just the one that was read.

    Whether they exist is not looked at. Raises ModelError if the file is not the first of several,
    or has a name by which llama.cpp can't find the others.
    """
    path, count = metadata.path, metadata.integer(COUNT, 1)
    if count <= 1:
        return (path,)
    match = _NAME.fullmatch(path.name)
    start = match[1] if match else path.stem
    names = [f"{start}-{number:05}-of-{count:05}.gguf" for number in range(1, count + 1)]
    number = metadata.integer(NUMBER, 0)
    if number != 0:
        raise ModelError(f"{path}: is file {number + 1} of {count}; give the first, {names[0]}")
    if path.name != names[0]:
        raise ModelError(
            f"{path}: is the first of {count} files, and the others are found by its name: it must "
            f"be called {names[0]}"
        )
    return tuple(path.with_name(name) for name in names)


def tensor_count(metadata: Metadata) -> int:
    """The tensors of a model, in all of its files."""
    return metadata.integer(TENSORS, len(metadata.tensors))
