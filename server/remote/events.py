r"""Server-sent events: the lines of a streamed answer, taken apart.

    >>> list(events([b"data: {}\n", b"\n", b": still here\n", b"data: [DONE]\n", b"\n"]))
    ['{}', '[DONE]']

Only data is given back. Line ends are LF or CR LF; an event that the stream's end cuts off counts.
llama-server has sent errors in lines that begin with `error:`; they are data, too.
"""

from collections.abc import Iterable, Iterator

DONE = "[DONE]"
"""What OpenAI's API sends last."""

FIELDS = (b"data:", b"error:")


def events(lines: Iterable[bytes]) -> Iterator[str]:
    """The data of each event. Bytes that are no UTF-8 are replaced."""
    data: list[bytes] = []
    for raw in lines:
        line = raw.rstrip(b"\r\n")
        if not line and data:
            yield _joined(data)
            data = []
        for name in FIELDS:
            if line.startswith(name):
                data.append(line[len(name) :].removeprefix(b" "))
    if data:
        yield _joined(data)


def _joined(data: list[bytes]) -> str:
    return b"\n".join(data).decode(errors="replace")
