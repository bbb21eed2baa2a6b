"""The types of connection that there are: one file each, one line here."""

from __future__ import annotations

from typing import Any

from tailrace.sql.kinds import ANYTHING
from tailrace.sql.options import Option
from tailrace.statements.connections import aws, csr, iceberg, kafka, postgres, redis
from tailrace.statements.connections.contract import ConnectionType

TYPES: tuple[ConnectionType, ...] = (kafka.TYPE, csr.TYPE, postgres.TYPE, redis.TYPE, aws.TYPE, iceberg.TYPE)

NOT_YET = (
    *("AWS GLUE SCHEMA REGISTRY", "AWS PRIVATELINK", "GCP"),
    *("MYSQL", "SQL SERVER", "SSH TUNNEL"),
)
"""Types that the grammar has and we do not: `{TYPE} connections not yet supported`."""

_THEIR_OPTIONS = (
    *("AVAILABILITY ZONES", "SERVICE NAME"),
)


def _every_option() -> tuple[Option[Any], ...]:
    options: dict[str, Option[Any]] = {name: Option(name, ANYTHING) for name in _THEIR_OPTIONS}
    for type_ in TYPES:
        options |= {option.name: option for option in type_.options if option.name not in options}
    return tuple(options.values())


EVERY_OPTION = _every_option()
"""Of all types: ALTER CONNECTION is parsed before the connection's type is known."""


def known_to(type_: ConnectionType) -> tuple[Option[Any], ...]:
    """The type's options, then everybody else's, which are read only to be refused by name."""
    return type_.options + tuple(option for option in EVERY_OPTION if option not in type_.options)
