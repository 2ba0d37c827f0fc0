"""Settings from every place that they can come from, and what they change."""

import re
from pathlib import Path

import pytest

from server.language_server import MOST_TOLD
from tests.server.lsp.client import AUTOMATIC, INVOKED, NO_ANSWER, Client
from tests.server.lsp.conftest import settings
from tests.server.lsp.editors import NEOVIM_12, OLD, VSCODE

pytestmark = pytest.mark.asyncio(loop_scope="session")

URI = "file:///a.py"
TRIGGER_CHARACTER, TYPING_ON = 2, 3


async def method_of(client: Client) -> str:
    """The healing method of a completion that is asked for now."""
    client.open(URI, "import o")
    await client.inline(URI, (0, 8))
    report = await client.request("workspace/executeCommand", {"command": "midtoken.showReport"})
    return report["healing"]["mode"]


@pytest.fixture
def workspace(tmp_path: Path):
    """Writes a workspace's file and gives what `initialize` says of the folder."""

    def write(name: str, content: str) -> dict:
        (tmp_path / name).write_text(content)
        return {"workspaceFolders": [{"uri": tmp_path.as_uri(), "name": "w"}]}

    return write


async def test_initialization_options(connect):
    """What the editor sends at the start counts."""
    assert await method_of(await connect(completion={"healing": "one"})) == "one"


async def test_configuration_is_asked_for(connect, tiny_file):
    """The answer to `workspace/configuration` goes before what was sent at the start."""
    client = await connect(begun=False)
    client.settings = {"completion": {"healing": "align"}}
    await client.begin(VSCODE, settings(tiny_file(), completion={"healing": "one"}))
    await client.until(lambda: client.asked != [])
    await client.menu(URI, (0, 0))  # the answer has arrived when this one is handled
    await client.ready()

    assert await method_of(client) == "align"
    assert client.asked == ["workspace/configuration"]


async def test_clients_that_cannot_be_asked(connect):
    """A client that does not know the question is not asked."""
    client = await connect(OLD)

    assert await method_of(client) == "exact"
    assert client.asked == []


async def test_clients_that_do_not_answer(connect, tiny_file):
    """A question that stays open keeps nothing from working."""
    client = await connect(begun=False)
    client.settings = NO_ANSWER
    await client.begin(VSCODE, settings(tiny_file()))
    await client.ready()

    assert await method_of(client) == "exact"


@pytest.mark.parametrize("answer", ["text", 5, [], [None], {"a": {"b": []}}], ids=repr)
async def test_strange_answers(connect, tiny_file, answer):
    """Whatever the client gives for its settings, completions work."""
    client = await connect(begun=False)
    client.settings = answer
    await client.begin(VSCODE, settings(tiny_file()))
    await client.ready()

    assert await method_of(client) == "exact"


@pytest.mark.parametrize(
    "pushed",
    [
        {"midtoken": {"completion": {"healing": "off"}}},
        {"completion": {"healing": "off"}},
        {"midtoken.completion.healing": "off"},
    ],
    ids=["nested", "bare", "dotted"],
)
async def test_pushed_settings(connect, pushed):
    """`didChangeConfiguration` counts from the next request on."""
    client = await connect(OLD)
    assert await method_of(client) == "exact"
    client.notify("workspace/didChangeConfiguration", {"settings": pushed})

    assert await method_of(client) == "off"


@pytest.mark.parametrize("pushed", [None, {}, [], "x"], ids=repr)
async def test_pushed_nothing(connect, pushed):
    """A client that only says that something changed is asked for what."""
    client = await connect(VSCODE)
    client.settings = {"completion": {"healing": "off"}}
    client.notify("workspace/didChangeConfiguration", {"settings": pushed})
    await client.until(lambda: len(client.asked) == 2)
    await client.menu(URI, (0, 0))

    assert await method_of(client) == "off"


async def test_workspace_file(connect, tiny_file, workspace):
    """A project's file counts below what the person says."""
    folder = workspace("midtoken.toml", '[completion]\nhealing = "off"\n')
    client = await connect(begun=False)
    await client.begin(NEOVIM_12, settings(tiny_file()), **folder)
    await client.ready()
    assert await method_of(client) == "off"

    client.notify("workspace/didChangeConfiguration", {"settings": {"completion.healing": "one"}})
    assert await method_of(client) == "one"


async def test_a_workspace_cannot_choose_what_runs(connect, tiny_file, workspace):
    """A folder that was opened can't set the model; the person is told, once."""
    folder = workspace("midtoken.toml", 'model.name = "/tmp/evil.gguf"\nlogging.level = "debug"\n')
    client = await connect(begun=False)
    await client.begin(OLD, settings(tiny_file()), **folder)
    await client.ready()
    client.notify("workspace/didChangeConfiguration", {"settings": {"completion.healing": "one"}})

    assert await method_of(client) == "one"
    assert sorted(re.search(r"midtoken\.\w+\.\w+", text)[0] for text in client.messages()) == [
        "midtoken.logging.level",
        "midtoken.model.name",
    ]


async def test_a_broken_workspace_file(connect, tiny_file, workspace):
    """A file that can't be read is named, and everything works without it."""
    folder = workspace("midtoken.toml", "[completion\n")
    client = await connect(begun=False)
    await client.begin(OLD, settings(tiny_file()), **folder)
    await client.ready()

    assert await method_of(client) == "exact"
    [message] = client.messages()
    assert "midtoken.toml" in message


async def test_a_workspace_full_of_mistakes(connect, tiny_file, workspace):
    """Nobody is buried under messages: some are told, and how many more there are."""
    lines = "".join(f"wrong{number} = 1\n" for number in range(500))
    client = await connect(begun=False)
    await client.begin(OLD, settings(tiny_file()), **workspace("midtoken.toml", lines))
    await client.ready()

    assert await method_of(client) == "exact"
    told = client.messages()
    assert len(told) == MOST_TOLD + 1
    assert "no option midtoken.wrong0" in told[0]
    assert f"{500 - MOST_TOLD} more settings are wrong" in told[-1]


async def test_wrong_values(connect):
    """A wrong value is named once, in words, and the default stays."""
    client = await connect(OLD, completion={"healing": "exactly", "temperature": -1, "nosuch": 1})
    client.notify("workspace/didChangeConfiguration", {"settings": {"trigger.debounce": 0}})

    assert await method_of(client) == "exact"
    assert len(client.messages()) == 3
    for key in ("healing", "temperature", "nosuch"):
        [message] = [text for text in client.messages() if f"midtoken.completion.{key}" in text]
        assert message.startswith("midtoken: initializationOptions: ")
        assert "\n" not in message


@pytest.mark.parametrize("options", [None, [], "text", 5, {"midtoken": None}], ids=repr)
async def test_strange_initialization_options(connect, options):
    """Whatever is sent at the start, the session begins."""
    client = await connect(begun=False)
    await client.begin(OLD, options)
    assert client.capabilities["completionProvider"]


async def test_wrong_values_are_told_once(connect, tiny_file):
    """An editor that sends its settings twice, and then at each change, gives one message."""
    wrong = {"completion": {"maxTokens": -1}, "nonsense": 1}
    client = await connect(begun=False)
    client.settings = wrong
    await client.begin(VSCODE, settings(tiny_file()) | wrong)
    await client.ready()
    for temperature in (0.5, 0.6):
        good = {"completion": {"temperature": temperature}}
        client.notify("workspace/didChangeConfiguration", {"settings": {"midtoken": good}})
        client.notify("workspace/didChangeConfiguration", {"settings": {"midtoken": wrong}})
    await client.menu(URI, (0, 0))
    assert sum("maxTokens" in message for message in client.messages()) == 1
    assert sum("nonsense" in message for message in client.messages()) == 1

    other = {"completion": {"maxTokens": -2}}
    client.notify("workspace/didChangeConfiguration", {"settings": {"midtoken": other}})
    await client.menu(URI, (0, 0))
    assert sum("maxTokens" in message for message in client.messages()) == 2


async def test_languages_disabled(connect):
    """A language that is switched off gets nothing; the others do."""
    client = await connect(languages={"disabled": ["python"]})
    client.open(URI, "import o", "python")
    client.open("file:///a.go", "import o", "go")

    assert await client.inline(URI, (0, 8)) is None
    assert await client.menu(URI, (0, 8)) is None
    assert await client.inline("file:///a.go", (0, 8))


async def test_options_of_one_language(connect):
    """Options may differ for a language."""
    overrides = {"python": {"completion.healing": "one"}}
    client = await connect(languages={"overrides": overrides})
    assert await method_of(client) == "one"
    client.open(URI, "import o", "go")
    await client.inline(URI, (0, 8))
    report = await client.request("workspace/executeCommand", {"command": "midtoken.showReport"})
    assert report["healing"]["mode"] == "exact"


async def test_automatic_off(connect):
    """Without automatic suggestions only explicit requests are served, of either kind."""
    client = await connect(trigger={"automatic": False})
    client.open(URI, "import o")

    assert await client.inline(URI, (0, 8), AUTOMATIC) is None
    assert await client.inline(URI, (0, 8), INVOKED)
    assert await client.menu(URI, (0, 8), TRIGGER_CHARACTER) is None
    assert await client.menu(URI, (0, 8), TYPING_ON) is None
    assert (await client.menu(URI, (0, 8), INVOKED))["items"]


async def test_automatic_on(connect):
    """Both kinds of request get the same suggestion when there is time for it."""
    client = await connect()
    client.open(URI, "import o")

    explicit = await client.inline(URI, (0, 8), INVOKED)
    assert explicit
    assert await client.inline(URI, (0, 8), AUTOMATIC) == explicit


async def test_a_slow_ban(connect):
    """A pattern that takes too long hides suggestions: that is said, once."""
    client = await connect(filters={"banPatterns": ["(x+x+)+y"]})
    client.open(URI, "# " + "x" * 900 + "\ny = ")

    for _ in range(2):
        assert not await client.inline(URI, (1, 4), INVOKED)
    assert client.messages() == [
        "midtoken: the pattern '(x+x+)+y' takes too long on some texts; nothing is suggested there"
    ]
