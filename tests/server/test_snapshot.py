"""Documents and positions: what is read, what is refused, and that offsets and positions agree."""

import io
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.errors import DocumentError, UsageError
from server.snapshot import (
    COUNTED,
    MAX_BYTES,
    Snapshot,
    language_of,
    line_bounds,
    offset_at,
    parse_location,
    position_at,
    read_document,
    with_lf,
)

# Everything that has been mistaken for a line end or a character somewhere.
PIECES = [
    b"a",
    b"\n",
    b"\r",
    b"\r\n",
    b"\0",
    b"\xef\xbb\xbf",
    b"\xe2\x80\xa8",
    b"\x0c",
    b"\xc2\x85",
]
PIECES += [
    "ß".encode(),
    "好".encode(),
    "😀".encode(),
    b"\xff",
    b"\xe4\xbd",
    b"\xed\xa0\x80",
    b"\x80",
]
documents = st.one_of(st.binary(max_size=40), st.lists(st.sampled_from(PIECES)).map(b"".join))


class TestReadDocument:
    def test_file(self, tmp_path):
        """A file comes back byte for byte, invalid UTF-8 and carriage returns included."""
        path = tmp_path / "a.py"
        path.write_bytes(b"x = '\xff'\r\n")

        assert read_document(str(path)) == b"x = '\xff'\r\n"

    def test_empty(self, tmp_path):
        """An empty file is a document."""
        (tmp_path / "a").touch()

        assert read_document(str(tmp_path / "a")) == b""

    def test_stdin(self):
        """The name `-` reads the stream."""
        assert read_document("-", io.BytesIO(b"x\n")) == b"x\n"

    def test_late_nul(self, tmp_path):
        """A NUL byte far into a text does not make it binary."""
        path = tmp_path / "a.py"
        path.write_bytes(b"x" * 9000 + b"\0")

        assert len(read_document(str(path))) == 9001

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"\x7fELF\x02\x01\x00\x00", "binary file"),
            ("\ufeffx = 1".encode("utf-16-le"), "UTF-16 text"),
            ("\ufeffx = 1".encode("utf-16-be"), "UTF-16 text"),
            ("\ufeff你好".encode("utf-16-le"), "UTF-16 text"),
            ("x = 1\n".encode("utf-16-le"), "UTF-16 text"),
            ("x = 1\n".encode("utf-16-be"), "UTF-16 text"),
            ("\ufeffx = 1".encode("utf-32-le"), "UTF-32 text"),
        ],
    )
    def test_not_text(self, tmp_path, content, message):
        """Binary files are refused, and wide encodings by their name."""
        path = tmp_path / "file"
        path.write_bytes(content)

        with pytest.raises(DocumentError, match=message):
            read_document(str(path))

    def test_missing(self, tmp_path):
        """A missing file is named in the message."""
        with pytest.raises(DocumentError, match=r"gone\.py does not exist"):
            read_document(str(tmp_path / "gone.py"))

    def test_directory(self, tmp_path):
        """A directory is called one."""
        with pytest.raises(DocumentError, match="is a directory"):
            read_document(str(tmp_path))

    def test_pipe(self, tmp_path):
        """A pipe without a writer is refused at once instead of being waited for."""
        os.mkfifo(tmp_path / "pipe")

        with pytest.raises(DocumentError, match="not a regular file"):
            read_document(str(tmp_path / "pipe"))

    def test_endless_stream(self):
        """A stream that does not end is refused after the largest size allowed."""

        class Zeros(io.RawIOBase):
            def read(self, size=-1):
                assert size == MAX_BYTES + 1
                return bytes(size)

        with pytest.raises(DocumentError, match="larger than 256 MiB"):
            read_document("-", Zeros())

    def test_unreadable(self, tmp_path, monkeypatch):
        """A file that may not be opened gives its own message."""
        path = tmp_path / "a.py"
        path.touch()

        def refuse(*_):
            raise PermissionError

        monkeypatch.setattr("pathlib.Path.open", refuse)

        with pytest.raises(DocumentError, match="may not be read"):
            read_document(str(path))

    @pytest.mark.parametrize("name", ["", "a\nb", "a\0b", "\udcff", "x" * 5000])
    def test_strange_names(self, tmp_path, monkeypatch, name):
        """Whatever the name is, the message is one printable line."""
        monkeypatch.chdir(tmp_path)

        with pytest.raises(DocumentError) as caught:
            read_document(name)

        assert str(caught.value).isprintable()


class TestParseLocation:
    @pytest.mark.parametrize(
        ("location", "parts"),
        [
            ("src/app.py:12:9", ("src/app.py", 12, 9)),
            ("-:1:1", ("-", 1, 1)),
            ("a:1:2:3:4", ("a:1:2", 3, 4)),
            (r"C:\src\app.py:3:4", (r"C:\src\app.py", 3, 4)),
            ("a\nb:1:1", ("a\nb", 1, 1)),
        ],
    )
    def test_parts(self, location, parts):
        """The last two numbers are line and column, all before them is the file."""
        assert parse_location(location) == parts

    @pytest.mark.parametrize(
        "location",
        [
            *("", "a.py", "a.py:3", ":1:1", "a.py:1:1:", "a.py:x:1", "a.py:+1:1", "a.py:٣:1"),
            *("a.py:0:1", "a.py:1:0", "a.py:-1:1", "a.py:1:-1", "a.py:1:" + "9" * 5000),
        ],
    )
    def test_malformed(self, location):
        """Anything else is wrong usage and is answered with an example."""
        with pytest.raises(UsageError, match=r"for example src/app\.py:12:9"):
            parse_location(location)


class TestPositions:
    @given(documents)
    def test_round_trip(self, text):
        """Every offset of a character leads to a position and back."""
        for offset in range(len(text) + 1):
            line, character = position_at(text, offset)
            back = offset_at(text, line + 1, character + 1)

            # Only the inside of a character or of a CRLF leads to another offset: to its start.
            assert back <= offset
            assert position_at(text, back) == (line, character)
            inside = text[back:offset]
            assert (
                not inside
                or inside == b"\r"
                or len((inside + text[offset:][:3]).decode(errors="ignore"))
            )

    @given(documents)
    def test_all_positions(self, text):
        """Every position within the lines exists, and none is found twice."""
        lines = with_lf(text).decode("utf-8", "surrogateescape").split("\n")

        offsets = [
            offset_at(text, line + 1, column + 1)
            for line, characters in enumerate(lines)
            for column in range(len(characters) + 1)
        ]

        assert offsets == sorted(set(offsets))
        assert [position_at(text, offset) for offset in offsets] == [
            (line, column)
            for line, characters in enumerate(lines)
            for column in range(len(characters) + 1)
        ]

    @pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"], ids=["lf", "crlf", "cr"])
    @given(st.integers(0, 10_000))
    def test_lines_of_large_texts(self, line_end, line):
        """They are counted by pieces of the text."""
        text = (b"x" * 60 + line_end) * 10_001
        assert len(text) > 2 * COUNTED

        assert position_at(text, line * (60 + len(line_end)) + 7) == (line, 7)

    @pytest.mark.parametrize(
        ("text", "offset", "position"),
        [
            (b"a\r\nb", 3, (1, 0)),
            (b"a\r\nb", 2, (0, 1)),
            (b"a\rb", 2, (1, 0)),
            ("ß😀x".encode(), 6, (0, 2)),
            ("ß😀x".encode(), 4, (0, 1)),
            (b"\xff\xfex", 2, (0, 2)),
            ("a\u2028b\x0cc\x85".encode(), 7, (0, 5)),
        ],
    )
    def test_places(self, text, offset, position):
        """Characters are code points, and only three line ends are line ends."""
        assert position_at(text, offset) == position

    def test_empty(self):
        """An empty text has one line with one place."""
        assert offset_at(b"", 1, 1) == 0
        assert position_at(b"", 0) == (0, 0)

    @pytest.mark.parametrize(
        ("line", "column", "message"),
        [
            (4, 1, "line 4 does not exist: the text has 3 lines"),
            (0, 1, "line 0 does not exist"),
            (
                2,
                4,
                "column 4 does not exist on line 2: it has 2 characters, so the last column is 3",
            ),
            (1, 3, "it has 1 character,"),
            (1, 0, "column 0 does not exist"),
        ],
    )
    def test_outside(self, line, column, message):
        """A position outside the text says how far the text goes."""
        with pytest.raises(DocumentError, match=message):
            offset_at("a\r\n你好\n".encode(), line, column)

    @pytest.mark.parametrize("offset", [-1, 4])
    def test_offset_outside(self, offset):
        """An offset outside the text is the caller's mistake."""
        with pytest.raises(ValueError, match="outside the text"):
            position_at(b"abc", offset)

    def test_large(self):
        """A long text and a long line are places like others."""
        text = b"x = 1\r\n" * 200_000 + b"y" * 2_000_000

        assert offset_at(text, 200_001, 1_000_001) == 2_400_000
        assert position_at(text, 2_400_000) == (200_000, 1_000_000)

    @given(documents)
    def test_line_bounds(self, text):
        """The lines, joined with what lies between them, are the text."""
        bounds = sorted({line_bounds(text, offset) for offset in range(len(text) + 1)})

        assert [text[start:end] for start, end in bounds] == with_lf(text).split(b"\n")
        assert all(b"\r" not in text[start:end] for start, end in bounds)


class TestSnapshot:
    def test_cursor_outside(self):
        """A snapshot cannot have its cursor outside the text."""
        with pytest.raises(ValueError, match="cursor 4"):
            Snapshot("file:///a.py", 0, b"abc", 4, "python")

    def test_immutable(self):
        """A snapshot does not change."""
        snapshot = Snapshot("file:///a.py", 0, b"abc", 3, "python")

        with pytest.raises(AttributeError):
            snapshot.cursor = 0


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("a.py", "python"),
        ("src/App.TSX", "typescriptreact"),
        (r"C:\src\main.rs", "rust"),
        ("deploy.sh", "shellscript"),
        ("tsconfig.json", "jsonc"),
        ("package.json", "json"),
        ("Dockerfile", "dockerfile"),
        ("Makefile", "makefile"),
        ("py", "plaintext"),
        ("notes.txt", "plaintext"),
        ("-", "plaintext"),
        ("archive.d/readme", "plaintext"),
    ],
)
def test_language_of(path, language):
    """The file's name decides, in any case and on any system."""
    assert language_of(path) == language
