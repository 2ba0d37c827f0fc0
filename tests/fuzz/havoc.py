"""Bytes that were something sensible once."""

import signal
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from hypothesis import strategies as st

NEVER_S = 20
"""Seconds of work that no input takes, not even on a slow machine."""

NUMBERS = [0, 1, 2, 7, 8, 9, 127, 255, 256, 1 << 15, 1 << 31, (1 << 32) - 1, 1 << 40, 1 << 63]
NUMBERS += [(1 << 64) - 1, (1 << 64) - 8]
numbers = st.sampled_from(NUMBERS) | st.integers(0, (1 << 64) - 1)


@st.composite
def damaged(draw: st.DrawFn, wholes: Sequence[bytes], most: int = 6) -> bytes:
    """One of some texts with a few places changed, cut out, doubled or filled with numbers."""
    data = bytearray(draw(st.sampled_from(wholes)))
    for _ in range(draw(st.integers(1, most))):
        at = draw(st.integers(0, len(data)))
        end = min(len(data), at + draw(st.sampled_from([0, 1, 2, 4, 8, 16, 64, 1000])))
        match draw(st.integers(0, 5)):
            case 0:
                data[at:end] = draw(st.binary(max_size=8))
            case 1:
                del data[at:end]
            case 2:
                data[at:at] = data[at:end] * draw(st.integers(1, 20))
            case 3:
                packed = struct.pack("<Q", draw(numbers))[: draw(st.sampled_from([1, 2, 4, 8]))]
                data[at : at + len(packed)] = packed
            case 4:
                other = draw(st.sampled_from(wholes))
                data[at:end] = other[: draw(st.integers(0, min(200, len(other))))]
            case _:
                del data[at:]
    return bytes(data)


@contextmanager
def that_ends() -> Iterator[None]:
    """A block whose own work must come to an end; TimeoutError where the system can tell."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: object) -> None:
        raise TimeoutError(f"this takes more than {NEVER_S} s of work")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, NEVER_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
