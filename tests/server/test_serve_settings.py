"""The file with settings for everybody who uses a server."""

import pytest

from server.errors import UsageError
from server.serving import TcpOptions, serve_tcp


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[completion]\nseed = \n", "the file is not TOML: Invalid value (at line 2"),
        (b"a = 1\nb = '\xff'\n", "line 2 is not UTF-8 text"),
        (b"a = " + b"[" * 100_000, "the file is nested too deeply"),
        (b"a = " + b"1" * 5_000, "a number in the file has too many digits"),
    ],
    ids=["no TOML", "no UTF-8", "deep", "long"],
)
def test_broken(tmp_path, content, message):
    """One line says what is wrong and where, and nothing is served."""
    path = tmp_path / "team.toml"
    path.write_bytes(content)

    with pytest.raises(UsageError) as refused:
        serve_tcp(TcpOptions("127.0.0.1:0", settings=str(path)))
    assert str(refused.value).startswith(f"{path} can't be used: {message}")
