"""Which languages have which grammars."""

import pytest

from server.grammar import templates
from server.grammar.kept import KeptStates
from server.grammar.ladder import climb
from server.grammar.languages import LADDERS, ladder_for, levels, prepare


@pytest.mark.parametrize("language", LADDERS)
class TestLanguages:
    def test_empty_document(self, language):
        """The best grammar of a language allows an empty document, without complaint."""
        prepare(language)
        report = climb(KeptStates(), "a", language, LADDERS[language], b"").report

        assert (report.state, report.level, report.reason) == ("on", levels(language)[0], None)

    def test_all_compile(self, language):
        """Every grammar that an empty document could have compiles."""
        for rung in LADDERS[language](b""):
            assert templates.get(rung.source, 60)

    def test_any_bytes(self, language):
        """Odd texts are no reason to fail."""
        for before in (
            b"\x00",
            b"\xff\xfe",
            b"\r",
            b"(" * 300,
            b"\n" * 999,
            b'\'"""\'/*',
            b"x\x80",
        ):
            assert climb(KeptStates(), "a", language, LADDERS[language], before).report


def test_levels():
    """Languages that nothing is known of have none."""
    assert levels("klingon") == ()


class TestDocuments:
    def test_language(self):
        """Most documents have their language's ladder, and unknown languages have none."""
        assert ladder_for("file:///a.py", "python", b"", {}, {}) is LADDERS["python"]
        assert ladder_for("file:///a.klingon", "klingon", b"", {}, {}) is None

    def test_own_grammar(self, tmp_path):
        """A grammar that a person attached comes first, for a language or for files."""
        path = tmp_path / "calc.lark"
        path.write_text("start: /[0-9+]*/")
        for language, name in (("klingon", "klingon"), ("python", "*.calc")):
            ladder = ladder_for("file:///a.calc", language, b"", {name: str(path)}, {})
            standing = climb(KeptStates(), "a", language, ladder, b"1+")

            assert standing.report.level == "full"
            assert standing.state.check(b"2")
            assert not standing.state.check(b"x")

    def test_missing_grammar(self, tmp_path):
        """One that is missing is a reason, and no error."""
        ladder = ladder_for("a.calc", "x", b"", {"*.calc": str(tmp_path / "no.lark")}, {})
        report = climb(KeptStates(), "a", "x", ladder, b"1").report

        assert report.state == "off"
        assert "no.lark is missing" in report.reason

    def test_schema(self, tmp_path):
        """A JSON document that names a schema, or is attached to one, is checked by it."""
        path = tmp_path / "a.schema.json"
        path.write_text('{"type": "object", "properties": {"name": {"enum": ["x"]}}}')
        document = tmp_path / "a.json"
        texts = {
            b'{"$schema": "./a.schema.json", "name": "': {},
            b'{"name": "': {"a.json": str(path)},
        }
        for before, schemas in texts.items():
            ladder = ladder_for(document.as_uri(), "json", before, {}, schemas)
            standing = climb(KeptStates(), "a", "json", ladder, before)

            assert standing.state.check(b'x"')
            assert not standing.state.check(b'y"')

    def test_wrong_schema(self, tmp_path):
        """A wrong schema leaves JSON's own ladder, and a reason."""
        path = tmp_path / "a.schema.json"
        path.write_text("{")
        ladder = ladder_for("a.json", "json", b"{", {}, {"a.json": str(path)})
        report = climb(KeptStates(), "a", "json", ladder, b"{").report

        assert report.state == "on"
        assert "a.schema.json" in report.reason
