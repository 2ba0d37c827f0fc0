"""Where somebody has been, and what is gathered for a document."""

import threading
from itertools import pairwise

import pytest

from server.workspace.chunks import LINES
from server.workspace.gathering import OUTLINE_STEP, SHOWN_BEFORE, Gathering, Open


@pytest.fixture
def root(tmp_path):
    folder = (tmp_path / "project").resolve()
    folder.mkdir()
    return folder


def write(root, name, text):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text)
    return path


def code(name, lines=100):
    return b"".join(b"%s_%d = make_%s(%d)\n" % (name, line, name, line) for line in range(lines))


def gathered(gathering, path, text=b"x = 1\n", cursor=None, others=(), language="python"):
    cursor = len(text) if cursor is None else cursor
    return gathering.gather(Open(path, language, text, cursor), dict(others))


def visited(gathering, path, **how):
    return [chunk.name for chunk in gathered(gathering, path, **how).visited]


def test_everything_of_a_document(root):
    write(root, "shapes.py", b"def draw(shape):\n    pass\n")
    main = write(root, "app/main.py", b"")
    other = write(root, "app/other.py", code(b"other"))
    text = b"import os\nfrom shapes import draw\n" + code(b"own", 500)
    gathering = Gathering([root])
    gathering.at(other, lambda: code(b"other"), 50)
    gathering.at(main, lambda: text, 400)
    found = gathered(gathering, main, text)

    assert (found.repository, found.name) == ("project", "app/main.py")
    assert [(chunk.name, chunk.text) for chunk in found.definitions] == [
        ("shapes.py", b"def draw(shape): ...\n")
    ]
    assert found.outline.name == "app/main.py"
    assert found.outline.text.startswith(b"import os\nfrom shapes import draw\n")
    assert [chunk.name for chunk in found.visited] == ["app/other.py"]
    assert found.visited[0].text == b"".join(
        code(b"other").splitlines(keepends=True)[18 : 18 + LINES]
    )


def test_a_place_counts_when_it_is_left(root):
    """What somebody writes is in the prompt anyway: as long as they write there, it is no part."""
    one, two = write(root, "one.py", b""), write(root, "two.py", b"")
    gathering = Gathering([root])
    gathering.at(one, lambda: code(b"one"), 10)
    gathering.at(one, lambda: code(b"one"), 30)
    before = visited(gathering, two)
    gathering.at(one, lambda: code(b"one"), 90)
    jumped = visited(gathering, two)
    gathering.at(two, lambda: code(b"two"), 5)

    assert before == []
    assert jumped == ["one.py"]
    assert visited(gathering, two) == ["one.py", "one.py"]


def test_saving_and_closing(root):
    one, two = write(root, "one.py", b""), write(root, "two.py", b"")
    gathering = Gathering([root])
    gathering.at(one, lambda: code(b"one"), 10)
    gathering.note(one)
    saved = visited(gathering, two)
    gathering.at(two, lambda: code(b"two"), 10)
    gathering.note(two)
    gathering.forget(two)
    gathering.at(one, lambda: code(b"one"), 10)

    assert saved == ["one.py"]
    assert visited(gathering, root / "three.py") == ["one.py", "two.py"]


def test_a_text_is_asked_for_when_its_place_is_left(root):
    asked = []
    one, two = write(root, "one.py", b""), write(root, "two.py", b"")
    gathering = Gathering([root])
    gathering.at(one, lambda: asked.append(1) or b"", 10)
    gathering.at(one, lambda: asked.append(2) or b"", 12)

    assert asked == []
    gathering.at(two, lambda: b"", 10)
    assert asked == [2]


@pytest.mark.parametrize("name", [".env", "out/a.py", "keys/id_rsa", "../outside.py", "a.pem"])
def test_what_is_secret_ignored_or_outside(root, name):
    """It is never a part of another document's prompt, nor is anything said for it."""
    write(root, ".gitignore", b"out/\n")
    hidden, main = write(root, name, b""), write(root, "main.py", b"")
    gathering = Gathering([root])
    gathering.at(hidden, lambda: code(b"hidden"), 10)
    gathering.at(main, lambda: b"", 0)

    assert visited(gathering, main) == []
    assert gathered(gathering, hidden) is None


def test_texts_that_nobody_writes(root):
    gathering = Gathering([root])
    main = write(root, "main.py", b"")
    for number, text in enumerate([b"x" * 5000, b"a\n\0b\nc\nd\n" * 9, b"y = 1\n" * 100_000, b""]):
        gathering.at(write(root, f"{number}.py", b""), lambda text=text: text, 1)
    gathering.at(main, lambda: b"", 0)

    assert visited(gathering, main) == []


def test_a_file_that_is_not_written_yet(root):
    write(root, "shapes.py", b"def draw(shape):\n    pass\n")

    found = gathered(Gathering([root]), root / "new.py", b"from shapes import draw\n")

    assert [chunk.name for chunk in found.definitions] == ["shapes.py"]


def test_several_folders(tmp_path):
    for name in ("one", "two"):
        write(tmp_path, f"{name}/shapes.py", b"def draw_%s(): pass\n" % name.encode())
    gathering = Gathering([tmp_path / "missing", tmp_path / "one", tmp_path / "two"])

    for name in ("one", "two"):
        found = gathered(gathering, tmp_path / name / "main.py", b"import shapes\n")
        assert found.repository == name
        assert found.definitions[0].text == b"def draw_%s(): ...\n" % name.encode()
    assert gathered(gathering, tmp_path / "main.py") is None


def test_a_folder_behind_a_link(root, tmp_path):
    """Editors name it as people opened it."""
    write(root, "shapes.py", b"def draw(): pass\n")
    link = tmp_path / "link"
    link.symlink_to(root)
    found = gathered(Gathering([link]), link / "main.py", b"import shapes\n")

    assert (found.repository, found.name) == ("project", "main.py")
    assert found.definitions[0].name == "shapes.py"


def test_open_documents_count_as_they_are(root):
    shapes = write(root, "shapes.py", b"def draw(): pass\n")
    found = gathered(
        Gathering([root]),
        root / "main.py",
        b"import shapes\r\n",
        others={shapes: b"def draw(newer):\r\n    pass\r\n"},
    )

    assert found.definitions[0].text == b"def draw(newer): ...\n"


def test_open_documents_that_lead_nowhere(root):
    """A loop of links, or a name that no file has, is in nobody's way."""
    write(root, "shapes.py", b"def draw(shape): ...\n")
    main = write(root, "main.py", b"")
    loop = root / "loop.py"
    loop.symlink_to(loop)
    others = {loop: b"x", root / "a\0.py": b"y"}
    gathering = Gathering([root, loop])

    found = gathered(gathering, main, b"import shapes\n", others=others)

    assert [chunk.name for chunk in found.definitions] == ["shapes.py"]
    assert gathered(gathering, loop) is None
    assert gathered(gathering, root / "a\0.py") is None


def test_it_stays_while_somebody_types(root):
    """Line after line at one place: what is gathered changes once for many of them."""
    main = write(root, "main.py", b"")
    above = b"import os\n" + code(b"own", 800)
    gathering = Gathering([root])
    gathering.at(write(root, "other.py", b""), lambda: code(b"other"), 40)
    gathering.at(main, lambda: above, 800)
    found = []
    for line in range(0, 100, 5):
        text = above + b"value = (\n" * line + b"    call("
        found.append(gathered(gathering, main, text))

    changes = sum(one != other for one, other in pairwise(found))
    assert changes <= 100 * len(b"value = (\n") // OUTLINE_STEP + 1
    assert all(len(material.visited) == 1 for material in found)
    assert found[0].outline.text.count(b"\n") > 10
    assert len(above) > SHOWN_BEFORE + OUTLINE_STEP


def test_after_closing_nothing_is_gathered(root):
    gathering = Gathering([root])
    gathering.close()

    assert gathered(gathering, root / "main.py") is None


def test_threads(root):
    """Two at once wait for one another."""
    write(root, "shapes.py", b"def draw(): pass\n")
    gathering = Gathering([root])
    found = []
    threads = [
        threading.Thread(
            target=lambda: found.append(gathered(gathering, root / "a.py", b"import shapes\n"))
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(found) == 4
    assert len(set(found)) == 1
