"""Entries of known names, and their order among those of written texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from server.clients import Client
from server.documents import Document
from server.name_items import ListPlace, beside_names, in_order, name_items
from server.name_list import MOST, UNLIKELY, KnownName, NameList
from server.names import DASHED
from server.positions import Encoding, Position

TEXT = "x = re)"
REPLACING, INSERTING = Client(), Client(menu_only_inserts=True)


def place(client: Client = REPLACING, text: str = TEXT, column: int = 6) -> ListPlace:
    document = Document("file:///a.py", text, 1, "python", Encoding.UTF16)
    return ListPlace(document, document.snapshot(Position(0, column)), client, True)


def written_item(text: str, column: int = 6) -> types.CompletionItem:
    where = types.Position(0, column)
    edit = types.TextEdit(types.Range(where, where), text)
    return types.CompletionItem(label=f"re{text}", sort_text="\0", preselect=True, text_edit=edit)


def name(text: str, probability: float = 0.5, exact: bool = True, match: str = "start"):
    return KnownName(text, "variable", match, probability, exact)


def whole(
    names: list[KnownName], written: list[tuple[str, float]], where: ListPlace | None = None
) -> list[str]:
    """What a list shows, in its order."""
    where = where or place()
    beside = beside_names(where, [written_item(text) for text, _ in written])
    found = NameList(tuple(names), tuple(share for _, share in written), 0)
    return [item.label for item in in_order([*beside, *name_items(where, beside, found)])]


def test_interleaved():
    """By the probability of a name and of a text's first word; a text first where both have it."""
    names = [name("reader", 0.6), name("rest", 0.3), name("result", 0.1)]

    assert whole(names, [("ader.read()", 0.6), ("turned", 0.2)]) == [
        "reader.read()",
        "reader",
        "rest",
        "returned",
        "result",
    ]


def test_written_texts_stay_in_their_order():
    """The first words alone would have it otherwise."""
    assert whole([name("rest", 0.5)], [("a", 0.4), ("b", 0.9), ("c", 0.2)]) == [
        "rest",
        "rea",
        "reb",
        "rec",
    ]


def test_what_is_not_known():
    """Names that have at most so much come behind all others, and say so."""
    names = [name("rest", 0.1), name("reader", 0.9, exact=False)]
    [_, last] = name_items(place(), [], NameList(tuple(names), (), 0))

    assert whole(names, [("turned", 0.2)]) == ["returned", "rest", "reader"]
    assert last.detail == "name · at most 90 %"


@pytest.mark.parametrize(
    ("probability", "shown"),
    [(1.0, "100 %"), (0.125, "12 %"), (0.012, "1 %"), (0.0044, "0.4 %"), (1e-9, "under 0.1 %")],
)
def test_details(probability, shown):
    """A name is marked as one, with its probability."""
    [item] = name_items(place(), [], NameList((name("reader", probability),), (), 0))

    assert item.detail == f"name · {shown}"


def test_what_is_hardly_probable_comes_last():
    """Behind what other servers offer, whose texts to sort by are names."""
    names = [name("reader", UNLIKELY), name("rest", UNLIKELY / 2)]
    likely, unlikely = name_items(place(), [], NameList(tuple(names), (), 0))

    assert likely.sort_text < "!"
    assert unlikely.sort_text > "z"


def test_a_name_that_is_written():
    """Is in the list once, as the text that the model has written."""
    for client in (REPLACING, INSERTING):
        names = [name("reader"), name("readers")]
        assert whole(names, [("ader", 0.5)], place(client)) == ["reader", "readers"]


def test_the_first_is_chosen():
    """And no other one, whatever entries said of themselves."""
    items = in_order([written_item("b"), written_item("a")])

    assert [item.preselect for item in items] == [True, None]


def test_texts_that_the_typed_word_belongs_to():
    """They begin with it, and match it; nothing else of the entry changes."""
    [item] = beside_names(place(), [written_item(".ader(x)")])

    assert item.text_edit.new_text == "re.ader(x)"
    assert item.filter_text == "re.ader"
    assert item.text_edit.range == types.Range(types.Position(0, 4), types.Position(0, 6))
    assert item.label == "re.ader(x)"


def test_lists_that_only_insert():
    """Entries are at the cursor, and names that would replace the word are left out."""
    where = place(INSERTING)
    beside = beside_names(where, [written_item("ader")])
    names = (name("result"), name("REST", match="other case"))
    [item] = name_items(where, beside, NameList(names, (0.5,), 0))

    at_cursor = types.Range(types.Position(0, 6), types.Position(0, 6))
    assert beside[0].text_edit == types.TextEdit(at_cursor, "ader")
    assert item.text_edit == types.TextEdit(at_cursor, "sult")
    assert item.label == item.filter_text == "result"


@pytest.mark.parametrize("can_replace", [True, False])
def test_the_rest_of_a_word(can_replace):
    """Replaced or kept, where the client can choose; kept where it can't."""
    document = Document("file:///a.py", "x = reST", 1, "python", Encoding.UTF8)
    where = ListPlace(document, document.snapshot(Position(0, 6)), REPLACING, can_replace)
    [item] = name_items(where, [], NameList((name("reader"),), (), 0))

    inserted = types.Range(types.Position(0, 4), types.Position(0, 6))
    replaced = types.Range(types.Position(0, 4), types.Position(0, 8))
    expected = types.TextEdit(inserted, "reader")
    if can_replace:
        expected = types.InsertReplaceEdit("reader", inserted, replaced)
    assert item.text_edit == expected


@pytest.mark.parametrize("language", sorted(DASHED))
def test_words_with_dashes(language):
    """An entry of a written text and one of a name replace the same word, and match it."""
    document = Document("file:///a", "my-na", 1, language, Encoding.UTF16)
    where = ListPlace(document, document.snapshot(Position(0, 5)), REPLACING, True)
    start = {"start": types.Position(0, 0), "end": types.Position(0, 5)}
    [text] = beside_names(where, [written_item("me-of", 5)])
    [item] = name_items(where, [text], NameList((name("my-name"),), (0.5,), 0))

    assert text.text_edit == types.TextEdit(types.Range(**start), "my-name-of")
    assert item.text_edit == types.TextEdit(types.Range(**start), "my-name")
    assert text.filter_text == "my-name"


shares = st.floats(0, 1)


@given(
    st.lists(st.tuples(shares, st.booleans()), max_size=MOST),
    st.lists(shares, max_size=10),
)
def test_orders(given_names, given_shares):
    """What stands before what, whatever the numbers; all in the list, once."""
    names = [
        name(f"re{number}", share, exact)
        for number, (share, exact) in enumerate(sorted(given_names, reverse=True))
    ]
    names.sort(key=lambda one: not one.exact)
    order = whole(names, [(f"_{number}", share) for number, share in enumerate(given_shares)])

    texts = [f"re_{number}" for number in range(len(given_shares))]
    assert sorted(order) == sorted([*texts, *(one.text for one in names)])
    assert [label for label in order if label in texts] == texts
    for one in names:
        least = 1.0
        for text, share in zip(texts, given_shares, strict=True):
            least = min(least, share)
            if one.exact and one.probability >= UNLIKELY:
                assert (order.index(text) < order.index(one.text)) == (least >= one.probability)
            elif not one.exact:
                assert order.index(text) < order.index(one.text)
