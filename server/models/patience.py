"""How long a server asks us to wait, and waiting so that a person can stop it.

    >>> asked_seconds({"retry-after": "12"}), asked_seconds({})
    (12.0, None)

What is not here: which answers are worth another try (`hub`).
"""

import re
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

MOST_SECONDS = 90.0
"""Nobody watches a progress bar that stands still for longer: then the pull ends and says when."""
STEP_SECONDS = 0.25


def asked_seconds(headers: Mapping[str, str]) -> float | None:
    """The pause that an answer asks for, in seconds; None if it does not say.

    Args:
        headers: Of the answer, found in any case of letters or in lower case. `Retry-After` is a
            number of seconds or a date (RFC 9110), which counts from the answer's own `Date`: our
            clock may be wrong. Without it, `RateLimit` counts, whose `t` is the number of seconds
            until requests are allowed again (the hub sends it).
    """
    retry = headers.get("retry-after", "").strip()
    if re.fullmatch("[0-9]{1,9}", retry):
        return float(retry)
    if retry:
        until, now = _moment(retry), _moment(headers.get("date", "")) or datetime.now(UTC)
        return None if until is None else max(0.0, (until - now).total_seconds())
    limit = re.search(r";\s*t=([0-9]{1,9})\b", headers.get("ratelimit", ""))
    return float(limit[1]) if limit else None


def _moment(header: str) -> datetime | None:
    """The date in a header; None if there is none."""
    try:
        moment = parsedate_to_datetime(header)
    except (ValueError, OverflowError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def wait(seconds: float, tick: Callable[[], None]) -> None:
    """Sleep, and call `tick` again and again; what it raises ends the wait."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        tick()
        time.sleep(min(left, STEP_SECONDS))


def spoken(seconds: float) -> str:
    """A pause for people.

    >>> spoken(1), spoken(45.2), spoken(3600)
    ('1 second', '46 seconds', '60 minutes')
    """
    whole = -int(-seconds // 1)
    number, unit = (whole, "second") if whole < 120 else (-(-whole // 60), "minute")
    return f"{number} {unit}" + ("" if number == 1 else "s")
