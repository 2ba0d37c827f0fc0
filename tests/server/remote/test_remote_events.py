"""Server-sent events, as engines send them and as networks cut them."""

import doctest
import json

from hypothesis import given
from hypothesis import strategies as st

from server.remote import events as module
from server.remote.events import events

values = st.dictionaries(st.text(max_size=5), st.text(max_size=20), max_size=3)


class TestEvents:
    @given(st.lists(values), st.sampled_from([b"\n", b"\r\n"]), st.booleans())
    def test_what_is_sent_comes_out(self, sent, end, has_space):
        """Each event once and in order, with comments and other fields between them."""
        start = b"data: " if has_space else b"data:"
        lines = []
        for value in sent:
            lines += [b": keep-alive" + end, end, b"event: message" + end]
            lines += [start + json.dumps(value).encode() + end, end]

        assert [json.loads(event) for event in events(lines)] == sent

    @given(st.lists(st.binary(max_size=20)))
    def test_nothing_breaks_it(self, lines):
        """Any lines give some texts."""
        assert all(isinstance(event, str) for event in events(lines))

    def test_the_end_of_the_stream_ends_an_event(self):
        assert list(events([b"data: a\n", b"data: b\n"])) == ["a\nb"]

    def test_errors_of_llama_server(self):
        assert list(events([b'error: {"code": 500}\n', b"\n"])) == ['{"code": 500}']

    def test_examples(self):
        """Those in the docstrings hold."""
        assert doctest.testmod(module).failed == 0
