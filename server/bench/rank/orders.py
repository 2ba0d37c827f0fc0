"""At which place each order of names puts the one that stands there.

All orders are of the same names: those that match what is typed. `alphabet`, `frequency` (in the
file, the nearest first among equals) and `nearest` (the last used before the cursor) need no model.
`unhealed` is the model with the hole at the cursor: what is typed is before it, the tokens of the
rest of a name come after it. `exact` is what `midtoken rank` does, and `both` weighs its
probabilities with how frequent names are.
"""

from collections.abc import Sequence
from functools import partial
from math import log

from healing.covers import covering_tree
from healing.origins import Origin
from server.bench.rank.places import Place
from server.completer import Completer
from server.completion_options import CompletionOptions
from server.name_index import distance
from server.name_matching import match
from server.names import Name, word_bytes
from server.ranking import RankOptions, rank, search_names

BEST = 10
"""Names at the head that the model's orders have exactly; later ones are in order of bounds."""

METHODS = ("alphabet", "frequency", "nearest", "unhealed", "exact", "both")
STARTS = ("0 letters", "1 letter", "2 letters", "3 letters")
OTHERS = ("initials", "mistyped")
"""What is typed where the name does not go on from it; `unhealed` can't say anything then."""


def typed_of(place: Place, kind: str) -> bytes | None:
    """What a person has typed of the name; None where that can't be."""
    gold = place.gold
    if kind in STARTS:
        return gold[: STARTS.index(kind)]
    if kind == "initials":
        word = bytes(part[0] for part in gold.split(b"_") if part)
    else:  # the second and third letter in each other's place
        word = gold[:1] + gold[2:3] + gold[1:2] + gold[3:4]
    return word if match(word, gold) in {"initials", "one mistyped"} else None


def places_of(completer: Completer, place: Place, kind: str) -> dict[str, int] | None:
    """The place of the true name in each order, from 1; None if nothing can be typed so."""
    typed = typed_of(place, kind)
    if typed is None:
        return None
    names = [name for name in place.names if match(typed, name.text) is not None]
    if kind in STARTS:
        names = [name for name in names if name.text.startswith(typed)]
    near = partial(distance, len(place.before))
    found = {
        "alphabet": _place(sorted(names, key=lambda name: name.text.lower()), place),
        "frequency": _place(sorted(names, key=lambda name: (-name.count, near(name))), place),
        "nearest": _place(sorted(names, key=near), place),
        **_exact(completer, place, typed, names, forgiving=kind in OTHERS),
    }
    if kind in STARTS:
        found["unhealed"] = _unhealed(completer, place, typed, names)
    return found


def _place(ordered: Sequence[Name], place: Place) -> int:
    return 1 + [name.text for name in ordered].index(place.gold)


def _exact(
    completer: Completer, place: Place, typed: bytes, names: Sequence[Name], *, forgiving: bool
) -> dict[str, int]:
    options = RankOptions(best=BEST, forgiving=forgiving)
    found = rank(completer, place.snapshot(typed), [name.text for name in names], options).names
    weighed = sorted(found, key=lambda name: -name.score - log(names[name.index].count))
    return {
        "exact": _place([names[name.index] for name in found], place),
        "both": _place([names[name.index] for name in weighed], place),
    }


def _unhealed(completer: Completer, place: Place, typed: bytes, names: Sequence[Name]) -> int:
    options = RankOptions(best=BEST)
    prompt = completer.prompt_at(place.snapshot(typed), CompletionOptions(healing="off"))
    tree = covering_tree(b"", completer.tokenization)
    rests = [name.text[len(typed) :] for name in names]
    word = word_bytes(place.language)
    search = search_names(completer, prompt, [Origin(tree, rests)], word, options)
    [scores] = search.scores()
    own = scores[[name.text for name in names].index(place.gold)].probability
    return 1 + sum(score.probability > own for score in scores)
