"""From a document to a prompt: what is in it, where it is cut, and that typing keeps it."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from healing.vocabulary import TokenKind
from server.prompt import TYPED_TOKENS, Prompt, build_prompt, title_of
from server.rules import place_at
from server.snapshot import Snapshot, with_lf
from tests.server.documents import documents


@pytest.fixture(scope="module")
def build(tiny_completer):
    """Makes the prompt for a text with its cursor at `|` (or at a byte offset)."""
    engine = tiny_completer.engine

    def of(text, cursor=None, *, fim=True, marks=engine.fim, budget=400, anchored=True, lines=0):
        if cursor is None:
            cursor, text = text.index(b"|"), text.replace(b"|", b"", 1)
        snapshot = Snapshot("a.py", 0, text, cursor, "python")
        return build_prompt(
            snapshot,
            place_at(snapshot),
            tiny_completer.tokenization,
            fim=marks if fim else None,
            start=(),
            root=engine.bos,
            budget=budget,
            anchored=anchored,
            line_tokens=lines,
        )

    return of


@pytest.fixture(scope="module")
def parts(tiny_completer):
    """The text before and after the hole, as a prompt's head has it."""
    engine = tiny_completer.engine

    def of(prompt: Prompt):
        start, *rest, end = prompt.head
        split = rest.index(engine.fim.suffix)
        assert (start, end) == (engine.fim.prefix, engine.fim.middle)
        decode = engine.vocabulary.decode
        return decode(rest[:split]), decode(rest[split + 1 :])

    return of


class TestParts:
    @pytest.mark.parametrize(
        ("text", "before", "typed", "after"),
        [
            (b"a = 1\nprint(a|\nb = 2\n", b"a = 1\n", b"print(a", b"\nb = 2\n"),
            (b"|", b"", b"", b""),
            (b"|a = 1\n", b"", b"", b"a = 1\n"),
            (b"a = 1\n|", b"a = 1\n", b"", b""),
            (b"a = 1|", b"", b"a = 1", b""),
            (b"a|\n\n\nb", b"", b"a", b"\n\n\nb"),
            (b"a|\r\n\r\nb\rc", b"", b"a", b"\n\nb\nc"),
            (b"a\r\nb\r\n  c|\r\nd", b"a\nb\n", b"  c", b"\nd"),
            (b"\x80\x81a\n\x80b|", b"\x80\x81a\n", b"\x80b", b""),
        ],
    )
    def test_lines(self, build, parts, text, before, typed, after):
        """Lines before, the line up to the cursor, and what follows; line ends as LF."""
        prompt = build(text)

        assert (*parts(prompt), prompt.typed, prompt.kind) == (before, after, typed, "fim")

    @pytest.mark.parametrize(
        ("text", "after"),
        [
            (b"print(ro|)\nb", b"\nb"),
            (b'print("ro|");\nb', b"\nb"),
            (b"if ro|:  \nb", b"\nb"),
            (b"print(ro|) + 1\nb", b") + 1\nb"),
            (b"calc_to|tal(x)\nb", b"(x)\nb"),
        ],
    )
    def test_what_is_joined(self, build, parts, text, after):
        """The model does not see closers or the rest of the word: the suggestion joins them."""
        assert parts(build(text))[1] == after

    @pytest.mark.parametrize("closers", [b")", b"')", b"');", b'"]}'])
    def test_closed_brackets(self, build, closers):
        """Brackets that an editor closes by itself change nothing."""
        assert build(b"print(ro|" + closers + b"\nb") == build(b"print(ro|\nb")

    def test_inside_a_line_end(self, build):
        r"""Between `\r` and `\n` is the end of the line that they end."""
        assert build(b"a\r\nb", 2) == build(b"a\r\nb", 1)

    def test_not_anchored(self, build, parts):
        """Without healing the hole is at the cursor."""
        prompt = build(b"a = 1\nprint(a|\nb = 2\n", anchored=False)

        assert (*parts(prompt), prompt.typed) == (b"a = 1\nprint(a", b"\nb = 2\n", b"")


class TestLeft:
    def test_text(self, build, tiny_completer):
        """Text before the cursor only, split where no token can cross."""
        prompt = build(b"a = b\nprint(ro|w)\n", fim=False)
        head = tiny_completer.engine.vocabulary.decode(prompt.head)

        assert (head, prompt.typed, prompt.kind) == (b"a = b", b"\nprint(ro", "left")

    @pytest.mark.parametrize("text", [b"|", b"|x", b"(|"])
    def test_nothing_before(self, build, tiny_completer, text):
        """A prompt is never empty."""
        assert build(text, fim=False).head == (tiny_completer.engine.bos,)

    @pytest.mark.parametrize("text", ["word " + "日本語、" * 900, "a\n" + "};\n" * 900])
    def test_no_sure_boundary(self, build, tiny_completer, text):
        """Where no place to split is near, few tokens are typed all the same."""
        prompt = build(text.encode() + b"|", fim=False)

        assert len(tiny_completer.engine.encode(prompt.typed)) <= TYPED_TOKENS + 2
        assert len(prompt.head) > 100

    def test_not_anchored(self, build):
        """Without healing all text is in the head."""
        assert build(b"a = b\nprint(ro|", fim=False, anchored=False).typed == b""


class TestBudget:
    LINES = b"".join(b"line_%d = %d\n" % (number, number) for number in range(400))

    @pytest.mark.parametrize("budget", [0, 1, 7, 50, 160, 1000])
    @pytest.mark.parametrize("fim", [True, False])
    @pytest.mark.parametrize("anchored", [True, False])
    def test_respected(self, build, budget, fim, anchored):
        """No more tokens of text than allowed, beside the marks and what is typed."""
        text = self.LINES + b"print(a|\n" + self.LINES
        prompt = build(text, fim=fim, budget=budget, anchored=anchored)

        assert len(prompt.head) <= max(budget + 3 * fim, 1)

    def test_whole_lines(self, build, parts):
        """Each side is cut at a line start, and at least two thirds of the budget are used."""
        prompt = build(self.LINES + b"print(a|\n" + self.LINES, budget=300)
        before, after = parts(prompt)

        assert self.LINES.endswith(b"\n" + before)
        assert (b"\n" + self.LINES).startswith(after)
        assert (b"\n" + self.LINES)[len(after) :].startswith(b"\n")
        assert len(prompt.head) > 200

    def test_long_lines(self, build, parts, tiny_completer):
        """A line that is longer than the budget is cut inside, and not inside a character."""
        line = "größer_als_日本 = 😀\t".encode() * 300
        before, after = parts(build(line + b"\n|\n" + line, budget=40))

        assert line.endswith(before.removesuffix(b"\n")) is True
        assert (b"\n" + line).startswith(after) is True
        assert len(before) > 20
        assert len(after) > 5

    def test_small_suffix(self, build, parts):
        """What the suffix does not need, the text before the hole gets."""
        before, after = parts(build(self.LINES + b"print(a|\n", budget=300))

        assert after == b"\n"
        assert len(before) > len(parts(build(self.LINES + b"|\n" + self.LINES, budget=300))[0])


class TestAnchor:
    @pytest.mark.parametrize("content", [b"word ", b"a-b+", "日".encode(), b"x", b"  \t"])
    def test_long_line(self, build, parts, tiny_completer, content):
        """A line of more than 128 tokens is anchored inside; the rest of it is before the hole."""
        line = content * 2000
        prompt = build(line + b"|")
        before, _ = parts(prompt)

        assert line.endswith(before + prompt.typed)
        assert 0 < len(tiny_completer.engine.encode(prompt.typed)) <= TYPED_TOKENS + 2
        assert before

    def test_constant_while_typing(self, build):
        """The head stays the same from the first to the last character of a line."""
        before, line, after = b"import os\n", b"    return os.path.join(a, b)", b"\nx = 1\n"
        heads = {build(before + line[:at] + b"|" + after).head for at in range(len(line) + 1)}

        assert len(heads) == 1

    def test_constant_from_the_left(self, build):
        """From the left too, once there is a line before."""
        before, line = b"import os\n", b"    return os.path.join(a, b)"
        heads = {build(before + line[:at] + b"|", fim=False).head for at in range(len(line) + 1)}

        assert len(heads) == 1


class TestLines:
    """A hole that takes in some lines before the cursor's."""

    TEXT = b"".join(b"line_%d = %d\n" % (number, number) for number in range(40))

    def test_they_are_typed(self, build, parts):
        """What stands before the cursor is the same text, parted elsewhere."""
        prompt = build(self.TEXT + b"total = li|\nprint(total)\n", lines=60)
        before, after = parts(prompt)
        plain, _ = parts(build(self.TEXT + b"total = li|\nprint(total)\n"))

        assert prompt.typed.count(b"\n") > 1
        assert prompt.typed.startswith(b"line_")
        assert (self.TEXT + b"total = li").endswith(before + prompt.typed)
        assert before.endswith(b"\n")
        assert len(before) < len(plain)
        assert after == b"\nprint(total)\n"

    def test_a_new_line_leaves_the_head(self, build):
        """What comes before the answer stays the same for some lines."""
        heads = []
        for number in range(30):
            text = self.TEXT + b"more = %d\n" * number % tuple(range(number))
            heads.append(build(text + b"|\nprint(total)\n", lines=60).head)
        moves = sum(one != other for one, other in pairwise(heads))

        assert 1 <= moves <= 15

    @pytest.mark.parametrize("lines", [0, 30, 100])
    def test_within_the_budget(self, build, tiny_completer, lines):
        """Lines that are typed are a part of the budget."""
        encode = tiny_completer.tokenization.encode
        for length in range(3, 40):
            before = b"".join(self.TEXT.splitlines(keepends=True)[:length])
            prompt = build(before + b"|\n" + self.TEXT, budget=200, lines=lines)

            assert len(prompt.head) + len(encode(prompt.typed)) <= 200 + 3

    def test_on_a_long_line(self, build):
        """The hole begins inside a line that is too long: other lines are before it."""
        line = b"x = " + b"abc + " * 200

        assert b"\n" not in build(self.TEXT + line + b"|", lines=60).typed

    def test_a_short_document(self, build):
        """There is something before each hole."""
        assert build(b"import os\nx = |", lines=60).typed == b"x = "


class TestTextIsText:
    TEXT = b"<|endoftext|> <|fim_prefix|>\nx = '<|fim_middle|>|\n<|fim_suffix|><tool_call>"

    def test_spelled_marks(self, build, tiny_completer):
        """Text that spells a special token is text; only our own marks are special."""
        engine = tiny_completer.engine
        text = self.TEXT.replace(b"middle|>|", b"middle|>", 1)
        head = build(text, text.index(b"<|fim_suffix")).head
        special = [token for token in head if engine.vocabulary.kind(token) != TokenKind.NORMAL]

        assert special == [engine.fim.prefix, engine.fim.suffix, engine.fim.middle]

    @given(documents(), st.booleans(), st.booleans(), st.integers(0, 200), st.integers(0, 60))
    @settings(deadline=None)
    def test_any_document(self, build, tiny_completer, document, fim, anchored, budget, lines):
        """The head is marks and text of the document, the typed bytes end where the cursor is."""
        text, cursor = document
        prompt = build(text, cursor, fim=fim, anchored=anchored, budget=budget, lines=lines)
        vocabulary = tiny_completer.engine.vocabulary
        special = [token for token in prompt.head if vocabulary.kind(token) != TokenKind.NORMAL]
        marks = tiny_completer.engine.fim

        if fim:
            assert special == [marks.prefix, marks.suffix, marks.middle]
        else:
            assert special in ([], [tiny_completer.engine.bos])
        before = with_lf(text[:cursor]).removesuffix(b"\n")
        assert before.endswith(prompt.typed.removesuffix(b"\n"))
        assert anchored or prompt.typed == b""


class TestTitle:
    @pytest.mark.parametrize(
        ("uri", "title"),
        [
            ("src/fizzbuzz.py", b"fizzbuzz.py"),
            ("C:\\src\\a.go", b"a.go"),
            ("file:///home/x/gr%C3%B6%C3%9Fe%20x.rs", "größe x.rs".encode()),
            ("file:///c%3A/Makefile", b"Makefile"),
            ("100%25.py", b"100%25.py"),
            ("a\nb.py", b"a b.py"),
            ("untitled:Untitled-1", b""),
            ("-", b""),
            ("notes.txt", b""),
            ("x" * 200 + ".py", b"x" * 100),
        ],
    )
    def test_names(self, uri, title):
        """The last part of a path or address, where it tells what the file is."""
        assert title_of(Snapshot(uri, 0, b"", 0, "python"), 0, 0) == title

    @pytest.mark.parametrize(
        ("text", "named"),
        [
            (b"|", True),
            (b"\n \r\n  im|\n\n", True),
            (b"print(|)\n", True),
            (b"x = |y", False),
            (b"a\n|", False),
            (b"|\nb\n", False),
        ],
    )
    def test_only_where_nothing_else_is(self, build, tiny_completer, text, named):
        """The name comes first where the cursor's line is all there is, and marks know files."""
        fim = tiny_completer.engine.fim
        marks = replace(fim, named=(7, "name", *fim.layout))
        name = tiny_completer.tokenization.encode(b"a.py\n")
        plain, separated = build(text), build(text, marks=marks)

        assert separated.head == (*((7, *name) if named else ()), *plain.head)
        assert separated.typed == plain.typed
        assert build(text, fim=False) == build(text, fim=False, marks=marks)
