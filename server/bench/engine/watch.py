"""A watch on functions of the program itself: how long each takes, without those that it calls.

While it is worn, functions are replaced by ones that look at the clock before and after. So what is
measured is the program as it is, and the program knows nothing of it::

    watch = Watch([Part("stop rules", BlockStop, "__call__"), ...])
    with watch.worn():
        completer.answer(...)
    watch.take()                     # {"stop rules": 0.00004, ...}

To look at the clock takes a part of a microsecond a call, which is told (`cost`), not subtracted.
Only for one thread.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from statistics import median
from time import perf_counter, thread_time
from typing import Any
from unittest.mock import patch


@dataclass(frozen=True)
class Part:
    """A function that is watched."""

    name: str
    """What its time is counted as; several functions may share a name."""
    owner: Any
    """The module, class or object that it is looked up in."""
    attribute: str
    work: bool = False
    """Whether the processor time of the thread is told as well, as `work`: to look at that clock
    takes a whole microsecond."""


WORK = "work"
"""In `Watch.take`: the processor time of the parts that ask for it; none may call another."""


class Watch:
    """The times of some functions, in seconds."""

    def __init__(
        self,
        parts: Sequence[Part],
        on_enter: Callable[[str, tuple[Any, ...]], None] | None = None,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        """Watch `parts`; `on_enter` is told of every call: a part's name and the arguments."""
        self._parts = parts
        self._on_enter = on_enter
        self._clock = clock
        self._times: defaultdict[str, float] = defaultdict(float)
        self._within: list[float] = []
        """Of each function that runs, outermost first: the time of those that it has called."""

    @contextmanager
    def worn(self) -> Iterator[None]:
        """Watch while the block runs."""
        with ExitStack() as stack:
            for part in self._parts:
                function = getattr(part.owner, part.attribute)
                watched = self._watched(part.name, function)
                watched = self._worked(watched) if part.work else watched
                stack.enter_context(patch.object(part.owner, part.attribute, watched))
            yield

    def take(self) -> dict[str, float]:
        """The times since the last call, by part."""
        times, self._times = self._times, defaultdict(float)
        return dict(times)

    def _watched(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        within, on_enter, clock = self._within, self._on_enter, self._clock

        def watched(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401 (any function)
            if on_enter is not None:
                on_enter(name, arguments)
            within.append(0.0)
            started = clock()
            try:
                return function(*arguments, **named)
            finally:
                took = clock() - started
                self._times[name] += took - within.pop()
                if within:
                    within[-1] += took

        return watched

    def _worked(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def worked(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401 (any function)
            started = thread_time()
            try:
                return function(*arguments, **named)
            finally:
                self._times[WORK] += thread_time() - started

        return worked


def cost() -> float:
    """Seconds that a watched call takes longer than one that is not watched, about."""

    class Owner:
        @staticmethod
        def nothing() -> None:
            pass

    def once() -> float:
        started = perf_counter()
        for _ in range(1000):
            Owner.nothing()
        return (perf_counter() - started) / 1000

    bare = median(once() for _ in range(9))
    with Watch([Part("nothing", Owner, "nothing")]).worn():
        worn = median(once() for _ in range(9))
    return max(0.0, worn - bare)
