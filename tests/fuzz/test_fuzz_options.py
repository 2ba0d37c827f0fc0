"""Settings: of editors, of workspaces, of files that are none."""

import json
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from server.option_layers import WORKSPACE_FILES, merge, read_workspace
from server.option_table import OVERRIDES, TABLE
from server.options import value_of
from tests.fuzz.havoc import damaged, that_ends
from tests.server import test_option_layers

OTHERS = [test_option_layers.TestMerge().test_takes_anything]
"""Properties that have their place elsewhere."""

KEYS = sorted({OVERRIDES, "midtoken", "python", *TABLE, *(row.section for row in TABLE.values())})
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6)
values = st.recursive(
    scalars | st.sampled_from([word for row in TABLE.values() for word in row.words]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)

FILES = [
    b"[filters]\nbans = [\"a\"]\nbanPatterns = ['b.*']\n[completion]\nmaxTokens = 3\n",
    b'[tool.midtoken.model]\nname = "x"\n[tool.midtoken.languages.overrides.python]\n"a.b" = 1\n',
    b'"midtoken.completion.healing" = "off"\n[midtoken.engine]\ngpuLayers = 1e400\n[grammar]\n',
]


@given(st.lists(st.tuples(st.sampled_from(["command line", "midtoken.toml"]), values), max_size=4))
def test_layers(layers):
    """Every option keeps an allowed value, and what is for users alone is not the workspace's."""
    with that_ends():
        options, problems = merge(layers)
    alone, _ = merge([layer for layer in layers if layer[0] == "command line"])

    for key, row in TABLE.items():
        assert row.checked(value_of(options, key)) == value_of(options, key)
        if row.user_only:
            assert value_of(options, key) == value_of(alone, key)
    assert all(str(problem).isprintable() for problem in problems)


@given(st.dictionaries(st.sampled_from(sorted(TABLE)), values, max_size=3))
def test_what_is_merged_is_told_in_json(settings):
    """What a setting has come to can be written down, and says the same when it is read again."""
    options, _ = merge([("command line", settings)])
    written = {key: value_of(options, key) for key in TABLE}
    again, problems = merge([("command line", json.loads(json.dumps(written)))])

    assert problems == []
    assert {key: value_of(again, key) for key in TABLE} == {
        key: value_of(options, key) for key in TABLE
    }


@given(st.data(), st.sampled_from(WORKSPACE_FILES))
def test_files_of_a_workspace(data, name):
    """Any bytes are settings or a problem, told in one line."""
    content = data.draw(st.binary(max_size=60) | damaged(FILES))
    with tempfile.TemporaryDirectory() as folder, that_ends():
        Path(folder, name).write_bytes(content)
        layer, problems = read_workspace(Path(folder))
        _, others = merge([layer])

    assert layer[0] == str(Path(folder, name)) or layer[1] == {}
    assert all("\n" not in str(problem) for problem in [*problems, *others])
