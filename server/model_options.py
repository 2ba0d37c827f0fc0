"""What options say of the model: its file, how it is run, and whether it can be had.

Not here: loading it (`backend`), and what an option means (`option_sections`).
"""

import os
from pathlib import Path

from server.engine import Lora
from server.engine.llama_load import EngineOptions, check_model
from server.errors import MidtokenError
from server.models import download, store
from server.models.catalog import CATALOG
from server.models.files import Progress
from server.options import Options

LEAST_SLOTS, MOST_SLOTS, SLOT_TOKENS = 4, 16, 1024
"""Texts that are kept in memory at a time: one for so many tokens of it. With many editors at a
larger memory each keeps its own; a sequence costs a row of logits (600 kB), used or not."""


def engine_options(options: Options) -> EngineOptions:
    """The engine's options from the settings."""
    engine, model = options.engine, options.model
    return EngineOptions(
        n_ctx=engine.context_size,
        threads=engine.threads if isinstance(engine.threads, int) else None,
        gpu_layers=engine.gpu_layers,
        main_gpu=engine.main_gpu,
        tensor_split=tuple(engine.tensor_split),
        flash_attn=engine.flash_attention,
        lora=Lora(str(store.expanded(model.lora)), model.lora_scale) if model.lora else None,
        slots=min(max(engine.context_size // SLOT_TOKENS, LEAST_SLOTS), MOST_SLOTS),
    )


def asked_for(options: Options) -> tuple[object, ...]:
    """The sections that say which model runs, and how."""
    return options.model, options.engine, options.remote


def what_runs(options: Options) -> tuple[object, ...]:
    """All that makes a difference to a model that is loaded: its file, and how it is run."""
    if options.remote.url:
        return (options.remote,)
    model = options.model
    file: object
    try:
        file = os.path.realpath(store.resolve(model.name))
    except (MidtokenError, OSError, ValueError):  # it isn't here: how it is fetched matters
        file = model.name, model.auto_pull, model.mirror
    return file, engine_options(options), options.engine.warm_start


def check(options: Options) -> None:
    """Raise what is seen to be wrong with a model before the running one is given up for it.

    What is elsewhere yet is not looked at: asking for it may take long.
    """
    if not options.remote.url and not is_fetched(options):
        check_model(store.resolve(options.model.name), engine_options(options))


def is_fetched(options: Options) -> bool:
    """Whether the model's file has to come from elsewhere first, and may."""
    entry = CATALOG.get(options.model.name)
    return entry is not None and options.model.auto_pull and not store.is_whole(entry)


def model_file(options: Options, progress: Progress) -> Path:
    """The model's file; fetched if it is missing and the user allowed it."""
    if is_fetched(options):
        return download.pull(
            CATALOG[options.model.name],
            mirror=options.model.mirror,
            progress=lambda done, total, what: progress(done, total, what.partition(",")[0]),
        )
    return store.resolve(options.model.name)
