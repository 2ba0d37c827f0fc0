"""Healed completions of the default model on Vulkan: some of the cases that come out on a CPU.

A software driver needs a second for a token of the prompt and another for each one that is written,
so these are few and short; any other device could do all of them.
"""

import pytest

from server.completer import Completer
from server.completion_options import CompletionOptions
from server.snapshot import Snapshot
from tests.server.test_completion_cases import CASES, Case

SOME = ("py-import-numpy", "py-return-mid", "py-https", "py-trailing-space")
MAX_TOKENS = 6

pytestmark = pytest.mark.model


@pytest.mark.parametrize("case", [case for case in CASES if case.id in SOME], ids=lambda c: c.id)
def test_exact_healing(completer: Completer, name: str, case: Case):
    """What was typed is healed on the device as on a CPU."""
    before, after = (part.encode() for part in case.text.split("║"))
    snapshot = Snapshot("case", 0, before + after, len(before), case.language)
    completion = completer.complete(snapshot, CompletionOptions("exact", case.prompt, MAX_TOKENS))

    assert (completion.model.backend, completion.model.offloaded_layers) == (name, 25)
    assert completion.healing.mode == "exact"
    assert case.faults(completion.items[0] if completion.items else None) == []
