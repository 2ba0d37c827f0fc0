"""What engines answer is somebody else's JSON: where it has another shape, a sentence says so.

Answers are read as they are documented, without a look at every type on the way. What fails there
because something is missing, or is of another type, fails in here.
"""

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from server.errors import RemoteError

SURPRISES = (TypeError, ValueError, KeyError, IndexError, AttributeError, OverflowError)


@contextmanager
def expected_from(url: str) -> Iterator[None]:
    """Read an answer in here; RemoteError if it has another shape than it should."""
    try:
        yield
    except SURPRISES as error:
        raise RemoteError(
            f"{url} answers in another shape than it should ({type(error).__name__}): is it an "
            "engine of the kind that midtoken.remote.api (--remote-api) says?"
        ) from error


def finite(values: Iterable[object]) -> tuple[float, ...]:
    """The numbers among some values: no null, no NaN, nothing infinite."""
    numbers = (float(value) for value in values if isinstance(value, int | float))
    return tuple(number for number in numbers if math.isfinite(number))


def rivals(values: Iterable[tuple[object, object]]) -> tuple[tuple[bytes, float], ...]:
    """The texts with numbers among some pairs: no null, no NaN, nothing infinite."""
    return tuple(
        (text.encode(errors="replace"), number)
        for text, value in values
        if isinstance(text, str)
        for number in finite((value,))
    )
