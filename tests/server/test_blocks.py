"""Blocks: where they are allowed and where they end, and what holds for every text.

The golden cases are in `test_golden`.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server import block_lines
from server.block_ends import MAX_LINES, End
from server.block_lines import column_of, opened, read_lines
from server.blocks import (
    allows_block,
    block_end,
    finish_block,
    inside_at,
    line_end_of,
    restore_line_ends,
    should_stop_block,
)
from server.brackets import units
from server.rules import Finished, Place, finish, should_stop
from server.snapshot import Snapshot
from tests.server.golden import snapshot

blanks = st.sampled_from(["", "  ", "    ", "\t"])
words = "a else end x1 é @ # // /* */ ( ) { } [ ] : ; , = ` - assistant <|im_end|> ```"
pieces = st.sampled_from([*words.split(), " "])
line_texts = st.lists(pieces, max_size=4).map("".join)
full_lines = st.builds(lambda start, text: start + text, blanks, line_texts)
texts = st.lists(full_lines, max_size=7).map(lambda parts: "\n".join(parts).encode())
quotes = st.sampled_from([b"", b"", b"'", b'"', b'"""'])
languages = st.sampled_from(["python", "c", "lua", "markdown", "rust", "plaintext"])
insides = st.sampled_from([b"", b"", b'"""', b"*/"])
rests = st.sampled_from([b"", b"", b"  ", b")", b"})", b"});  ", b"]", b"a b", b",", b'"'])
typeds = st.builds(
    lambda text, end: (text + end).encode(),
    full_lines,
    st.sampled_from(["", "", "(", "{", "[", "f({"]),
)
places = st.builds(Place, typeds, rests, texts, languages)
wishes = st.sampled_from(["auto", "always", "never"])


class TestAllowsBlock:
    @pytest.mark.parametrize(
        ("line", "auto", "always"),
        [
            ("x = 1|", True, True),
            ("|", True, True),
            ("    |  ", True, True),
            ("f({|})", True, True),
            ("f(|);", True, True),
            ("x = [|]", True, True),
            ("f(a, |)", False, True),
            ("f(a, |);", False, True),
            ("f(a[|)", False, False),
            ("f(')|')", False, False),
            ("case x|:", False, False),
            ("x = |y", False, False),
            ("wo|rd", False, False),
            ("f(|, b)", False, False),
        ],
    )
    def test_lines(self, line, auto, always):
        """At the end of a line, and in an empty pair of brackets at its end."""
        typed, rest = line.encode().split(b"|")
        place = Place(typed, rest, language="python")

        assert allows_block(place) is auto
        assert allows_block(place, multiline="always") is always
        assert not allows_block(place, multiline="never")

    def test_prose(self):
        """Where brackets have no partners, none is taken for a pair."""
        assert not allows_block(Place(b"f() {", b"}", language="shellscript"))


class TestBlockEnd:
    @pytest.mark.parametrize(
        ("typed", "generated", "end"),
        [
            (b"def f():", b"\n    return 1\n", None),
            (b"def f():", b"\n    return 1\nels", None),
            (b"def f():", b"\n    return 1\nx =", End(13, "ended with the block")),
            (b"def f():", b"\n    return 1\n#", None),
            (b"    x", b" = 1\n  y =", End(4, "ended at the dedent")),
            (b"    x", b" = 1\n\n    y =", End(4, "ended at a blank line")),
            (b"    x", b" = 1)", None),
            (b"    ", b"x\n  a)", End(1, "ended at the dedent")),
            (b"    ", b"x\n)", None),
            (b"    ", b"x\n)\n", End(3, "ended with the block around")),
            (b"    x", b" = 1)\n", End(5, "ended with the block around")),
            (b"x", b"\na" * 3 + b"\n", End(2, "ended before a repeat")),
        ],
    )
    def test_is_known_early(self, typed, generated, end):
        """A line is judged as soon as its first word is, its brackets when it is complete."""
        assert block_end(Place(typed, b"", language="python"), generated) == end

    def test_limit(self):
        """Nothing is longer than the limit."""
        generated = b"".join(b"\n    x%d = 1" % number for number in range(100))

        result = finish_block(Place(b"def f():", b""), generated, False)

        assert result.text.count(b"\n") == MAX_LINES - 1
        assert result.rules == (f"ended after {MAX_LINES} lines",)


class TestFinishBlock:
    @pytest.mark.parametrize(
        ("generated", "following", "reason"),
        [
            (b"", b"", "the model wrote nothing"),
            (b"  ", b"", "nothing but blanks"),
            (b"\n\n", b"", "the model ended the line"),
            (b"\n  x = 1\n", b"", "nothing is left (ended at the dedent)"),
            (b"\n    a()\n", b"    a()\n", "nothing is left (ended before what follows)"),
            (b" = 1\n    b()\n    c", b"    x = 1\n", "repeats what follows"),
        ],
    )
    def test_reasons(self, generated, following, reason):
        """Where nothing is shown, the result says why."""
        place = Place(b"    x", b"", following)

        assert finish_block(place, generated, False).empty_reason == reason

    def test_rules_are_named(self):
        """The result says what ended it."""
        result = finish_block(Place(b"x", b"  "), b"\ny = 1\n\n\nz = 2", False)

        assert result == Finished(b"\ny = 1  ", 2, ("ended at a blank line",), None)

    @pytest.mark.parametrize(
        ("generated", "text"),
        [
            (b"a(\n  b\0c)\nd", b"a(\n  b"),
            (b"a\nb \x1b", b"a\nb"),
            (b"a\x7fb\nc", b"a"),
            (b"\0a\n", b""),
        ],
    )
    def test_control_characters(self, generated, text):
        """A text of several lines ends before the first one, which no more text changes."""
        place = Place(b"", b"", language="python")
        shown = finish_block(place, generated, finished=False)

        assert shown.text == text
        assert "no control characters" in shown.rules
        assert should_stop_block(place, generated)
        assert finish_block(place, generated + b"x\n", finished=True) == shown

    @given(places, texts, st.booleans(), insides)
    def test_one_line_is_left_to_rules(self, place, generated, finished, inside):
        """Where no block is allowed, everything is as with `rules` alone."""
        one = finish_block(place, generated, finished, inside, "never")
        stops = should_stop_block(place, generated, inside, "never")

        assert one == finish(place, generated, finished)
        assert stops == should_stop(place, generated)

    @given(places, texts, st.booleans(), insides, wishes)
    def test_nothing_of_the_user_is_lost(self, place, generated, finished, inside, wish):
        """The range lies on the line, and what it takes in stands in the text, in its order.

        A text of several lines takes in the whole rest of the line, and ends with it.
        """
        result = finish_block(place, generated, finished, inside, wish)

        found = iter(result.text)
        assert 0 <= result.range_end <= len(place.rest)
        assert all(byte in found for byte in b"".join(units(place.rest[: result.range_end])))
        if b"\n" in result.text:
            assert allows_block(place, inside, wish)
            assert result.range_end == len(place.rest)
            assert result.text.endswith(place.rest)

    @given(places, texts, st.booleans(), insides, wishes)
    def test_is_what_the_model_wrote(self, place, generated, finished, inside, wish):
        """Several lines are a prefix of the generated text, but for what follows the cursor."""
        result = finish_block(place, generated, finished, inside, wish)

        assert (result.empty_reason is None) == bool(result.text)
        if b"\n" in result.text:
            assert generated.startswith(result.text.removesuffix(place.rest).rstrip())

    @given(places, texts, st.booleans(), insides, wishes)
    def test_idempotent(self, place, generated, finished, inside, wish):
        """Several lines that were finished stay as they are.

        Where the model did not close the pair, its text may have open brackets of its own.
        """
        once = finish_block(place, generated, finished, inside, wish)
        if b"\n" not in once.text or "closers kept" in once.rules:
            return

        twice = finish_block(place, once.text, True, inside, wish)

        assert (twice.text, twice.range_end) == (once.text, once.range_end)

    @given(places, texts, quotes, texts, st.booleans(), insides, wishes)
    @settings(max_examples=300)
    def test_stopping_agrees(self, place, generated, quote, more, finished, inside, wish):
        """After a stop, whatever else is written changes nothing."""
        generated += quote
        if not allows_block(place, inside, wish) or not should_stop_block(
            place, generated, inside, wish
        ):
            return

        stopped = finish_block(place, generated, True, inside, wish)
        longer = finish_block(place, generated + more, finished, inside, wish)

        assert (stopped.text, stopped.range_end) == (longer.text, longer.range_end)


class TestLines:
    @pytest.mark.parametrize(
        ("line", "column"), [(b"a", 0), (b"  a", 2), (b"\ta", 4), (b"  \ta", 4), (b"\t a", 5)]
    )
    def test_columns(self, line, column):
        """A tab goes on to the next of its columns."""
        assert column_of(line) == column

    def test_strings(self):
        """Brackets in strings count for nothing; an apostrophe starts none."""
        text = b"a('(', \"]\"\ndon't(\nb[\n"

        read = read_lines(b"", text, language="python", comment=b"#")

        assert [line.owed for line in read] == [(), (b")",), (b")", b")"), (b")", b")", b"]")]

    def test_open_string(self):
        """What comes after a quote is known when the line is complete."""
        [incomplete] = read_lines(b"f(", b'"a)', language="c", comment=b"//")
        [complete] = read_lines(b"f(", b'"a)', language="c", comment=b"//", finished=True)

        assert incomplete.closings == ()
        assert [closing.text for closing in complete.closings] == [b")"]

    @given(typeds, texts, languages, insides)
    def test_covers_the_text(self, typed, generated, language, inside):
        """The lines, put together, are the text."""
        read = read_lines(typed, generated, language=language, comment=b"//", inside=inside)

        assert b"\n".join(line.text for line in read) == typed + generated
        assert all(generated[line.start : line.end] == line.text for line in read if line.start)


class TestDocument:
    @pytest.mark.parametrize(
        ("document", "line_end"),
        [
            ("a║\r\nb\n", b"\r\n"),
            ("a\nb║\r", b"\r"),
            ("a\r\nb║", b"\r\n"),
            ("a║", b"\n"),
            ("a\r║\nb\n", b"\r\n"),
        ],
    )
    def test_line_end_of(self, document, line_end):
        """The line's own end counts, then the one before it."""
        assert line_end_of(snapshot(document, "c")) == line_end

    @given(texts, st.sampled_from([b"\n", b"\r\n", b"\r"]))
    def test_restore_line_ends(self, text, line_end):
        """Every line end is the document's, and nothing else changes."""
        assert restore_line_ends(text, line_end).split(line_end) == text.split(b"\n")

    @pytest.mark.parametrize(
        ("document", "language", "inside"),
        [
            ('"""\n║', "python", b'"""'),
            ('"""a"""\n║', "python", b""),
            ("# '''\n║", "python", b""),
            ('x = \'"""\'\n║', "python", b""),
            ("/*\n * ║", "c", b"*/"),
            ("// /*\n║", "c", b""),
            ("/* a */\n║", "c", b""),
            ("const a = `\n║", "javascript", b"`"),
            ('"""║', "python", b""),
            ("it's `\n║", "markdown", b""),
        ],
    )
    def test_inside_at(self, document, language, inside):
        """What is open before the cursor's line is known from the lines above it."""
        assert inside_at(snapshot(document, language)) == inside

    @given(
        st.lists(
            st.sampled_from(['"""', "'", "a", "/*", "*/", "//", "`", "\n", "\r", "\\"]).map(
                str.encode
            )
        ),
        st.lists(
            st.tuples(st.integers(0, 40), st.integers(0, 3), st.sampled_from([b"/*", b"a\n", b"`"]))
        ),
    )
    def test_what_was_read_before(self, parts, edits):
        """Reading on from an earlier text is the same as reading from the start."""
        text = b"".join(parts)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(block_lines, "SPACING", 1)
            known = None
            for start, size, written in [(0, 0, b""), *edits]:
                text = text[:start] + written + text[start + size :]
                known = opened(text + b"\n", "c", b"//", known)
                assert known.inside == opened(text + b"\n", "c", b"//").inside

    def test_lines_are_read_once(self, monkeypatch):
        """A new line in a long document is all that is read for it, also far from its start."""
        line, read = b"    x = f(a)  # '\n", []
        reading = block_lines.Reader.skip
        monkeypatch.setattr(
            block_lines.Reader, "skip", lambda *args: read.append(1) or reading(*args)
        )
        for lines in (500, 50_000):
            for more in range(4):
                before = line * (lines + more)
                inside_at(Snapshot("a", more, before, len(before), "python"))
            assert len(read) > 400
            read.clear()
            inside_at(Snapshot("a", 9, before + line, len(before + line), "python"))
            assert len(read) <= 1 + block_lines.SPACING // len(line)
