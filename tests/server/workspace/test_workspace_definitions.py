"""What a file needs of others of its workspace."""

import os

import pytest

from server.snapshot import language_of
from server.workspace import definitions as module
from server.workspace.definitions import FILE_LINES, MODULE_NAMES, Definitions
from server.workspace.modules import Modules


@pytest.fixture
def root(tmp_path):
    return tmp_path.resolve()


def write(root, files):
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def needed(root, name, text, known=None, **more):
    known = known or Definitions(root, Modules(root))
    found = known.needed(root / name, language_of(name), text.encode(), **more)
    return {chunk.name: chunk.text.decode(errors="replace") for chunk in found}


SHAPES = '''class Circle:
    """Round."""

    def area(self) -> float:
        return 3 * self.radius**2

    def _grow(self):
        self.radius += 1


def draw(shape, *, colour="red"):
    """Draw it."""
    print(shape)


def unused(): pass
'''


def test_names_that_are_imported(root):
    write(root, {"app/__init__.py": "", "app/shapes.py": SHAPES})

    assert needed(root, "app/main.py", "from .shapes import Circle, draw\n") == {
        "app/shapes.py": (
            'class Circle:\n    """Round."""\n    def area(self) -> float: ...\n'
            'def draw(shape, *, colour="red"):\n    """Draw it."""\n'
        )
    }


@pytest.mark.parametrize(
    ("file", "statement"),
    [
        ("app/main.py", "from app.shapes import draw"),
        ("app/main.py", "from . import shapes"),
        ("app/main.py", "import app.shapes as s"),
        ("app/inner/main.py", "from ..shapes import draw"),
        ("app/inner/main.py", "from app import shapes"),
        ("tests/test_shapes.py", "from app.shapes import *"),
        ("tests/test_shapes.py", "try:\n    from app.shapes import draw\nexcept ImportError: pass"),
        ("app/main.py", "def f(:\n)))\nfrom app.shapes import draw\nx = ("),
    ],
)
def test_python_modules_are_found(root, file, statement):
    write(root, {"app/__init__.py": "", "app/inner/__init__.py": "", "app/shapes.py": SHAPES})

    found = needed(root, file, f"{statement}\n")

    assert found.keys() == {"app/shapes.py"}
    assert "def draw(shape" in found["app/shapes.py"]


@pytest.mark.parametrize("home", ["src", "lib", "services/api", "a/b/c"])
def test_packages_in_unusual_places(root, home):
    write(root, {f"{home}/app/__init__.py": "", f"{home}/app/shapes.py": SHAPES})

    assert needed(root, "tests/test_x.py", "from app.shapes import draw\n").keys() == {
        f"{home}/app/shapes.py"
    }


def test_a_search_can_be_stopped(root):
    write(root, {"a/b/app/__init__.py": "def draw(): pass\n"})
    modules = Modules(root, stopped=lambda: True)

    assert not needed(root, "x.py", "from app import draw\n", Definitions(root, modules))


def test_names_that_are_passed_on(root):
    write(
        root,
        {
            "app/__init__.py": "from .api import *\nfrom .loop import lost\n",
            "app/api.py": "from app.shapes import draw, Circle as C\n",
            "app/shapes.py": SHAPES,
            "app/loop.py": "from app import lost\n",
        },
    )

    assert needed(root, "main.py", "from app import draw, lost, missing\n") == {
        "app/shapes.py": 'def draw(shape, *, colour="red"):\n    """Draw it."""\n'
    }


def test_of_a_large_module_what_is_used(root):
    names = [f"name_{number}" for number in range(MODULE_NAMES + 1)]
    write(root, {"app.py": "".join(f"def {name}(a): pass\n" for name in names)})

    assert needed(root, "main.py", "import app\nimport app\napp.name_3(1)\n") == {
        "app.py": "def name_3(a): ...\n"
    }


def test_parts_are_bounded(root):
    methods = "".join(f"    def m{number}(self): pass\n" for number in range(100))
    write(root, {"app.py": "".join(f"class A{n}:\n{methods}" for n in range(3))})

    found = needed(root, "main.py", "from app import A0, A1, A2\n")["app.py"]

    assert found.count("\n") <= FILE_LINES
    assert "class A0:" in found
    assert "class A1:" in found


def test_outside_the_workspace_nothing_is_read(root):
    inside = root / "work"
    write(root, {"work/app/__init__.py": "", "outside.py": SHAPES, "work/.env.py": SHAPES})
    (inside / "linked.py").symlink_to(root / "outside.py")
    (inside / "secrets").mkdir()
    write(inside, {"secrets/keys.py": SHAPES, ".gitignore": "hidden.py\n", "hidden.py": SHAPES})

    text = (
        "from ..outside import draw\nfrom ...outside import draw\nfrom linked import draw\n"
        "from secrets.keys import draw\nfrom hidden import draw\nimport os, numpy\n"
    )
    assert needed(inside, "app/main.py", text) == {}


def test_a_changed_file_is_read_again(root):
    write(root, {"app.py": "def draw(a): pass\n"})
    known = Definitions(root, Modules(root))
    text = "from app import draw\n"
    before = needed(root, "main.py", text, known)
    write(root, {"app.py": "def draw(a, b, c): pass\n"})
    after = needed(root, "main.py", text, known)
    (root / "app.py").unlink()

    assert before == {"app.py": "def draw(a): ...\n"}
    assert after == {"app.py": "def draw(a, b, c): ...\n"}
    assert needed(root, "main.py", text, known) == {}


def test_files_are_read_once(root, monkeypatch):
    write(root, {"app.py": "def draw(a): pass\n"})
    reads = []
    read_source = module.read_source
    monkeypatch.setattr(
        module, "read_source", lambda *where: reads.append(where) or read_source(*where)
    )
    known = Definitions(root, Modules(root))
    for _ in range(3):
        needed(root, "main.py", "from app import draw\n", known)

    assert len(reads) == 1


def test_what_is_open_counts_as_it_is_there(root):
    write(root, {"app.py": "def draw(a): pass\n"})
    opened = {root / "app.py": b"def draw(a, newer): pass\n"}

    assert needed(root, "main.py", "from app import draw\n", opened=opened) == {
        "app.py": "def draw(a, newer): ...\n"
    }


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes have no names in folders there")
def test_odd_files(root):
    write(root, {"big.py": "x = 1\n" * 100_000, "wide.py": f"x = '{'y' * 3000}'\n"})
    (root / "binary.py").write_bytes(b"def draw(): pass\n\0")
    (root / "latin.py").write_bytes("def draw(é): pass\n".encode("latin-1"))
    (root / "folder.py").mkdir()
    os.mkfifo(root / "pipe.py")
    text = "".join(
        f"from {name} import draw, x\n"
        for name in ["big", "wide", "binary", "latin", "folder", "pipe", "a" * 300]
    )

    assert list(needed(root, "main.py", text)) == ["latin.py"]


@pytest.mark.parametrize(
    ("statement", "file"),
    [
        ("import { draw } from './shapes'", "src/shapes.ts"),
        ("import { draw } from './shapes.js'", "src/shapes.ts"),
        ("import * as shapes from '../lib'", "lib/index.js"),
        ("const { draw } = require('../lib/index.js')", "lib/index.js"),
        ("export { draw } from './shapes'", "src/shapes.ts"),
    ],
)
def test_script_modules_are_found(root, statement, file):
    code = "export function draw(shape) { return 1; }\nfunction hidden() {}\n"
    write(root, {"src/shapes.ts": code, "lib/index.js": code, "node_modules/x/index.js": code})

    found = needed(root, "src/main.ts", f"{statement};\nimport x from 'x';\nx = {{")

    assert found.keys() == {file}
    assert "export function draw(shape)\n" in found[file]


def test_a_default_export(root):
    write(root, {"app.tsx": "export default function App(props: Props) { return <b/>; }\n"})

    assert needed(root, "main.tsx", "import Whatever from './app';\n") == {
        "app.tsx": "export default function App(props: Props)\n"
    }


def test_go_packages(root):
    write(
        root,
        {
            "go.mod": "module example.org/m\n\ngo 1.22\n",
            "colours/red.go": "package colours\n\nfunc Mix(a, b int) int { return a }\n",
            "colours/blue.go": "package colours\n\ntype Blue struct{ Depth int }\nfunc own() {}\n",
            "colours/red_test.go": "package colours\n\nfunc TestMix() {}\n",
            "app/other.go": "package app\n\nfunc (s *Shop) open(day int) {}\n\nfunc closed() {}\n",
        },
    )
    text = (
        'package app\n\nimport (\n\t"fmt"\n\t"example.org/m/colours"\n)\n\ntype Shop struct{}\n'
        "\nfunc f(s Shop) { colours."
    )

    assert needed(root, "app/main.go", text) == {
        "colours/blue.go": "type Blue struct{ Depth int }\n",
        "colours/red.go": "func Mix(a, b int) int\n",
        "app/other.go": "func (s *Shop) open(day int)\n",
    }


def test_a_language_that_is_not_known(root):
    assert needed(root, "a.cob", "import x\n") == {}


def test_the_same_twice(root):
    write(root, {"a.py": SHAPES, "b.py": SHAPES})
    text = "from b import draw\nfrom a import Circle\nimport b\n"

    first, second = needed(root, "main.py", text), needed(root, "main.py", text)

    assert list(first.items()) == list(second.items())
    assert list(first) == ["b.py", "a.py"]
