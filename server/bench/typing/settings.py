"""Settings on the command line of `midtoken bench typing`: `trigger.minConfidence=0.2`."""

import json
import re
from collections.abc import Iterable

from server.errors import UsageError
from server.option_layers import merge

_NEXT = re.compile(r",(?=\s*[A-Za-z.]+=)")


def settings_of(given: Iterable[str]) -> dict[str, object]:
    """Settings by their full key, checked. Raises UsageError for what is none.

    >>> settings_of(["completion.stopUnsure=0.3,trigger.debounce=auto"])
    {'completion.stopUnsure': 0.3, 'trigger.debounce': 'auto'}
    """
    found: dict[str, object] = {}
    for one in (part for text in given for part in _NEXT.split(text)):
        key, sign, value = one.strip().partition("=")
        if not sign:
            raise UsageError(f"{one!r} is no setting: write it as completion.stopUnsure=0.3")
        try:
            found[key] = json.loads(value)
        except ValueError:  # a word, which needs no quotes here
            found[key] = value
    _, problems = merge([("command line", found)])
    if problems:
        raise UsageError(str(problems[0]))
    return found
