"""Which document has which schema; missing, wrong and changing files; the ladder."""

import json
import os
import threading
import time

import pytest

from server.errors import GrammarError
from server.grammar import schemas
from server.grammar.json_grammar import json_ladder, jsonc_ladder
from server.grammar.json_schema import Schema
from server.grammar.kept import KeptStates
from server.grammar.ladder import climb
from server.grammar.schema_nodes import MOST_BYTES
from server.grammar.schemas import HEAD, schema_for, with_schema

SCHEMA = {
    "properties": {"kind": {"enum": ["one", "two"]}, "size": {"type": "integer"}},
    "additionalProperties": False,
}


@pytest.fixture
def schema(tmp_path):
    path = tmp_path / "s.json"
    path.write_text(json.dumps(SCHEMA))
    return path


def climbed(path, text, ladder=json_ladder):
    standing = climb(KeptStates(), "d", "json", with_schema(path, ladder), text)
    return standing.state, standing.report


class TestSchemaFor:
    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("./s.json", "s.json"),
            ("s.json#", "s.json"),
            ("../s.json", "../s.json"),
            ("", None),
            ("#/definitions/x", None),
            ("http://json-schema.org/draft-07/schema#", None),
            ("HTTPS://json.schemastore.org/package.json", None),
            ("vscode://schemas/settings", None),
            ("http://[", None),
            # Paths on other machines, as Windows has them: nothing is asked of those.
            ("//host/share/s.json", None),
            ("\\\\host\\share\\s.json", None),
            ("/\\host/share/s.json", None),
            ("file:////host/share/s.json", None),
            ("file://///host/share/s.json", None),
            ("FILE://host/share/s.json", None),
        ],
    )
    def test_a_document_names_its_schema(self, tmp_path, name, expected):
        document = tmp_path / "d.json"
        text = json.dumps({"a": {}, "$schema": name}).encode()

        found = schema_for(document.as_uri(), text, {})

        assert found == (tmp_path / expected if expected else None)

    def test_by_a_whole_path(self, schema):
        by_host = schema.as_uri().replace("///", "//localhost/")
        for name in (schema.as_uri(), str(schema), by_host):
            assert schema_for("untitled:x", json.dumps({"$schema": name}).encode(), {}) == schema

    @pytest.mark.parametrize(
        "text",
        [
            b'[{"$schema": "./s.json"}]',
            b'{"a": {"$schema": "./s.json"}}',
            b'{"a": "\\"$schema\\": \\"./s.json\\""}',
            b'{"$schema": 1}',
            b'{"$schema": "\\x"}',
            b" " * HEAD + b'{"$schema": "./s.json"}',
            b"",
        ],
    )
    def test_only_at_the_top(self, text):
        assert schema_for("file:///w/d.json", text, {}) is None

    def test_the_document_comes_before_the_configuration(self, tmp_path):
        document, configured = (tmp_path / "d.json").as_uri(), {"d.json": "/etc/c.json"}

        assert str(schema_for(document, b"{", configured)) == "/etc/c.json"
        assert schema_for(document, b'{"$schema": "x.json"', configured) == tmp_path / "x.json"
        remote = b'{"$schema": "https://x/y.json"'
        assert str(schema_for(document, remote, configured)) == "/etc/c.json"


class TestLadder:
    def test_values_and_keys_complete_to_valid_ones(self, schema):
        state, report = climbed(schema, b'{"size": 1, "kind": "')

        assert report.level == "window"
        assert state.check(b"two")
        assert not state.check(b"three")

    def test_comments_are_taken_as_they_come(self, schema):
        state, _ = climbed(schema, b'// x\n{"size": 1, ')
        assert state.check(b'/* x */ "kind": "one",}')
        assert not state.check(b'"size"')

        state, _ = climbed(schema, b'{"size": 1, ')
        assert not state.check(b"//")

    def test_spelling_is_plain_until_a_person_uses_escapes(self, schema):
        """A model that may write an escape drifts into one."""
        state, report = climbed(schema, b'{"size": 1, "kind": "')
        assert report.reason is None
        assert not state.check(b"\\u")
        state, _ = climbed(schema, b'{"size": "x", "kind": "')
        assert not state.check(b"\\u")
        assert not climbed(schema, b"{")[0].check(b'"\\u')

        for above in (b'"size": 1', b'"size": "x"'):
            state, report = climbed(schema, b"{" + above + b', "kind": "\\u006f')
            assert "does not fit" in report.reason
            assert state.check(b"ne")
            assert not state.check(b"nly")

    def test_a_wrong_value_above_leaves_the_keys(self, schema):
        state, report = climbed(schema, b'{"size": "x", "kind": "')

        assert "schema" in report.reason
        assert state.check(b"one")
        assert not state.check(b"three")

    def test_an_unknown_member_at_the_cursor_is_json(self, schema):
        state, report = climbed(schema, b'{"other": ')

        assert "does not fit" in report.reason
        assert state.check(b"1")

    def test_a_schema_that_changes_is_read_anew(self, schema):
        assert not climbed(schema, b'{"kind": "')[0].check(b"three")

        schema.write_text(json.dumps(SCHEMA).replace("two", "three"))
        os.utime(schema, ns=(1, 1))

        assert climbed(schema, b'{"kind": "')[0].check(b"three")

    @pytest.mark.parametrize(
        ("content", "reason"),
        [
            (None, "is missing"),
            (b'{\n"a": ', "is wrong in line 2: expecting value"),
            (b" " * (MOST_BYTES + 1), "larger than 2 MiB"),
            (b"false", "no document is valid"),
        ],
    )
    def test_a_wrong_schema_is_named_and_json_is_left(self, tmp_path, content, reason):
        path = tmp_path / "wrong.json"
        if content is not None:
            path.write_bytes(content)

        state, report = climbed(path, b'{"a": ')

        assert report.state == "on"
        assert str(path) in report.reason
        assert reason in report.reason
        assert state.check(b"1")

    def test_too_complicated_to_compile(self, schema, monkeypatch, caplog):
        """Nobody wrote the grammar's lines, so none is named."""
        refused = Schema("start: missing", frozenset())
        monkeypatch.setattr(schemas, "compile_schema", lambda *arguments: refused)

        reason = climbed(schema, b"{")[1].reason

        assert reason == f"window: the schema {schema} is too large or complicated to be compiled"
        assert [record.getMessage() for record in caplog.records] == [reason[8:]]

    def test_a_slow_schema_is_not_waited_for(self, schema, monkeypatch):
        """It is read in the background, too; until then there is JSON, and no rung waits again."""
        ready, compile_schema = threading.Event(), schemas.compile_schema

        def slow(*arguments):
            assert ready.wait(30)
            return compile_schema(*arguments)

        monkeypatch.setattr(schemas, "compile_schema", slow)
        monkeypatch.setattr(schemas, "COMPILE_S", 0.01)
        state, report = climbed(schema, b'{"kind": "')
        assert report.reason.count("is not compiled yet") == 1
        assert state.check(b"three")

        ready.set()
        while climbed(schema, b'{"kind": "')[1].reason is not None:
            time.sleep(0.001)

    def test_what_is_no_plain_file_is_not_opened(self, tmp_path):
        path = tmp_path / "pipe.json"
        os.mkfifo(path)

        assert "not a regular file" in climbed(path, b"[")[1].reason

    def test_a_window_needs_the_schema(self, tmp_path):
        rung = with_schema(tmp_path / "none.json", jsonc_ladder)(b"{")[0]

        with pytest.raises(GrammarError, match="is missing"):
            rung.window(b"{")
        with pytest.raises(GrammarError, match="is missing"):
            rung.source.lark()

    def test_where_json_has_no_ladder_a_schema_has_none(self, schema):
        assert with_schema(schema, lambda before: ())(b"{") == ()
