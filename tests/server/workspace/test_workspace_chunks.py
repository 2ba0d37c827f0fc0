"""The ring of parts that were visited."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from server.workspace.chunks import LINES, PARTS, Chunk, Ring, similarity, visit, words_of

TEXTS = st.lists(
    st.sampled_from([b"def f(x):", b"    return x", b"", b"class A:", b"import os", b"  y = f(2)"])
).map(b"\n".join)


def numbered(count, start=0):
    return b"".join(b"name%d = value%d\n" % (line, line) for line in range(start, start + count))


def test_the_lines_around_a_place():
    part = visit("a.py", numbered(200), 100)

    assert part == Chunk("a.py", numbered(LINES, 68))


def test_at_the_ends_of_a_text():
    text = numbered(200)

    assert visit("a.py", text, 0).text == numbered(LINES)
    assert visit("a.py", text, 10_000).text == numbered(LINES - 1, 137)


def test_blank_lines_around_it_are_cut():
    assert visit("a.py", b"\n  \nx = 1\n\n    y = 2\nz = 3\n\n\t\n", 0).text == (
        b"x = 1\n\n    y = 2\nz = 3\n"
    )


def test_hardly_any_text_is_no_part():
    assert visit("a.py", b"x = 1\n\n\n\ny = 2\n", 0) is None
    assert visit("a.py", b"", 5) is None


@given(text=TEXTS, line=st.integers(0, 100))
def test_a_part_is_whole_lines_of_the_text(text, line):
    part = visit("a.py", text, line)

    if part is not None:
        assert part.text.endswith(b"\n")
        assert part.text.count(b"\n") <= LINES
        assert part.text.rstrip() in text


def test_the_oldest_makes_room():
    ring = Ring()
    for number in range(20):
        ring = ring.added(Chunk(f"{number}.py", numbered(5, 100 * number)))

    assert [part.name for part in ring.parts] == [f"{number}.py" for number in range(4, 20)]


def test_a_part_that_is_nearly_another_takes_its_place():
    ring = Ring().added(Chunk("a.py", numbered(20))).added(Chunk("b.py", numbered(5, 50)))
    ring = ring.added(Chunk("a.py", numbered(19)))

    assert [part.text for part in ring.parts] == [numbered(5, 50), numbered(19)]


def test_an_equal_part_changes_nothing():
    """A prompt stays as it is when a person goes to and fro."""
    ring = Ring().added(Chunk("a.py", numbered(20))).added(Chunk("b.py", numbered(5, 50)))

    assert ring.added(Chunk("a.py", numbered(20))) is ring


def test_what_the_prompt_says_anyway_is_left_out():
    ring = Ring().added(Chunk("a.py", numbered(20))).added(Chunk("b.py", numbered(5, 50)))

    assert [part.name for part in ring.beside(numbered(22), b"")] == ["b.py"]
    assert [part.name for part in ring.beside(b"", numbered(500))] == []
    assert [part.name for part in ring.beside(b"", numbered(40))] == ["b.py"]


@given(parts=st.lists(st.builds(Chunk, st.sampled_from(["a", "b"]), TEXTS), max_size=30))
def test_a_ring_is_bounded_and_has_no_twins(parts):
    ring = Ring()
    for part in parts:
        ring = ring.added(part)
        assert part in ring.parts

    assert len(ring.parts) <= PARTS
    assert len(set(ring.parts)) == len(ring.parts)
    assert set(ring.beside(b"os", b"import os")) <= set(ring.parts)


@given(one=TEXTS, other=TEXTS)
def test_similarity(one, other):
    """It is the same both ways, from 0 to 1, and 1 for the same words only."""
    first, second = words_of(one), words_of(other)
    found = similarity(first, second)

    assert 0 <= found <= 1
    assert found == similarity(second, first)
    assert (found == 1) == (first == second)
    assert similarity(first, Counter({b"elsewhere": 3})) == 0
