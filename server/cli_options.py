"""Options that several commands have: of whatever runs a model, and of every request."""

from collections.abc import Callable, Sequence
from typing import Any

import click

from server.errors import UsageError
from server.models.catalog import DEFAULT_MODEL
from server.option_sections import MAX_INTEGER

HEALING_METHODS = ("exact", "align", "one", "off")
GRAMMAR_MODES = ("auto", "structural", "off")

Command = Callable[..., Any]


grammar_option = click.option(
    "--grammar",
    type=click.Choice(GRAMMAR_MODES),
    default="auto",
    show_default=True,
    help="How much of a language's grammar is kept.",
)


def engine_options(command: Command) -> Command:
    """Options of every command that runs a model."""
    options = [
        click.option(
            "--model",
            "model_name",
            default=DEFAULT_MODEL,
            show_default=True,
            metavar="NAME|PATH",
            help="A model by name, or any GGUF file.",
        ),
        click.option("--lora", metavar="PATH", help="A LoRA adapter to add to the model."),
        click.option(
            "--lora-scale",
            type=click.FloatRange(0, 100),
            default=1.0,
            show_default=True,
            help="How much of the adapter counts.",
        ),
        click.option("--yes", is_flag=True, help="Fetch a missing model without asking."),
        click.option("--threads", type=click.IntRange(1, 1024), help="CPU threads."),
        click.option(
            "--context-size",
            type=click.IntRange(16, 1 << 24),
            default=4096,
            show_default=True,
            help="Tokens of memory for all texts together.",
        ),
        click.option(
            "--gpu-layers",
            default="auto",
            show_default=True,
            metavar="auto|N",
            help="Layers to put on a GPU.",
        ),
        click.option(
            "--main-gpu", type=click.IntRange(0), default=0, help="GPU for small tensors."
        ),
        click.option(
            "--tensor-split",
            default="",
            metavar="A,B,...",
            help="Shares of the model on each GPU.",
        ),
        click.option(
            "--flash-attn",
            type=click.Choice(["auto", "on", "off"]),
            default="auto",
            show_default=True,
        ),
    ]
    return with_options(options, command)


def remote_options(command: Command) -> Command:
    """Options of every command that may ask an engine elsewhere."""
    options = [
        click.option(
            "--remote",
            metavar="URL",
            help="Ask a llama-server, vLLM or SGLang there instead of running a model here.",
        ),
        click.option(
            "--remote-api",
            type=click.Choice(["auto", "llama-server", "vllm", "sglang", "openai"]),
            default="auto",
            show_default=True,
            help="What is spoken there.",
        ),
        click.option("--remote-model", default="", metavar="NAME", help="The model's name there."),
        click.option(
            "--remote-key-file",
            default="",
            metavar="PATH",
            help="The key; without it, the variable MIDTOKEN_API_KEY, if it is set.",
        ),
        click.option(
            "--remote-tokenizer",
            default="",
            metavar="PATH",
            help="The model's tokenizer.json or GGUF file; without it, the engine is asked.",
        ),
        click.option(
            "--remote-timeout",
            type=click.FloatRange(0, 3600, min_open=True),
            default=60.0,
            show_default=True,
            metavar="SECONDS",
            help="So long it may say nothing.",
        ),
    ]
    return with_options(options, command)


def no_remote_option(why: str) -> Callable[[Command], Command]:
    """`--remote` of a command that no engine elsewhere can serve: it says why, and what to do."""

    def refuse(_: click.Context, __: click.Parameter, given: str | None) -> None:
        if given is not None:
            raise UsageError(why)

    return click.option("--remote", hidden=True, expose_value=False, callback=refuse)


def request_options(command: Command) -> Command:
    """Options of every command that completes at a location."""
    options = [
        click.option(
            "--healing",
            type=click.Choice(HEALING_METHODS),
            default="exact",
            show_default=True,
            help="How the end of the typed text is written again.",
        ),
        grammar_option,
        click.option(
            "--prompt",
            type=click.Choice(["fim", "left"]),
            default="fim",
            show_default=True,
            help="Use the text on both sides of the cursor, or only what is before it.",
        ),
        click.option(
            "--max-tokens", type=click.IntRange(1, MAX_INTEGER), default=64, show_default=True
        ),
        click.option(
            "--candidates",
            type=click.IntRange(1, 10),
            default=1,
            show_default=True,
            help="The most different continuations.",
        ),
        click.option(
            "--context-tokens",
            type=click.IntRange(0),
            help="Tokens of text to read around the cursor.",
        ),
        click.option("--stdin-filename", metavar="NAME", help="The name of text given as `-`."),
        click.option(
            "--temperature",
            type=click.FloatRange(0, 100),
            default=0.0,
            show_default=True,
            help="0 takes the most probable text, as does what is below 0.001.",
        ),
        click.option(
            "--top-k", type=click.IntRange(0), default=0, help="Draw from so many; 0 is all."
        ),
        click.option("--top-p", type=click.FloatRange(0, 1, min_open=True), default=1.0),
        click.option("--min-p", type=click.FloatRange(0, 1), default=0.0),
        click.option("--seed", type=click.IntRange(0), default=0),
    ]
    return with_options(options, ban_options(command))


def _not_empty(
    context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]
) -> tuple[str, ...]:
    """What is given with an option. Raises BadParameter for an empty text: it bans nothing."""
    if "" in texts:
        raise click.BadParameter("an empty text bans nothing", context, parameter)
    return texts


def ban_options(command: Command) -> Command:
    """Options of every command that suggests something."""
    options = [
        click.option(
            "--ban",
            "bans",
            multiple=True,
            metavar="TEXT",
            callback=_not_empty,
            help="A text that is never suggested; may be repeated.",
        ),
        click.option(
            "--ban-pattern",
            "ban_patterns",
            multiple=True,
            metavar="PATTERN",
            help="A pattern of texts that are never suggested; may be repeated.",
        ),
    ]
    return with_options(options, command)


class LocationCommand(click.Command):
    """A command whose argument may be `-:LINE:COLUMN`, which click would take for an option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, such a location last."""
        found = [] if "--" in args else [arg for arg in args if arg.startswith("-:")]
        if found:
            args = [*(arg for arg in args if arg not in found), "--", *found]
        return super().parse_args(ctx, args)


def with_options(options: Sequence[Callable[[Command], Command]], command: Command) -> Command:
    """A command with options, which its help lists in this order."""
    for option in reversed(options):
        command = option(command)
    return command
