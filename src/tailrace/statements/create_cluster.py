"""CREATE CLUSTER [IF NOT EXISTS] name [(] SIZE 's' [, option,…] [)]  |  REPLICAS (r (…),…)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tailrace.engine import clusters
from tailrace.engine.context import Arguments, Session
from tailrace.errors import InvalidOption
from tailrace.sql.kinds import ANYTHING, BOOLEAN, INTEGER, TEXT
from tailrace.sql.names import Name
from tailrace.sql.options import Option, Options, parse_bare_options, parse_options
from tailrace.sql.parser import Parser
from tailrace.sql.unparse import Printer, quote_ident
from tailrace.statements.contract import Result

STARTS = (("CREATE", "CLUSTER"),)

SIZE = Option("SIZE", TEXT, doc="Kept and shown; has no effect.")
REPLICATION_FACTOR = Option(
    "REPLICATION FACTOR", INTEGER, default=1, doc="0 pauses everything in the cluster; more than 1 is 1."
)
MANAGED = Option("MANAGED", BOOLEAN, default=True, doc="Whether replicas come from SIZE.")
OPTIONS: tuple[Option[Any], ...] = (
    *(SIZE, REPLICATION_FACTOR, MANAGED),
    Option("AVAILABILITY ZONES", ANYTHING, doc="Accepted; has no effect."),
    Option("INTROSPECTION INTERVAL", ANYTHING, doc="Accepted; has no effect."),
    Option("INTROSPECTION DEBUGGING", ANYTHING, doc="Accepted; has no effect."),
    Option("SCHEDULE", ANYTHING, doc="Accepted; has no effect."),
    Option("WORKLOAD CLASS", ANYTHING, doc="Accepted; has no effect."),
    Option("DISK", ANYTHING, doc="Accepted; has no effect."),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class CreateCluster:
    """`replicas` is None for a managed cluster, else the named ones with their options."""

    name: Name
    size: str | None = None
    replication_factor: int = 1
    options: Options = field(default_factory=Options)
    replicas: tuple[tuple[str, Options], ...] | None = None
    if_not_exists: bool = False

    def create_sql(self, printer: Printer) -> str:
        name = quote_ident(self.name.item)
        if self.replicas is None:
            return f"CREATE CLUSTER {name} {self.options.show(printer)};"
        replicas = (f"{quote_ident(replica)} {options.show(printer)}" for replica, options in self.replicas)
        return f"CREATE CLUSTER {name} REPLICAS ({', '.join(replicas)});"


def parse(p: Parser) -> CreateCluster:
    p.expect("CREATE", "CLUSTER")
    if_not_exists = p.if_not_exists()
    position = p.position
    name = Name((p.identifier("cluster name"),), position)
    if p.accept("REPLICAS"):
        return CreateCluster(name=name, replicas=_replicas(p), if_not_exists=if_not_exists)
    options = parse_cluster_options(p)
    factor = options.value(REPLICATION_FACTOR)
    if factor < 0:
        message = "REPLICATION FACTOR must not be negative"
        raise InvalidOption(message, position=options.position(REPLICATION_FACTOR))
    return CreateCluster(
        name=name,
        size=options.get(SIZE),
        replication_factor=factor,
        options=options,
        if_not_exists=if_not_exists,
    )


def parse_cluster_options(p: Parser) -> Options:
    return parse_options(p, OPTIONS) if p.at("(") else parse_bare_options(p, OPTIONS)


def execute(statement: CreateCluster, session: Session, arguments: Arguments) -> Result:
    clusters.create(session, statement)
    return Result(tag="CREATE CLUSTER")


def _replicas(p: Parser) -> tuple[tuple[str, Options], ...]:
    if p.accept("(", ")"):
        return ()
    return p.items(lambda: (p.identifier("replica name"), parse_options(p, OPTIONS)))
