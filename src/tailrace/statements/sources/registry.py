"""Where sources read from: one file each, one line here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tailrace.errors import NotSupported
from tailrace.sql.parser import Parser, one_of
from tailrace.statements.sources import kafka, load_generator
from tailrace.statements.sources.kafka import KafkaOrigin
from tailrace.statements.sources.load_generator import LoadGeneratorOrigin

Origin: TypeAlias = KafkaOrigin | LoadGeneratorOrigin

ORIGINS: dict[str, Callable[[Parser], Origin]] = {
    "KAFKA": kafka.parse,
    "LOAD GENERATOR": load_generator.parse,
}
NOT_YET = ("POSTGRES", "MYSQL", "SQL SERVER", "WEBHOOK")


def parse_origin(p: Parser) -> Origin:
    """After FROM."""
    for name, parse in ORIGINS.items():
        if p.at(name.split()[0]):
            return parse(p)
    for name in NOT_YET:
        if p.at(*name.split()):
            raise NotSupported(f"{name} sources not yet supported", position=p.position)
    raise p.expected(one_of([name.split()[0] for name in (*ORIGINS, *NOT_YET)]))
