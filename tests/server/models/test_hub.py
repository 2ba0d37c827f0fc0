"""Downloads from a hub that breaks, lies, refuses and stalls."""

import hashlib
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from server.errors import DownloadError
from server.models import hub as hub_client
from server.models import store
from server.models.catalog import Model, ModelFile
from server.models.download import pull
from tests.server.models.conftest import COMMIT, CONTENT, FakeHub, make_model

SHA256 = hashlib.sha256(CONTENT).hexdigest()


def left_over(home: Path) -> list[str]:
    """What lies in the store, locks aside."""
    return sorted(path.name for path in home.glob("models/*") if path.suffix != ".lock")


class TestFetching:
    def test_fetches_checks_and_records(self, hub: FakeHub, toy: Model, home: Path):
        """The file gets its name, its bytes, and a record of where it came from."""
        path = pull(toy)

        assert path == home / "models" / "toy-q4.gguf"
        assert path.read_bytes() == CONTENT
        expected = store.Record(len(CONTENT), SHA256, f"someone/toy-GGUF@{COMMIT}")
        assert store.read_record(toy.files[0]) == expected
        assert left_over(home) == ["toy-q4.gguf", "toy-q4.gguf.json"]

    def test_does_nothing_when_here(self, hub: FakeHub, toy: Model):
        """A second pull opens no connection."""
        pull(toy)
        pull(toy)

        assert len(hub.ranges) == 1

    def test_asks_for_nothing_else(self, hub: FakeHub, toy: Model):
        """One question, one download: no telemetry, no lists."""
        pull(toy)

        address = f"/someone/toy-GGUF/resolve/{COMMIT}/toy-q4.gguf"
        assert hub.requests == [f"HEAD {address}", f"GET {address}", "GET /cdn/toy-q4.gguf"]

    def test_tells_progress_to_the_end(self, hub: FakeHub, toy: Model):
        """Progress never goes back, and ends with everything fetched and everything checked."""
        told: list[tuple[int, int, str]] = []
        pull(toy, progress=lambda *step: told.append(step))

        fetched = [done for done, _, what in told if what.startswith("from")]
        assert fetched == sorted(fetched)
        assert fetched[-1] == told[-1][0] == len(CONTENT)
        assert {total for _, total, _ in told} == {len(CONTENT)}

    def test_keeps_the_token_from_other_hosts(self, hub: FakeHub, toy: Model):
        """The user's token goes to the hub, and not to the host that it redirects to."""
        pull(toy)

        assert set(hub.tokens["hub"]) == {"Bearer hf_of_the_tests"}
        assert set(hub.tokens["cdn"]) == {None}

    def test_replaces_a_cut_file(self, hub: FakeHub, toy: Model, put):
        """A file of the wrong size under the final name is fetched anew."""
        path = put(toy, CONTENT[:1000])
        pull(toy)

        assert path.read_bytes() == CONTENT


class TestBrokenConnections:
    def test_goes_on_where_it_broke(self, hub: FakeHub, toy: Model):
        """Bytes that have arrived are not asked for again."""
        hub.breaks = [100_000, 50_000]
        path = pull(toy)

        assert path.read_bytes() == CONTENT
        starts = [int(asked[6:-1]) for asked in hub.ranges[1:] if asked]
        assert hub.ranges[0] is None
        # The last bytes before a cut may be lost on the way.
        assert 0 < starts[0] <= 100_000 < starts[1] <= 150_000

    def test_gives_up_and_resumes_next_time(self, hub: FakeHub, toy: Model, home: Path):
        """After too many cuts the beginning is kept, not under the final name, and used later."""
        hub.breaks = [90_000] + [0] * hub_client.ATTEMPTS
        with pytest.raises(DownloadError, match="pull again to go on from there"):
            pull(toy)
        assert not store.path_of(toy).exists()
        assert len(left_over(home)) == 1

        hub.breaks.clear()
        hub.ranges.clear()
        assert pull(toy).read_bytes() == CONTENT
        assert hub.ranges[0] not in (None, "bytes=0-")

    def test_starts_over_where_ranges_are_ignored(self, hub: FakeHub, toy: Model):
        """A server that always sends the whole file does not make a file of one and a half."""
        hub.breaks, hub.ignore_ranges = [100_000], True

        assert pull(toy).read_bytes() == CONTENT

    def test_survives_any_cuts(self, hub: FakeHub, toy: Model):
        """Wherever the connection is cut, the file is right in the end."""

        @settings(
            max_examples=15,
            deadline=None,
            suppress_health_check=[HealthCheck.function_scoped_fixture],
        )
        @given(st.lists(st.integers(0, len(CONTENT)), max_size=hub_client.ATTEMPTS - 1))
        def check(breaks: list[int]) -> None:
            hub.breaks = breaks
            assert pull(toy).read_bytes() == CONTENT
            hub.breaks = []
            store.remove(toy)

        check()

    @pytest.mark.parametrize("status", [500, 503, 429])
    def test_retries_a_server_in_trouble_few_times(self, hub: FakeHub, toy: Model, status: int):
        """No storm: a server that fails is asked `ATTEMPTS` times."""
        hub.body_status = status
        with pytest.raises(DownloadError, match=f"HTTP {status}"):
            pull(toy)

        assert len(hub.ranges) == hub_client.ATTEMPTS

    def test_starts_over_where_the_beginning_is_refused(self, hub: FakeHub, toy: Model):
        """HTTP 416 deletes the beginning instead of asking for it for ever."""
        part = store.part_path(toy.files[0], SHA256)
        part.parent.mkdir(parents=True)
        part.write_bytes(b"x" * 10)
        hub.body_status = 416
        with pytest.raises(DownloadError, match="HTTP 416"):
            pull(toy)

        assert hub.ranges == ["bytes=10-"] + [None] * (hub_client.ATTEMPTS - 1)

    def test_killed_process(self, hub: FakeHub, toy: Model, home: Path):
        """kill -9 in the middle leaves nothing under the final name, no lock, and a beginning."""
        hub.breaks, hub.hold = [200_000], threading.Event()
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED_PULL.format(model=toy)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "half\n"
        process.kill()
        process.wait()
        process.stdout.close()
        assert not store.path_of(toy).exists()
        assert len(left_over(home)) == 1

        assert pull(toy).read_bytes() == CONTENT
        assert hub.ranges[1] not in (None, "bytes=0-")

    def test_interrupted_by_the_user(self, hub: FakeHub, toy: Model, home: Path):
        """Ctrl-C keeps the beginning and lets go of the lock."""

        def interrupt(done: int, _total: int, _what: str) -> None:
            if done > 100_000:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            pull(toy, progress=interrupt)
        assert not store.path_of(toy).exists()

        assert pull(toy).read_bytes() == CONTENT

    def test_two_pulls_at_once(self, hub: FakeHub, toy: Model):
        """The second waits for the first and fetches nothing."""
        with ThreadPoolExecutor(4) as threads:
            paths = list(threads.map(lambda _: pull(toy), range(4)))

        assert {path.read_bytes() for path in paths} == {CONTENT}
        assert len(hub.ranges) == 1


class TestWrongContent:
    def test_wrong_bytes_are_deleted(self, hub: FakeHub, toy: Model, home: Path):
        """Bytes that do not have the sum are not kept under any name, and the error says so."""
        hub.content = CONTENT[:-1] + bytes([CONTENT[-1] ^ 1])
        with pytest.raises(DownloadError, match=r"sha256 is .* instead of .* and was deleted"):
            pull(toy)

        assert left_over(home) == []

    @pytest.mark.parametrize("size", [1000, len(CONTENT)])
    def test_a_wrong_beginning(self, hub: FakeHub, toy: Model, size: int):
        """What a power cut has left of an earlier pull: all is fetched again, which is told."""
        part = store.part_path(toy.files[0], SHA256)
        part.parent.mkdir(parents=True)
        part.write_bytes(bytes(size))
        told: list[str] = []

        assert pull(toy, tell=told.append).read_bytes() == CONTENT
        assert len(told) == 1
        assert "was damaged; fetching all of it again" in told[0]
        assert hub.ranges[-1] is None

    def test_a_wrong_beginning_of_wrong_bytes(self, hub: FakeHub, toy: Model, home: Path):
        """It is tried once more, and not for ever."""
        part = store.part_path(toy.files[0], SHA256)
        part.parent.mkdir(parents=True)
        part.write_bytes(bytes(1000))
        hub.content = CONTENT[:-1] + bytes([CONTENT[-1] ^ 1])
        with pytest.raises(DownloadError, match="was deleted"):
            pull(toy)

        assert len(hub.ranges) == 2
        assert left_over(home) == []

    def test_too_long_a_beginning(self, hub: FakeHub, toy: Model):
        """A beginning that is longer than the file is thrown away."""
        part = store.part_path(toy.files[0], SHA256)
        part.parent.mkdir(parents=True)
        part.write_bytes(CONTENT + b"x")

        assert pull(toy).read_bytes() == CONTENT

    def test_too_long_a_body(self, hub: FakeHub, toy: Model, home: Path):
        """A body that does not end where it should fills no disk."""
        hub.content = CONTENT + b"x" * 1000
        with pytest.raises(DownloadError, match="sent more than"):
            pull(toy)

        assert left_over(home) == []

    def test_another_file_than_in_the_catalog(self, hub: FakeHub, toy: Model):
        """What the hub says it has is compared before the first byte."""
        hub.etag = "0" * 64
        with pytest.raises(DownloadError, match=r"has another .* than expected"):
            pull(toy)

        assert hub.ranges == []

    def test_an_etag_that_is_no_sum(self, hub: FakeHub, toy: Model):
        """Hubs of other makes have other etags; the catalog's sum is enough."""
        hub.etag = "abc"

        assert pull(toy).read_bytes() == CONTENT


class TestUnpinnedModels:
    def test_takes_the_sum_from_the_hub(self, hub: FakeHub):
        """Without a sum in the catalog the hub's is checked and recorded."""
        model = make_model(files=(ModelFile("toy-q4.gguf"),))
        pull(model)

        assert store.verify(model) == [SHA256]
        assert store.is_whole(model)

    def test_checks_that_sum(self, hub: FakeHub, home: Path):
        """The hub's own sum is enforced too."""
        hub.content = bytes(len(CONTENT))
        with pytest.raises(DownloadError, match="was deleted"):
            pull(make_model(files=(ModelFile("toy-q4.gguf"),)))

        assert left_over(home) == []

    def test_refuses_without_any_sum(self, hub: FakeHub):
        """What nobody vouches for is not fetched."""
        hub.etag = "abc"
        with pytest.raises(DownloadError, match="states no sha256"):
            pull(make_model(files=(ModelFile("toy-q4.gguf"),)))


class TestRefusals:
    @pytest.mark.parametrize(
        ("status", "message"),
        [
            (404, "has no someone/toy-GGUF/toy-q4.gguf"),
            (401, "accept its terms"),
            (403, "accept its terms"),
            (500, "does not answer properly"),
        ],
    )
    def test_look_up(self, hub: FakeHub, toy: Model, status: int, message: str):
        """Each refusal is one line that says what to do."""
        hub.look_up_status = status
        with pytest.raises(DownloadError, match=message) as caught:
            pull(toy)

        assert "\n" not in str(caught.value)

    def test_body(self, hub: FakeHub, toy: Model):
        """A refusal of the body is not tried again."""
        hub.body_status = 403
        with pytest.raises(DownloadError, match=r"is refused \(HTTP 403\)"):
            pull(toy)

        assert len(hub.ranges) == 1

    def test_nobody_there(self, no_hub: None, toy: Model):
        """A closed port is one line, in words."""
        with pytest.raises(
            DownloadError, match=r"cannot be reached \(Connection refused\)"
        ) as caught:
            pull(toy)

        assert "\n" not in str(caught.value)

    def test_somebody_silent(self, home: Path, toy: Model, monkeypatch):
        """A machine that takes connections and never answers is given up."""
        monkeypatch.setattr(hub_client, "LOOKUP_SECONDS", 0.1)
        with socket.create_server(("127.0.0.1", 0)) as silent:
            monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
            with pytest.raises(DownloadError, match=r"not answer|cannot be reached"):
                pull(toy)

    @pytest.mark.parametrize("endpoint", ["nonsense", "http://[", "ftp://127.0.0.1"])
    def test_bad_address(self, home: Path, toy: Model, monkeypatch, endpoint: str):
        """A mistyped HF_ENDPOINT is an error for people."""
        monkeypatch.setenv("HF_ENDPOINT", endpoint)
        with pytest.raises(DownloadError):
            pull(toy)


KILLED_PULL = """
from server.models.catalog import Mirror, MirrorPiece, Model, ModelFile
from server.models.download import pull

def progress(done, total, what):
    if done >= total // 2:
        print("half", flush=True)

pull({model!r}, progress=progress)
"""
