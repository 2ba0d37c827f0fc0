"""The checks of a run: each says nothing of what is right, and finds what is wrong."""

import asyncio

import pytest

from tests.server.lsp.editors import NEOVIM_12, VSCODE
from tests.soak import levels
from tests.soak.asked import CANCELLED, EXPLAIN, INLINE, MENU, RANK, Asked, faults_of
from tests.soak.connection import Connection, Counts
from tests.soak.servers import Place, Server
from tests.soak.texts import index_of, position, whole

TEXT = "größe = 1\nprint(rea)\n"
CURSOR = TEXT.index(")")


def asked(method: str = INLINE, **more) -> Asked:
    """A request in `print(rea`, in bytes."""
    return Asked(method, 0, 5, "a.py", TEXT, CURSOR, NEOVIM_12, start=CURSOR, **more)


def ghost(text: str = "d)", start: int = 9, end: int = 10, line: int = 1) -> dict:
    """An item of ghost text."""
    ends = [{"line": line, "character": start}, {"line": line, "character": end}]
    return {"insertText": text, "range": {"start": ends[0], "end": ends[1]}}


def entry(text: str = "read)", start: int = 6, end: int = 10, **more) -> dict:
    """An item of a menu."""
    where = ghost(start=start, end=end)["range"]
    edit = {"newText": text, "range": where}
    return {"label": "read", "detail": "tiny llama · 5 %", "textEdit": edit, **more}


def found(one: Asked, result: object = None, proven: int = 4, *, leaving: bool = False, **more):
    """What is found wrong with an answer."""
    message = more if more else {"result": result}
    return " ".join(faults_of(one, message, proven, leaving=leaving))


@pytest.mark.parametrize(
    ("item", "wrong"),
    [
        (ghost(), ""),
        (ghost("d", end=9), ""),
        (ghost("d)", start=8), "does not lie at the cursor"),
        (ghost("d)", end=99), "none of the text's"),
        (ghost("d)", line=0), "does not lie at the cursor"),
        (ghost("d)", line=0, start=3), "none of the text's"),  # in the middle of an ö
        (ghost("d"), "a closer after the cursor is lost"),
        (ghost("", end=9), "inserts nothing"),
        (ghost("\ufffd", end=9), "half a character"),
    ],
)
def test_ghost_text(item, wrong):
    """It is inserted at the cursor, and takes in closers at most."""
    faults = found(asked(), {"items": [item]})
    assert wrong in faults
    assert bool(wrong) == bool(faults)


def test_text_that_is_lost():
    """An edit that replaces code after the cursor."""
    one = Asked(INLINE, 0, 5, "a.py", "print(rea", 5, VSCODE, start=5)
    assert "text after the cursor is lost" in found(
        one, {"items": [ghost("(x", start=5, end=7, line=0)]}
    )


def test_selected_entries():
    """Ghost text begins with the selected entry."""
    one = asked(selected="reader")
    one.start = CURSOR - 3
    right = ghost("reader.read)", start=6)
    assert not found(one, {"items": [right]})
    assert "the selected entry is lost" in found(one, {"items": [ghost("ready)", start=6)]})


@pytest.mark.parametrize(
    ("item", "wrong"),
    [
        (entry(), ""),
        (entry("d)", start=9), ""),
        (entry("REAL", end=9, detail="name · 3 %"), ""),
        (entry("REAL", end=9), "what was typed is altered"),
        (entry("x", start=10), "begins at no place before the cursor"),
        (entry(label=" "), "no line of text"),
        (entry(label="a\nb"), "no line of text"),
    ],
)
def test_entries(item, wrong):
    """They begin with what was typed, unless they are names."""
    faults = found(asked(MENU), {"isIncomplete": True, "items": [item]})
    assert wrong in faults
    assert bool(wrong) == bool(faults)


def test_entries_over_blanks():
    """A name replaces a word, and nothing before it."""
    one = Asked(MENU, 0, 5, "a.py", "a bc", 4, NEOVIM_12, start=4)
    where = ghost(start=0, end=4, line=0)["range"]
    item = {"label": "x", "detail": "name · 1 %", "textEdit": {"newText": "x", "range": where}}
    assert "it replaces 'a bc'" in found(one, {"items": [item]})


def test_stale():
    """What is answered after the server has read an edit is for the new text, or nothing."""
    one = asked()
    one.edited = 7
    assert not found(one, {"items": [ghost()]}, proven=6)  # the edit was on its way
    assert "stale" in found(one, {"items": [ghost()]}, proven=7)
    assert not found(one, None, proven=7)


def test_refusals():
    """Only what was taken back is refused, with its own code."""
    refused = {"code": CANCELLED, "message": "cancelled"}
    assert "refused without a reason" in found(asked(), error=refused)
    assert not found(asked(cancelled=True), error=refused)
    assert not found(asked(), error=refused, leaving=True)
    assert "refused without a reason" in found(asked(cancelled=True), error={"code": -32603})
    both = {"result": None, "error": refused}
    assert faults_of(asked(), both, 4, leaving=True) == ["an answer is either a result or an error"]


def test_results_of_other_kinds():
    """Each method has its own; ranking tells which word it has seen."""
    labels = ("read", "other")
    right = {"index": 0, "label": "read", "logprob": -1.0}
    assert not found(asked(RANK, labels=labels), {"typed": "rea", "items": [right]})
    assert "another one" in found(asked(RANK), {"typed": "re", "items": []})
    wrong = {"typed": "rea", "items": [{**right, "index": 1}]}
    assert "not the one" in found(asked(RANK, labels=labels), wrong)
    assert "no result of" in found(asked(EXPLAIN), {})
    assert not found(asked(EXPLAIN), {"html": ""})
    assert "no result of" in found(asked(), [])


@pytest.mark.parametrize("editor", [NEOVIM_12, VSCODE])
def test_places(editor):
    """Every place of a text is found again from its position, and no other position is one."""
    text = "a\r\nö😀b\n\rc"
    places = [index for index in range(len(text) + 1) if whole(text, index) == index]
    for index in places:
        line, character = position(text, index, editor)
        assert index_of(text, {"line": line, "character": character}, editor) == index
    assert index_of(text, {"line": 1, "character": 9}, editor) is None
    assert index_of(text, {"line": 4, "character": 0}, editor) is None
    assert len(places) == len(text)  # between CR and LF there is none


class Nowhere:
    """A server that takes everything."""

    def write(self, data: bytes) -> None: ...


async def test_answers_are_counted():
    """Two answers, none in time, and one that nobody asked for."""
    told: list[str] = []
    reader = asyncio.StreamReader()
    connection = Connection(reader, Nowhere(), lambda fault, _: told.append(fault), Counts())
    first = connection.ask(asked(), None)
    second = connection.ask(asked(token="t"), None)
    part = {"token": "t", "value": {"items": [entry()]}}
    await connection._take({"id": first, "result": None})
    assert not told

    await connection._take({"id": first, "result": None})
    assert "answered before" in told.pop()
    await connection._take({"id": 99, "result": None})
    assert "never asked" in told.pop()
    connection.look_for_late_ones(-1)
    connection.look_for_late_ones(-1)
    assert [f"to {second}" in fault for fault in told] == [True]
    told.clear()
    await connection._take({"id": second, "result": {"items": [{}]}})
    assert "lacks something" in told.pop()
    await connection._take({"method": "$/progress", "params": part})
    assert "after the answer" in told.pop()
    reader.feed_eof()
    await connection.quiet(1)


async def test_edits_make_stale():
    """An edit of the same document, and an answer that shows that it was read."""
    told: list[str] = []
    connection = Connection(
        asyncio.StreamReader(), Nowhere(), lambda fault, _: told.append(fault), Counts()
    )
    one, other = asked(), asked()
    other.uri = "b.py"
    numbers = [connection.ask(one, None), connection.ask(other, None)]
    connection.change("a.py", (None, "x"))
    later = connection.ask(asked(), None)
    await connection._take({"id": later, "result": None})
    await connection._take({"id": numbers[1], "result": {"items": [ghost()]}})
    assert not told
    await connection._take({"id": numbers[0], "result": {"items": [ghost()]}})
    assert "stale" in told.pop()
    connection.reader.feed_eof()


def test_memory_that_grows():
    """Steady growth is found under noise; peaks and a level that goes up and down are none."""
    steps = range(3000)
    noise = [(5 << 20) * (step * 7919 % 13) // 13 for step in steps]
    still = [(float(step), (90 << 20) + noise[step]) for step in steps]
    growing = [(at, size + round(at / 3000 * (32 << 20))) for at, size in still]
    peaks = [(at, size + (step % 100 == 5) * (200 << 20)) for step, (at, size) in enumerate(still)]

    assert levels.faults_of(still, []) == levels.faults_of(peaks, []) == []
    assert abs(levels.growth(growing) - (32 << 20)) < 3 << 20
    assert "memory has grown" in levels.faults_of(growing, [])[0]
    short = [(at / 10, size) for at, size in growing]
    assert levels.faults_of(short, []) == []
    assert levels.faults_of([(at, 4 * size) for at, size in short], [])


def test_what_stays():
    """A thread and a file more than there were at the first rest."""
    before = (3, ["/dev/null", "pipe"])
    assert levels.faults_of([], [(9, ["a"] * 9), before, (9, ["a"] * 9), before]) == []
    found = levels.faults_of([], [before, (4, ["/dev/null", "pipe", "socket"])])
    assert found == ["4 threads at rest, and 3 before", "files stay open: {'socket': 1}"]


def test_lines_of_the_log(tmp_path):
    """What was provoked is expected, and everything else is told."""
    told: list[str] = []
    server = Server("x", Place(tmp_path, tmp_path), lambda fault, _: told.append(fault), Counts())
    server.look_at_line("midtoken.messages: the connection ended in the middle of a message")
    server.look_at_line("")
    assert not told
    server.look_at_line("midtoken.backend: the model failed")
    assert told == ["x: the log says: midtoken.backend: the model failed"]


def test_memory_in_use():
    """What is in use late in a run is what was in use early, but for the wave of a moment."""
    level = [(40 << 20, 400_000), (44 << 20, 480_000)] * 4
    long = [(0.0, 1), (levels.WARM_S, 1)]
    assert levels.faults_of(long, [], level) == []
    rising = [(size + (rest << 22), pieces) for rest, (size, pieces) in enumerate(level)]
    assert "MiB more are in use" in levels.faults_of(long, [], rising)[0]
    rising = [(size, pieces + 40_000 * rest) for rest, (size, pieces) in enumerate(level)]
    assert "pieces more" in levels.faults_of(long, [], rising)[0]
    assert levels.faults_of(long[:1], [], rising) == []  # it was not warm yet
