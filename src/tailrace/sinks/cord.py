"""A connection can be cut while another thread waits for it: that one is told at once, whatever the other end does."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from threading import Lock


class Cord:
    """Of the connection with this descriptor.  Holds one of its own: the other may be closed, and given away."""

    def __init__(self, descriptor: int) -> None:
        self._lock = Lock()
        self._socket = socket.socket(fileno=os.dup(descriptor))

    def cut(self) -> None:
        with self._lock, suppress(OSError):  # it is cut already, or closed
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        with self._lock:
            self._socket.close()
