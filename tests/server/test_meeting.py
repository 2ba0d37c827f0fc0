"""Where editors meet: the same wishes at the same file, and files that are of no use."""

import asyncio
import json
import os
import socket
import stat
import time
from dataclasses import replace
from pathlib import Path

import pytest
from filelock import FileLock
from hypothesis import given
from hypothesis import strategies as st

from server import meeting
from server.meeting import Address, Place, place_for
from server.option_layers import merge
from server.options import Options
from server.private_files import DAY_S, make_private, read_private, write_private
from server.shared import first_message, joined, options_of

TOKEN = "0123456789abcdef" * 4


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home without anything in it."""
    monkeypatch.setenv("MIDTOKEN_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "runtime"))
    return tmp_path


def options(**sections: dict[str, object]) -> Options:
    found, problems = merge([("initializationOptions", sections)])
    assert problems == []
    return found


def test_the_folder_is_private(home):
    """Whatever it was before."""
    (home / "home" / "run").mkdir(parents=True, mode=0o777)
    place = place_for(Options())

    assert place.folder == home / "home" / "run"
    assert stat.S_IMODE(place.folder.stat().st_mode) == 0o700


def test_the_runtime_folder(home, monkeypatch):
    """Where there is no home of midtoken's, files lie in the session's folder, if there is one."""
    monkeypatch.delenv("MIDTOKEN_HOME")
    monkeypatch.setattr(meeting.platformdirs, "user_cache_dir", lambda _: str(home / "cache"))
    assert place_for(Options()).folder == home / "cache" / "run"
    (home / "runtime").mkdir()
    assert place_for(Options()).folder == home / "runtime" / "midtoken"
    monkeypatch.setenv("XDG_RUNTIME_DIR", "runtime")
    assert place_for(Options()).folder == home / "cache" / "run"


def test_same_wishes_meet(home):
    """What is set to its default is no other wish, nor is what each editor has its own of."""
    place = place_for(Options())

    assert place_for(options(model={"name": Options().model.name})) == place
    assert place_for(options(engine={"idleWork": False})) == place
    assert place_for(options(completion={"maxTokens": 3}, trigger={"automatic": False})) == place


@pytest.mark.parametrize(
    "sections",
    [
        {"model": {"name": "/a/model.gguf"}},
        {"model": {"lora": "/a/lora.gguf"}},
        {"engine": {"contextSize": 2048}},
        {"engine": {"gpuLayers": 0}},
        {"engine": {"threads": 1}},
    ],
    ids=str,
)
def test_other_wishes(home, sections):
    """Another model, or the same one run otherwise, has a server of its own."""
    assert place_for(options(**sections)).name != place_for(Options()).name


def test_another_version(home, monkeypatch):
    """An editor whose midtoken is newer does not join a server of the old one."""
    place = place_for(Options())
    monkeypatch.setattr(meeting, "__version__", "999")
    assert place_for(Options()).name != place.name


@pytest.mark.parametrize("name", ["CUDA_VISIBLE_DEVICES", "GGML_VK_VISIBLE_DEVICES"])
def test_other_devices(home, monkeypatch, name):
    """The environment says which GPU is used."""
    place = place_for(Options())
    monkeypatch.setenv(name, "1")
    assert place_for(Options()).name != place.name


def test_relative_paths(home, monkeypatch):
    """The same relative path is another model in another folder; the server works there."""
    mine = options(model={"name": "models/x.gguf"})
    place = place_for(mine)
    assert place.work == Path.cwd()
    monkeypatch.chdir(home)
    assert place_for(mine).name != place.name
    assert place_for(Options()).work == place_for(Options()).folder


def test_announced(home):
    """An address is found until it is withdrawn, and nobody else can read it."""
    place = place_for(Options())
    assert place.address() is None
    listening, address = place.listen(TOKEN)
    place.announce(address)

    assert place.address() == address
    for path in place.folder.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    place.withdraw(address)
    listening.close()
    assert list(place.folder.iterdir()) == []


def test_withdrawing_leaves_another_servers(home):
    """A server that ends late does not take its successor's address along."""
    place = place_for(Options())
    old, new = Address(1, TOKEN, port=1), Address(2, TOKEN, port=2)
    place.announce(new)
    place.withdraw(old)
    assert place.address() == new


def test_long_paths(home, monkeypatch):
    """Where a socket's path would be too long, a port of this machine is used."""
    place = place_for(Options())
    deep = Place(place.folder / ("x" * 100), place.name, place.work)
    deep.folder.mkdir()
    listening, address = deep.listen(TOKEN)
    assert (address.path, address.port) == ("", listening.getsockname()[1])
    assert listening.getsockname()[0] == "127.0.0.1"
    listening.close()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b"\xff",
        b"[" * 4000,
        json.dumps({"pid": 1, "token": TOKEN, "port": "x"}).encode(),
        json.dumps({"pid": 1, "token": None, "port": 1}).encode(),
        json.dumps({"pid": 1, "token": "ä", "port": 1}).encode(),
        json.dumps({"pid": 1, "token": TOKEN, "port": 99999}).encode(),
        json.dumps({"pid": 1, "token": TOKEN, "port": 1, "more": 1}).encode(),
        b" " * 10_000,
    ],
    ids=lambda content: repr(content[:20]),
)
async def test_files_of_no_use(home, content):
    """A file that is torn, or of another version, is as good as none."""
    place = place_for(Options())
    write_private(place.folder / f"{place.name}.json", content)

    assert place.address() is None
    assert await joined(place) is None


@pytest.mark.parametrize("mode", [0o644, 0o660])
def test_files_of_others(home, mode):
    """An address that others could read or write is not used."""
    place = place_for(Options())
    place.announce(Address(1, TOKEN, port=1))
    (place.folder / f"{place.name}.json").chmod(mode)
    assert place.address() is None


async def test_nobody_there(home):
    """An address that is left of a server that was killed: a socket without anybody, or a port."""
    place = place_for(Options())
    for port_only in (False, True):
        listening, address = place.listen(TOKEN, port_only=port_only)
        place.announce(address)
        listening.close()
        assert await joined(place) is None


@pytest.fixture
def left(home):
    """Places of other models, whose servers were killed two days ago."""
    others = [place_for(options(model={"name": f"/{name}.gguf"})) for name in "abcd"]
    for other in others:
        listening, address = other.listen(TOKEN)
        listening.close()
        other.announce(address)
        other.lock.touch()
        other.log.write_text("the last words")
    for path in others[0].folder.iterdir():
        os.utime(path, (0, time.time() - 2 * DAY_S))
    return others


def named(place: Place) -> set[str]:
    """What there is of a place, by the ends of names."""
    return {path.suffix for path in place.folder.glob(f"{place.name}*")}


def test_what_killed_servers_have_left(home, left):
    """The next server deletes it, and leaves its own."""
    mine = place_for(Options())
    listening, address = mine.listen(TOKEN)
    mine.announce(address)
    mine.log.touch()
    mine.lock.touch()
    os.utime(mine.log, (0, 0))
    mine.delete_left()
    listening.close()

    assert [named(place) for place in left] == [set()] * 4
    assert named(mine) == {".json", ".lock", ".log", ".sock"}


@pytest.mark.parametrize("port_only", [False, True])
def test_what_is_in_use_stays(home, left, port_only):
    """A server that has nothing to say, one that is being started, and a log of today."""
    running, starting, ended, killed = left
    listening, address = running.listen(TOKEN, port_only=port_only)
    running.announce(address)
    os.utime(running.folder / f"{running.name}.json", (0, 0))
    (ended.folder / f"{ended.name}.json").unlink()
    ended.log.touch()
    with listening, FileLock(starting.lock):
        place_for(Options()).delete_left()

    assert named(running) >= {".json", ".lock", ".log"}
    assert named(starting) == {".json", ".lock", ".log", ".sock"}
    assert named(ended) == {".lock", ".log", ".sock"}
    assert named(killed) == set()


async def test_somebody_elses_port(home):
    """What answers at an old address without knowing the secret is left alone."""
    place = place_for(Options())
    with socket.create_server(("127.0.0.1", 0)) as other:
        place.announce(Address(1, TOKEN, port=other.getsockname()[1]))
        other.setblocking(False)
        asking = asyncio.ensure_future(joined(place))
        loop = asyncio.get_running_loop()
        connected, _ = await loop.sock_accept(other)
        with connected:
            said = await loop.sock_recv(connected, 4096)
            await loop.sock_sendall(connected, b"HTTP/1.1 400 Bad Request\r\n\r\n")
            assert await asking is None
    assert TOKEN.encode() not in said


def test_a_folder_that_is_somebody_elses(tmp_path, monkeypatch):
    """Neither another user's folder nor a link to one is used."""
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(OSError, match="not a folder"):
        make_private(tmp_path / "link")
    monkeypatch.setattr(os, "getuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(OSError, match="somebody else"):
        make_private(tmp_path)


def test_a_file_that_is_somebody_elses(tmp_path, monkeypatch):
    """Nor is another user's file; root's is."""
    write_private(tmp_path / "file", b"secret")
    assert read_private(tmp_path / "file", 3) == b"sec"

    def owned_by(owner: int) -> None:
        status = os.stat_result([stat.S_IFREG | 0o600, 0, 0, 1, owner, *range(5)])
        monkeypatch.setattr(os, "fstat", lambda _: status)

    owned_by(0)
    assert read_private(tmp_path / "file", 3) == b"sec"
    owned_by(os.getuid() + 1)
    with pytest.raises(OSError, match="somebody else"):
        read_private(tmp_path / "file", 3)


def test_a_disk_that_is_full(tmp_path, monkeypatch):
    """A file that can't be written leaves the old one, and nothing beside it."""
    write_private(tmp_path / "file", b"old")

    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(OSError, match="No space"):
        write_private(tmp_path / "file", b"new")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]


def framed(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


@given(st.lists(st.integers(1, 40)), st.binary(max_size=40), st.booleans())
def test_the_first_message(sizes, after, has_type):
    """However its bytes come, it is read as a whole, and what it says of the model is found."""
    wish = {"model": {"name": "/a.gguf"}}
    body = json.dumps({"params": {"initializationOptions": wish}}).encode()
    said = framed(body)
    if has_type:
        said = said.replace(b"\r\n\r\n", b"\r\nContent-Type: x\r\n\r\n", 1)
    left = [said + after]

    def read(size: int) -> bytes:
        size = min(size, sizes.pop() if sizes else size)
        chunk, left[0] = left[0][:size], left[0][size:]
        return chunk

    first = first_message(read)
    assert first.startswith(said)
    assert (said + after).startswith(first)
    assert options_of(first) == options(**wish)


@given(
    st.binary(max_size=200)
    | st.sampled_from([b"[1]", b"null", b"{}", b'{"params": 1}']).map(framed)
)
def test_a_strange_first_message(said):
    """Anything else is nobody's wish; it ends where the input does."""
    left = [said, b""]
    first = first_message(lambda _: left.pop(0) if left else b"")

    assert first == said
    assert options_of(first) == Options()


def test_wrong_settings_are_left_out():
    """As the server leaves them out, which tells the person."""
    body = json.dumps(
        {"params": {"initializationOptions": {"model": {"name": 5}, "engine": {"threads": 2}}}}
    ).encode()
    engine = replace(Options().engine, threads=2)
    assert options_of(framed(body)) == replace(Options(), engine=engine)


def test_endless_input():
    """What has no header is passed on after a while."""
    assert len(first_message(lambda size: b"x" * size)) < 1 << 20
