"""Documents: edits against a slow model of plain strings, versions, snapshots and addresses."""

import gc
import re
import weakref

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.documents import Change, Document, Documents, VersionStep, uri_key
from server.errors import DocumentError
from server.positions import Encoding, Position, Range, to_bytes, without_surrogates

# The three line ends, what is often mistaken for one, and characters of every width.
PIECES = ["\n", "\r", "\r\n", "a", "bc", "\t", "\0", "\x0b", "\x0c", "\x1c", "\x85", "\u2028"]
PIECES += ["é", "e\u0301", "好", "힣", "😀", "👨\u200d👩", "\ufeff", "\ud83d", "\ude00"]
texts = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
# Small numbers, so that most are inside the text, and the largest that the protocol allows.
numbers = st.one_of(st.integers(0, 6), st.just(2**31 - 1))
positions = st.builds(Position, numbers, numbers)
ranges = st.one_of(st.none(), st.builds(Range, positions, positions))
changes = st.builds(Change, texts, ranges)
encodings = st.sampled_from(Encoding)


class SlowDocument:
    """The specification: a list of code points, split and counted anew for every position."""

    def __init__(self, text: str, encoding: Encoding):
        self.points, self.encoding = list(text), encoding

    def lines(self) -> list[tuple[int, int]]:
        """Start and end of every line, in code points, without line ends."""
        ends = list(re.finditer("\r\n|\n|\r", "".join(self.points)))
        starts = [0, *(end.end() for end in ends)]
        return list(zip(starts, [*(end.start() for end in ends), len(self.points)], strict=True))

    def width(self, point: str) -> int:
        if self.encoding is Encoding.UTF8:
            return len(point.encode("utf-8", "surrogatepass"))
        return 2 if self.encoding is Encoding.UTF16 and ord(point) > 0xFFFF else 1

    def index(self, position: Position) -> int:
        if position.line >= len(self.lines()):
            return len(self.points)
        index, end = self.lines()[position.line]
        left = position.character
        while index < end and self.width(self.points[index]) <= left:
            left -= self.width(self.points[index])
            index += 1
        return index

    def position(self, index: int) -> Position:
        line = max(n for n, (start, _) in enumerate(self.lines()) if start <= index)
        start, end = self.lines()[line]
        return Position(line, sum(map(self.width, self.points[start : min(index, end)])))

    def apply(self, change: Change) -> None:
        start, end = 0, len(self.points)
        if change.range:
            start, end = sorted((self.index(change.range.start), self.index(change.range.end)))
        self.points[start:end] = change.text

    def text(self) -> bytes:
        # Code point by code point: two halves of a pair must not be joined.
        return b"".join(map(to_bytes, self.points))


def document(text: str = "", encoding: Encoding = Encoding.UTF16) -> Document:
    return Document("file:///a.py", text, 1, "python", encoding)


def edited(text: str, new: str, *numbers: int) -> bytes:
    """The text after one edit from line, character to line, character."""
    subject = document(text)
    where = Range(Position(*numbers[:2]), Position(*numbers[2:] or numbers))
    subject.apply(2, [Change(new, where)])
    fresh = document(subject.text.decode())
    assert subject.line_count == fresh.line_count
    return subject.text


class TestEdits:
    @settings(deadline=None)
    @given(texts, encodings, st.lists(changes, max_size=8))
    def test_equal_to_the_slow_model(self, text, encoding, edits):
        """After every edit the text and all positions are those of plain strings."""
        fast, slow = document(text, encoding), SlowDocument(text, encoding)

        for version, edit in enumerate(edits, 2):
            fast.apply(version, [edit])
            slow.apply(edit)
            assert fast.text == slow.text()
            assert fast.line_count == len(slow.lines())
            assert fast.snapshot(Position(0, 0)).text == without_surrogates(fast.text)
        for index in range(len(slow.points) + 1):
            offset = sum(len(to_bytes(point)) for point in slow.points[:index])
            assert fast.position_at(offset) == slow.position(index)
            # Between `\r` and `\n` there is no position: it is the one before the line end.
            inside = slow.points[max(index - 1, 0) : index + 1] == ["\r", "\n"]
            assert fast.offset_at(fast.position_at(offset)) == offset - inside

    @settings(deadline=None)
    @given(texts, encodings, st.lists(changes, max_size=6), positions)
    def test_in_one_message(self, text, encoding, edits, position):
        """Several edits in one message are the same as one after the other."""
        together, alone = document(text, encoding), document(text, encoding)

        together.apply(2, edits)
        for edit in edits:
            alone.apply(2, [edit])

        assert together.text == alone.text
        assert together.offset_at(position) == alone.offset_at(position)

    @pytest.mark.parametrize(
        ("text", "edit", "result"),
        [
            ("a\nb", ("\r", 0, 1), b"a\r\nb"),  # a line end grows
            ("a\rb", ("\n", 1, 0), b"a\r\nb"),
            ("a\rx\nb", ("", 1, 0, 1, 1), b"a\r\nb"),  # two line ends become one
            ("a\r\nb", ("", 0, 1, 1, 0), b"ab"),
            ("a\r\nb", ("\r", 0, 1), b"a\r\r\nb"),
            ("a\r\nb", ("\r", 0, 1, 1, 0), b"a\rb"),
            ("\r\r", ("\n", 1, 0, 2, 0), b"\r\n"),
            ("a\x0cb\u2028c\x85d\x0be", ("!", 0, 9), "a\x0cb\u2028c\x85d\x0be!".encode()),
            ("a\nb\n", ("c", 2, 0), b"a\nb\nc"),
        ],
    )
    def test_line_ends(self, text, edit, result):
        r"""Line ends may be joined, split and changed, and only the three are line ends."""
        assert edited(text, *edit) == result

    @pytest.mark.parametrize(
        ("text", "edit", "result"),
        [
            ("abc", ("!", 0, 5), b"abc!"),
            ("abc\n", ("!", 0, 99), b"abc!\n"),  # not behind the line end
            ("abc\r\n", ("!", 0, 4), b"abc!\r\n"),
            ("abc\n", ("!", 7, 0), b"abc\n!"),
            ("abc\nd", ("", 0, 0, 9, 9), b""),
            ("abc", ("!", 0, 2, 0, 1), b"a!c"),  # reversed
            ("a\nb", ("!", 1, 1, 0, 0), b"!"),
            ("abc", ("!", -1, 3), b"!abc"),
            ("a😀b", ("!", 0, 2), "a!😀b".encode()),  # between the halves of a pair
            ("", ("", 0, 0), b""),
        ],
    )
    def test_clamping(self, text, edit, result):
        """Ranges outside the text, reversed or inside a character mean something defined."""
        assert edited(text, *edit) == result

    def test_whole_text_between_edits(self):
        """A change without a range replaces everything; those after it are about the new text."""
        subject = document("old\nlines")
        start = Position(1, 0)

        subject.apply(2, [Change("new\r\nx"), Change("y", Range(start, start))])

        assert subject.text == b"new\r\nyx"

    def test_pair_in_two_edits(self):
        """Halves of a pair that arrive one by one keep their places in UTF-16."""
        subject = document("ab")
        for version, (half, column) in enumerate((("\ud83d", 1), ("\ude00", 2), ("!", 3)), 2):
            place = Position(0, column)
            subject.apply(version, [Change(half, Range(place, place))])

        assert subject.text == b"a\xed\xa0\xbd\xed\xb8\x80!b"
        assert subject.snapshot(Position(0, 4)).text.decode() == "a\ufffd\ufffd!b"


class TestLargeDocuments:
    def test_50_megabytes(self):
        """A document of 50 MB opens, and is edited at both ends and in the middle."""
        subject = document("x = 'é'  # a line of code\n" * 1_900_000)
        for version, line in enumerate((0, 950_000, 1_900_002), 2):
            place = Position(line, 0)
            subject.apply(version, [Change("y\n", Range(place, place))])

        assert subject.line_count == 1_900_004
        assert subject.snapshot(Position(1_900_003, 0)).text[-7:] == b"code\ny\n"

    def test_long_line(self):
        """A line of 2 MB is edited like any other."""
        subject = document("a😀" * 400_000 + "\nz")
        place = Position(0, 1_199_997)

        subject.apply(2, [Change("\r", Range(place, place))])

        assert subject.line_count == 3
        assert subject.position_at(subject.offset_at(Position(1, 99))) == Position(1, 3)


class TestVersions:
    @pytest.mark.parametrize(
        ("version", "step"),
        [
            (8, VersionStep.NEXT),
            (12, VersionStep.GAP),
            (7, VersionStep.BACK),
            (-1, VersionStep.BACK),
        ],
    )
    def test_steps(self, version, step):
        """Any version is taken over with its edit, and told from the expected one."""
        subject = Document("untitled:a", "x", 7, "python", Encoding.UTF16)

        assert subject.apply(version, [Change("y")]) is step
        assert (subject.version, subject.text) == (version, b"y")


class TestSnapshots:
    def test_fields(self):
        """A snapshot has the client's names and the cursor as an offset."""
        snapshot = document("é😀x\r\ny").snapshot(Position(0, 3))

        assert snapshot.text == "é😀x\r\ny".encode()
        assert (snapshot.uri, snapshot.version, snapshot.cursor) == ("file:///a.py", 1, 6)
        assert snapshot.language == "python"

    @settings(deadline=None)
    @given(texts, encodings, st.lists(changes, min_size=1, max_size=3), positions)
    def test_edits(self, text, encoding, edits, position):
        """Edits leave earlier snapshots alone; later ones show them, harmless for models."""
        subject = document("ab" + text, encoding)
        before = subject.snapshot(position)
        shown = bytes(bytearray(before.text))

        subject.apply(2, edits)
        after = subject.snapshot(position)

        assert before.text == shown
        assert (after.version, after.cursor) == (2, subject.offset_at(position))
        assert len(after.text.decode().encode()) == len(subject.text)  # valid, and as long
        assert subject.is_current(after)
        assert subject.snapshot(Position(0, 0)).text is after.text  # one copy for all
        # Python keeps one object for each text of one byte: equal text is no stale text.
        assert not subject.is_current(before) or before.text == after.text

    def test_stale(self):
        """What was asked before a typed character is stale, also if the client never counts."""
        subject = document("abc")
        place = Position(0, 1)
        before = subject.snapshot(place)

        subject.apply(1, [Change("x", Range(place, place))])
        after = subject.snapshot(place)

        assert after.text == b"axbc"
        assert (subject.is_current(before), subject.is_current(after)) == (False, True)

    def test_offsets_outside(self):
        """An offset outside the text is our own mistake."""
        with pytest.raises(ValueError, match="offset 4 is outside the text of 3 bytes"):
            document("abc").position_at(4)

    @pytest.mark.parametrize(
        ("uri", "given", "language"),
        [
            ("file:///a.py", "go", "go"),
            ("file:///caf%C3%A9/a%2Ego", "", "go"),
            ("untitled:Untitled-1", "", "plaintext"),
        ],
    )
    def test_language(self, uri, given, language):
        """The client's language counts, else the ending of the address."""
        subject = Document(uri, "", 1, given, Encoding.UTF16)

        assert subject.snapshot(Position(0, 0)).language == language


class TestDocuments:
    def test_life(self):
        """A document is opened, found and edited; closed, nothing holds its text any more."""
        documents = Documents(Encoding.UTF8)
        opened = documents.open("untitled:a", "x", 1, "python")

        assert documents.change("untitled:a", 2, [Change("y")]) is VersionStep.NEXT
        assert documents.find("untitled:a") is opened
        assert list(documents) == [opened]
        documents.close("untitled:a")
        watched = weakref.ref(opened)
        del opened
        gc.collect()
        assert (len(documents), watched()) == (0, None)

    @pytest.mark.parametrize("uri", ["file:///b.py", "", "no scheme", "\ud800", "a\nb"])
    def test_unknown(self, uri):
        """What is not open is refused by name, in one line, and nothing else happens."""
        documents = Documents(Encoding.UTF8)

        for call in (documents.find, lambda uri: documents.change(uri, 1, []), documents.close):
            with pytest.raises(DocumentError, match="is not open") as error:
                call(uri)
            assert str(error.value).isprintable()

    def test_opened_twice(self):
        """Opening again begins anew, and what was asked about the old text is stale."""
        documents = Documents(Encoding.UTF8)
        old = documents.open("untitled:a", "old", 1, "python").snapshot(Position(0, 0))

        new = documents.open("untitled:a", "new", 1, "python")

        assert documents.find("untitled:a") is new
        assert not new.is_current(old)

    def test_spellings(self):
        """A document is found by any spelling and handed back in the client's first one."""
        documents = Documents(Encoding.UTF8)
        documents.open("file:///c%3A/caf%c3%a9/%5Bid%5D.ts", "x", 1, "typescript")

        found = documents.find("file:///C:/café/[id].ts")

        assert found.uri == "file:///c%3A/caf%c3%a9/%5Bid%5D.ts"


class TestUriKey:
    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("file:///C:/a.py", "file:///c%3a/a.py"),
            ("FILE:///a%20b", "file:///a b"),
            ("file:///%e5%a5%bd", "file:///好"),
            ("untitled:C:\\a.py", "untitled:c:%5Ca.py"),
            ("file:///a%2fb", "file:///a%2Fb"),
            ("vscode-notebook-cell:/a.ipynb#X%3D", "vscode-notebook-cell:/a.ipynb#X="),
        ],
    )
    def test_same(self, one, other):
        """Percent-encoding, the scheme's case and the drive letter's make no difference."""
        assert uri_key(one) == uri_key(other)

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("file:///a%2Fb", "file:///a/b"),
            ("untitled:a%23b", "untitled:a#b"),
            ("git:/a?x", "git:/a%3Fx"),
            ("file:///%2541", "file:///%41"),  # an encoded percent sign is not decoded twice
            ("file:///A.py", "file:///a.py"),
            ("file:///Cc:/a", "file:///cc:/a"),
            ("file:///a", "untitled:a"),
        ],
    )
    def test_different(self, one, other):
        """Whatever could be two documents stays two."""
        assert uri_key(one) != uri_key(other)
