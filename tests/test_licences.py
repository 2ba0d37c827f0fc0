"""Licences of what midtoken needs: all are known, allowed, and on their page."""

from email.message import Message

import pytest

from tools import licences
from tools.licences import ALLOWED, PAGE, groups, is_allowed, licence_of, needed, page


def stated(**fields: str | list[str]) -> Message:
    """The metadata of a package that states this of its licence."""
    metadata = Message()
    for name, values in fields.items():
        for value in [values] if isinstance(values, str) else values:
            metadata[name.replace("_", "-")] = value
    return metadata


def test_the_page_is_up_to_date():
    """Each package that is needed here is on it, with a licence that is allowed."""
    text = page()

    assert PAGE.read_text("utf-8") == text
    for group in groups():
        assert [name for name in needed(group.lines) if f"\n| {name} | " not in text] == []


def test_what_is_needed_in_turn():
    """Packages that packages need are found, also those of an extra; what a marker excludes not."""
    found = needed(["pygls>=2", "never-heard-of; python_version < '3'", "midtoken[bench]"])

    assert {"pygls", "lsprotocol", "attrs"} <= found.keys()
    assert not {"never-heard-of", "midtoken"} & found.keys()


@pytest.mark.parametrize(
    ("metadata", "licence"),
    [
        (stated(License_Expression="MIT AND (Apache-2.0 OR ISC)"), "MIT AND (Apache-2.0 OR ISC)"),
        (stated(License="Apache 2.0"), "Apache-2.0"),
        (
            stated(
                License="a text of many lines", Classifier="License :: OSI Approved :: MIT License"
            ),
            "MIT",
        ),
        (stated(License="GPL-3.0", Classifier=["License :: Other"]), ""),
        (stated(License_Expression="MIT OR Secret"), ""),
        (stated(), ""),
    ],
)
def test_what_a_package_states(metadata, licence):
    """The first statement that is understood counts."""
    assert licence_of(metadata) == licence


def test_what_is_not_allowed_ends_it(monkeypatch):
    """A licence that nobody has looked at, or that is for our own work only, is named."""
    assert not is_allowed("LGPL-3.0", ALLOWED)
    assert not is_allowed("", ALLOWED)
    monkeypatch.setattr(licences, "licence_of", lambda metadata: "LGPL-3.0")

    with pytest.raises(SystemExit, match=r"anyio: its licence is not allowed here: LGPL-3\.0"):
        page()
