"""What llama.vim's rules make of a file: the text around the cursor, chunks, and what is shown."""

import doctest
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.bench import corpus, projects
from server.bench.typing import comparison, llama_context, llama_hints
from server.bench.typing.llama_context import (
    RING_CHUNKS,
    Context,
    Ring,
    local_context,
    similarity,
)
from server.bench.typing.llama_hints import Completions, hint_of, keys_of
from server.bench.typing.llama_vim import server_parameters
from server.bench.typing.suggesters import Offer

FILE = ["def f(x):", "    ", "y = 1", "z = 2"]
LONG = [f"line {number}" for number in range(1000)]


@pytest.mark.parametrize("module", [llama_context, llama_hints, comparison, projects, corpus])
def test_examples(module):
    """What the docstrings show is so."""
    assert doctest.testmod(module).failed == 0


class TestContext:
    def test_lines(self):
        """256 lines before the cursor's and 64 after it; the line up to the cursor apart."""
        context = local_context(LONG, 3, 500)

        assert context.prefix == "\n".join(LONG[244:500]) + "\n"
        assert context.middle == "lin"
        assert context.suffix == "e 500\n" + "\n".join(LONG[501:565]) + "\n"

    def test_blank_line(self):
        """On a blank line the model begins at the line's start."""
        assert local_context(FILE, 4, 1) == Context("def f(x):\n", "", "\ny = 1\nz = 2\n", 0)

    def test_first_line(self):
        """Before the first line there is an empty one, as Vim joins no lines at all."""
        assert local_context(["ab"], 1, 0) == Context("\n", "a", "b\n\n", 0)

    def test_after_suggestion(self):
        """A suggestion of several lines is taken for inserted."""
        context = local_context(FILE, 4, 1, ["    return (", "        x"], 4)

        assert context.prefix == "def f(x):\n        return (\n"
        assert (context.middle, context.suffix) == ("        x", "\ny = 1\nz = 2\n")

    def test_after_a_line(self):
        """A suggestion of one line stands after the whole of the cursor's line."""
        context = local_context(["f(a)", "b"], 3, 0, ["b)"], 0)

        assert (context.middle, context.suffix) == ("f(a)b)", "\nb\n")

    def test_same_after_acceptance(self):
        """Asking ahead asks for what is asked once the suggestion is there."""
        ahead = local_context(FILE, 4, 1, ["x = (", "        y"], 0)
        there = [FILE[0], "    x = (", "        y", *FILE[2:]]

        assert ahead == local_context(there, 9, 2) or ahead.indent == 0
        assert keys_of(ahead) == keys_of(local_context(there, 9, 2))


class TestServer:
    def test_parameters(self):
        """The server is started as the plugin's help says, with a context that is bounded."""
        wanted = {"n_ctx": 8192, "n_batch": 1024, "n_ubatch": 512, "n_cache_reuse": 256}

        assert server_parameters(1024) == wanted


class TestRing:
    def ring(self, *texts):
        ring = Ring(random.Random(0))
        for text in texts:
            ring.pick(text, "a", evict=True)
        return ring

    @pytest.mark.parametrize(
        ("one", "other", "alike"),
        [
            (["a b"], ["a b"], 1.0),
            (["a b"], ["c d"], 0.0),
            ([], [], 1.0),
            (["(a)"], ["a c"], 2 / 3),
        ],
    )
    def test_similarity(self, one, other, alike):
        """Words count, signs do not."""
        assert similarity(one, other) == pytest.approx(alike)

    def test_small_and_large(self):
        """Texts of less than three lines are left out; of large ones 33 lines are taken."""
        ring = self.ring(LONG[:2], ["a b", "c d", "e f"], LONG[100:300])

        assert [len(chunk.lines) for chunk in ring.queued] == [3, 33]

    def test_same_chunk(self):
        """A chunk that is there is not taken again; one that is much like it takes its place."""
        words = [f"word{number} other{number}" for number in range(20)]
        ring = self.ring(words, words, [*words, "new"])

        assert [chunk.lines[-1] for chunk in ring.queued] == ["new"]

    def test_similar_is_left_out(self):
        """Where nothing may be evicted, the new one goes."""
        words = [f"word{number} other{number}" for number in range(20)]
        ring = self.ring(words)
        ring.pick([*words, "new"], "a", evict=False)

        assert [chunk.lines[-1] for chunk in ring.queued] == [words[-1]]

    def test_full(self):
        """The ring holds sixteen chunks, the oldest goes first."""
        ring = self.ring()
        for number in range(20):
            ring.pick([f"a{number}", f"b{number}", f"c{number}"], "a", evict=True)
            assert ring.take_in()

        assert len(ring.chunks) == RING_CHUNKS
        assert ring.chunks[0].lines[0] == "a4"
        assert not ring.take_in()

    def test_like_the_context(self):
        """Chunks that are like the text around the cursor are dropped."""
        ring = self.ring(FILE, ["p q", "r s", "t u"])
        ring.take_in()
        ring.take_in()
        ring.drop_similar(FILE)

        assert [chunk.lines[0] for chunk in ring.chunks] == ["p q"]


class TestCompletions:
    def known(self, content, lines=("ab",), x=1, y=0):
        known = Completions()
        known.insert(keys_of(local_context(lines, x, y)), content)
        return known

    def test_exact(self):
        """An answer is there for its place, an empty one, too."""
        assert self.known("xy").find(local_context(["ab"], 1, 0)) == "xy"
        assert self.known("").find(local_context(["ab"], 1, 0)) == ""

    @given(st.text("ab\n", min_size=1, max_size=8), st.integers(0, 8))
    def test_typed_along(self, content, length):
        """Whoever types what an answer says gets the rest of it; others get nothing."""
        known = self.known(content, ["top", "", "end"], 0, 1)
        typed = content[:length]
        lines = ["top", *typed.split("\n"), "end"]
        found = known.find(local_context(lines, len(lines[-2]), len(lines) - 2))

        assert found == (content[len(typed) :] or None)

    def test_typed_other(self):
        """An answer that does not begin with what was typed is no answer."""
        assert self.known("xy").find(local_context(["azb"], 2, 0)) is None

    def test_too_far(self):
        """129 characters back nothing is looked up."""
        content = "x" * 200
        found = [
            self.known(content, ["a"]).find(local_context(["a" + "x" * length], length + 1, 0))
            for length in (128, 129)
        ]

        assert found == ["x" * 72, None]

    def test_scrolled(self):
        """An answer is found again when three lines have gone out above, not when four have."""
        known = self.known("xy", [*LONG[:400], "end"], 0, 256)
        found = [
            known.find(local_context([*LONG[gone:400], "end"], 0, 256 - gone))
            for gone in (0, 1, 3, 4)
        ]

        assert found == ["xy", "xy", "xy", None]

    def test_full(self):
        """The least used of 250 places is forgotten."""
        known = Completions()
        for number in range(250):
            known.insert([str(number)], "x")
        known.get("0")
        known.insert(["new"], "x")

        assert (known.get("0"), known.get("1"), known.get("new")) == ("x", None, "x")


class TestHint:
    @pytest.mark.parametrize(
        ("lines", "x", "content", "offer"),
        [
            (["    retu"], 8, "rn x\n\n", Offer("rn x")),
            (["f()"], 2, "a, b", Offer("a, b)", removed_after=1)),
            (["f()"], 2, "a):\n  b", Offer("a):\n  b)", removed_after=1)),
            (["    "], 4, "    x\n    y", Offer("x\n    y")),
            (["        "], 8, "    x", Offer("x", removed_before=4)),
            (["    "], 4, "x", Offer("x", removed_before=4)),
            (["  "], 2, "      x", Offer("    x")),
            (["\t"], 1, "    x", Offer("    x", removed_before=1)),
        ],
        ids=["plain", "closer", "lines", "blank", "dedent", "none", "deeper", "tab"],
    )
    def test_offer(self, lines, x, content, offer):
        """What acceptance does, also to blanks before the cursor and to text after it."""
        hint = hint_of(lines, x, 0, content)

        assert hint.visible
        assert (hint.offer.text, hint.offer.removed_after, hint.offer.removed_before) == (
            *(offer.text, offer.removed_after, offer.removed_before),
        )

    @pytest.mark.parametrize(
        ("lines", "x", "content"),
        [
            (["a"], 1, ""),
            (["a"], 1, " \n  "),
            (["f()"], 2, ")"),
            (["x", "y", "z"], 1, "\ny\nz"),
            (["re", "", "return"], 2, "turn"),
            (["a", "abc", "def"], 1, "bc\nde"),
            (["a", "abc", "d", "e"], 1, "bc\nd\ne"),
        ],
        ids=["nothing", "blanks", "closer", "next", "line below", "two below", "three below"],
    )
    def test_nothing(self, lines, x, content):
        """Blanks, and repetitions of what stands after the cursor, are not shown."""
        assert not hint_of(lines, x, 0, content).visible

    def test_goes_on(self):
        """What begins like the lines below and goes on in another way is shown."""
        assert hint_of(["a", "abc", "d", "e"], 1, 0, "bc\nd\nf").visible
