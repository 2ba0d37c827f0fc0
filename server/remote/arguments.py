"""The command line's options of an engine elsewhere, as a section of settings.

Light enough for every command: nothing here connects, or imports what does.
"""

from typing import Any, Literal, cast

import click
from click.core import ParameterSource

from server.arguments import RemoteArguments
from server.errors import UsageError
from server.option_sections import RemoteSection

HERE = (
    *("model_name", "lora", "lora_scale", "threads", "context_size"),
    *("gpu_layers", "main_gpu", "tensor_split", "flash_attn"),
)
"""Options that say which model on this machine is run, and how."""


def remote_of(options: RemoteArguments) -> RemoteSection | None:
    """The engine that is named; None if there is none. Raises UsageError for half of one."""
    url = options["remote"]
    if url is None:
        usual = RemoteSection()
        for name in ("api", "model", "key_file", "tokenizer", "timeout"):
            if options[f"remote_{name}"] != getattr(usual, name):  # type: ignore[literal-required]
                raise UsageError(f"--remote-{name.replace('_', '-')} goes with --remote")
        return None
    if not url.strip().lower().startswith(("http://", "https://")):
        raise UsageError("--remote is an address: write http://HOST:PORT or https://HOST")
    given = click.get_current_context(silent=True)
    for name in HERE:
        if given and given.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            option = name.removesuffix("_name").replace("_", "-")
            raise UsageError(
                f"--{option} is for a model on this machine: leave it or --remote away"
            )
    return RemoteSection(
        url=url,
        api=cast("Literal['auto']", options["remote_api"]),
        model=options["remote_model"],
        key_file=options["remote_key_file"],
        tokenizer=options["remote_tokenizer"],
        timeout=options["remote_timeout"],
    )


def settings_of(remote: RemoteSection) -> dict[str, Any]:
    """The same as a server takes it from an editor: no key is in it."""
    return {
        "url": remote.url,
        "api": remote.api,
        "model": remote.model,
        "keyFile": remote.key_file,
        "tokenizer": remote.tokenizer,
        "timeout": remote.timeout,
        "parallel": remote.parallel,
    }
