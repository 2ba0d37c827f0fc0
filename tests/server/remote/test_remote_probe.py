"""How fast an engine reads: asked once, remembered, and prompts are no larger than that allows."""

import pytest

from server.completion_options import CompletionOptions
from server.remote import probe
from server.snapshot import Snapshot

PLAIN = CompletionOptions(grammar="off")
LINES = b"".join(b"item_%d = sorted(rows)\n" % number for number in range(400))
AT = Snapshot("a.py", 0, LINES + b"    retu", len(LINES) + 8, "python")


@pytest.fixture(autouse=True)
def _home(tmp_path, monkeypatch):
    monkeypatch.setenv("MIDTOKEN_HOME", str(tmp_path / "home"))


class TestProbe:
    def test_an_engine_is_measured_once(self, serve, ask):
        """With text that it has not seen; later connections know it from the file."""
        engine = serve()
        for _ in range(2):
            assert ask(engine).prompts.reading.is_known
        asked = [body for path, _, body in engine.requests if path == "/v1/completions"]
        assert len(asked) == 1
        assert len(asked[0]["prompt"]) == probe.TOKENS
        assert asked[0]["max_tokens"] == 1

    @pytest.mark.parametrize(("speed", "low", "high"), [(45.0, 40, 160), (5000.0, 800, 2048)])
    def test_prompts_fit_the_speed(self, serve, ask, monkeypatch, speed, low, high):
        """A slow engine gets what it reads while a person waits, a fast one all that it takes."""
        monkeypatch.setattr(probe, "measured", lambda _: speed)
        engine = serve()
        ask(engine).complete(AT, PLAIN)
        [body] = engine.completions
        assert low < len(body["prompt"]) < high

    def test_prompts_begin_alike(self, serve, ask):
        """While a line is typed the engine has nearly all of a prompt in its own cache."""
        engine = serve()
        completer = ask(engine)
        for end in (b"    ret", b"    retu", b"    retur"):
            text = LINES + end
            completer.complete(Snapshot("a.py", 0, text, len(text), "python"), PLAIN)
        first, *others = [body["prompt"] for body in engine.completions]
        for other in others:
            assert other[: len(first) - 8] == first[:-8]
