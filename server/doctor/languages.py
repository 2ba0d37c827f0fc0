"""What is checked of which languages."""

from collections.abc import Iterator

from server.doctor.finding import Finding
from server.grammar.languages import LADDERS, levels
from server.grammar.rungs import Level


def check_grammars() -> Iterator[Finding]:
    """Languages by their levels, most levels first; the README says what levels are."""
    languages: dict[tuple[Level, ...], list[str]] = {}
    for language in sorted(LADDERS):
        languages.setdefault(levels(language), []).append(language)
    for found, names in sorted(languages.items(), key=lambda pair: len(pair[0]), reverse=True):
        yield Finding(
            "ok",
            "grammars",
            f"{', '.join(names)} ({', '.join(found)})",
            facts={"languages": names, "levels": list(found)},
        )
