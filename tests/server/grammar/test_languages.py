"""Which languages have which grammars."""

import pytest

from server import snapshot
from server.grammar import templates
from server.grammar.kept import KeptStates
from server.grammar.ladder import climb
from server.grammar.languages import LADDERS, levels, prepare


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


def test_identifiers():
    """The identifiers are those that files are known by."""
    assert set(LADDERS) <= {*snapshot._EXTENSIONS.values(), *snapshot._NAMES.values()}
