"""SHOW TABLES | SOURCES | … [FROM schema] [ON object] [IN CLUSTER c] [LIKE 's' | WHERE condition]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tailrace.engine import show
from tailrace.engine.context import Arguments, Session
from tailrace.sql.names import Name, QueryText
from tailrace.sql.parser import Parser
from tailrace.statements.contract import Result
from tailrace.types.core import Schema, SqlType

KINDS = (
    *("CLUSTERS", "CLUSTER REPLICAS", "CONNECTIONS", "DATABASES", "INDEXES", "MATERIALIZED VIEWS", "OBJECTS"),
    *("DEFAULT PRIVILEGES", "PRIVILEGES", "ROLE MEMBERSHIP", "ROLES", "SCHEMAS", "SECRETS", "SINKS", "SOURCES"),
    *("TABLES", "TYPES", "VIEWS"),
)
STARTS = tuple(("SHOW", *kind.split()) for kind in KINDS)


@dataclass(frozen=True, kw_only=True, slots=True)
class Filter:
    """LIKE pattern or WHERE condition on the rows that SHOW gives."""

    like: str | None = None
    where: QueryText | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ShowObjects:
    """`kind` is one of KINDS in lower case, e.g. `materialized views`; `on` is INDEXES ON or TABLES ON."""

    kind: str
    schema: Name | None = None
    on: Name | None = None
    cluster: str | None = None
    filter: Filter | None = None


def parse(p: Parser) -> ShowObjects:
    p.expect("SHOW")
    kind = p.phrase(*KINDS).lower()
    schema = p.name("schema name") if p.accept("FROM") else None
    on = p.name("relation name") if p.accept("ON") else None
    cluster = p.in_cluster()
    return ShowObjects(kind=kind, schema=schema, on=on, cluster=cluster, filter=parse_filter(p))


def parse_filter(p: Parser) -> Filter | None:
    if p.accept("LIKE"):
        return Filter(like=p.string())
    if p.accept("WHERE"):
        return Filter(where=p.rest_as_text("condition"))
    return None


def describe(
    statement: ShowObjects, session: Session, parameters: Sequence[SqlType | None]
) -> tuple[tuple[SqlType, ...], Schema]:
    return (), show.columns_of(statement.kind)


def execute(statement: ShowObjects, session: Session, arguments: Arguments) -> Result:
    return show.objects(session, statement)
