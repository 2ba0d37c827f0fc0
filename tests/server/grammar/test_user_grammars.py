"""Grammars of one's own: attached by language or glob; wrong ones named with line and reason."""

import os

import pytest

from server.errors import GrammarError
from server.grammar.kept import KeptStates
from server.grammar.ladder import climb
from server.grammar.user_grammars import MOST_BYTES, MOST_TEXT, read_grammar, user_ladder

LARK = 'start: (N "\\n")*\nN: /[0-9]+/\n'
GBNF = '# numbers\nroot ::= ([0-9]+ "\\n")*\n'


def written(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def climbed(path, text):
    ladder = user_ladder("file:///w/a.num", "plaintext", {"*.num": str(path)})
    standing = climb(KeptStates(), "d", "plaintext", ladder, text)
    return standing.state, standing.report


@pytest.mark.parametrize(("name", "content"), [("a.lark", LARK), ("a.gbnf", GBNF)])
def test_a_grammar_describes_the_whole_document(tmp_path, name, content):
    path = written(tmp_path, name, content)

    state, report = climbed(path, b"12\n3")
    assert (report.state, report.level) == ("on", "full")
    assert state.check(b"4\n5")
    assert not state.check(b"x")

    assert climbed(path, b"12\nx")[1].state == "off"
    assert "line 2 does not fit" in climbed(path, b"12\nx")[1].reason


def test_by_language_too_or_not_at_all(tmp_path):
    configured = {"calc": str(written(tmp_path, "a.lark", LARK))}

    assert user_ladder("untitled:x", "calc", configured) is not None
    assert user_ladder("untitled:x", "python", configured) is None
    assert user_ladder("untitled:x", "calc", {}) is None


def test_a_grammar_that_changes_is_read_anew(tmp_path):
    path = written(tmp_path, "a.gbnf", GBNF)
    assert not climbed(path, b"1")[0].check(b"x")

    path.write_text(GBNF.replace("0-9", "0-9x"))
    os.utime(path, ns=(1, 1))

    assert climbed(path, b"1")[0].check(b"x")


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("none.lark", None, "is missing"),
        ("a.txt", LARK, "should end in .lark or .gbnf"),
        ("a.lark", "start: a\n\na: B\n", "is wrong in line 3: "),
        ("a.lark", "%llguidance {}\nstart: b\nb: C\n", "is wrong in line 3: "),
        ("a.lark", 'b: "a"\n', "is wrong"),
        ("a.lark", "start: /(?=a)b/\n", "is wrong in line 1: "),
        ("a.gbnf", 'root ::= "a"\nb ::= c', "is wrong in line 2: the rule c is not defined"),
        (
            "a.gbnf",
            "root ::= " + "(" * 20 + '"a"' + "*" * 20 + ")" * 20,
            "is too large or complicated",
        ),
        ("a.gbnf", b"#\n#\n\xff", "is wrong in line 3: not UTF-8"),
        ("a.gbnf", b"#" * (MOST_BYTES + 1), "is larger than 256 KiB"),
    ],
)
def test_a_wrong_grammar_is_named(tmp_path, name, content, reason):
    path = tmp_path / name if content is None else written(tmp_path, name, content)

    state, report = climbed(path, b"1")

    assert (state, report.state) == (None, "off")
    assert str(path) in report.reason
    assert reason in report.reason
    assert "\n" not in report.reason


def test_what_is_no_plain_file_is_not_opened(tmp_path):
    os.mkfifo(tmp_path / "a.lark")

    with pytest.raises(GrammarError, match="not a regular file"):
        read_grammar(tmp_path / "a.lark")


def test_an_own_directive_keeps_masks_exact(tmp_path):
    """Without `no_forcing`, the engine refuses to go on in another way than its own."""
    path = written(tmp_path, "a.lark", '%llguidance {"allow_initial_skip": true}\nstart: "a"\n')

    assert read_grammar(path).startswith('%llguidance {"no_forcing": true}')
    assert read_grammar(path).count("\n") == 2


def test_long_documents_are_not_read(tmp_path):
    path = written(tmp_path, "a.lark", LARK)

    assert climbed(path, b"1\n" * MOST_TEXT)[1].state == "off"


def test_left_recursion_and_ambiguity_end_in_time(tmp_path):
    path = written(tmp_path, "a.gbnf", "root ::= root root | [a] root? | [a]{1,3}")

    _, report = climbed(path, b"a" * 3000)

    assert report.state == "off"
    assert "longer than" in report.reason or "ambiguous" in report.reason


def test_too_many_terminals_are_refused(tmp_path):
    path = tmp_path / "many.lark"
    path.write_text("start: T0\n" + "".join(f'T{i}: "{i}"\n' for i in range(1001)))
    with pytest.raises(GrammarError, match="has 1,001 terminals, and 1,000 are allowed"):
        read_grammar(path)
