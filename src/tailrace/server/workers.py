"""Threads for calls that block: as many as there are calls at once, and daemons all.

A statement may block for ever (SUBSCRIBE), so no number of threads is enough but one for each; and one that
does not heed its cancellation must not keep the process from ending, as the threads of `concurrent.futures`
would.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import TypeAlias, TypeVar

T = TypeVar("T")

_Inbox: TypeAlias = "SimpleQueue[Callable[[], None]]"

_IDLE_SECONDS = 30.0


class Workers:
    """The thread that became idle last is used first, so that a quiet server keeps few."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = Lock()
        self._idle: list[_Inbox] = []

    def submit(self, call: Callable[[], T]) -> Future[T]:
        future: Future[T] = Future()
        with self._lock:
            inbox = self._idle.pop() if self._idle else None
        if inbox is None:
            inbox = SimpleQueue()
            Thread(target=self._work, args=(inbox,), name=self._name, daemon=True).start()
        inbox.put(lambda: _run(call, future))
        return future

    def _work(self, inbox: _Inbox) -> None:
        while True:
            try:
                task = inbox.get(timeout=_IDLE_SECONDS)
            except Empty:
                with self._lock:
                    if inbox in self._idle:
                        self._idle.remove(inbox)
                        return
                continue  # taken from the list just now: its call is on the way
            task()
            del task  # a waiting thread holds on to nothing
            with self._lock:
                self._idle.append(inbox)


async def in_worker(workers: Workers, call: Callable[[], T]) -> T:
    """Its result, without holding up the event loop."""
    return await asyncio.wrap_future(workers.submit(call))


def _run(call: Callable[[], T], future: Future[T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = call()
    except BaseException as error:  # noqa: BLE001  # it belongs to whoever waits for the result
        future.set_exception(error)
    else:
        future.set_result(result)
