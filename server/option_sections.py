"""The sections of the options: each option's name, type, limits, default and meaning.

An option that is added here is checked, offered by editors and documented (`options`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NewType

MAX_INTEGER = 2**31 - 1
"""Larger numbers do not fit llama.cpp's integers."""


@dataclass(frozen=True)
class About:
    """What is said of an option beside its type and default."""

    text: str
    """One or two sentences for the person who sets it."""
    low: float | None = None
    """The least value; of a string, the least number of characters; of a list, of each item; of an
    object, of each name and value."""
    high: float | None = None
    above: float | None = None
    """Values must be larger than this."""


Pattern = NewType("Pattern", str)
"""A pattern of the `regex` package that can be searched for (`bans.check_pattern`)."""


@dataclass(frozen=True)
class ModelOptions:
    """The model, and where it comes from."""

    name: Annotated[
        str, About("A name that `midtoken model list` knows, or the path of any GGUF file.", low=1)
    ] = "qwen2.5-coder-0.5b"
    auto_pull: Annotated[
        bool, About("Let the server fetch a model that is missing. Without it, nothing connects.")
    ] = False
    mirror: Annotated[
        bool, About("Fetch from the mirror of the model's bytes instead of its own hub.")
    ] = False
    lora: Annotated[
        str, About("The path of a LoRA adapter (GGUF) that is added to the model; empty for none.")
    ] = ""
    lora_scale: Annotated[float, About("How much of the adapter counts.", low=0, high=100)] = 1.0


@dataclass(frozen=True)
class EngineSection:
    """How the model is run on this machine."""

    gpu_layers: Annotated[
        int | Literal["auto"],
        About("Layers to put on a GPU; `auto` takes all if there is one.", low=0, high=MAX_INTEGER),
    ] = "auto"
    threads: Annotated[
        int | Literal["auto"],
        About("CPU threads; `auto` is one for each core that may be used.", low=1, high=1024),
    ] = "auto"
    context_size: Annotated[
        int, About("Tokens of memory for all texts together.", low=16, high=1 << 24)
    ] = 4096
    main_gpu: Annotated[
        int, About("The GPU for what is not split, by its number.", low=0, high=MAX_INTEGER)
    ] = 0
    tensor_split: Annotated[
        tuple[float, ...], About("Shares of the model for each GPU; empty shares evenly.", low=0)
    ] = ()
    flash_attention: Annotated[
        Literal["auto", "on", "off"], About("Whether flash attention is used.")
    ] = "auto"
    warm_start: Annotated[
        int,
        About(
            "Megabytes of disk for what the model has read of your files, so that the first "
            "suggestion after a restart comes sooner; 0 keeps nothing and deletes what was kept.",
            low=0,
            high=1 << 20,
        ),
    ] = 256
    idle_work: Annotated[
        bool,
        About(
            "When nothing is asked for, read more of the document and write the next suggestion "
            "ahead. Without it suggestions come later and know less; a battery lasts longer."
        ),
    ] = True


@dataclass(frozen=True)
class RemoteSection:
    """A model that runs elsewhere, instead of on this machine."""

    url: Annotated[
        str,
        About(
            "The address of a llama-server, vLLM or SGLang (`http://HOST:PORT`), which then writes "
            "everything; empty runs a model on this machine. Text around the cursor is sent there."
        ),
    ] = ""
    api: Annotated[
        Literal["auto", "llama-server", "vllm", "sglang", "openai"],
        About("What is spoken there; `auto` asks. `openai` is any other server of completions."),
    ] = "auto"
    model: Annotated[
        str, About("The model's name there; empty takes the first one that is served.")
    ] = ""
    key_variable: Annotated[
        str, About("The environment variable that holds the key, if one is wanted.")
    ] = "MIDTOKEN_API_KEY"
    key_file: Annotated[
        str,
        About("A file that holds the key instead, readable by you alone; empty for none."),
    ] = ""
    tokenizer: Annotated[
        str,
        About(
            "The path of the model's `tokenizer.json` or of a GGUF file of it; empty asks the "
            "engine, which heals less far back, and which SGLang can't be asked for."
        ),
    ] = ""
    timeout: Annotated[
        float, About("Seconds that the engine may say nothing.", above=0, high=3600)
    ] = 60.0
    parallel: Annotated[
        int,
        About(
            "The most requests for text that one server process has at the engine at once, for "
            "different documents; further ones take turns. Of one document there is one. A "
            "llama-server gets no more than it has slots.",
            low=1,
            high=64,
        ),
    ] = 4


@dataclass(frozen=True)
class CompletionSection:
    """What is suggested."""

    healing: Annotated[
        Literal["exact", "align", "one", "off"],
        About(
            "How the end of what was typed is written again: over all spellings, step by step, "
            "the last token only, or not at all."
        ),
    ] = "exact"
    prompt: Annotated[
        Literal["fim", "left"],
        About("Whether the model sees the text on both sides of the cursor or only before it."),
    ] = "fim"
    max_tokens: Annotated[
        int, About("The most tokens of a suggestion of one line.", low=1, high=MAX_INTEGER)
    ] = 64
    max_tokens_block: Annotated[
        int, About("The most tokens of a suggestion of several lines.", low=1, high=MAX_INTEGER)
    ] = 256
    context_tokens: Annotated[
        int | Literal["auto"],
        About(
            "Tokens of text that are read around the cursor; `auto` is what the device reads in "
            "`completion.firstSuggestionSeconds`, and more once it has been read.",
            low=0,
            high=MAX_INTEGER,
        ),
    ] = "auto"
    first_suggestion_seconds: Annotated[
        float,
        About(
            "How long the text around the cursor may take to read where none of it has been read "
            "before.",
            above=0,
            high=60,
        ),
    ] = 2.0
    multiline: Annotated[
        Literal["auto", "always", "never"],
        About(
            "Suggestions of several lines: at the ends of lines and on blank lines; wherever no "
            "code follows on the line; or never."
        ),
    ] = "auto"
    names: Annotated[
        bool,
        About(
            "Show names of your open documents in completion lists, by the model's probability: "
            "when you ask, and while you type a word."
        ),
    ] = True
    temperature: Annotated[
        float,
        About(
            "0 takes the most probable text, as does what is below 0.001; more is more varied.",
            low=0,
            high=100,
        ),
    ] = 0.0
    top_k: Annotated[
        int, About("Draw from so many of the most probable; 0 is all.", low=0, high=MAX_INTEGER)
    ] = 0
    top_p: Annotated[
        float, About("Draw from the most probable that together reach this.", above=0, high=1)
    ] = 1.0
    min_p: Annotated[
        float, About("Draw from what is at least this share of the best.", low=0, high=1)
    ] = 0.0
    seed: Annotated[int, About("The same seed draws the same text.", low=0, high=MAX_INTEGER)] = 0
    candidates: Annotated[
        int,
        About(
            "The most different suggestions where you ask for one; automatic ones are single, "
            "which is quicker.",
            low=1,
            high=10,
        ),
    ] = 3
    stop_unsure: Annotated[
        float,
        About(
            "An automatic suggestion ends before the word from which on it is less probable than "
            "this that all of it is right; its first word stays. More is shown as you type along. "
            "0 never ends it so.",
            low=0,
            high=1,
        ),
    ] = 0.3


@dataclass(frozen=True)
class TriggerSection:
    """When something is suggested."""

    automatic: Annotated[
        bool, About("Suggest while typing. Without it, only when the editor is told to ask.")
    ] = True
    debounce: Annotated[
        int | Literal["auto"],
        About(
            "Milliseconds without a key before the model is asked; `auto` follows the rhythm of "
            "typing and the model's speed.",
            low=0,
            high=60_000,
        ),
    ] = "auto"
    time_budget: Annotated[
        int | Literal["auto"],
        About(
            "Milliseconds after which an automatic suggestion is shown as far as it is written; "
            "`auto` is 250 on a GPU and 600 on a CPU.",
            low=1,
            high=600_000,
        ),
    ] = "auto"
    min_confidence: Annotated[
        float,
        About(
            "Automatic suggestions are not shown if it is less probable than this that their first "
            "line is right, as far as it goes; 0 shows all. Ask, and you see it whatever it is.",
            low=0,
            high=1,
        ),
    ] = 0.0


@dataclass(frozen=True)
class FiltersSection:
    """Rules that cut or drop a suggestion; those that keep your own text whole are always on."""

    chatter: Annotated[
        bool, About("Cut at code fences and the marks of chats, where a document has none.")
    ] = True
    following: Annotated[
        bool, About("Cut before the text repeats what follows the cursor on the line.")
    ] = True
    glued_words: Annotated[
        bool, About("Cut a last word that would run into the word after the cursor.")
    ] = True
    fitting: Annotated[
        bool,
        About(
            "Cut where what follows the cursor fits, by the language's grammar, if it fits at all."
        ),
    ] = True
    trailing_blanks: Annotated[bool, About("Cut blanks at the end of a line.")] = True
    repeated_lines: Annotated[
        bool, About("Drop lines that repeat the next lines, or themselves over and over.")
    ] = True
    bans: Annotated[
        tuple[str, ...],
        About(
            "Texts that a suggestion never holds or completes, byte by byte (`print(`, a private "
            "name): the model goes back and writes something else. Your list, a workspace's and a "
            "language's add up.",
            low=1,
        ),
    ] = ()
    ban_patterns: Annotated[
        tuple[Pattern, ...],
        About(
            "The same as patterns in Python's notation; `^` and `$` are the ends of lines, and up "
            "to 1 kB before the cursor takes part. None may match empty text.",
            low=1,
        ),
    ] = ()


@dataclass(frozen=True)
class GrammarSection:
    """Suggestions that keep a document grammatical."""

    mode: Annotated[
        Literal["auto", "structural", "off"],
        About(
            "How much of a language's grammar is kept: as much as is known and fits your text, "
            "only strings, comments and brackets, or nothing."
        ),
    ] = "auto"
    files: Annotated[
        Mapping[str, str],
        About(
            "Your own grammars (`.lark` or `.gbnf`) for whole documents: by a language's "
            "identifier or a glob (`*.calc`, `/etc/**/*.conf`), the file's path.",
            low=1,
        ),
    ] = field(default_factory=dict)
    schemas: Annotated[
        Mapping[str, str],
        About(
            "JSON Schemas for JSON documents: by a glob (`package.json`, `settings/*.json`), the "
            "file's path. A document's own `$schema` comes first; nothing is fetched.",
            low=1,
        ),
    ] = field(default_factory=dict)


@dataclass(frozen=True)
class ContextSection:
    """What a suggestion may know beside its document."""

    workspace: Annotated[
        bool,
        About(
            "Let the model read definitions that a document imports from other files of the "
            "workspace, and places that you have just been at. What `.gitignore` or "
            "`.midtokenignore` excludes, or what looks like a secret, is never read. The default "
            "model, a small one, was not seen to gain by it."
        ),
    ] = False


@dataclass(frozen=True)
class LoggingSection:
    """What is written down about the server's work."""

    level: Annotated[
        Literal["error", "warning", "info", "debug"], About("The least level that is logged.")
    ] = "warning"
    file: Annotated[str, About("A file for the log, beside standard error; empty for none.")] = ""
    source_text: Annotated[
        bool, About("Whether the log may hold text of your documents and suggestions.")
    ] = False


@dataclass(frozen=True)
class LanguagesSection:
    """Differences between languages, by the identifiers of VS Code (`python`, `cpp`)."""

    disabled: Annotated[tuple[str, ...], About("Languages without suggestions.", low=1)] = ()
    overrides: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """For a language, checked values by their key, as `completion.maxTokens`."""
