"""Which documents' states may be kept on disk."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.warm_start import may_be_kept


@pytest.mark.parametrize(
    ("uri", "kept"),
    [
        ("a.py", True),
        ("/home/ada/a.py", True),
        ("file:///home/ada/a.py", True),
        ("FILE:///home/ada/a.py", True),
        ("file:///c%3A/ada/a.py", True),
        ("c:/ada/a.py", True),
        (r"C:\ada\a.py", True),
        ("file:///home/ada/%2Eenv", False),
        ("file:///home/ada/.ssh/config", False),
        (r"C:\ada\.npmrc", False),
        ("untitled:Untitled-1", False),
        ("vscode-notebook-cell:/a.ipynb#1", False),
        ("output:extension", False),
        ("https://example.org/a.py", False),
        ("file://[::1/a.py", False),
        ("file:///a%00.py", False),
    ],
)
def test_which_documents(uri, kept):
    """Files, unless their name says that they hold secrets."""
    assert may_be_kept(uri) == kept


def test_links_to_secrets(tmp_path):
    """What a link leads to counts as well as its own name."""
    (tmp_path / ".env").write_text("TOKEN=1")
    (tmp_path / "settings.py").symlink_to(tmp_path / ".env")

    assert not may_be_kept((tmp_path / "settings.py").as_uri())
    assert may_be_kept((tmp_path / "other.py").as_uri())


@given(st.text(max_size=60))
def test_any_address(uri):
    """Nothing that an editor may send is too odd."""
    may_be_kept(uri)
    may_be_kept("file://" + uri)
