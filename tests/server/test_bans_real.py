"""Bans with the default model: another way is found where a person would write something else."""

import pytest

from server.bans import Bans
from server.completion_options import CompletionOptions
from server.snapshot import Snapshot
from tests.server.test_completer import text_of

pytestmark = pytest.mark.model

BEFORE = b"""\
import logging

logger = logging.getLogger(__name__)


def total(values):
    result = sum(values)
    # say what the result is
    """
AFTER = b"\n    return result\n"


@pytest.fixture(scope="module")
def complete(completer):
    def run(typed, *bans, patterns=(), **options):
        text = BEFORE + typed + AFTER
        snapshot = Snapshot("total.py", 0, text, len(BEFORE + typed), "python")
        asked = CompletionOptions(bans=bans, ban_patterns=patterns, **options)
        return completer.complete(snapshot, asked)

    return run


@pytest.mark.parametrize(
    ("typed", "banned", "healing"),
    [
        (b"", "logger.info(", "exact"),
        (b"", "logger.info(", "off"),
        (b"logger.", "r.info", "exact"),
        (b"logger.in", "logger.info(", "one"),
        (b"pri", "print(", "exact"),
        (b"pri", "print(", "align"),
    ],
)
def test_something_else_is_written(complete, typed, banned, healing):
    """What it wants to write is banned; there is more to say."""
    wanted = complete(typed, healing=healing)
    assert banned.encode() in typed + text_of(wanted).encode()

    found = complete(typed, banned, healing=healing)

    assert banned.encode() not in typed + text_of(found).encode()
    assert text_of(found)
    assert found.bans.went_back + found.bans.refused > 0


@pytest.mark.parametrize("typed", [b"", b"pri", b"logger."])
def test_bans_that_never_match(complete, typed):
    """Five thousand of them change no text."""
    names = (f"private_name_{number}" for number in range(5000))

    assert text_of(complete(typed, *names)) == text_of(complete(typed))


def test_patterns(complete):
    """A pattern is never in the document that comes of it."""
    pattern = r"\bresult\b.*\)"
    found = complete(b"logger.", patterns=(pattern,))

    assert not Bans((), [pattern]).are_in(BEFORE + b"logger.", text_of(found).encode())
