"""Files attached to documents by languages and globs; addresses of files."""

from pathlib import Path

import pytest

from server.grammar.attached import attached, path_of


@pytest.mark.parametrize(
    ("name", "fits"),
    [
        ("json", True),
        ("JSON", False),
        ("package.json", True),
        ("*.json", True),
        ("*.jso", False),
        ("p?ckage.json", True),
        ("app/package.json", True),
        ("pp/package.json", False),
        ("/app/package.json", False),
        ("/projects/app/package.json", True),
        ("/projects/*.json", False),
        ("/projects/**", True),
        ("/projects/**/*.json", True),
        ("projects/**/package.json", True),
        ("**/package.json", True),
        ("[op]ackage.json", True),
        ("[!p]ackage.json", False),
        ("[z-a].json", False),
        ("package.json/", False),
    ],
)
def test_globs_match_from_the_end_of_the_path(name, fits):
    found = attached("file:///projects/app/package.json", "json", {name: "/s.json"})

    assert found == (Path("/s.json") if fits else None)


def test_the_first_that_fits_is_taken():
    configured = {"*.txt": "/a", "*.json": "/b", "json": "/c"}

    assert attached("/x/a.json", "json", configured) == Path("/b")
    assert attached("untitled:Untitled-1", "json", configured) == Path("/c")
    assert attached("untitled:a.json", "text", configured) is None


def test_home_folders(monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")

    assert attached("/home/me/a.json", "", {"~/*.json": "~/s.json"}) == Path("/home/me/s.json")
    assert attached(
        "/a.json", "", {"~no-such-person/*": "/s", "a.json": "~no-such-person/s"}
    ) == Path("~no-such-person/s")


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///a/b%20c.json", "/a/b c.json"),
        ("FILE:///a", "/a"),
        ("/a/b.json", "/a/b.json"),
        ("untitled:x", None),
        ("https://x/y", None),
        ("http://[", None),
        ("", None),
    ],
)
def test_paths_of_addresses(uri, path):
    assert path_of(uri) == (Path(path) if path else None)
