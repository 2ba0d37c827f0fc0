"""The tokenizer of the default model, for the tests of healing that look at its tokens."""

from collections.abc import Iterator

import pytest

from healing.tokenization import Tokenization
from tests.healing.real import DEFAULT, file_of, tokenization_of_file


@pytest.fixture(scope="session")
def tokenization() -> Iterator[Tokenization]:
    """The default model's tokenization. Needs `make model`."""
    with tokenization_of_file(file_of(DEFAULT)) as found:
        yield found
