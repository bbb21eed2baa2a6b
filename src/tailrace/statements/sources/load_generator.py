"""CREATE SOURCE … FROM LOAD GENERATOR kind [(option,…)] [FOR ALL TABLES]: data out of thin air."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from tailrace.sql.durations import Duration
from tailrace.sql.kinds import BOOLEAN, FLOAT, INTEGER, INTERVAL, POSITIVE
from tailrace.sql.options import Option, Options, parse_options
from tailrace.sql.parser import Parser
from tailrace.sql.unparse import Printer

KINDS = ("COUNTER", "AUCTION", "MARKETING", "TPCH", "KEY VALUE")

TICK_INTERVAL = Option(
    "TICK INTERVAL", INTERVAL, default=Duration("1s", timedelta(seconds=1)), doc="Between two changes."
)
AS_OF = Option("AS OF", INTEGER, doc="The first tick.")
UP_TO = Option("UP TO", INTEGER, doc="Stop before this tick.")
SCALE_FACTOR = Option("SCALE FACTOR", FLOAT, default=0.01, doc="The size of TPCH's data.")
MAX_CARDINALITY = Option("MAX CARDINALITY", POSITIVE, doc="COUNTER retracts older rows beyond this many.")
KEYS = Option("KEYS", POSITIVE, doc="How many keys KEY VALUE has.")
SNAPSHOT_ROUNDS = Option("SNAPSHOT ROUNDS", POSITIVE, doc="How often KEY VALUE writes each key at first.")
TRANSACTIONAL_SNAPSHOT = Option("TRANSACTIONAL SNAPSHOT", BOOLEAN, doc="The snapshot appears at once.")
VALUE_SIZE = Option("VALUE SIZE", POSITIVE, doc="Bytes of each value.")
SEED = Option("SEED", INTEGER, doc="Of the random values.")
PARTITIONS = Option("PARTITIONS", POSITIVE, doc="How many KEY VALUE has.")
BATCH_SIZE = Option("BATCH SIZE", POSITIVE, doc="Keys written per tick and partition.")
OPTIONS: tuple[Option[Any], ...] = (
    *(TICK_INTERVAL, AS_OF, UP_TO, SCALE_FACTOR, MAX_CARDINALITY, KEYS, SNAPSHOT_ROUNDS),
    *(TRANSACTIONAL_SNAPSHOT, VALUE_SIZE, SEED, PARTITIONS, BATCH_SIZE),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadGeneratorOrigin:
    kind: str
    options: Options
    tick_interval: timedelta
    as_of: int | None
    up_to: int | None
    scale_factor: float
    max_cardinality: int | None
    all_tables: bool

    def sql(self, printer: Printer) -> str:
        options = self.options.clause(printer, " ") or ""
        return f"FROM LOAD GENERATOR {self.kind}{options}" + ("\nFOR ALL TABLES" if self.all_tables else "")


def parse(p: Parser) -> LoadGeneratorOrigin:
    """After FROM."""
    p.expect("LOAD", "GENERATOR")
    kind = p.phrase(*KINDS)
    options = parse_options(p, OPTIONS) if p.at("(") else Options()
    all_tables = p.accept("FOR")
    if all_tables:
        p.expect("ALL", "TABLES")
    return LoadGeneratorOrigin(
        kind=kind,
        options=options,
        tick_interval=options.value(TICK_INTERVAL).length,
        as_of=options.get(AS_OF),
        up_to=options.get(UP_TO),
        scale_factor=options.value(SCALE_FACTOR),
        max_cardinality=options.get(MAX_CARDINALITY),
        all_tables=all_tables,
    )
