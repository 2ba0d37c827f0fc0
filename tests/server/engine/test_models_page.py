"""`docs/models.md` says what the code does."""

import re
from pathlib import Path

from server.engine.fim_dialects import DIALECTS

PAGE = Path(__file__).parents[3] / "docs" / "models.md"


def test_all_dialects_are_there():
    """Each dialect has a row, with the order that is used, and no other has one."""
    text = PAGE.read_text(encoding="utf-8").replace("\\|", "|")
    section = text[text.index("| dialect |") : text.index("Where each is written down")]
    rows = {row.split(" | ")[0].removeprefix("| "): row for row in section.splitlines()[2:] if row}

    assert {*rows} == {dialect.name for dialect in DIALECTS}
    for dialect in DIALECTS:
        orders = re.findall(r"`([^`…]+)`", rows[dialect.name].split(" | ")[1])
        assert orders == [order for order in (dialect.healed, dialect.layout) if order]
        assert ("{name}" in rows[dialect.name]) == bool(dialect.named)
