"""Files of secrets, which no engine elsewhere gets to see."""

import pytest

from server.secret_files import NOT_SENT
from server.snapshot import Snapshot


class TestSecrets:
    @pytest.mark.parametrize("name", ["/w/.env", "file:///w/.env.local", "file:///w/%2Eenv"])
    @pytest.mark.parametrize("tokenizer", ["file", "engine"])
    def test_files_of_secrets_stay_here(self, serve, ask, name, tokenizer):
        """Nobody is asked about them, not even for tokens; the report says why nothing comes."""
        engine = serve()
        completer = ask(engine, **({"tokenizer": ""} if tokenizer == "engine" else {}))
        before = len(engine.requests)
        completion = completer.complete(Snapshot(name, 0, b"KEY=abc", 7, "plaintext"))
        assert not completion.items
        assert completion.empty_reason == NOT_SENT
        assert engine.requests[before:] == []

    def test_links_to_them(self, serve, ask, tmp_path):
        (tmp_path / ".env").write_text("KEY=abc")
        (tmp_path / "settings.py").symlink_to(tmp_path / ".env")
        engine = serve()
        uri = (tmp_path / "settings.py").as_uri()
        assert not ask(engine).complete(Snapshot(uri, 0, b"KEY=abc", 7, "python")).items
        assert not engine.completions
