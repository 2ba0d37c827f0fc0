"""Hubs that want a pause, are slow, or send something else than they should."""

import threading
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.errors import Cancelled, DownloadError
from server.models import hub as hub_client
from server.models import patience, store
from server.models.catalog import Model
from server.models.download import pull
from tests.server.models.conftest import CONTENT, FakeHub, one_line


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Pauses are written down instead of waited for."""
    asked: list[float] = []
    monkeypatch.setattr(patience, "wait", lambda seconds, tick: (tick(), asked.append(seconds)))
    return asked


class TestPauses:
    @pytest.mark.parametrize("status", [429, 503])
    @pytest.mark.parametrize("host", ["hub", "cdn"])
    @pytest.mark.parametrize(
        "headers", [{"Retry-After": "7"}, {"RateLimit": '"resolvers";r=0;t=7'}], ids=str
    )
    def test_short(self, hub: FakeHub, toy: Model, waits, host, status, headers):
        """A short pause is made, and said."""
        hub.refusals = [(host, status, headers)]
        told: list[str] = []

        assert pull(toy, tell=told.append).read_bytes() == CONTENT
        assert waits == [7.0]
        assert told == [f"127.0.0.1:{hub.port} asks for a pause; going on in 7 seconds"]

    @pytest.mark.parametrize("host", ["hub", "cdn"])
    def test_long(self, hub: FakeHub, toy: Model, waits, host):
        """For a long pause nobody is kept waiting: one line says when to try again."""
        hub.refusals = [(host, 429, {"Retry-After": "1200"})]
        with pytest.raises(DownloadError, match="again in 20 minutes") as caught:
            pull(toy)

        assert "HTTP 429" in one_line(caught)
        assert waits == []

    @pytest.mark.parametrize("host", ["hub", "cdn"])
    def test_again_and_again(self, hub: FakeHub, toy: Model, waits, host):
        """A hub that always asks for one more pause is left in the end."""
        hub.refusals = [(host, 429, {"Retry-After": "1"})] * 20
        with pytest.raises(DownloadError, match="HTTP 429") as caught:
            pull(toy)

        assert one_line(caught)
        assert len(waits) == hub_client.ATTEMPTS - 1

    def test_without_a_time(self, hub: FakeHub, toy: Model, waits):
        """A refusal that names no time ends the look-up at once."""
        hub.look_up_status = 429
        with pytest.raises(DownloadError, match=r"no more requests for now \(HTTP 429\)"):
            pull(toy)

        assert waits == []

    def test_stopped(self):
        """Whoever watches may end a pause."""

        def stop() -> None:
            raise Cancelled("enough")

        with pytest.raises(Cancelled):
            patience.wait(60, stop)

    def test_date(self):
        """A pause may be given as the time of its end; one that has passed is over."""
        now = datetime.now(UTC)
        later = patience.asked_seconds({"retry-after": format_datetime(now + timedelta(minutes=1))})

        assert later is not None
        assert 50 < later <= 60
        assert patience.asked_seconds({"retry-after": format_datetime(now - timedelta(1))}) == 0

    def test_a_wrong_clock(self):
        """The end of a pause counts from when the server says that it is now."""
        now = datetime.now(UTC) + timedelta(days=4000)
        until = {"retry-after": format_datetime(now + timedelta(seconds=20))}

        assert patience.asked_seconds(until | {"date": format_datetime(now)}) == 20

    @given(st.text(max_size=30) | st.dates().map(str), st.text(max_size=30), st.text(max_size=30))
    def test_any_header(self, retry: str, limit: str, date: str):
        """Whatever a server sends, the pause is a number of seconds or not known."""
        headers = {"retry-after": retry, "ratelimit": limit, "date": date}
        asked = patience.asked_seconds(headers)

        assert asked is None or asked >= 0


class TestSlowHubs:
    @pytest.fixture(autouse=True)
    def _impatient(self, monkeypatch):
        """Long enough for a busy machine, and tried twice only."""
        monkeypatch.setattr(hub_client, "READ_SECONDS", 1.0)
        monkeypatch.setattr(hub_client, "ATTEMPTS", 2)

    def test_stalled(self, hub: FakeHub, toy: Model):
        """A connection that says nothing more is given up, and taken up by the next pull."""
        hub.breaks = [100_000] + [0] * (hub_client.ATTEMPTS - 1)
        hub.hold = threading.Event()
        with pytest.raises(DownloadError, match="pull again to go on from there") as caught:
            pull(toy)

        assert "broke at 1" in one_line(caught)  # the last bytes may be lost on the way
        assert len(hub.ranges) == hub_client.ATTEMPTS
        hub.hold.set()
        hub.breaks = []
        assert pull(toy).read_bytes() == CONTENT

    def test_dripping(self, hub: FakeHub, toy: Model):
        """A byte now and then does not keep a connection alive for ever."""
        hub.drip_seconds = 0.05
        with pytest.raises(DownloadError, match="it has all but stopped") as caught:
            pull(toy)

        assert one_line(caught)
        assert len(hub.ranges) == hub_client.ATTEMPTS


class TestLyingHubs:
    def test_too_little(self, hub: FakeHub, toy: Model):
        """A body that always ends early is given up."""
        hub.content = CONTENT[:-1000]
        with pytest.raises(DownloadError, match="ended early") as caught:
            pull(toy)

        assert one_line(caught)
        assert not store.path_of(toy).exists()

    def test_another_part(self, hub: FakeHub, toy: Model, monkeypatch):
        """Bytes of another place than the one asked for are not appended."""
        part = store.part_path(toy.files[0], toy.files[0].sha256 or "")
        part.parent.mkdir(parents=True)
        part.write_bytes(CONTENT[:1000])
        hub.refusals = [("cdn", 206, {"Content-Range": f"bytes 7-6/{len(CONTENT)}"})]

        assert pull(toy).read_bytes() == CONTENT
        assert hub.ranges[-1] is None

    def test_sent_in_circles(self, hub: FakeHub, toy: Model):
        """Redirects without an end have one."""
        hub.location = f"{hub.url}/someone/toy-GGUF/resolve/x/toy-q4.gguf"
        with pytest.raises(DownloadError) as caught:
            pull(toy)

        assert one_line(caught)
        assert len(hub.requests) < 100

    def test_sent_on_and_back(self, hub: FakeHub, toy: Model):
        """However often an answer sends us on, the token is never sent again."""
        hub.refusals = [
            ("cdn", 302, {"Location": f"http://localhost:{hub.port}/cdn/again"}),
            ("cdn", 302, {"Location": f"{hub.url}/cdn/toy-q4.gguf"}),
        ]

        assert pull(toy).read_bytes() == CONTENT
        assert hub.tokens["cdn"] == [None] * 3
        assert set(hub.tokens["hub"]) == {"Bearer hf_of_the_tests"}
