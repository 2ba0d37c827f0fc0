"""The page of `--explain`: what it says, and that no text can do anything to the terminal."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from server.bans import BanReport
from server.engine import ModelInfo
from server.explain import explain
from server.grammar.report import GrammarReport
from server.report import Completion, HealingReport, Item, TokenCounts
from server.snapshot import Snapshot
from server.terminal import crop_left, crop_right
from server.visible import visible

INFO = ModelInfo(
    path="/models/tiny.gguf",
    name="tiny",
    description="llama 1B F32",
    size_bytes=1_500,
    vocabulary_type="byte-level BPE",
    backend="CPU",
    layers=3,
    offloaded_layers=0,
    note=None,
    context_tokens=4096,
    add_bos=False,
    trees=True,
)
HEALED = HealingReport(
    mode="exact",
    backed_up_tokens=1,
    backed_up_text="els",
    covers=3,
    tree_tokens=2,
    forward_passes=1,
    candidates=(("ius", 0.75), ("ius ", 0.2)),
)
PAGE = """\
t.py:2:16  python

2 |     return celsius * 2
  |             ~~~+++++++
    ~ typed again by the model   + suggested

suggestion  "ius * 2"
replaces    nothing: it is inserted at the cursor
probability 59.2% of all of it
score       -0.105 (90% a token in the mean)
confidence  80% for the line, 90% for its first word (calibrated on another
            model)
rules       one line
ended by    stop rule
healing     exact: 1 token taken back, "els"
            3 covers looked at, 2 tree tokens, 1 forward pass
first text  "ius"    75.0%  ###############
            "ius "   20.0%  ####
grammar     off: switched off (grammar.mode)
prompt      fim (the text on both sides of the cursor)
tokens      13 prompt (4 reused), 20 evaluated, 5 generated
time        loading the model 1.23 s, first text 42 ms
model       tiny (llama 1B F32, 1.5 kB)
            /models/tiny.gguf
runs on     CPU (0 of 3 layers on a GPU, context of 4,096 tokens)
"""


@pytest.fixture(autouse=True)
def _piped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


def completion(text: str | None, at: tuple[int, int], replaced: int = 0, **changes) -> Completion:
    end = (at[0], at[1] + replaced)
    items = () if text is None else (Item(text, at, end, -0.105, replaced, 0.8, 0.9, 0.592),)
    usual = Completion(
        items=items,
        empty_reason=None if items else "the model wrote nothing",
        ended="stop rule",
        rules=("one line",),
        healing=HEALED,
        tokens=TokenCounts(13, 4, 20, 5),
        timing_ms={"load_model": 1234.5, "first_text": 42.0},
        prompt="fim",
        model=INFO,
        grammar=GrammarReport("off", "python", reason="switched off (grammar.mode)"),
    )
    return replace(usual, **changes)


def snapshot(text: str) -> Snapshot:
    before, _, after = text.partition("║")
    return Snapshot("t.py", 0, (before + after).encode(), len(before.encode()), "python")


def page(capsys: pytest.CaptureFixture[str], *arguments) -> str:
    explain(*arguments)
    return capsys.readouterr().out


def test_the_whole_page(capsys):
    """The page is plain text when piped, and says everything that the report holds."""
    shown = page(capsys, snapshot("def f(c):\n    return cels║\n"), completion("ius * 2", (1, 15)))

    assert shown == PAGE


def test_an_engine_elsewhere(capsys):
    """Where its layers are is not known, and nothing is said of them."""
    model = replace(INFO, backend="vllm at http://gpu-box:8000", layers=0)
    shown = page(capsys, snapshot("a║\n"), completion("b", (0, 1), model=model))

    assert "vllm at http://gpu-box:8000 (context of 4,096 tokens)" in " ".join(shown.split())


def test_a_replaced_range_is_named(capsys):
    """What the suggestion replaces is quoted, and is not shown after it a second time."""
    healing = HealingReport(mode="off")
    given = completion("w)", (0, 8), 1, healing=healing)

    shown = page(capsys, snapshot("print(ro║)  # go\n"), given)

    assert "1 | print(row)  # go\n  |         ++\n" in shown
    assert 'replaces    ")" (column 9)\n' in shown
    assert "healing     off: the text stays as it was typed" in shown


def test_nothing_to_show_has_a_reason(capsys):
    """Without a suggestion the page marks the cursor and says why there is none."""
    shown = page(capsys, snapshot("x = els║)"), completion(None, (0, 7)))

    assert "1 | x = els)\n  |     ~~~^\n" in shown
    assert "no text     nothing is suggested: the model wrote nothing\n" in shown


def test_notes_are_told_once(capsys):
    """A note that both the request and healing carry is printed once."""
    given = completion(None, (0, 7), notes=("no trees",), healing=replace(HEALED, note="no trees"))

    assert page(capsys, snapshot("x = els║"), given).count("no trees") == 1


def test_drafts(capsys):
    """Drafted tokens are named where there were any."""
    drafts = TokenCounts(13, 4, 29, 12, drafted=9, accepted=7)
    shown = page(capsys, snapshot("x║\n"), completion(" = 1", (0, 1), tokens=drafts))

    assert "29 evaluated, 12 generated, 9 drafted (7 accepted)" in " ".join(shown.split())


def test_the_grammar(capsys):
    """What was checked, why not more, and whether what follows fits."""
    on = GrammarReport("on", "python", "structural", "window: line 3 does not fit python", 120, 0.5)
    grammar = replace(on, checks=12, refused=1, fits=True)

    shown = page(capsys, snapshot("x = els║)"), completion("ius", (0, 7), grammar=grammar))

    assert "grammar     python, structural: 12 texts asked about, 1 refused\n" in shown
    assert "            window: line 3 does not fit python\n" in shown
    assert "            what follows the cursor fits after the suggestion\n" in shown


def test_wide_characters_are_marked_by_their_cells(capsys):
    """Marks stand under what they mark, also where a character takes two cells."""
    healing = replace(HEALED, backed_up_text="世")

    shown = page(capsys, snapshot("# 你世║\n"), completion("界", (0, 4), healing=healing))

    assert "1 | # 你世界\n  |     ~~++\n" in shown


HOSTILE = "[red]\x1b[2J\x1b]0;title\x07\r\t\u202e\u2028\x00:smile: \\n"


def test_hostile_text_is_shown_and_not_obeyed(capsys):
    """Escape sequences, control and direction marks are made visible; markup stays as it is."""
    given = completion(
        HOSTILE.replace("\r", ""),
        (0, 8),
        rules=(HOSTILE,),
        notes=(HOSTILE,),
        healing=replace(HEALED, candidates=((HOSTILE, 0.5),), backed_up_text="\t[b]"),
        model=replace(INFO, name=HOSTILE, path=HOSTILE, backend=HOSTILE),
        timing_ms={HOSTILE: 1.0},
    )
    shown = page(capsys, replace(snapshot("a [/]\t[b]║"), uri=HOSTILE, language=HOSTILE), given)

    assert all(character.isprintable() for character in shown.replace("\n", ""))
    assert "1 | a [/]␉[b][red]␛[2J␛]0;title␇␉<U+202E><U+2028>␀:smile: \\n\n" in shown
    assert f"note        {visible(HOSTILE)}"[:60] in shown


def test_a_long_line_is_cut_on_both_sides(capsys):
    """A line of two megabytes takes one line of the page, with the cursor in sight."""
    text = "a" * 1_000_000 + "els║" + "z" * 1_000_000

    shown = page(capsys, snapshot(text), completion("ius", (0, 1_000_003)))

    line = shown.splitlines()[2]
    assert len(line) == 80
    assert "aaaelsiuszzz" in line
    assert line.startswith("1 | …")
    assert line.endswith("…")


def test_invalid_utf8_is_shown(capsys):
    """Bytes that are no characters are shown by their value."""
    given = Snapshot("t", 0, b"x = '\xffels", 9, "python")

    assert "1 | x = '\\xffelsius\n" in page(capsys, given, completion("ius", (0, 9)))


@given(st.text(), st.integers(1, 30))
def test_cropped_text_fits(text, cells):
    """Cropping gives at most the cells asked for and keeps a text that fits as it is."""
    text = visible(text)

    for cropped in (crop_left(text, cells), crop_right(text, cells)):
        assert cell_len(cropped) <= cells
        assert cropped == text or ("…" in cropped and cell_len(text) > cells)


@given(st.text())
def test_visible_text_is_printable(text):
    """Whatever the text, its visible form has no control characters, and is shown only once."""
    assert visible(text).isprintable()
    assert visible(visible(text)) == visible(text)


def test_a_slow_ban(capsys):
    """What bans could not do is told, if they did nothing else, too."""
    bans = BanReport(note="the pattern 'a' takes too long")
    shown = page(capsys, snapshot("x = ║\n"), completion(None, (0, 4), bans=bans))

    assert "bans        went back 0 times, refused 0 (the pattern 'a' takes too long)\n" in shown
