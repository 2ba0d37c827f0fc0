"""What a connection hears that is not let in: one message of the protocol, which editors show.

It is all that such a connection hears, and by that whoever passes it on knows what it is: a server
that has let somebody in answers.
"""

import json

START = "midtoken: "

MOST_BYTES = 4096
"""What is longer is no refusal."""


def refusal(message: str) -> bytes:
    """A message that has an editor show a text."""
    params = {"type": 1, "message": START + message}  # 1 is an error
    note = {"jsonrpc": "2.0", "method": "window/showMessage", "params": params}
    body = json.dumps(note).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def refusal_in(heard: bytes) -> str | None:
    """The text of a refusal, if that is all that was heard."""
    if len(heard) > MOST_BYTES:
        return None
    try:
        text = json.loads(heard.partition(b"\r\n\r\n")[2])["params"]["message"]
        return text.removeprefix(START) if heard == refusal(text.removeprefix(START)) else None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
