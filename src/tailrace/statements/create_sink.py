"""CREATE SINK [IF NOT EXISTS] name [IN CLUSTER c] FROM relation INTO target … [WITH (option,…)]."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from typing import Any

from tailrace.catalog.items import Item
from tailrace.engine import sinks
from tailrace.engine.context import Arguments, Session
from tailrace.engine.define import Identity
from tailrace.errors import InvalidOption, SqlError
from tailrace.sql.kinds import ANYTHING, BOOLEAN, INTERVAL, TEXT
from tailrace.sql.names import Name
from tailrace.sql.options import Option, Options, parse_options
from tailrace.sql.parser import Parser
from tailrace.sql.unparse import Printer, lines
from tailrace.statements.contract import Result
from tailrace.statements.sinks.registry import Target, parse_target

STARTS = (("CREATE", "SINK"),)

PARTITION_STRATEGY = Option("PARTITION STRATEGY", ANYTHING, doc="Not for users.")
SNAPSHOT = Option("SNAPSHOT", BOOLEAN, default=True, doc="Whether to begin with the relation's content.")
VERSION = Option("VERSION", ANYTHING, doc="Not for users.")
COMMIT_INTERVAL = Option("COMMIT INTERVAL", INTERVAL, doc="How often an Iceberg table gets a snapshot.")
DELIVERY_GUARANTEE = Option(
    "DELIVERY GUARANTEE", TEXT, default="exactly-once", doc="'exactly-once' or 'at-least-once'."
)
ATOMIC = Option(
    "ATOMIC", BOOLEAN, default=False, doc="One transaction for each tick, also for a large one like the snapshot."
)
WITH_OPTIONS: tuple[Option[Any], ...] = (
    *(PARTITION_STRATEGY, SNAPSHOT, VERSION, COMMIT_INTERVAL, DELIVERY_GUARANTEE, ATOMIC),
)
UNNAMED = Name(("unnamed",))
"""What a sink without a name is called: EXPLAIN SCHEMA may leave it out."""


class DeliveryGuarantee(Enum):
    EXACTLY_ONCE = "exactly-once"
    AT_LEAST_ONCE = "at-least-once"


@dataclass(frozen=True, kw_only=True, slots=True)
class CreateSink:
    """`target.check()` says what is wrong with the clauses, whatever the catalog holds."""

    name: Name
    relation: Name
    target: Target
    snapshot: bool
    delivery_guarantee: DeliveryGuarantee
    atomic: bool = False
    cluster: str | None = None
    options: Options = field(default_factory=Options)
    if_not_exists: bool = False

    @property
    def commit_interval(self) -> timedelta:
        """At least so much is between two writes."""
        given = self.options.get(COMMIT_INTERVAL)
        return timedelta(0) if given is None else given.length

    def create_sql(self, printer: Printer) -> str:
        return lines(
            f"CREATE SINK {printer.name(self.name)}",
            printer.in_cluster(self.cluster),
            f"FROM {printer.name(self.relation)}",
            *self.target.clauses(printer),
            self.options.clause(printer, "WITH "),
        )


def parse(p: Parser) -> CreateSink:
    p.expect("CREATE", "SINK")
    if_not_exists = p.if_not_exists()
    if p.at("FROM") or p.at("IN", "CLUSTER"):
        raise SqlError("unspecified name for sink", position=p.position, sqlstate="42601")
    return _definition(p, p.name("sink name"), if_not_exists)


def parse_perhaps_unnamed(p: Parser) -> CreateSink:
    """As EXPLAIN SCHEMA takes it."""
    mark = p.mark
    p.expect("CREATE", "SINK")
    if p.at("FROM") or p.at("IN", "CLUSTER"):
        return _definition(p, UNNAMED, False)
    p.rewind(mark)
    return parse(p)


def _definition(p: Parser, name: Name, if_not_exists: bool) -> CreateSink:
    cluster = p.in_cluster()
    p.expect("FROM")
    relation = p.name("relation name")
    p.expect("INTO")
    target = parse_target(p)
    options = parse_options(p, WITH_OPTIONS) if p.accept("WITH") else Options()
    refuse(options, target)
    check_interval(options, target)
    guarantee = _guarantee(options)
    _check_atomic(options, guarantee)
    return CreateSink(
        name=name,
        relation=relation,
        target=target,
        snapshot=options.value(SNAPSHOT),
        delivery_guarantee=guarantee,
        atomic=options.value(ATOMIC),
        cluster=cluster,
        options=options,
        if_not_exists=if_not_exists,
    )


def refuse(options: Options, target: Target) -> None:
    """Options that such a sink does not have."""
    for option in (PARTITION_STRATEGY, VERSION):
        if options.has(option):
            message = f"CREATE SINK...WITH ({option.name}..) is not allowed"
            raise InvalidOption(message, position=options.position(option))
    only_of: tuple[tuple[Option[Any], str], ...] = (
        *((COMMIT_INTERVAL, "iceberg"), (DELIVERY_GUARANTEE, "kafka"), (ATOMIC, "kafka")),
    )
    for option, type_ in only_of:
        if options.has(option) and target.type != type_:
            message = f"{option.name} option is not supported with {target.type.upper()} sinks"
            raise InvalidOption(message, position=options.position(option))


def _check_atomic(options: Options, guarantee: DeliveryGuarantee) -> None:
    if options.value(ATOMIC) and guarantee is DeliveryGuarantee.AT_LEAST_ONCE:
        raise InvalidOption(
            "ATOMIC needs DELIVERY GUARANTEE 'exactly-once'",
            detail="At least once, nothing is written in transactions.",
            position=options.position(ATOMIC),
        )


def check_interval(options: Options, target: Target) -> None:
    """What an Iceberg sink must say."""
    if target.type != "iceberg":
        return
    given = options.get(COMMIT_INTERVAL)
    if given is None:
        raise InvalidOption("Iceberg sink must specify COMMIT INTERVAL", hint="Add WITH (COMMIT INTERVAL = '60s').")
    if given.length < timedelta(seconds=1):
        message = "COMMIT INTERVAL must be at least 1 second"
        raise InvalidOption(message, position=options.position(COMMIT_INTERVAL))


def _guarantee(options: Options) -> DeliveryGuarantee:
    given = options.value(DELIVERY_GUARANTEE)
    try:
        return DeliveryGuarantee(given.lower())
    except ValueError:
        raise InvalidOption(
            f"invalid DELIVERY GUARANTEE: {given}",
            hint="Use 'exactly-once' or 'at-least-once'.",
            position=options.position(DELIVERY_GUARANTEE),
        ) from None


def define(statement: CreateSink, session: Session, identity: Identity) -> Item:
    return sinks.item(session, statement, identity)


def execute(statement: CreateSink, session: Session, arguments: Arguments) -> Result:
    return sinks.create(session, statement)
