"""Python's grammars on real files: every cut is viable, errors are seen, windows suffice.

The quick tests take a few files; those behind `--corpus` take hundreds. Samples are seeded.
"""

import ast
import re
import warnings
from collections.abc import Callable
from random import Random

import pytest

from server.grammar import templates
from server.grammar.python import ladder
from server.grammar.python_grammar import SPACES_SOURCE, STRUCTURAL_SOURCE, TABS_SOURCE
from server.grammar.python_window import window
from server.grammar.rungs import Source
from tests.server.grammar.corpus import (
    accepts_every_cut,
    cuts,
    mutated,
    sample,
    stdlib_files,
)
from tests.server.grammar.pythons import verdicts, verdicts_after

INCOMPLETE = 0x4000
"""CPython's PyCF_ALLOW_INCOMPLETE_INPUT, which says "incomplete input" where more may follow."""
DEDENT_LATER = 0x200
"""PyCF_DONT_IMPLY_DEDENT: the end of the text does not end blocks."""

Report = Callable[[str], None]


def with_tabs(text: bytes) -> bytes | None:
    """A text indented by four spaces as one indented by tabs; None if it was not quite so."""
    tabbed = re.sub(rb"(?m)^(?: {4})+", lambda found: b"\t" * (len(found[0]) // 4), text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(tabbed)
    except SyntaxError:
        return None
    in_tabs = re.search(rb"(?m)^\t* +\S", tabbed) is None
    return tabbed if in_tabs else None


def error_in(text: bytes) -> str | None:
    """What CPython says of a text that no continuation can mend; None if there may be one."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "x", "exec", ast.PyCF_ONLY_AST | INCOMPLETE | DEDENT_LATER)
    except SyntaxError as error:
        return None if "incomplete input" in str(error) else str(error)
    return None


def check_files(count: int, seed: int, most: int, report: Report) -> None:
    """Feed whole files to the full and the structural grammar."""
    files = sample(stdlib_files(), count, Random(seed), most=most)
    failures = list[tuple[str, str, int]]()
    tabbed = size = 0
    for path, text in files.items():
        variants: list[tuple[Source, bytes | None]] = [
            (SPACES_SOURCE if ladder(text)[0].source is SPACES_SOURCE else TABS_SOURCE, text),
            (STRUCTURAL_SOURCE, text),
            (TABS_SOURCE, with_tabs(text)),
        ]
        for source, variant in variants:
            if variant is None:
                continue
            at = accepts_every_cut(templates.get(source, 60), variant)
            if at is not None:
                failures.append((path.name, source.name, at))
        size += len(text)
        tabbed += variants[2][1] is not None
    report(
        f"python: {len(files)} files, {size:,} cuts, of which {tabbed} files with tabs too: "
        f"{len(failures)} not accepted"
    )
    assert failures == []


def check_mutants(count: int, seed: int, report: Report) -> None:
    """Break the last lines of real texts; CPython says whether they are broken."""
    random = Random(seed)
    template = templates.get(SPACES_SOURCE, 60)
    files = sample(stdlib_files(), max(4, count // 20), random, most=4_000)
    rejected, missed, mended = 0, list[tuple[str | None, bytes]](), list[bytes]()
    texts = list(files.values())
    while rejected + len(missed) < count:
        text = random.choice(texts)
        ends = [found.end() for found in re.finditer(rb"\n", text)]
        last = random.randrange(len(ends))
        start = ends[max(0, last - 4)]
        if error_in(text[: ends[last]]):  # not at fault: CPython takes some good cuts for errors
            continue
        broken = text[:start] + mutated(text[start : ends[last]], random) + b"\n"
        fits = template.state().feed(broken) == len(broken)
        error = error_in(broken)
        if error and fits:
            missed.append((error, broken[start:]))
        elif error:
            rejected += 1
        elif not fits:
            mended.append(broken[start:])
    report(
        f"python: {count} broken texts, {rejected} rejected ({100 * rejected / count:.1f} %), "
        f"{len(mended)} rejected that CPython could go on with"
    )
    assert rejected >= 0.99 * count, missed
    assert len(mended) <= 0.01 * count, mended


def check_windows(files: int, cuts_each: int, seed: int, report: Report) -> None:
    """Compare the state after the window with that after the whole text."""
    random, template = Random(seed), templates.get(SPACES_SOURCE, 60)
    count, wrong = 0, list[tuple[str, int]]()
    for path, text in sample(stdlib_files(), files, random, most=8_000).items():
        if ladder(text)[0].source is not SPACES_SOURCE:
            continue
        whole = template.state()
        for cut in sorted(cuts(text, cuts_each, random)):
            count += 1
            whole.feed(text[whole.fed : cut])
            if verdicts_after(template, window(text[:cut])) != verdicts(whole):
                wrong.append((str(path), cut))
    report(f"python: {count} windows, {len(wrong)} other than the whole text")
    assert wrong == []


def test_every_cut_of_some_files_is_viable(report: Report):
    check_files(25, 31, 12_000, report)


def test_broken_texts_are_rejected(report: Report):
    check_mutants(200, 32, report)


def test_windows_are_as_good_as_whole_texts(report: Report):
    check_windows(15, 10, 33, report)


@pytest.mark.corpus
def test_every_cut_of_many_files_is_viable(report: Report):
    check_files(400, 41, 40_000, report)


@pytest.mark.corpus
def test_many_broken_texts_are_rejected(report: Report):
    check_mutants(2_000, 42, report)


@pytest.mark.corpus
def test_many_windows_are_as_good_as_whole_texts(report: Report):
    check_windows(200, 10, 43, report)
