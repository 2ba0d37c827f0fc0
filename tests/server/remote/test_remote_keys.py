"""Keys: where they come from, what is refused, and that nothing shows them."""

import os

import pytest

from server.errors import EngineError
from server.remote.keys import Key, read_key

SECRET = "sk-very-secret-1234"


@pytest.fixture
def key_file(tmp_path):
    path = tmp_path / "key"
    path.write_text(SECRET + "\n")
    path.chmod(0o600)
    return path


class TestKeys:
    def test_nothing_is_no_key(self, monkeypatch):
        """Neither a file nor a variable, or an empty one: there is no key."""
        monkeypatch.delenv("A_KEY", raising=False)
        assert read_key("A_KEY", "") is None
        assert read_key("", "") is None
        monkeypatch.setenv("A_KEY", " \n")
        assert read_key("A_KEY", "") is None

    def test_a_file_comes_first(self, monkeypatch, key_file):
        """What stands around a key, such as a line end, is none of it."""
        monkeypatch.setenv("A_KEY", "another")
        assert read_key("A_KEY", "") == Key("another")
        assert read_key("A_KEY", str(key_file)) == Key(SECRET)

    @pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX's")
    @pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620])
    def test_a_file_is_its_owners_alone(self, key_file, mode):
        """What others may read or write is refused, with the command that helps."""
        key_file.chmod(mode)
        with pytest.raises(EngineError, match=f"chmod 600 {key_file}"):
            read_key("", str(key_file))

    def test_the_home_of_nobody(self):
        """A user who does not exist has no files; that is told as of any missing one."""
        with pytest.raises(EngineError, match="~nobody-here/key"):
            read_key("", "~nobody-here/key")

    def test_missing_file(self, tmp_path):
        with pytest.raises(EngineError, match=r"is missing: correct midtoken\.remote\.keyFile"):
            read_key("", str(tmp_path / "none"))

    @pytest.mark.parametrize(
        "value", ["", "two words", f"{SECRET}\r\nX-Other: 1", "clé", SECRET + "\x01"]
    )
    def test_what_can_not_be_sent(self, key_file, value):
        """A key can't end its header and begin another one; the message does not show it."""
        key_file.write_text(value)
        with pytest.raises(EngineError, match="is no key") as raised:
            read_key("", str(key_file))
        assert SECRET not in str(raised.value)

    def test_it_does_not_show_itself(self):
        """Not when it is printed, not in what an engine repeats."""
        key = Key(SECRET)
        assert SECRET not in repr(key)
        assert key.hide_in(f"Incorrect key: {SECRET}.") == "Incorrect key: (the key)."
