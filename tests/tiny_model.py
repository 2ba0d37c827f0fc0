"""Writes GGUF models so small that they load in milliseconds, for tests of the engine.

The weights are random but seeded, so a file has the same content every time; what such a model says
means nothing, and is as deterministic as a real one. The vocabulary is trained here on a few lines
of code: all 256 bytes, a few hundred merges, and marks of prompt structure after them.

Example::

    path = write_tiny_model(tmp_path / "tiny.gguf")
    path = write_tiny_model(tmp_path / "mamba.gguf", architecture="mamba")

What is not here: models that know anything.
"""

import json
from functools import cache
from pathlib import Path
from typing import Literal

import gguf
import numpy as np
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

Vocabulary = Literal["bpe", "sentencepiece", "characters", "unigram"]
Architecture = Literal["llama", "mamba", "jamba", "gemma3"]

MODELS = {"sentencepiece": "llama", "characters": "gemma4", "unigram": "t5"}
"""What model files call these vocabularies."""

WIDTH = 64
HEADS = 4
LAYERS = 2
FEED_FORWARD = 96
WINDOW = 16
"""Tokens that a sliding-window layer of the `gemma3` variant looks back."""

FIM_TOKENS = ["<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>"]
REPOSITORY_TOKENS = ["<|repo_name|>", "<|file_sep|>"]
OTHER_TOKENS = ["<|other_0|>", "<|other_1|>"]
DIALECT_MARKS = {
    "StarCoder": ["<fim_prefix>", "<fim_middle>", "<fim_suffix>", "<filename>", "<reponame>"],
    "StarCoder2": ["<fim_prefix>", "<fim_middle>", "<fim_suffix>", "<repo_name>", "<file_sep>"],
    "SantaCoder": ["<fim-prefix>", "<fim-middle>", "<fim-suffix>"],
    "Mellum": ["<fim_prefix>", "<fim_middle>", "<fim_suffix>", "<filename>"],
    "Qwen": [*FIM_TOKENS, *REPOSITORY_TOKENS],
    "CodeGemma": ["<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|file_separator|>"],
    "Granite": ["<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|filename|>"],
    "DeepSeek-Coder": ["<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"],
    "CodeLlama": ["▁<PRE>", "▁<MID>", "▁<SUF>", "▁<EOT>"],
    "Codestral": ["[PREFIX]", "[MIDDLE]", "[SUFFIX]"],
    "Seed-Coder": ["<[fim-prefix]>", "<[fim-middle]>", "<[fim-suffix]>"],
}
"""Names of fill-in-the-middle marks and of what goes with them, as the families have them."""
END = "<|endoftext|>"
ADDED = "<tool_call>"
"""A token that was added after training and that is not a mark of prompt structure."""

QWEN2_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""The pretokenizer that llama.cpp calls `qwen2`."""

TRAINING_TEXT = '''
import os
import sys

from collections import defaultdict


class Reader:
    """Reads numbers from a file, one a line."""

    def __init__(self, path, encoding="utf-8"):
        self.path = path
        self.encoding = encoding
        self.numbers = []

    def read(self):
        with open(self.path, encoding=self.encoding) as file:
            for line in file:
                if not line.strip():
                    continue
                self.numbers.append(int(line))
        return self.numbers

    def total(self):
        return sum(self.numbers)


def group(words):
    groups = defaultdict(list)
    for word in words:
        groups[len(word)].append(word)
    return {length: sorted(found) for length, found in groups.items()}


def main(arguments):
    reader = Reader(arguments[0])
    print(reader.total(), file=sys.stderr)
    for index in range(len(reader.numbers)):
        if reader.numbers[index] > 100:
            print("größer", index)
        elif reader.numbers[index] == 0:
            raise ValueError(f"no number in {reader.path!r}")
        else:
            print(os.path.basename(reader.path), index)


if __name__ == "__main__":
    main(sys.argv[1:])
'''


@cache
def train_tokenizer(size: int = 480) -> Tokenizer:
    """A byte-level BPE of `size` tokens without marks, with the `qwen2` pretokenizer."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(QWEN2_SPLIT), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=1,
        show_progress=False,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
    )
    tokenizer.train_from_iterator(TRAINING_TEXT.splitlines(keepends=True), trainer)
    return tokenizer


def write_tiny_model(
    path: Path,
    *,
    architecture: Architecture = "llama",
    vocabulary: Vocabulary = "bpe",
    fim: bool = True,
    files: bool = False,
    dialect: str | None = None,
    weights: bool = True,
    ends: bool = True,
    seed: int = 0,
) -> Path:
    """Write one model and return its path.

    Args:
        path: The file to write.
        architecture: `llama` attends to everything, `mamba` is recurrent (its memory can't be cut),
            `jamba` is both by turns, `gemma3` looks back over a sliding window of `WINDOW` tokens.
        vocabulary: Byte-level BPE, or one like SentencePiece's with byte tokens: pieces are merged
            by their scores (`sentencepiece`) or by a list (`characters`, as Gemma 4 does it), or
            the most probable ones are taken (`unigram`).
        fim: Whether the vocabulary has fill-in-the-middle marks.
        files: Whether it then has marks for repositories and files too, and not two without a
            meaning. With them a document's name is in some prompts, and changes what is said.
        dialect: One of `DIALECT_MARKS`: these marks instead of the others, and its name as a model.
        weights: False writes the vocabulary alone, as `ggml-vocab-*.gguf` files do.
        ends: False makes the end of a line and of the text less probable than other tokens, so that
            texts go on until a limit on any machine: where random weights end, rounding has a say.
            For byte-level BPE only.
        seed: For the weights.
    """
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_name(f"tiny {dialect or architecture}")
    writer.add_context_length(8192)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    if dialect:
        marks = DIALECT_MARKS[dialect]
    else:
        marks = FIM_TOKENS + (REPOSITORY_TOKENS if files else OTHER_TOKENS) if fim else []
    if vocabulary == "bpe":
        size = _add_bpe(writer, marks)
    else:
        size = _add_sentencepiece(writer, marks if dialect else [], MODELS[vocabulary])
    _add_hyperparameters(writer, architecture)
    if weights:
        random = np.random.default_rng(seed)
        for name, shape in _tensors(architecture, size):
            weight = _weight(random, name, shape)
            if name == "output.weight" and not ends:
                weight[_ends(size)] = 0
            writer.add_tensor(name, weight)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add_bpe(writer: gguf.GGUFWriter, marks: list[str]) -> int:
    model = train_tokenizer().to_str()
    ids = train_tokenizer().get_vocab()
    tokens = sorted(ids, key=ids.__getitem__)
    kinds = [gguf.TokenType.NORMAL] * len(tokens)
    tokens += [END, *marks, ADDED]
    kinds += [gguf.TokenType.CONTROL] * (1 + len(marks)) + [gguf.TokenType.USER_DEFINED]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges(_merges(model))
    writer.add_eos_token_id(tokens.index(END))
    writer.add_bos_token_id(tokens.index(END))
    writer.add_add_bos_token(False)
    return len(tokens)


def _ends(size: int) -> list[int]:
    """Tokens of byte-level BPE with an end of line in them, and all marks."""
    ids = train_tokenizer().get_vocab()
    lines = [index for token, index in ids.items() if {"Ċ", "č"} & set(token)]
    return lines + list(range(len(ids), size))


def _merges(description: str) -> list[str]:
    """The merges of a serialised tokenizer, by rank; old `tokenizers` wrote them as one string."""
    merges = json.loads(description)["model"]["merges"]
    return [merge if isinstance(merge, str) else " ".join(merge) for merge in merges]


def _add_sentencepiece(writer: gguf.GGUFWriter, marks: list[str], model: str) -> int:
    ids = train_tokenizer().get_vocab()
    plain = {token: train_tokenizer().decode([ids[token]]).replace(" ", "▁") for token in ids}
    ordered = [plain[token] for token in sorted(ids, key=ids.__getitem__)]
    pieces = [piece for piece in ordered if piece and not set(piece) & {"\0", "\ufffd"}]
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    kinds = [gguf.TokenType.UNKNOWN] + [gguf.TokenType.CONTROL] * 2 + [gguf.TokenType.BYTE] * 256
    scores = [0.0] * len(tokens) + [-float(rank) for rank in range(len(pieces))]
    tokens += pieces
    kinds += [gguf.TokenType.NORMAL] * len(pieces)
    # Some files, and all older ones, call the marks of Code Llama text.
    mark_kind = gguf.TokenType.NORMAL if "▁<EOT>" in marks else gguf.TokenType.CONTROL
    tokens += marks
    kinds += [mark_kind] * len(marks)
    scores += [0.0] * len(marks)
    writer.add_tokenizer_model(model)
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_scores(scores)
    if model == "gemma4":
        merges = [merge.split(" ") for merge in _merges(train_tokenizer().to_str())]
        spelled = [f"{plain[left]} {plain[right]}" for left, right in merges]
        writer.add_token_merges([merge for merge in spelled if "\ufffd" not in merge])
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_bos_token(True)
    return len(tokens)


def _add_hyperparameters(writer: gguf.GGUFWriter, architecture: Architecture) -> None:
    writer.add_layer_norm_rms_eps(1e-5)
    if architecture in {"mamba", "jamba"}:
        writer.add_ssm_conv_kernel(4)
        writer.add_ssm_inner_size(2 * WIDTH)
        writer.add_ssm_state_size(16)
        writer.add_ssm_time_step_rank(8)
    if architecture == "mamba":
        writer.add_feed_forward_length(0)
        writer.add_head_count(0)
        return
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    if architecture == "jamba":  # the layers without attention have no heads for it
        writer.add_head_count_kv([0 if index % 2 == 0 else HEADS // 2 for index in range(LAYERS)])
        return
    writer.add_head_count_kv(HEADS // 2)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_rope_freq_base(10000.0)
    if architecture == "gemma3":
        writer.add_key_length(WIDTH // HEADS)
        writer.add_value_length(WIDTH // HEADS)
        writer.add_sliding_window(WINDOW)


def _tensors(architecture: Architecture, size: int) -> list[tuple[str, tuple[int, ...]]]:
    """Names and shapes, rows first (a file writes them the other way round)."""
    head, kv = WIDTH // HEADS, WIDTH // 2
    tensors: list[tuple[str, tuple[int, ...]]] = [
        ("token_embd.weight", (size, WIDTH)),
        ("output_norm.weight", (WIDTH,)),
        ("output.weight", (size, WIDTH)),
    ]
    mamba = [
        ("attn_norm.weight", (WIDTH,)),
        ("ssm_in.weight", (4 * WIDTH, WIDTH)),
        ("ssm_conv1d.weight", (2 * WIDTH, 4)),
        ("ssm_conv1d.bias", (2 * WIDTH,)),
        ("ssm_x.weight", (8 + 2 * 16, 2 * WIDTH)),
        ("ssm_dt.weight", (2 * WIDTH, 8)),
        ("ssm_dt.bias", (2 * WIDTH,)),
        ("ssm_a", (2 * WIDTH, 16)),
        ("ssm_d", (2 * WIDTH,)),
        ("ssm_out.weight", (WIDTH, 2 * WIDTH)),
    ]
    attention = [
        ("attn_norm.weight", (WIDTH,)),
        ("attn_q.weight", (WIDTH, WIDTH)),
        ("attn_k.weight", (kv, WIDTH)),
        ("attn_v.weight", (kv, WIDTH)),
        ("attn_output.weight", (WIDTH, WIDTH)),
    ]
    feed_forward = [
        ("ffn_norm.weight", (WIDTH,)),
        ("ffn_gate.weight", (FEED_FORWARD, WIDTH)),
        ("ffn_up.weight", (FEED_FORWARD, WIDTH)),
        ("ffn_down.weight", (WIDTH, FEED_FORWARD)),
    ]
    state_norms = [
        ("ssm_dt_norm.weight", (8,)),
        ("ssm_b_norm.weight", (16,)),
        ("ssm_c_norm.weight", (16,)),
    ]
    gemma = [
        ("attn_q_norm.weight", (head,)),
        ("attn_k_norm.weight", (head,)),
        ("post_attention_norm.weight", (WIDTH,)),
        ("post_ffw_norm.weight", (WIDTH,)),
    ]
    layers = {
        "llama": [attention + feed_forward],
        "mamba": [mamba],
        "jamba": [mamba + state_norms + feed_forward, attention + feed_forward],
        "gemma3": [attention + feed_forward + gemma],
    }[architecture]
    for index in range(LAYERS):
        layer = layers[index % len(layers)]
        tensors += [(f"blk.{index}.{name}", shape) for name, shape in layer]
    return tensors


def _weight(random: np.random.Generator, name: str, shape: tuple[int, ...]) -> np.ndarray:
    if name.endswith("ssm_a"):  # decay rates are negative
        return -np.exp(random.normal(size=shape)).astype(np.float32)
    if "norm" in name or name.endswith("ssm_d"):
        return (1 + 0.1 * random.normal(size=shape)).astype(np.float32)
    # Rows of unit scale keep activations of order one, and logits spread over several units, so
    # that a token at a wrong place changes them visibly.
    scale = 3.0 if name == "output.weight" else 1.0
    return (random.normal(size=shape) * scale / np.sqrt(shape[-1])).astype(np.float32)
