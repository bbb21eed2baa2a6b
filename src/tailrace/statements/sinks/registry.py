"""Where sinks write to: one file each, one line here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tailrace.errors import NotSupported
from tailrace.sql.parser import Parser, one_of
from tailrace.statements.sinks import kafka, postgres, redis
from tailrace.statements.sinks.kafka import KafkaTarget
from tailrace.statements.sinks.postgres import PostgresTarget
from tailrace.statements.sinks.redis import RedisTarget

Target: TypeAlias = KafkaTarget | PostgresTarget | RedisTarget

TARGETS: dict[str, Callable[[Parser], Target]] = {
    "KAFKA": kafka.parse,
    "POSTGRES": postgres.parse,
    "REDIS": redis.parse,
}
NOT_YET = ("ICEBERG",)


def parse_target(p: Parser) -> Target:
    """After INTO."""
    for word, parse in TARGETS.items():
        if p.at(word):
            return parse(p)
    for word in NOT_YET:
        if p.at(word):
            raise NotSupported(f"{word} sinks not yet supported", position=p.position)
    raise p.expected(one_of((*TARGETS, *NOT_YET)))
