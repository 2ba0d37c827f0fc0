"""The part of the page on other continuations than the first, where several were asked for."""

from server.explain_page.facts import Facts
from server.explain_page.markup import Element, code, cropped, element, likely
from server.explain_page.sections import section

SHOWN = 400
"""So many characters of each are shown."""


def others_section(facts: Facts) -> Element | None:
    """All that is suggested, each with its probability; None if it is one text."""
    items = facts.completion.items
    if len(items) < 2:
        return None
    rows = []
    for number, item in enumerate(items, 1):
        shown, more = cropped(item.text.encode(), SHOWN)
        text = [*code(shown, blanks=False, lines=True), "…" if more else None]
        rows.append(
            element(
                "tr",
                element("td", str(number), class_="muted number"),
                element("td", element("code", *text)),
                element("td", likely(item.probability), class_="number"),
            )
        )
    return section(
        "Other continuations",
        element(
            "p",
            "They begin with other first texts, and were written at the same time. The first one "
            "is what is suggested if one is asked for; the others follow by the probability of "
            "the whole text, which falls with each token: long texts have less of it.",
        ),
        element("table", element("tbody", *rows), class_="steps"),
    )
