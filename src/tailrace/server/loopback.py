"""What counts as this machine itself: there alone, plain text and no passwords are good enough."""

from __future__ import annotations

import ipaddress
import socket


def is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False


def addresses_of(host: str) -> list[str]:
    """The addresses that a host name stands for; none means all of this machine's.  Raises OSError."""
    found = socket.getaddrinfo(host or None, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))
