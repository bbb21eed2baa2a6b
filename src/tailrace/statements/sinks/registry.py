"""Where sinks write to: one file each, one line here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tailrace.sql.parser import Parser, one_of
from tailrace.statements.sinks import iceberg, kafka, postgres, redis
from tailrace.statements.sinks.iceberg import IcebergTarget
from tailrace.statements.sinks.kafka import KafkaTarget
from tailrace.statements.sinks.postgres import PostgresTarget
from tailrace.statements.sinks.redis import RedisTarget

Target: TypeAlias = KafkaTarget | IcebergTarget | PostgresTarget | RedisTarget

TARGETS: dict[str, Callable[[Parser], Target]] = {
    "KAFKA": kafka.parse,
    "ICEBERG": iceberg.parse,
    "POSTGRES": postgres.parse,
    "REDIS": redis.parse,
}


def parse_target(p: Parser) -> Target:
    """After INTO."""
    for word, parse in TARGETS.items():
        if p.at(word):
            return parse(p)
    raise p.expected(one_of(tuple(TARGETS)))
