"""The local stack: the services a pipeline needs, real, and gone with the process that started them."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self

from tailrace.testing.broker import Broker
from tailrace.testing.registry import Registry


def _quiet(_line: str) -> None:
    """Nobody is told about progress."""


class LocalStack:
    """A Kafka broker and, unless told otherwise, a schema registry, started side by side."""

    def __init__(self, *, registry: bool = True) -> None:
        self.broker = Broker()
        self.registry = Registry() if registry else None

    def start(self, progress: Callable[[str], None] = _quiet) -> Self:
        """Start everything, and return when all of it answers.

        `progress` is told of each that is up, from any thread.
        """
        try:
            with ThreadPoolExecutor(max_workers=2) as workers:
                started = [workers.submit(self._start_broker, progress)]
                if self.registry is not None:
                    started.append(workers.submit(self._start_registry, self.registry, progress))
            for each in started:
                each.result()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Stop everything and remove its data."""
        self.broker.stop()
        if self.registry is not None:
            self.registry.stop()

    def addresses(self) -> dict[str, str]:
        """What to connect to, by name."""
        addresses = {"Kafka broker": self.broker.bootstrap}
        if self.registry is not None:
            addresses["schema registry"] = self.registry.url
        return addresses

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _start_broker(self, progress: Callable[[str], None]) -> None:
        self.broker.start()
        progress(f"Kafka broker at {self.broker.bootstrap}")

    def _start_registry(self, registry: Registry, progress: Callable[[str], None]) -> None:
        registry.start()
        progress(f"schema registry at {registry.url}")
