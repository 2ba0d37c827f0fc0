"""Properties of coroutines: Hypothesis runs in a thread, its examples in the test's event loop."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any


def in_this_loop(check: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """The check as a plain function for `given`; call that with `asyncio.to_thread`."""
    loop = asyncio.get_running_loop()

    @wraps(check)
    def run(*arguments: object, **named: object) -> None:
        asyncio.run_coroutine_threadsafe(check(*arguments, **named), loop).result()

    return run
