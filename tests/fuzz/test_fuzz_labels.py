"""Lists of labels, and names that are found in documents."""

import json
from contextlib import suppress

from hypothesis import assume, given
from hypothesis import strategies as st

from server.errors import UsageError
from server.names import names_in
from server.rank_command import labels_of
from tests.fuzz.havoc import damaged, that_ends
from tests.server import test_names

OTHERS = [test_names.test_any_bytes, test_names.test_words_around_a_cursor]
"""Properties that have their place elsewhere."""

LISTS = [
    b'["get", "get_all", "\\u00e9"]',
    b"get\nget_all\r\n\xc3\xa9\n",
    b"\xef\xbb\xbf[]",
    b"[[[[",
]
LANGUAGES = ["python", "rust", "css", "php", "shellscript", "haskell", "plaintext"]


@given(st.lists(st.text().filter(lambda label: "\n" not in label and not label.endswith("\r"))))
def test_lines(labels):
    """Labels by lines are what they were, in UTF-8."""
    data = "".join(f"{label}\n" for label in labels).encode("utf-8", "surrogatepass")
    assume(not data.lstrip().startswith((b"[", b"\xef\xbb\xbf")))

    assert labels_of(data) == [label.encode("utf-8", "surrogatepass") for label in labels]


@given(st.lists(st.text()), st.sampled_from(["utf-8", "utf-8-sig"]))
def test_json(labels, encoding):
    """Labels in JSON are what they were."""
    assert labels_of(json.dumps(labels).encode(encoding)) == labels


@given(st.data())
def test_any_list(data):
    """Any bytes are labels, or a usage error."""
    content = data.draw(st.binary() | damaged(LISTS))
    with that_ends(), suppress(UsageError):
        assert all(isinstance(label, str | bytes) for label in labels_of(content))


@given(st.lists(st.sampled_from([b"a", b"_", b"-", b"$", b"1", b"\xc3\xa9", b"\xff", b" ", b"'"])))
def test_names(pieces):
    """Names are in the text, whatever the language."""
    text = b"".join(pieces)
    for language in LANGUAGES:
        with that_ends():
            found = names_in(text, language)
        assert all(name.text in text for name in found)
