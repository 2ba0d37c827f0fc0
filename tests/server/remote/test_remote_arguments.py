"""Options that go with an engine elsewhere, and those that don't."""

import pytest
from click.testing import CliRunner

from server.cli import cli
from server.errors import UsageError


@pytest.mark.parametrize(
    "option", [("--gpu-layers", "5"), ("--flash-attn", "on"), ("--threads", "1"), ("--model", "x")]
)
@pytest.mark.parametrize("command", [("complete", "-:1:1"), ("explain", "-:1:1"), ("doctor",)])
def test_options_of_a_model_on_this_machine(command, option):
    """They are refused before anything is asked, and not ignored in silence."""
    arguments = [*command, "--remote", "http://127.0.0.1:9", *option]
    result = CliRunner().invoke(cli, arguments, input="x")
    assert isinstance(result.exception, UsageError)
    assert f"{option[0]} is for a model on this machine" in str(result.exception)


@pytest.mark.parametrize(
    "option", [("--remote-model", "x"), ("--remote-api", "vllm"), ("--remote-timeout", "5")]
)
def test_half_an_engine(option):
    """What says how to ask an engine elsewhere is of no use without its address."""
    result = CliRunner().invoke(cli, ["complete", "-:1:1", *option], input="x")
    assert isinstance(result.exception, UsageError)
    assert str(result.exception) == f"{option[0]} goes with --remote"
