"""Options: one table, merged in layers, wrong ones named, pages kept equal to the table."""

import json
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healing.sampling import Sampling
from server.completer import CompletionOptions
from server.decoding import METHODS
from server.engine.llama_load import EngineOptions
from server.models.catalog import DEFAULT_MODEL
from server.option_layers import MAX_FILE_BYTES, Problem, merge, read_workspace
from server.option_pages import as_markdown, json_schema
from server.option_table import OVERRIDABLE, OVERRIDES, TABLE, USER_ONLY
from server.options import (
    Options,
    camel_case,
    snake_case,
    value_of,
    with_values,
)

ROOT = Path(__file__).parents[2]

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


class TestTable:
    def test_defaults_are_allowed(self):
        """Every default is one of the values that the option allows."""
        for row in TABLE.values():
            assert row.checked(row.default) == row.default

    def test_is_whole(self):
        """Every field of every section is a row, and says what it is for in a sentence."""
        named = {
            f"{section.name}.{camel_case(one.name)}"
            for section in fields(Options)
            for one in fields(getattr(Options(), section.name))
        }

        assert named == {*TABLE, OVERRIDES}
        assert all(row.about.text.endswith(".") for row in TABLE.values())

    def test_sections_exist(self):
        """The sections and keys that are set apart are in the table."""
        assert {row.section for row in TABLE.values()} | set(TABLE) >= USER_ONLY | OVERRIDABLE

    @pytest.mark.parametrize(
        ("key", "allowed"),
        [
            ("model.name", "a string that is not empty"),
            ("engine.gpuLayers", 'an integer of at least 0, or "auto"'),
            ("engine.tensorSplit", "a list of numbers of at least 0"),
            ("completion.multiline", 'one of "auto", "always", "never"'),
            ("completion.topP", "a number above 0 and at most 1"),
            ("trigger.automatic", "true or false"),
            ("languages.disabled", "a list of strings"),
            ("grammar.schemas", "an object of paths"),
        ],
    )
    def test_allowed(self, key, allowed):
        """What may be set is said in words."""
        assert TABLE[key].allowed == allowed

    @pytest.mark.parametrize(
        ("key", "value", "taken"),
        [
            ("engine.gpuLayers", 33.0, 33),
            ("engine.gpuLayers", "auto", "auto"),
            ("completion.temperature", 1, 1.0),
            ("engine.tensorSplit", [1, 0.5], (1.0, 0.5)),
            ("languages.disabled", ["c"], ("c",)),
            ("grammar.files", {"*.calc": "calc.lark"}, {"*.calc": "calc.lark"}),
            ("grammar.files", [], {}),
        ],
    )
    def test_values(self, key, value, taken):
        """Values come out in the option's own type."""
        result = TABLE[key].checked(value)

        assert result == taken
        assert type(result) is type(taken)

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("engine.gpuLayers", True),
            ("engine.gpuLayers", -1),
            ("engine.gpuLayers", 1.5),
            ("engine.gpuLayers", "all"),
            ("engine.gpuLayers", 10**30),
            ("completion.topP", 0),
            ("completion.temperature", float("nan")),
            ("completion.temperature", float("inf")),
            ("engine.tensorSplit", [1, "2"]),
            ("engine.tensorSplit", "1,2"),
            ("languages.disabled", [""]),
            ("grammar.files", "calc.lark"),
            ("grammar.files", ["calc.lark"]),
            ("grammar.files", {"*.calc": 1}),
            ("grammar.files", {"*.calc": ""}),
            ("grammar.files", {"": "calc.lark"}),
            ("model.name", ""),
            ("trigger.automatic", 1),
            ("completion.healing", "Exact"),
        ],
    )
    def test_wrong_values(self, key, value):
        """True is no number, a half is no integer, and limits hold."""
        with pytest.raises(ValueError, match="allowed is"):
            TABLE[key].checked(value)

    def test_agrees_with_the_core(self):
        """Defaults and choices are those of the parts that the options are for."""
        options, engine = Options(), EngineOptions()
        request = CompletionOptions()
        sampling = Sampling()

        assert options.model.name == DEFAULT_MODEL
        assert TABLE["completion.healing"].words == METHODS
        completion = options.completion
        assert (completion.healing, completion.prompt) == (request.healing, request.prompt)
        assert completion.max_tokens == request.max_tokens
        assert options.engine.context_size == engine.n_ctx
        assert options.engine.gpu_layers == engine.gpu_layers
        assert options.engine.flash_attention == engine.flash_attn
        assert all(
            getattr(completion, one.name) == getattr(sampling, one.name) for one in fields(Sampling)
        )

    def test_names(self):
        """Names are in camel case outside and in snake case inside."""
        assert camel_case("max_tokens_block") == "maxTokensBlock"
        assert snake_case("maxTokensBlock") == "max_tokens_block"


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
                "only options of completion, filters, grammar.mode, trigger may differ between "
                "languages"
            ),
            (
                "initializationOptions: midtoken.languages.overrides.c.trigger.debounce is -1; "
                'allowed is an integer of at least 0 and at most 60000, or "auto"; it stays "auto"'
            ),
            "initializationOptions: midtoken.languages.overrides.d must be an object, not 1",
        ]

    def test_disabled(self):
        """Nothing is suggested in a language that is disabled."""
        options, _ = editor({"languages": {"disabled": ["markdown"]}})

        assert not options.enabled_for("markdown")
        assert options.enabled_for("python")


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

        assert "can't be read" in str(read_workspace(tmp_path)[1][0])

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


class TestPages:
    def test_documentation_is_current(self):
        """`docs/options.md` is what `python -m server.option_pages` prints."""
        assert (ROOT / "docs" / "options.md").read_text() == as_markdown()

    def test_schema_is_json(self):
        """Every option is a setting with its full name, default, description and scope."""
        schema = json.loads(json.dumps(json_schema(), allow_nan=False))

        assert set(schema["properties"]) == {f"midtoken.{key}" for key in (*TABLE, OVERRIDES)}
        for name, one in schema["properties"].items():
            assert {"default", "markdownDescription", "scope"} <= set(one), name
            row = TABLE.get(name.removeprefix("midtoken."))
            assert (one["scope"] == "machine") == bool(row and row.user_only)

    def test_schema_limits(self):
        """Limits and choices are those of the table."""
        properties = json_schema()["properties"]

        assert properties["midtoken.completion.topP"]["exclusiveMinimum"] == 0
        assert properties["midtoken.completion.healing"]["enum"] == list(METHODS)
        assert properties["midtoken.engine.threads"]["anyOf"] == [
            {"enum": ["auto"]},
            {"type": "integer", "minimum": 1, "maximum": 1024},
        ]
        assert properties["midtoken.languages.disabled"]["items"]["minLength"] == 1
        overrides = properties["midtoken.languages.overrides"]["additionalProperties"]
        assert set(overrides["properties"]) == {key.partition(".")[0] for key in OVERRIDABLE}
        assert set(overrides["properties"]["grammar"]["properties"]) == {"mode"}
        paths = properties["midtoken.grammar.files"]
        assert paths["additionalProperties"] == {"type": "string", "minLength": 1}
