"""What to say of options that can be followed, and will disappoint: they are no errors.

What can't be followed at all is an error of loading (`llama_load`).
"""

import logging

from server.engine.llama_library import load_library
from server.engine.llama_load import EngineOptions, usable_cores

logger = logging.getLogger("midtoken.engine")


def warn_of(options: EngineOptions) -> None:
    """Log a line for each such option, before a model is loaded with them."""
    offloads = bool(load_library().llama_supports_gpu_offload())
    for line in warnings(options, usable_cores(), offloads=offloads):
        logger.warning("%s", line)


def warnings(options: EngineOptions, cores: int, *, offloads: bool) -> list[str]:
    """The lines for options on so many cores; `offloads`: llama.cpp was built to use a GPU."""
    found = []
    if options.threads is not None and options.threads > cores:
        found.append(
            f"{options.threads} threads have {cores} core{'' if cores == 1 else 's'} here and wait "
            f"for each other: {cores} or fewer are faster"
        )
    if not offloads and (options.main_gpu or options.tensor_split):
        found.append(
            "the main GPU and the tensor split have no effect: this build of llama.cpp uses no GPU "
            "(`midtoken doctor` tells more)"
        )
    return found
