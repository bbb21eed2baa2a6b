"""Free TCP ports on the loopback address."""

import random
import socket
from contextlib import ExitStack

# Below the range that the client sides of connections come from: there a port stays ours while its server
# is down, and a client that keeps trying to reach it cannot get connected to itself.
_RANGE = range(10_000, 32_000)
_CHANCE = random.SystemRandom()  # which no test tool gives a seed, so that two processes choose differently


def free_ports(count: int) -> list[int]:
    """Distinct ports nobody listens on now.

    Somebody may a moment later: start the server soon, and be ready to try again.
    """
    with ExitStack() as held:
        ports: list[int] = []
        while len(ports) < count:
            port = _CHANCE.choice(_RANGE)
            candidate = held.enter_context(socket.socket())
            try:
                candidate.bind(("127.0.0.1", port))
            except OSError:
                continue
            ports.append(port)
        return ports


def free_port() -> int:
    """One port nobody listens on now."""
    return free_ports(1)[0]


def is_listening(port: int) -> bool:
    """Whether a connection to the port is accepted."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False
