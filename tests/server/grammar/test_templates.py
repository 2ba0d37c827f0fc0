"""Grammars are compiled once, in the background, and wrong ones are said."""

import threading
import time
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from server.errors import GrammarError
from server.grammar import templates
from server.grammar.rungs import Source


class Lark:
    """A grammar's text that counts how often it is asked for, and may have to wait."""

    def __init__(self, text="start: /a+/"):
        self.text, self.asked, self.wait = text, 0, threading.Event()
        self.wait.set()

    def __call__(self):
        self.asked += 1
        assert self.wait.wait(30)
        return self.text


def test_compiled_once():
    """Two threads that ask at the same time get the same template of one compilation."""
    lark = Lark()
    source = Source("once", lark)
    lark.wait.clear()
    templates.prepare([source])
    with ThreadPoolExecutor(2) as threads:
        asked = [threads.submit(templates.get, source, 30) for _ in range(2)]
        lark.wait.set()

    assert asked[0].result() is asked[1].result()
    assert lark.asked == 1


def test_wrong_grammar(caplog):
    """A wrong grammar is told to everyone who asks, and once in the log."""
    source = Source("wrong", Lark("start: a\n"))
    for _ in range(3):
        with pytest.raises(GrammarError, match="the grammar wrong is wrong in line 1"):
            templates.get(source, 30)

    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_failing_text(caplog):
    """A grammar's text that can't be made is an error in one line, with a traceback in the log."""

    def lark():
        raise KeyError("rule")

    for _ in range(2):
        with pytest.raises(GrammarError, match="the grammar failing cannot be compiled"):
            templates.get(Source("failing", lark), 30)

    assert [bool(record.exc_info) for record in caplog.records] == [True]


def test_late():
    """Nobody waits twice for a grammar that does not come, and it is there when it is ready."""
    lark = Lark()
    lark.wait.clear()
    source = Source("late", lark)
    for seconds in (0.01, 3600):
        with pytest.raises(GrammarError, match="late is not compiled yet"):
            templates.get(source, seconds)
    lark.wait.set()
    while True:
        with suppress(GrammarError):
            assert templates.get(source, 0).name == "late"
            break
        time.sleep(0.001)


def test_few_are_remembered(monkeypatch):
    """The grammar that was asked for longest ago is compiled again."""
    monkeypatch.setattr(templates, "_compiled", OrderedDict())
    monkeypatch.setattr(templates, "MOST", 1)
    larks = [Lark() for _ in range(2)]
    for number in (0, 0, 1, 0):
        templates.get(Source(f"remembered {number}", larks[number]), 30)

    assert [lark.asked for lark in larks] == [2, 1]


def test_a_long_chain_of_rules_does_not_end_the_process():
    chain = "".join(f'r{i}: r{i + 1} | "{i}"\n' for i in range(6000))
    source = Source("chain", lambda: f'start: r0\n{chain}r6000: "y"\n')
    assert templates.get(source, 60).name == "chain"
