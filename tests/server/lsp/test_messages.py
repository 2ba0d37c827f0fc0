"""Messages that no client should send. A valid request after each of them works."""

import json

import pytest

from server.hosting import LOCAL_MESSAGE_BYTES
from tests.server.lsp.client import AnsweredWithError, Client
from tests.server.lsp.conftest import own_server, settings
from tests.server.lsp.editors import NEOVIM_12

pytestmark = pytest.mark.asyncio(loop_scope="session")

PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS = -32700, -32600, -32601, -32602
NOT_INITIALIZED = -32002

INLINE = "textDocument/inlineCompletion"


def framed(body: bytes, length: int | None = None) -> bytes:
    return b"Content-Length: %d\r\n\r\n%s" % (len(body) if length is None else length, body)


async def works(client: Client) -> None:
    """The server completes as if nothing had happened."""
    client.open("file:///after.py", "import o")
    assert isinstance(await client.menu("file:///after.py", (0, 8)), dict)


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"",
        b"nonsense",
        b"\xff\xfe\x00",
        b'{"jsonrpc": "2.0", "id": 1, "method": "x", "params": "\xff"}',
        b"[" * 100_000,
        b'{"a": 1} {"b": 2}',
        b'{"jsonrpc": "2.0", "id": %s}' % (b"7" * 5000),
    ],
    ids=["cut", "empty", "words", "binary", "bytes", "deep", "two", "digits"],
)
async def test_no_json(client, body):
    """What is no JSON gets a parse error without a number."""
    client.send_raw(framed(body))

    await works(client)
    assert [answer["error"]["code"] for answer in client.answers[None]] == [PARSE_ERROR]
    assert "Python" not in client.answers[None][0]["error"]["message"]


@pytest.mark.parametrize(
    "message",
    [
        *([], {}, 7, None, [{"jsonrpc": "2.0"}]),
        {"jsonrpc": "1.0", "id": 90, "method": "shutdown"},
        {"jsonrpc": "2.0", "id": 90, "method": []},
        {"jsonrpc": "2.0", "id": 90, "method": {}},
        {"jsonrpc": "2.0", "id": [90], "method": "shutdown"},
    ],
    ids=json.dumps,
)
async def test_no_json_rpc(client, message):
    """JSON that is no message never ends the session; a request in it is refused."""
    client.send_message(message)

    await works(client)
    codes = {answer["error"]["code"] for found in (None, 90) for answer in client.answers[found]}
    assert codes == {INVALID_REQUEST}


@pytest.mark.parametrize(
    "params",
    [
        None,
        [],
        {},
        {"textDocument": {"uri": "file:///a.py"}},
        {"textDocument": {"uri": 3}, "position": {"line": 0, "character": 0}},
        {
            "textDocument": {"uri": "file:///a.py"},
            "position": {"line": "x", "character": {}},
            "context": {"triggerKind": 1},
        },
        {
            "textDocument": {"uri": "file:///a.py"},
            "position": {"line": -1, "character": 0},
            "context": {"triggerKind": 1},
        },
        {
            "textDocument": {"uri": "file:///a.py"},
            "position": {"line": float("nan"), "character": float("inf")},
            "context": {"triggerKind": 1},
        },
        {
            "textDocument": {"uri": "file:///a.py"},
            "position": {"line": 0, "character": 0},
            "context": {"triggerKind": 99},
        },
    ],
    ids=lambda params: json.dumps(params)[:60],
)
async def test_wrong_parameters(client, params):
    """A request with parameters of a wrong shape is answered all the same."""
    client.open("file:///a.py", "x = ")
    with pytest.raises(AnsweredWithError) as refused:
        await client.request(INLINE, params)

    assert refused.value.code == INVALID_PARAMS
    await works(client)


async def test_no_method(client):
    """What is neither a request nor an answer is called that."""
    client.send_message({"jsonrpc": "2.0", "id": "none"})
    await works(client)

    [answer] = client.answers["none"]
    said = "midtoken: the message has no method, and is no answer to one of the server's"
    assert (answer["error"]["code"], answer["error"]["message"]) == (INVALID_REQUEST, said)


@pytest.mark.parametrize("number", [None, 1.5, {}, [], True], ids=json.dumps)
async def test_strange_numbers(client, number):
    """Requests whose number is none end nothing."""
    client.send_message({"jsonrpc": "2.0", "id": number, "method": INLINE, "params": {}})

    await works(client)


async def test_numbers_may_be_text(client):
    """A request may have text for a number, as the protocol allows."""
    client.open("file:///a.py", "x = ")
    params = {"textDocument": {"uri": "file:///a.py"}, "position": {"line": 0, "character": 4}}
    message = {"jsonrpc": "2.0", "id": "é 1", "method": "textDocument/completion", "params": params}
    client.send_message(message)

    assert await client.answer("é 1")


async def test_too_short_a_length(client):
    """After a body that is longer than said, reading goes on at the next header."""
    client.send_raw(framed(b'{"jsonrpc": "2.0", "method": "none", "params": null}', 20))

    await works_soon(client)


async def test_too_long_a_length(client):
    """After a body that is shorter than said, the messages that it has swallowed are lost only."""
    client.send_raw(framed(b'{"jsonrpc": "2.0", "method": "none", "params": null}', 90))
    client.notify("swallowed", {"by": "the message before"})

    await works_soon(client)


@pytest.mark.parametrize(
    "data",
    [
        b"\r\n\r\n\r\n",
        b"Content-Length: -5\r\n\r\n",
        b"Content-Length: 0\r\n\r\n",
        b"Content-Length: abc\r\n\r\n{}\n",
        b"Content-Type: text\r\n\r\n\n",
    ],
    ids=repr,
)
async def test_wrong_headers(client, data):
    """Headers that say nothing are skipped; a length that is none, and no message, are told."""
    client.send_raw(data)

    await works_soon(client)
    codes = [answer["error"]["code"] for answer in client.answers.get(None, [])]
    assert codes == ([PARSE_ERROR] if b"Length" in data else [])


@pytest.mark.parametrize("line", ["GET / HTTP/1.1", "POST http://[::1]:7/x HTTP/1.0", "x HTTP/2"])
async def test_http(connect, tiny_file, line):
    """A page in a browser can do nothing: of what it posts, no message is carried out."""
    client = await connect(begun=False)
    body = json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": NEOVIM_12.initialize()}
    ).encode()
    posted = b"Host: 127.0.0.1\r\nContent-Type: text/plain\r\nOrigin: https://example.org\r\n"
    client.send_raw(line.encode() + b"\r\n" + posted + framed(body))

    await client.end()
    assert client.answers == {}
    await works(await connect())


async def works_soon(client: Client) -> None:
    """At most the next message is lost."""
    client.notify("$/lost", {})
    await works(client)


async def test_longer_than_is_allowed(connect):
    """Of a message that is too long for any document nothing is waited for; others go on."""
    client, other = await connect(), await connect()
    client.send_raw(b"Content-Length: %d\r\n\r\n" % (LOCAL_MESSAGE_BYTES + 1))
    await client.until(lambda: client.answers[None])

    assert "256 MiB are allowed here" in client.answers[None][0]["error"]["message"]
    await client.end()
    assert client.reader.at_eof()
    await works(other)


async def test_other_spellings_of_headers(client):
    """Names of headers may be written in any case, and others may stand beside the length."""
    body = b'{"jsonrpc": "2.0", "id": 77, "method": "workspace/executeCommand", "params": '
    body += b'{"command": "midtoken.showReport"}}'
    kind = b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n"
    client.send_raw(b"content-length:%d\r\n%s\r\n%s" % (len(body), kind, body))

    assert await client.answer(77) is None


async def test_a_message_in_pieces(client):
    """A message may arrive byte by byte."""
    client.open("file:///a.py", "x = ")
    params = {"textDocument": {"uri": "file:///a.py"}, "position": {"line": 0, "character": 4}}
    message = {"jsonrpc": "2.0", "id": 5000, "method": "textDocument/completion", "params": params}
    for byte in framed(json.dumps(message).encode()):
        client.send_raw(bytes([byte]))
        await client.writer.drain()

    assert await client.answer(5000)


async def test_unknown_methods(client):
    """Unknown requests are refused, unknown notifications ignored."""
    client.notify("textDocument/unknown", {})
    client.notify("$/unknown", {})
    for method in ("textDocument/unknown", "$/unknown", ""):
        with pytest.raises(AnsweredWithError) as refused:
            await client.request(method, {})
        assert refused.value.code == NO_METHOD

    await works(client)


async def test_parameters_left_out(client):
    """As the protocol allows: a request that needs none is carried out, an unknown one unknown."""
    client.send_message({"jsonrpc": "2.0", "id": 7000, "method": "midtoken/models"})
    assert (await client.answer(7000))["models"]

    client.send_message({"jsonrpc": "2.0", "method": "foo/bar"})
    client.send_message({"jsonrpc": "2.0", "id": 7001, "method": "foo/bar"})
    with pytest.raises(AnsweredWithError) as refused:
        await client.answer(7001)
    assert refused.value.code == NO_METHOD
    client.send_message({"jsonrpc": "2.0", "id": 7002, "method": INLINE})
    with pytest.raises(AnsweredWithError) as refused:
        await client.answer(7002)
    assert refused.value.code == INVALID_PARAMS
    await works(client)


async def test_unknown_commands(client):
    """A command that does not exist is refused."""
    with pytest.raises(AnsweredWithError) as refused:
        await client.request("workspace/executeCommand", {"command": "rm"})

    assert refused.value.code == INVALID_PARAMS
    await works(client)


async def test_answers_to_nothing(client):
    """Answers to questions that nobody asked, and cancels of requests that do not run."""
    client.send_message({"jsonrpc": "2.0", "id": 3, "result": None})
    client.send_message({"jsonrpc": "2.0", "id": "x", "error": {"code": 1, "message": "no"}})
    client.cancel(12345)
    client.notify("$/cancelRequest", {"id": None})
    client.notify("$/cancelRequest")

    await works(client)
    assert list(client.answers) == [1, 2]


async def test_before_initialize(connect, tiny_file):
    """Requests before `initialize` are refused, notifications dropped; then all is as ever."""
    client = await connect(begun=False)
    client.open("file:///a.py", "x = ")
    for method in (INLINE, "shutdown", "unknown"):
        with pytest.raises(AnsweredWithError) as refused:
            await client.request(method, {})
        assert refused.value.code == NOT_INITIALIZED

    await client.begin(NEOVIM_12, settings(tiny_file()))
    await client.ready()
    await works(client)


async def test_initialize_twice(client):
    """A second `initialize` is refused and changes nothing."""
    with pytest.raises(AnsweredWithError) as refused:
        await client.request("initialize", NEOVIM_12.initialize())

    assert refused.value.code == INVALID_REQUEST
    await works(client)


@pytest.mark.parametrize(
    "changed",
    [
        {"rootUri": "file://["},
        {"rootUri": "file:///a%00b"},
        {"rootUri": "vscode-vfs://github/a/b"},
        {"rootUri": ""},
        {"workspaceFolders": [{"uri": "untitled:x", "name": "x"}]},
        {"workspaceFolders": []},
        {"rootPath": "relative\0path"},
        {"capabilities": {"general": {"positionEncodings": ["utf-7", "utf-8"]}}},
        {"capabilities": {"general": {"positionEncodings": []}}},
    ],
    ids=json.dumps,
)
async def test_strange_workspaces(connect, tiny_file, changed):
    """Whatever the workspace is called, the session begins."""
    client = await connect(begun=False)
    await client.begin(NEOVIM_12, settings(tiny_file()), **changed)
    await client.ready()
    await works(client)


async def test_initialize_of_a_wrong_shape(connect, tiny_file):
    """A refused `initialize` may be sent again."""
    client = await connect(begun=False)
    with pytest.raises(AnsweredWithError) as refused:
        await client.request("initialize", {"capabilities": 5})
    assert refused.value.code == INVALID_PARAMS

    await client.begin(NEOVIM_12, settings(tiny_file()))
    await client.ready()
    await works(client)


async def test_after_shutdown(client):
    """After `shutdown` requests are refused, and the connection can end only."""
    client.open("file:///a.py", "x = ")
    running = client.send_inline("file:///a.py", (0, 4))
    assert await client.request("shutdown") is None

    await client.until(lambda: running in client.answers)
    assert len(client.answers[running]) == 1
    for method in (INLINE, "shutdown", "unknown"):
        with pytest.raises(AnsweredWithError) as refused:
            await client.request(method, {})
        assert refused.value.code == INVALID_REQUEST


async def test_shutdown_while_a_command_runs(client):
    """What is under way at `shutdown` is cancelled, and `shutdown` answered."""
    restart = client.send("workspace/executeCommand", {"command": "midtoken.restartModel"})
    assert await client.request("shutdown") is None
    await client.until(lambda: restart in client.answers)
    assert len(client.answers[restart]) == 1


async def test_the_connection_breaks_in_a_message(connect):
    """A connection that ends in the middle of a message harms no other."""
    broken, other = await connect(), await connect()
    broken.send_raw(b"Content-Length: 1000\r\n\r\n{")
    broken.writer.close()

    await works(other)


async def test_input_that_breaks_off():
    """A process whose input ends within a message ends in order."""
    async with own_server() as (client, process):
        await client.request("initialize", NEOVIM_12.initialize())
        client.send_raw(b"Content-Length: 1000\r\n\r\n{")
        process.stdin.close()
        assert await process.wait() == 0
