"""Lines of megabytes: their ends are all that is looked at, and the whole is what is remembered."""

from time import thread_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server import rules
from server.answers import present
from server.block_lines import read_lines
from server.blocks import finish_block, inside_at, should_stop_block
from server.brackets import PAIRS
from server.completion_options import CompletionOptions
from server.prompt import build_prompt
from server.rules import LINE_BYTES, Place, place_at
from server.service import Request, keys_of
from server.snapshot import NEAR_BYTES, Snapshot, position_at

SIZE = 2_000_000
LINES = {"tabs": b"\t" * SIZE, "(": b"(" * SIZE, "1, ": b"x = [" + b"1, " * (SIZE // 3)}


def place_of(text: bytes, cursor: int, language: str = "python") -> Place:
    return place_at(Snapshot("a", 0, text, cursor, language))


@pytest.mark.parametrize("language", ["python", "javascript", "html", "sql"])
@pytest.mark.parametrize("name", LINES)
def test_of_2_megabytes(tiny_completer, report, name, language):
    """At its end, then a character further: how long a key takes is printed."""
    options, times = CompletionOptions(max_tokens=16, multiline="auto"), []
    for text in (LINES[name], LINES[name] + b"q"):
        snapshot = Snapshot("a", 0, text, len(text), language)
        started = thread_time()
        answer = tiny_completer.answer(snapshot, options)
        answered = thread_time()
        present(snapshot, answer)
        keys_of(Request("a", snapshot, options))
        times += [answered - started, thread_time() - answered]

        assert answer.generation.logprobs
    worker, loop = times[::2], times[1::2]
    tiny_completer.forget("a")
    report(
        f"2 MB line of {name!r}, {language}: {worker[0]:.2f} s, {worker[1]:.2f} s after a key; "
        f"{1e3 * max(loop):.0f} ms in the event loop"
    )


class TestPlace:
    @pytest.mark.parametrize("before", [0, 1, LINE_BYTES, 2 * LINE_BYTES])
    def test_short_enough(self, before):
        """Up to its limits a line is taken whole."""
        place = place_of(b"\n" + b"ab" * before + b"c" * LINE_BYTES + b"\n", 1 + before)

        assert place.typed == (b"ab" * before)[:before]
        assert len(place.rest) == LINE_BYTES

    def test_parts(self):
        """Start and end before the cursor, and the start after it."""
        before = b"  (" + b"a" * SIZE + b"z"
        place = place_of(before + b"b" * SIZE, len(before))

        assert place.typed == before[:LINE_BYTES] + before[-LINE_BYTES:]
        assert place.rest == b"b" * LINE_BYTES
        assert place.closers is None

    def test_marks_far_away(self):
        """What is spelled far from the cursor is not looked for."""
        text = b"<|end|> ```\n" + b"a\n" * NEAR_BYTES

        assert place_of(text, 0).chat_marks
        assert place_of(text, 0).has_fences
        assert not place_of(text, len(text)).chat_marks
        assert not place_of(text, len(text)).has_fences


pieces = st.sampled_from(
    [b"a", b"if", b" ", b"\t", b"(", b")", b"{", b"}", b"]", b",", b'"', b"'", b"#", b"//", b"\\"]
)
long_lines = st.lists(st.lists(pieces, min_size=1, max_size=6).map(b"".join), max_size=4).map(
    lambda parts: b"".join(part * 700 if part.strip() else part for part in parts)
)
generated = st.lists(st.one_of(pieces, st.just(b"\n")), max_size=14).map(b"".join)


@given(
    st.sampled_from([b"", b"  ", b"\t\t"]),
    long_lines,
    st.one_of(long_lines, st.sampled_from([b"", b")", b"});"])),
    generated,
    st.sampled_from(["python", "javascript", "markdown"]),
    st.sampled_from(["never", "auto"]),
)
@settings(deadline=None, max_examples=150)
def test_no_rule_looks_further(indentation, line, rest, text, language, multiline):
    """What is shown is the same as if rules were given all of a line."""
    before, following = indentation + line, b"\nif (a) {\n}\n"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rules, "LINE_BYTES", 1100)
        snapshot = Snapshot("a", 0, before + rest + following, len(before), language)
        part = place_at(snapshot)
    whole = Place(before, rest, following[1:], language)
    inside = inside_at(snapshot)

    for finished in (True, False):
        assert finish_block(part, text, finished, inside, multiline) == finish_block(
            whole, text, finished, inside, multiline
        )
    assert should_stop_block(part, text, inside, multiline) == should_stop_block(
        whole, text, inside, multiline
    )


def test_prompts_go_on(tiny_completer):
    """A budget may ask for more of a line than rules look at; nothing is left out of it."""
    text = b"x = [" + b"".join(b"%d, " % number for number in range(30_000))
    prompt = build_prompt(
        Snapshot("a", 0, text, len(text), "python"),
        place_of(text, len(text)),
        tiny_completer.tokenization,
        fim=None,
        start=(),
        root=None,
        budget=60_000,
        anchored=True,
    )

    read = tiny_completer.engine.vocabulary.decode(list(prompt.head)) + prompt.typed
    assert len(read) > 3 * LINE_BYTES
    assert text.endswith(read)


def test_typed_along():
    """What is remembered of a long line is found again when the line has grown."""
    text = b"x = " + b"1, " * LINE_BYTES
    one, two = (
        keys_of(Request("a", Snapshot("a", 0, line, len(line), "python"), CompletionOptions()))[0]
        for line in (text, text + b"2")
    )

    assert one[0] == two[0]
    assert (one[1], two[1]) == (text, text + b"2")


def test_many_blank_lines_have_no_title():
    """They are no new document; its name would be looked for again with each line."""
    snapshot = Snapshot("new.py", 0, b"\n" * SIZE, SIZE, "python")

    [first, *_] = keys_of(Request("a", snapshot, CompletionOptions()))

    assert b"new.py" not in first[0]


@given(st.lists(st.sampled_from([*PAIRS, *PAIRS.values(), b" ", b"a"]), max_size=30).map(b"".join))
def test_brackets_are_counted(line):
    """How deep each closing bracket is, and what stands before it, against brute force."""
    expected, stack = [], []
    for offset, character in enumerate(line[i : i + 1] for i in range(len(line))):
        if character in PAIRS:
            stack.append(PAIRS[character])
        elif character in PAIRS.values():
            depth = -1
            if character in stack:
                while stack.pop() != character:
                    pass
                depth = len(stack)
            leading = not line[:offset].strip(b" \t)]}")
            expected.append((offset, character, depth, leading))

    [read] = read_lines(b"", line, language="c", comment=b"//", finished=True)

    assert [(c.offset, c.text, c.depth, c.leading) for c in read.closings] == expected


@given(st.text("a\né", max_size=12), st.text("a\n\r", max_size=6), st.integers(0, 12))
def test_lines_are_counted(start, end, cursor):
    """With and without carriage returns."""
    text = (start + end).encode()
    cursor = min(cursor, len(text))
    before = text[:cursor].decode(errors="ignore").replace("\r\n", "\n").replace("\r", "\n")
    if text[cursor - 1 : cursor + 1] != b"\r\n":
        assert position_at(text, cursor) == (before.count("\n"), len(before.rpartition("\n")[2]))
