"""SUBSCRIBE [TO] { relation | (query) } [output] [WITH (option,…)] [AS OF time] [UP TO time] [output]

where output = ENVELOPE UPSERT|DEBEZIUM (KEY (column,…)) | WITHIN TIMESTAMP ORDER BY …
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from tailrace.engine import subscribing
from tailrace.engine.context import Arguments, Session
from tailrace.errors import DuplicateColumn
from tailrace.sql.kinds import BOOLEAN
from tailrace.sql.names import Name, QueryText
from tailrace.sql.options import Option, Options, parse_options
from tailrace.sql.parser import Parser
from tailrace.statements.contract import Result
from tailrace.statements.select import AsOf, as_of
from tailrace.types.core import Schema, SqlType

STARTS = (("SUBSCRIBE",),)

SNAPSHOT = Option("SNAPSHOT", BOOLEAN, default=True, doc="Whether to begin with the content as of the start.")
PROGRESS = Option("PROGRESS", BOOLEAN, default=False, doc="Whether rows say up to when all is told.")
WITH_OPTIONS = (SNAPSHOT, PROGRESS)


class SubscribeEnvelope(Enum):
    UPSERT = "UPSERT"
    DEBEZIUM = "DEBEZIUM"


@dataclass(frozen=True, kw_only=True, slots=True)
class KeyedOutput:
    """ENVELOPE UPSERT or DEBEZIUM (KEY (columns))."""

    envelope: SubscribeEnvelope
    key: tuple[str, ...]
    position: int | None = field(default=None, compare=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class OrderedOutput:
    """WITHIN TIMESTAMP ORDER BY: the text after BY."""

    order_by: QueryText


@dataclass(frozen=True, kw_only=True, slots=True)
class Subscribe:
    """`of` is a relation's name or a query."""

    of: Name | QueryText
    output: KeyedOutput | OrderedOutput | None = None
    snapshot: bool = True
    progress: bool = False
    as_of: AsOf | None = None
    up_to: QueryText | None = None


_AFTER_CLAUSE = (("WITH", "("), ("AS", "OF"), ("UP", "TO"), ("ENVELOPE",), ("WITHIN", "TIMESTAMP"))


def parse(p: Parser) -> Subscribe:
    p.expect("SUBSCRIBE")
    p.accept("TO")
    of = _subject(p)
    output = _output(p)
    options = parse_options(p, WITH_OPTIONS) if p.accept("WITH") else Options()
    since = as_of(p, *_AFTER_CLAUSE)
    up_to = p.expression(*_AFTER_CLAUSE, what="time") if p.accept("UP", "TO") else None
    return Subscribe(
        of=of,
        output=output or _output(p),
        snapshot=options.value(SNAPSHOT),
        progress=options.value(PROGRESS),
        as_of=since,
        up_to=up_to,
    )


def _subject(p: Parser) -> Name | QueryText:
    if not p.accept("("):
        return p.name("relation name or query in parentheses")
    query = p.query_text()
    p.expect(")")
    return query


def _output(p: Parser) -> KeyedOutput | OrderedOutput | None:
    if p.accept("WITHIN"):
        p.expect("TIMESTAMP", "ORDER", "BY")
        return OrderedOutput(order_by=p.clause(*_AFTER_CLAUSE))
    if not p.accept("ENVELOPE"):
        return None
    envelope = SubscribeEnvelope(p.keyword(*(each.value for each in SubscribeEnvelope)))
    p.expect("(", "KEY")
    position = p.position
    key = p.columns()
    p.expect(")")
    for i, column in enumerate(key):
        if column in key[:i]:
            message = f'column "{column}" appears more than once in SUBSCRIBE ENVELOPE KEY clause'
            raise DuplicateColumn(message, position=position)
    return KeyedOutput(envelope=envelope, key=key, position=position)


def describe(
    statement: Subscribe, session: Session, parameters: Sequence[SqlType | None]
) -> tuple[tuple[SqlType, ...], Schema]:
    return (), subscribing.columns_of(session, statement)


def execute(statement: Subscribe, session: Session, arguments: Arguments) -> Result:
    return subscribing.subscribe(session, statement)
