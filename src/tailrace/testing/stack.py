"""The local stack: the services a pipeline needs, real, and gone with the process that started them."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self

from tailrace.testing import postgres, redis, s3
from tailrace.testing.broker import Broker
from tailrace.testing.postgres import Postgres
from tailrace.testing.redis import Redis
from tailrace.testing.registry import Registry
from tailrace.testing.s3 import S3
from tailrace.testing.server import Server

BUCKET = "bucket"


def _quiet(_line: str) -> None:
    """Nobody is told about progress."""


class LocalStack:
    """A Kafka broker and other servers, started side by side."""

    def __init__(self, *others: Server) -> None:
        self.broker = Broker()
        self._services: tuple[Broker | Server, ...] = (self.broker, *others)

    def start(self, progress: Callable[[str], None] = _quiet) -> Self:
        """Start everything, and return when all of it answers.

        `progress` is told of each that is up, from any thread.
        """
        try:
            with ThreadPoolExecutor(max_workers=len(self._services)) as workers:
                started = [workers.submit(self._start, each, progress) for each in self._services]
            for each in started:
                each.result()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Stop everything and remove its data."""
        for each in self._services:
            each.stop()

    def statements(self) -> list[str]:
        """What to type to use it, service by service."""
        return [_connecting(each) for each in self._services]

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _start(self, service: Broker | Server, progress: Callable[[str], None]) -> None:
        service.start()
        if isinstance(service, S3):
            service.make_bucket(BUCKET)
        name, address = ("Kafka", service.bootstrap) if isinstance(service, Broker) else (service.name, service.port)
        progress(f"{name} at {address}")


def _connecting(service: Broker | Server) -> str:
    match service:
        case Broker():
            return f"CREATE CONNECTION broker TO KAFKA (BROKER '{service.bootstrap}', SECURITY PROTOCOL PLAINTEXT);"
        case Registry():
            return f"CREATE CONNECTION registry TO CONFLUENT SCHEMA REGISTRY (URL '{service.url}');"
        case Postgres():
            return (
                f"CREATE SECRET postgres_password AS '{postgres.PASSWORD}';\n"
                f"CREATE CONNECTION postgres TO POSTGRES (HOST '127.0.0.1', PORT {service.port}, USER 'postgres',"
                " PASSWORD SECRET postgres_password, DATABASE 'postgres', SSL MODE 'disable');"
            )
        case Redis():
            return (
                f"CREATE SECRET redis_password AS '{redis.PASSWORD}';\n"
                f"CREATE CONNECTION redis TO REDIS (HOST '127.0.0.1', PORT {service.port},"
                " PASSWORD SECRET redis_password);"
            )
        case S3():
            return (
                f"CREATE SECRET s3_key AS '{s3.SECRET_KEY}';\n"
                f"CREATE CONNECTION s3 TO AWS (ACCESS KEY ID = '{s3.ACCESS_KEY}', SECRET ACCESS KEY = SECRET s3_key,"
                f" ENDPOINT = '{service.endpoint}', REGION = 'us');  -- with the bucket s3://{BUCKET}"
            )
    raise TypeError(service)
