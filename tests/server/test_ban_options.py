"""The lists of what is banned: they add up, wrong patterns are named, and requests keep to them."""

from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.answers import BANNED
from server.bans import Bans
from server.completion_options import CompletionOptions
from server.lsp_items import completion_options
from server.option_layers import merge
from server.option_table import TABLE
from server.rules import place_at
from server.snapshot import Snapshot, line_bounds, with_lf
from tests.server.documents import documents
from tests.server.engines import Scripted, Watched, around

WORKSPACE = "/home/a/midtoken.toml"
EDITOR, LATER = "initializationOptions", "workspace/configuration"


def filters(**lists):
    return {"filters": lists}


def for_python(**lists):
    return {"languages": {"overrides": {"python": filters(**lists)}}}


class TestLists:
    def test_workspace_and_user_add_up(self):
        """A workspace may ban more; neither takes away what the other one bans."""
        options, problems = merge(
            [
                (WORKSPACE, filters(bans=["a", "b"], banPatterns=["x+"])),
                (EDITOR, filters(bans=["b", "c"], banPatterns=[])),
            ]
        )

        assert problems == []
        assert options.filters.bans == ("a", "b", "c")
        assert options.filters.ban_patterns == ("x+",)

    def test_a_users_later_list_replaces_his_own(self):
        """What somebody takes from his settings is no longer banned."""
        options, _ = merge(
            [
                (WORKSPACE, filters(bans=["a"])),
                (EDITOR, filters(bans=["b", "c"])),
                (LATER, filters(bans=["c"])),
            ]
        )

        assert options.filters.bans == ("a", "c")

    def test_languages_add_to_it(self):
        """A language's list is added to the general one, a workspace's to the user's."""
        options, problems = merge(
            [
                (WORKSPACE, {**filters(bans=["a"]), **for_python(bans=["p"])}),
                (EDITOR, {**filters(bans=["b"]), **for_python(bans=["q"], banPatterns=["z"])}),
            ]
        )

        assert problems == []
        python = options.for_language("python").filters
        assert set(python.bans) == {"a", "b", "p", "q"}
        assert python.ban_patterns == ("z",)
        assert options.for_language("c").filters.bans == ("a", "b")

    @pytest.mark.parametrize("emptied", [filters(bans=[]), for_python(bans=[])])
    def test_a_workspace_cannot_empty_it(self, emptied):
        """Whatever a folder says, what a person bans is banned."""
        options, _ = merge([(WORKSPACE, emptied), (EDITOR, filters(bans=["a"]))])

        assert options.for_language("python").filters.bans == ("a",)

    def test_wrong_patterns(self):
        """Each wrong pattern is named with the reason; the others count."""
        options, problems = merge([(EDITOR, filters(banPatterns=["a+", "b*", "(", 1]))])

        assert options.filters.ban_patterns == ("a+",)
        name = f"{EDITOR}: midtoken.filters.banPatterns: "
        assert [str(problem) for problem in problems] == [
            name + '"b*" can\'t be used (it matches empty text); this entry is left out',
            name + '"(" can\'t be used (it is no pattern: missing ) at position 1); this entry is '
            "left out",
            name + "1 can't be used (allowed is a list of patterns); this entry is left out",
        ]

    def test_wrong_strings(self):
        """Each one is named, and what is allowed; the others count."""
        options, problems = merge([(WORKSPACE, filters(bans=["a", "", 1, ["b"]]))])

        assert options.filters.bans == ("a",)
        name = f"{WORKSPACE}: midtoken.filters.bans: "
        reason = "can't be used (allowed is a list of strings that are not empty)"
        assert [str(problem) for problem in problems] == [
            f"{name}{shown} {reason}; this entry is left out" for shown in ('""', "1", '["b"]')
        ]

    def test_nested_too_deeply(self):
        """A workspace's pattern that can't be compiled stops nothing."""
        options, [problem] = merge([(WORKSPACE, filters(banPatterns=["(" * 900, "a"]))])

        assert options.filters.ban_patterns == ("a",)
        assert "(it is nested too deeply); this entry is left out" in str(problem)

    @pytest.mark.parametrize("value", [{"a": "b"}, 1, "print("])
    def test_no_lists(self, value):
        """What is no list is refused, and what is allowed is said."""
        options, [problem] = merge([(EDITOR, filters(bans=value))])

        assert options.filters.bans == ()
        assert "allowed is a list of strings" in str(problem)

    def test_may_be_set_by_anybody(self):
        """A workspace may set them, and a language may have its own."""
        for key in ("filters.bans", "filters.banPatterns"):
            assert not TABLE[key].user_only
            assert TABLE[key].overridable


def snapshot_of(before, after=b"", language="python"):
    return Snapshot("a.py", 0, before + after, len(before), language)


class TestRequests:
    def test_options_of_a_language(self):
        """A request holds the lists of its document's language."""
        options, _ = merge([(EDITOR, {**filters(bans=["a"]), **for_python(banPatterns=["b"])})])
        request = completion_options(options, "python", snapshot_of(b"x"))

        assert (request.bans, request.ban_patterns) == (("a",), ("b",))

    def test_a_wrong_pattern(self):
        """It is named."""
        with pytest.raises(ValueError, match=r"the pattern 'a\|' can't be used: it matches"):
            CompletionOptions(ban_patterns=("a|",))

    @pytest.mark.parametrize(
        ("before", "after", "script", "bans", "shown"),
        [
            (b"x = ", b"\n", b"total", ["print("], "total"),
            (b"pr", b"(x)\n", b"int", ["print("], None),
            (b"f(a", b")", b"b", ["ab)"], None),
            (b"f(a", b")", b"b", ["b)c"], "b)"),
            (b"print(", b")\n", b"x", ["print("], "x)"),
        ],
    )
    def test_what_is_around_it(self, tiny_completer, before, after, script, bans, shown):
        """What rules and the text after the cursor make of a suggestion is judged as well."""
        engine = Scripted(tiny_completer.engine, tiny_completer.tokenization.encode(script))
        options = CompletionOptions("off", grammar="off", bans=tuple(bans))

        completion = around(tiny_completer, engine).complete(snapshot_of(before, after), options)

        assert [item.text for item in completion.items] == ([] if shown is None else [shown])
        assert completion.empty_reason == (BANNED if shown is None else None)
        assert completion.as_json()["bans"] == {"went_back": 0, "refused": 0, "note": None}

    def test_a_slow_pattern(self, tiny_completer):
        """The reason names it, and the model is not asked for what nobody could judge."""
        engine = Watched(tiny_completer.engine)
        options = CompletionOptions(ban_patterns=("(x+x+)+y",), candidates=3)
        before = b"# " + b"x" * 900 + b"\ny = "

        completion = around(tiny_completer, engine).complete(snapshot_of(before), options)

        reason = "the pattern '(x+x+)+y' takes too long"
        assert (completion.items, completion.empty_reason) == ((), reason)
        assert completion.bans.note == reason
        assert completion.tokens.evaluated == 0
        assert completion.grammar.state == "on"

    def test_a_slow_pattern_around_a_text(self, tiny_completer):
        """So it is where only what follows the cursor is too much for it."""
        engine = Scripted(tiny_completer.engine, tiny_completer.tokenization.encode(b"a"))
        options = CompletionOptions("off", grammar="off", ban_patterns=("(x+x+)+y",))
        document = snapshot_of(b"y = ", b"\n" + b"x" * 900)

        completion = around(tiny_completer, engine).complete(document, options)

        reason = "the pattern '(x+x+)+y' takes too long"
        assert (completion.items, completion.empty_reason) == ((), reason)
        assert completion.bans.note == reason

    @given(documents(), st.lists(st.text("\n ()aeinrst", min_size=1, max_size=2), max_size=6))
    @settings(deadline=None, max_examples=100)
    def test_no_suggestion_holds_one(self, tiny_completer, document, strings):
        """On any document, whatever the rules do, and while it is written, too."""
        text, cursor = document
        snapshot = Snapshot("a.py", 0, text, cursor, "python")
        shown = []
        options = CompletionOptions(max_tokens=8, multiline="auto", bans=tuple(strings))

        with patch("server.asked.TELL_S", 0):
            completion = tiny_completer.complete(snapshot, options, shown.append)

        line, _ = line_bounds(text, cursor)
        before = with_lf(text[:line]) + place_at(snapshot).typed
        for item in completion.items:
            assert not Bans(strings, ()).are_in(before, with_lf(item.text.encode()))
        for one in shown:
            assert not Bans(strings, ()).are_in(before, with_lf(one.encode()))
