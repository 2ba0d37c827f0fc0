"""Stores of states in a folder that is not there yet."""

import pytest

from server.state_store import (
    StateStore,
)
from tests.server.states.stores import KEY


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "cache" / "states"


@pytest.fixture
def open_store(folder):
    def make(limit=1 << 20, key=KEY):
        return StateStore(folder, key, limit)

    return make


@pytest.fixture
def store(open_store):
    return open_store()
