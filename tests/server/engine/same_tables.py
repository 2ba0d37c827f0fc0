"""Whether two tables of a model say the same."""

from dataclasses import fields

import numpy as np

from server.engine.tables import Tables


def same(one: Tables, other: Tables) -> bool:
    """Whether all arrays and facts are equal."""
    return all(
        np.array_equal(getattr(one.vocabulary, name), getattr(other.vocabulary, name))
        if name in ("blob", "offsets", "kinds")
        else np.array_equal(getattr(one, name), getattr(other, name))
        for name in ["blob", "offsets", "kinds", *(f.name for f in fields(Tables)[1:])]
    )
