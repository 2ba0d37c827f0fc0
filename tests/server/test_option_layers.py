"""Layers of settings: merged in order, wrong ones named; a workspace may not set everything."""

import os
from dataclasses import is_dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.option_layers import MAX_FILE_BYTES, Problem, merge, read_workspace
from server.option_table import OVERRIDES, TABLE
from server.options import Options, value_of, with_values

words = st.sampled_from([*TABLE, OVERRIDES, "model", "python", "midtoken", "", "a\nb", "trigger"])
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=4),
    max_leaves=12,
)


def editor(settings):
    """The options and problems of settings that an editor sent."""
    return merge([("initializationOptions", settings)])


def messages(problems):
    return [str(problem) for problem in problems]


class TestMerge:
    def test_nothing(self):
        """Without settings, options have their defaults."""
        assert merge([]) == (Options(), [])
        assert editor(None) == (Options(), [])
        assert editor({}) == (Options(), [])

    def test_later_layers_win(self):
        """A value stays until a later layer sets it."""
        options, problems = merge(
            [
                ("midtoken.toml", {"completion": {"maxTokens": 1, "seed": 1}}),
                ("initializationOptions", {"completion": {"maxTokens": 2, "topK": 2}}),
                ("workspace/configuration", {"completion": {"maxTokens": 3, "seed": None}}),
            ]
        )

        completion = options.completion
        assert (completion.max_tokens, completion.top_k, completion.seed) == (3, 2, 1)
        assert problems == []

    @pytest.mark.parametrize(
        "settings",
        [
            {"trigger": {"debounce": 5}},
            {"trigger.debounce": 5},
            {"midtoken.trigger.debounce": 5},
            {"midtoken": {"trigger": {"debounce": 5}}},
            {"midtoken": {"trigger.debounce": 5}},
            {"midtoken.trigger": {"debounce": 5}},
        ],
    )
    def test_ways_to_write_names(self, settings):
        """Names may be nested or dotted, with or without `midtoken`."""
        assert editor(settings) == (with_values(Options(), {"trigger.debounce": 5}), [])

    def test_wrong_value(self):
        """The message names key, value and what is allowed; the value below stays."""
        options, problems = merge(
            [
                ("midtoken.toml", {"completion": {"healing": "one"}}),
                ("workspace/configuration", {"completion": {"healing": "fast", "seed": 7}}),
            ]
        )

        assert options.completion.healing == "one"
        assert options.completion.seed == 7
        assert messages(problems) == [
            (
                'workspace/configuration: midtoken.completion.healing is "fast"; allowed is one of '
                '"exact", "align", "one", "off"; it stays "one"'
            )
        ]

    @pytest.mark.parametrize(
        ("key", "meant"),
        [
            ("completion.maxToken", "completion.maxTokens"),
            ("completion.max_tokens", "completion.maxTokens"),
            ("engine.gpu-layers", "engine.gpuLayers"),
            ("engine.gpulayers", "engine.gpuLayers"),
            ("engine.nGpuLayers", "engine.gpuLayers"),
            ("language.disabled", "languages.disabled"),
        ],
    )
    def test_unknown_key(self, key, meant):
        """An unknown name comes with the closest one that is known."""
        assert messages(editor({key: 1})[1]) == [
            f"initializationOptions: there is no option midtoken.{key}; is midtoken.{meant} meant?"
        ]

    def test_wrong_entries(self):
        """Of paths by name, those that are right are kept; each wrong one is named."""
        files = {"*.zip": 5, "*.calc": "c.lark", "": "x.lark", "*.a": "", "*.b": None}

        options, problems = editor({"grammar": {"files": files, "schemas": {"*.json": []}}})

        assert options.grammar.files == {"*.calc": "c.lark"}
        assert options.grammar.schemas == {}
        rest = "allowed is a path that is not empty, for a name that is not; this entry is left out"
        where = "initializationOptions: midtoken.grammar"
        assert messages(problems) == [
            f'{where}.files: "*.zip" is 5; {rest}',
            f'{where}.files: "" is "x.lark"; {rest}',
            f'{where}.files: "*.a" is ""; {rest}',
            f'{where}.schemas: "*.json" is []; {rest}',
        ]

    def test_unlike_anything(self):
        """A name without a close one is named alone."""
        assert editor({"xyz": 1})[1] == [
            Problem("initializationOptions", "midtoken.xyz", "there is no option midtoken.xyz")
        ]

    def test_not_a_section(self):
        """A value in the place of a section is named; Lua's empty table is not wrong."""
        assert messages(editor({"engine": 3, "trigger": [], "filters": None})[1]) == [
            "initializationOptions: midtoken.engine must be an object, not 3"
        ]
        assert messages(editor("fast")[1]) == [
            'initializationOptions: settings must be an object, not "fast"'
        ]

    @pytest.mark.parametrize("row", [row for row in TABLE.values() if row.user_only])
    @pytest.mark.parametrize("layer", ["midtoken.toml", "/w/pyproject.toml", "anything else"])
    def test_workspace_limits(self, row, layer):
        """What runs, where it comes from and what is written: only the user's editor says."""
        options, [problem] = merge([(layer, {row.key: row.default})])

        assert options == Options()
        assert "can't be set by a workspace" in str(problem)

    def test_long_values_are_cut(self):
        """A message is one short line, whatever was written."""
        [problem] = editor({"model": {"name": ["x\n" * 1000]}, "a\nb": 1})[1][:1]

        assert len(str(problem)) < 250
        assert all("\n" not in text for text in messages(editor({"a\nb": 1})[1]))

    @given(anything, anything)
    def test_takes_anything(self, workspace, settings):
        """No settings stop anything: every option keeps an allowed value, every message is short.

        What a workspace says never changes what only the user may set.
        """
        options, problems = merge([("midtoken.toml", workspace), ("command line", settings)])
        alone, _ = merge([("command line", settings)])

        for key, row in TABLE.items():
            assert row.checked(value_of(options, key)) == value_of(options, key)
        assert all("\n" not in str(problem) for problem in problems)
        for key, row in TABLE.items():
            if row.user_only:
                assert value_of(options, key) == value_of(alone, key)
        for language in options.languages.overrides:
            assert is_dataclass(options.for_language(language))


class TestLanguages:
    def test_overrides(self):
        """A language has its own values, on top of the others, from all layers together."""
        options, problems = merge(
            [
                ("midtoken.toml", {OVERRIDES: {"c++": {"completion": {"seed": 5, "topK": 9}}}}),
                ("command line", {f"{OVERRIDES}.c++.completion.seed": 6, "completion.topK": 1}),
            ]
        )

        assert problems == []
        assert options.completion.seed == 0
        completion = options.for_language("c++").completion
        assert (completion.seed, completion.top_k) == (6, 9)
        assert options.for_language("c") == options

    def test_wrong_overrides(self):
        """Mistakes in them are named like others, and so is what can't differ."""
        settings = {"c": {"model": {"name": "x"}, "trigger": {"debounce": -1}}, "d": 1, "e": None}

        options, problems = editor({"languages": {"overrides": settings}})

        assert options.for_language("c") == with_values(options, {})
        assert messages(problems) == [
            (
                "initializationOptions: midtoken.languages.overrides.c.model.name has no effect: "
                "only options of completion, context, filters, grammar.mode, trigger may differ "
                "between languages"
            ),
            (
                "initializationOptions: midtoken.languages.overrides.c.trigger.debounce is -1; "
                'allowed is an integer of at least 0 and at most 60000, or "auto"; it stays "auto"'
            ),
            "initializationOptions: midtoken.languages.overrides.d must be an object, not 1",
        ]

    def test_more_than_any_number(self):
        """The limit is named where it is the reason."""
        _, [problem] = editor({"completion": {"maxTokens": 10**12}})
        assert str(problem).endswith(
            "maxTokens is 1000000000000; allowed is at most 2147483647; it stays 64"
        )

    @pytest.mark.parametrize("settings", [{"c": {"completion": 3}}, {"c.completion": 3}])
    def test_not_a_section(self, settings):
        """A section of a language that is none, or a name that is none, is named as it is set."""
        _, [problem] = editor({"languages": {"overrides": settings}})
        _, [unknown] = editor({"languages": {"overrides": {"c": {"completion": {"sed": 3}}}}})

        where = "midtoken.languages.overrides.c.completion"
        assert str(problem) == f"initializationOptions: {where} must be an object, not 3"
        assert problem.key == where
        assert unknown.message == f"there is no option {where}.sed; is {where}.seed meant?"

    def test_disabled(self):
        """Nothing is suggested in a language that is disabled."""
        options, _ = editor({"languages": {"disabled": ["markdown"]}})

        assert not options.enabled_for("markdown")
        assert options.enabled_for("python")


def test_thousands_of_unknown_names():
    """The first ones are told with what may be meant; nobody waits for the others."""
    _, problems = editor({f"trigger.debounced{number}": 1 for number in range(3000)})

    assert "is midtoken.trigger.debounce meant?" in str(problems[0])
    assert str(problems[-1]).endswith("there is no option midtoken.trigger.debounced2999")


class TestReadWorkspace:
    def test_none(self, tmp_path):
        """A folder without settings has none, and nothing is wrong."""
        (_, content), problems = read_workspace(tmp_path)

        assert (content, problems) == ({}, [])

    def test_own_file_wins(self, tmp_path):
        """`midtoken.toml` is read instead of `pyproject.toml`."""
        (tmp_path / "pyproject.toml").write_text("[tool.midtoken.completion]\nseed = 1\n")
        assert read_workspace(tmp_path)[0][1] == {"completion": {"seed": 1}}

        (tmp_path / "midtoken.toml").write_text("[completion]\nseed = 2\n")
        layer, problems = read_workspace(tmp_path)

        assert layer == (str(tmp_path / "midtoken.toml"), {"completion": {"seed": 2}})
        assert problems == []
        assert merge([layer])[0].completion.seed == 2

    def test_a_mark_before_the_text(self, tmp_path):
        """Notepad writes one."""
        (tmp_path / "midtoken.toml").write_bytes(b"\xef\xbb\xbf[completion]\nseed = 3\n")
        (_, content), problems = read_workspace(tmp_path)

        assert (content, problems) == ({"completion": {"seed": 3}}, [])

    def test_a_date_for_a_number(self, tmp_path):
        """It is shown as it was written."""
        (tmp_path / "midtoken.toml").write_text("[completion]\nseed = 1979-05-27\n")
        layer, _ = read_workspace(tmp_path)

        [problem] = merge([layer])[1]
        assert 'midtoken.completion.seed is "1979-05-27"; allowed' in str(problem)

    @pytest.mark.parametrize(
        ("content", "reason"),
        [
            (b"[completion]\nseed = \n", "line 2"),
            (b"a = 1\nb = '\xff'\n", "line 2 is not UTF-8 text"),
            (b"a = " + b"[" * 100_000, "nested too deeply"),
            (b"#" * (MAX_FILE_BYTES + 1), "larger than 1 MiB"),
        ],
    )
    def test_broken(self, tmp_path, content, reason):
        """A broken file is named with the line, and has no settings."""
        path = tmp_path / "midtoken.toml"
        path.write_bytes(content)

        layer, [problem] = read_workspace(tmp_path)

        assert layer == (str(path), {})
        assert problem.layer == str(path)
        assert reason in str(problem)

    def test_a_directory(self, tmp_path):
        """What is no file is named too."""
        (tmp_path / "midtoken.toml").mkdir()

        assert "the file is a folder" in str(read_workspace(tmp_path)[1][0])

    def test_a_link_to_itself(self, tmp_path):
        """It is named, and does not give way to `pyproject.toml`; one to nothing does."""
        own, project = tmp_path / "midtoken.toml", tmp_path / "pyproject.toml"
        project.write_text("[tool.midtoken.completion]\nseed = 1\n")
        own.symlink_to("midtoken.toml")

        layer, [problem] = read_workspace(tmp_path)
        assert layer == (str(own), {})
        assert "is a link that leads back to itself; its settings are ignored" in str(problem)

        own.unlink()
        own.symlink_to("nowhere.toml")
        assert read_workspace(tmp_path) == ((str(project), {"completion": {"seed": 1}}), [])

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
    @pytest.mark.parametrize("name", ["midtoken.toml", "pyproject.toml"])
    def test_a_pipe(self, tmp_path, name):
        """A workspace can't have us wait, or read what an editor sends to our standard input."""
        os.mkfifo(tmp_path / "pipe")
        (tmp_path / name).symlink_to("pipe")

        layer, [problem] = read_workspace(tmp_path)

        assert layer[1] == {}
        assert "the file is not a regular file; its settings are ignored" in str(problem)

    @pytest.mark.parametrize(
        ("content", "problems"),
        [
            ("broken", 0),
            ("broken midtoken", 1),
            ("[tool]\nmidtoken = 1\n", 1),
            ("tool = 1 # midtoken\n", 1),
            ("[project]\nname = 'midtoken'\n", 0),
        ],
    )
    def test_project_file(self, tmp_path, content, problems):
        """A project's own file concerns us only where it mentions midtoken."""
        (tmp_path / "pyproject.toml").write_text(content)

        layer, found = read_workspace(tmp_path)

        assert layer[1] == {}
        assert len(found) == problems
