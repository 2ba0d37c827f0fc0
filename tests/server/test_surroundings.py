"""What other places say reaches open documents, in pauses and away from the event loop."""

import asyncio
import threading
from dataclasses import replace
from urllib.request import pathname2url

import pytest

from server import surroundings as module
from server.documents import Documents
from server.option_sections import ContextSection, LanguagesSection
from server.options import Options
from server.positions import Encoding
from server.surroundings import Surroundings

SHAPES = "def draw(shape):\n    pass\n"
OTHER = "".join(f"value_{line} = make({line})\n" for line in range(80))


ON = Options(context=ContextSection(workspace=True))


class Editor:
    """Documents of a workspace, and what is done to them."""

    def __init__(self, root, options=ON):
        self.root, self.options = root, options
        self.documents = Documents(Encoding.UTF8)
        self.surroundings = Surroundings(lambda: self.documents, lambda: self.options)
        self.surroundings.begin([root])

    def open(self, name, text):
        uri = f"file://{pathname2url(str(self.root / name))}"
        document = self.documents.open(uri, text, 1, "")
        self.surroundings.at(document, 0)
        return document

    async def pause(self):
        """Wait until everything is gathered."""
        async with asyncio.timeout(30):
            while self.surroundings._timer is not None and (
                self.surroundings._tasks
                or self.surroundings._timer.when() > asyncio.get_running_loop().time()
            ):
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.02)
            while self.surroundings._tasks:
                await asyncio.sleep(0.01)


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "PAUSE_S", 0.01)
    (tmp_path / "shapes.py").write_text(SHAPES)
    return tmp_path.resolve()


def names(document):
    material = document.material
    return material and [chunk.name for chunk in (*material.definitions, *material.visited)]


async def test_a_document_that_is_opened(root):
    editor = Editor(root)
    document = editor.open("main.py", "from shapes import draw\n")
    before = document.material
    await editor.pause()

    assert before is None
    assert names(document) == ["shapes.py"]
    assert document.material.name == "main.py"


async def test_where_somebody_has_been(root):
    editor = Editor(root)
    other, document = editor.open("other.py", OTHER), editor.open("main.py", "x = 1\n")
    await editor.pause()
    opened = names(document)
    editor.surroundings.at(document, 5)
    editor.surroundings.at(other, len(OTHER))
    editor.surroundings.saved(other)
    editor.surroundings.closed(other)
    editor.documents.close(other.uri)
    editor.surroundings.at(document, 5)
    await editor.pause()

    assert opened == ["other.py"]
    assert names(document) == ["other.py", "other.py"]


async def test_edits_that_are_not_saved_count(root):
    editor = Editor(root)
    editor.open("shapes.py", "def draw(newer): pass\n")
    document = editor.open("main.py", "from shapes import draw\n")
    await editor.pause()

    assert document.material.definitions[0].text == b"def draw(newer): ...\n"


@pytest.mark.parametrize(
    "options",
    [
        Options(),
        replace(ON, languages=LanguagesSection(disabled=("python",))),
        replace(ON, languages=LanguagesSection(overrides={"python": {"context.workspace": False}})),
    ],
    ids=["by default", "no suggestions", "off for a language"],
)
async def test_switched_off(root, options):
    """Nothing is read, and what was known is forgotten."""
    editor = Editor(root)
    document = editor.open("main.py", "from shapes import draw\n")
    await editor.pause()
    known = document.material
    editor.options = options
    editor.surroundings.at(document, 3)
    await editor.pause()

    assert known is not None
    assert document.material is None


@pytest.mark.parametrize("uri", ["untitled:Untitled-1", "https://x.y/main.py", "file:", "", "%00"])
async def test_documents_that_are_no_files(root, uri):
    editor = Editor(root)
    document = editor.documents.open(uri, "from shapes import draw\n", 1, "python")
    editor.surroundings.at(document, 3)
    editor.surroundings.saved(document)
    editor.surroundings.closed(document)
    await editor.pause()

    assert document.material is None


async def test_what_goes_wrong_stops_nothing(root, monkeypatch, caplog):
    editor = Editor(root)

    def fail(*_):
        raise RecursionError("deep")

    monkeypatch.setattr(editor.surroundings._gathering, "gather", fail)
    document = editor.open("main.py", "x = 1\n")
    await editor.pause()

    assert document.material is None
    assert "main.py" in caplog.text


async def test_typing_gathers_once(root, monkeypatch):
    """Not for each key, and never in the thread that types."""
    editor, threads = Editor(root), []
    gather = editor.surroundings._gathering.gather
    monkeypatch.setattr(
        editor.surroundings._gathering,
        "gather",
        lambda *given: threads.append(threading.get_ident()) or gather(*given),
    )
    document = editor.open("main.py", "from shapes import draw\n")
    for offset in range(20):
        editor.surroundings.at(document, offset)
    await editor.pause()

    assert len(threads) == 1
    assert threads[0] != threading.get_ident()
    assert names(document) == ["shapes.py"]


async def test_a_document_that_is_closed_meanwhile(root):
    editor = Editor(root)
    document = editor.open("main.py", "from shapes import draw\n")
    editor.surroundings.closed(document)
    editor.documents.close(document.uri)
    await editor.pause()

    assert document.material is None


async def test_after_the_end(root):
    editor = Editor(root)
    document = editor.open("main.py", "from shapes import draw\n")
    editor.surroundings.close()
    await asyncio.sleep(0.05)

    assert document.material is None
