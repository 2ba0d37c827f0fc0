"""Settings that are changed while a server runs: any value that an editor may send."""

import random
from pathlib import Path
from typing import Any

LIVELY: dict[str, list[Any]] = {
    "completion.healing": ["exact", "exact", "align", "one", "off"],
    "completion.prompt": ["fim", "fim", "left"],
    "completion.maxTokens": [1, 8, 24],
    "completion.maxTokensBlock": [12, 60],
    "completion.contextTokens": ["auto", 0, 64, 400],
    "completion.firstSuggestionSeconds": [0.01, 2.0],
    "completion.multiline": ["auto", "always", "never"],
    "completion.names": [True, True, False],
    "completion.temperature": [0, 0.8],
    "completion.candidates": [1, 3, 10],
    "completion.stopUnsure": [0, 0, 0.3, 1],
    "trigger.automatic": [True, True, True, False],
    "trigger.debounce": ["auto", 0, 30],
    "trigger.timeBudget": ["auto", 1, 60, 60_000],
    "trigger.minConfidence": [0, 0, 0.2],
    "filters.chatter": [True, False],
    "filters.repeatedLines": [True, False],
    "filters.fitting": [True, False],
    "filters.bans": [[], ["self", "print("]],
    "filters.banPatterns": [[], ["e[rs]", "x+y"]],
    "grammar.mode": ["auto", "auto", "structural", "off"],
    "context.workspace": [True, False],
    "logging.level": ["warning", "error"],  # lower ones tell of cancels, too
    "languages.disabled": [[], ["lua"]],
}
"""Options that change nothing of the model, and values that each may get."""

WRONG = [
    ("completion.maxTokens", -3),
    ("completion.healing", "perhaps"),
    ("trigger.debounce", None),
    ("completion.nothing", 1),
]
"""What an editor should not send."""


WARM_START = 10
"""Megabytes for what was read of documents."""


def settings(model: Path | str, context_size: int = 1024) -> dict[str, Any]:
    """What a session begins with."""
    return {
        "model": {"name": str(model)},
        "engine": {"threads": 1, "contextSize": context_size, "warmStart": WARM_START},
        "completion": {"maxTokens": 12, "maxTokensBlock": 24, "stopUnsure": 0},
    }


def changed(
    draw: random.Random, now: dict[str, Any], models: list[Path | str]
) -> tuple[dict[str, Any], str]:
    """The settings with one thing changed, and what that is.

    Args:
        draw: Decides.
        now: The settings as they are; they stay as they are.
        models: Those that may run; where there is one alone, how it runs may change.
    """
    kind = draw.random()
    if kind < 0.05:
        key, value = draw.choice(WRONG)
    elif kind < 0.10 and len(models) > 1:
        key, value = "model.name", str(draw.choice(models))
    elif kind < 0.14:
        key, value = "engine.contextSize", draw.choice([768, 1024, 2048])
    elif kind < 0.16:
        key, value = "engine.idleWork", draw.random() < 0.7
    elif kind < 0.17:
        key, value = "engine.warmStart", draw.choice([0, WARM_START, WARM_START])
    else:
        key = draw.choice(list(LIVELY))
        value = draw.choice(LIVELY[key])
    section, _, name = key.partition(".")
    return {**now, section: {**now.get(section, {}), name: value}}, f"{key} = {value}"
