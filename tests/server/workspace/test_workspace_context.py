"""What is chosen for a prompt, and in which order."""

from hypothesis import given
from hypothesis import strategies as st

from server.workspace.chunks import Chunk
from server.workspace.context import FEWEST_LINES, Material, choose, cost

TEXTS = st.lists(st.sampled_from([b"a\n", b"bb cc dd\n", b"\n", b"x = f(1, 2)\n"]), min_size=1).map(
    b"".join
)
CHUNKS = st.lists(TEXTS, max_size=6)
MATERIAL = st.builds(
    lambda definitions, outline, visited: Material(
        "project",
        "own.py",
        named("app", definitions),
        outline and Chunk("own.py", outline),
        named("lib/util", visited),
    ),
    CHUNKS,
    st.none() | TEXTS,
    CHUNKS,
)


def named(folder, texts):
    return tuple(Chunk(f"{folder}/{number}.py", text) for number, text in enumerate(texts))


def words(text):
    """A token for each word and each line end."""
    return len(text.replace(b"\n", b" n ").split())


def lines(name, count):
    return Chunk(name, b"".join(b"%s %d\n" % (name.encode(), line) for line in range(count)))


@given(material=MATERIAL, budget=st.integers(0, 200))
def test_within_the_budget(material, budget):
    """Parts are whole or their first lines, in order, and together within the budget."""
    chosen = choose(material, budget, words)
    outline = [material.outline] if material.outline else []
    given = {chunk.name: chunk for chunk in [*material.definitions, *outline, *material.visited]}

    assert sum(cost(chunk, words) for chunk in chosen) <= budget
    assert chosen == choose(material, budget, words)
    assert [chunk.name for chunk in chosen] == [
        name for name in given if name in {chunk.name for chunk in chosen}
    ]
    for chunk in chosen:
        whole = given[chunk.name]
        assert whole.text.startswith(chunk.text)
        assert chunk == whole or chunk.text.count(b"\n") >= FEWEST_LINES


@given(material=MATERIAL)
def test_with_room_enough_everything_is_there(material):
    outline = [material.outline] if material.outline else []

    assert choose(material, 100_000, words) == (
        *material.definitions,
        *outline,
        *material.visited,
    )


def test_everybody_gets_a_share():
    material = Material(
        "project",
        "own.py",
        (lines("a", 100), lines("b", 100)),
        lines("own", 100),
        (lines("c", 100),),
    )
    chosen = choose(material, 400, words)

    assert [(chunk.name, chunk.text.count(b"\n")) for chunk in chosen] == [
        ("a", 32),
        ("b", 32),
        ("own", 32),
        ("c", 33),
    ]


def test_what_one_does_not_need_the_others_get():
    material = Material(
        "project", "own.py", (lines("a", 100), lines("b", 4)), None, (lines("c", 4),)
    )
    chosen = choose(material, 300, words)

    assert [(chunk.name, chunk.text.count(b"\n")) for chunk in chosen] == [
        ("a", 89),
        ("b", 4),
        ("c", 4),
    ]


def test_many_files_do_not_starve_one_another():
    """Some of them whole are more than nothing of all of them."""
    material = Material("project", "own.py", tuple(lines(f"f{n}", 2 + n) for n in range(10)))
    chosen = choose(material, 60, words)

    assert [chunk.name for chunk in chosen] == ["f0", "f1", "f2", "f3", "f4"]


def test_the_newest_visits_come_first():
    material = Material("project", "own.py", (), None, tuple(lines(name, 10) for name in "abcd"))
    chosen = choose(material, 70, words)

    assert [(chunk.name, chunk.text.count(b"\n")) for chunk in chosen] == [
        ("c", 10),
        ("d", 10),
    ]


def test_a_new_visit_leaves_what_is_before_it():
    """With room enough, a prompt only grows at the end of its context."""
    before = Material("project", "own.py", (lines("a", 5),), lines("own", 5), (lines("b", 5),))
    after = Material(
        "project", "own.py", (lines("a", 5),), lines("own", 5), (lines("b", 5), lines("c", 5))
    )
    shorter = choose(before, 1000, words)

    assert choose(after, 1000, words)[: len(shorter)] == shorter
