"""A Redis connection as the catalog keeps it, with secrets looked up, and the one way to open it."""

from __future__ import annotations

from dataclasses import dataclass

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tailrace.errors import SqlError, TailraceError, Unavailable
from tailrace.secret import Secret

_SECONDS = 30.0


@dataclass(frozen=True, kw_only=True, slots=True)
class RedisConnection:
    """How to reach a server.  One that exists is valid."""

    name: str
    host: str
    port: int
    database: int = 0
    user: Secret | None = None
    password: Secret | None = None
    ssl_mode: str = "disable"  # disable, require, verify_ca, verify_full
    ssl_certificate_authority: Secret | None = None

    def open(self) -> redis.Redis:
        """A client with one connection, which it never makes anew by itself.  Raises Unavailable or SqlError."""
        authority = self.ssl_certificate_authority
        try:
            client = redis.Redis(  # connects, as it has a single connection
                host=self.host,
                port=self.port,
                db=self.database,
                username=None if self.user is None else self.user.reveal(),
                password=None if self.password is None else self.password.reveal(),
                ssl=self.ssl_mode != "disable",
                ssl_cert_reqs="required" if self.ssl_mode.startswith("verify") else "none",
                ssl_check_hostname=self.ssl_mode == "verify_full",
                ssl_ca_data=None if authority is None else authority.reveal(),
                socket_connect_timeout=_SECONDS,
                socket_timeout=_SECONDS,
                socket_keepalive=True,
                single_connection_client=True,
                retry=Retry(NoBackoff(), 0),  # after a lost answer the sink asks what was done; it does not repeat it
            )
        except redis.RedisError as error:
            raise translate(error, f'connecting as "{self.name}"', self) from error
        try:
            client.ping()
        except redis.RedisError as error:
            client.close()
            raise translate(error, f'connecting as "{self.name}"', self) from error
        return client


def translate(error: redis.RedisError, doing: str, connection: RedisConnection) -> TailraceError:
    """What the server or the client library said, as an error somebody can act on."""
    said = " ".join(str(error).split()).removesuffix(".")
    if isinstance(error, redis.AuthenticationError):
        return SqlError(f'could not log in to Redis connection "{connection.name}"', detail=said, sqlstate="28000")
    if isinstance(error, redis.exceptions.NoPermissionError):
        return SqlError(f"redis: no permission while {doing}", detail=said, sqlstate="42501")
    if "certificate" in said.lower():
        return SqlError(f'could not trust the server of Redis connection "{connection.name}"', detail=said)
    if isinstance(error, redis.ConnectionError | redis.TimeoutError):
        hint = f"Does Redis listen at {connection.host}:{connection.port}, reachable from here?"
        return Unavailable(f"redis: could not reach the server while {doing}", detail=said, hint=hint)
    return Unavailable(f"redis: {said} while {doing}")
