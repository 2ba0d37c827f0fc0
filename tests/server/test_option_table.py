"""The table of options: every field is a row with a default and what is allowed."""

from dataclasses import fields

import pytest

from healing.sampling import Sampling
from server.completion_options import CompletionOptions
from server.decoding import METHODS
from server.engine.llama_load import EngineOptions
from server.models.catalog import DEFAULT_MODEL
from server.option_table import OVERRIDABLE, OVERRIDES, TABLE, USER_ONLY
from server.options import Options, camel_case, snake_case


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
            ("languages.disabled", "a list of strings that are not empty"),
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
