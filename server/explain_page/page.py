"""The page as one HTML document that needs nothing else: no script, no network, no other file."""

from base64 import b64encode
from hashlib import sha256
from importlib.resources import files

from server.explain_page.facts import Facts
from server.explain_page.markup import element, rendered
from server.explain_page.more_sections import (
    cost_section,
    prompt_section,
    report_section,
    shown_section,
    steps_section,
)
from server.explain_page.others_section import others_section
from server.explain_page.sections import first_section, grammar_section, head_section, tree_section
from server.snapshot import position_at

START = '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta http-equiv='
"""How every page of ours begins."""


def page(facts: Facts) -> str:
    """The HTML of a suggestion's page; a few hundred kilobytes at most."""
    style = files(__package__).joinpath("style.css").read_text(encoding="utf-8")
    snapshot = facts.snapshot
    line, column = position_at(snapshot.text, snapshot.cursor)
    name = snapshot.uri.replace("\\", "/").rpartition("/")[2][-80:]
    root = element(
        "html",
        element(
            "head",
            element("meta", charset="utf-8"),
            element("meta", http_equiv="Content-Security-Policy", content=policy(style)),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("meta", name="referrer", content="no-referrer"),
            element("title", f"{name}:{line + 1}:{column + 1} · midtoken"),
            element("style", style),
        ),
        element(
            "body",
            element(
                "main",
                head_section(facts),
                tree_section(facts),
                first_section(facts),
                steps_section(facts),
                others_section(facts),
                grammar_section(facts),
                shown_section(facts),
                cost_section(facts),
                prompt_section(facts),
                report_section(facts),
            ),
        ),
        lang="en",
    )
    return f"<!DOCTYPE html>\n{rendered(root)}\n"


def policy(style: str) -> str:
    """What the page may do: be styled by exactly this text, and nothing else."""
    digest = b64encode(sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
