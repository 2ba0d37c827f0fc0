"""Addresses of servers, as people write them: `HOST:PORT`.

    >>> parsed("[::1]:7777"), parsed(":7777")
    (('::1', 7777), ('127.0.0.1', 7777))
    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)

Not here: connections.
"""

import ipaddress
import re

from server.errors import UsageError


def parsed(address: str, *, least_port: int = 0) -> tuple[str, int]:
    """Host and port; this machine where no host is named. Raises UsageError."""
    host, _, port = address.rpartition(":")
    if not re.fullmatch("[0-9]{1,5}", port) or not least_port <= int(port) < 1 << 16:
        raise UsageError(f"{address} is not an address: write HOST:PORT, as in 127.0.0.1:7777")
    return host.strip("[]") or "127.0.0.1", int(port)


def is_loopback(host: str) -> bool:
    """Whether a host is this machine and can't be reached from any other.

    Names are not looked up: one that is not `localhost` may be any machine.
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
