"""EXPLAIN [[stage] PLAN [WITH (…)] [AS TEXT|JSON] FOR] { statement | VIEW v | MATERIALIZED VIEW v | INDEX i }

| EXPLAIN {KEY|VALUE} SCHEMA [AS JSON] FOR CREATE SINK [name] …  |  EXPLAIN TIMESTAMP [AS …] FOR query.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from tailrace.engine import explaining
from tailrace.engine.context import Arguments, Session
from tailrace.errors import NotSupported
from tailrace.sql.names import Name, ObjectKind, QueryText
from tailrace.sql.parser import Parser
from tailrace.statements import create_sink
from tailrace.statements.contract import Result
from tailrace.statements.create_sink import CreateSink
from tailrace.statements.nested import parse_nested
from tailrace.types.core import Schema, SqlType

if TYPE_CHECKING:
    from tailrace.statements.registry import Statement

STARTS = (("EXPLAIN",),)


class Stage(Enum):
    """How far the plan that is shown has come."""

    RAW = "RAW"
    DECORRELATED = "DECORRELATED"
    LOCALLY_OPTIMIZED = "LOCALLY OPTIMIZED"
    OPTIMIZED = "OPTIMIZED"
    PHYSICAL = "PHYSICAL"


@dataclass(frozen=True, kw_only=True, slots=True)
class ExplainPlan:
    """Of a statement, or of an object that exists (`kind` and `name`)."""

    stage: Stage
    statement: Statement | None = None
    kind: ObjectKind | None = None
    name: Name | None = None
    as_json: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class ExplainSchema:
    """The Avro schema of a sink's key or value; nothing is created."""

    of_key: bool
    sink: CreateSink


@dataclass(frozen=True, kw_only=True, slots=True)
class ExplainTimestamp:
    query: QueryText
    as_json: bool = False


Explain: TypeAlias = ExplainPlan | ExplainSchema | ExplainTimestamp
_KINDS = ("MATERIALIZED VIEW", "VIEW", "INDEX")
_OPTIONS = ("ANALYZE", "VERBOSE", "COSTS", "SETTINGS", "BUFFERS", "WAL", "TIMING", "SUMMARY", "FORMAT", "GENERIC_PLAN")


def parse(p: Parser) -> Explain:
    p.expect("EXPLAIN")
    if p.at("KEY", "SCHEMA") or p.at("VALUE", "SCHEMA"):
        return _schema(p)
    if p.accept("TIMESTAMP"):
        as_json = _as_json(p)
        p.expect("FOR")
        return ExplainTimestamp(query=p.query_text(), as_json=as_json)
    return _plan(p)


def _schema(p: Parser) -> ExplainSchema:
    of_key = p.keyword("KEY", "VALUE") == "KEY"
    p.expect("SCHEMA")
    _as_json(p)
    p.expect("FOR")
    if not p.at("CREATE", "SINK"):
        raise p.expected("CREATE SINK")
    return ExplainSchema(of_key=of_key, sink=create_sink.parse_perhaps_unnamed(p))


def _plan(p: Parser) -> ExplainPlan:
    position = p.position
    if p.at("ANALYZE") or (p.at("(") and p.peek(1).word in _OPTIONS):
        raise NotSupported(
            "EXPLAIN ANALYZE and options of EXPLAIN in parentheses not supported",
            hint="EXPLAIN PLAN AS JSON FOR … has the plan as JSON; mz_internal.mz_tick_costs what each object took.",
            position=position,
        )
    p.accept("VERBOSE")
    stage, as_json = Stage.OPTIMIZED, False
    stages = [each for each in Stage if p.at(*each.value.split(), "PLAN")]
    if stages or p.at("PLAN"):
        stage = stages[0] if stages else stage
        p.accept(*(stages[0].value.split() if stages else ()), "PLAN")
        _with(p)
        as_json = _as_json(p)
        p.expect("FOR")
    for kind in _KINDS:
        if p.accept(*kind.split()):
            name = p.name()
            return ExplainPlan(stage=stage, kind=ObjectKind(kind.lower()), name=name, as_json=as_json)
    return ExplainPlan(stage=stage, statement=parse_nested(p), as_json=as_json)


def _with(p: Parser) -> None:
    """`WITH (option,…)`: what Materialize adds to a plan; ours is always complete."""
    if p.accept("WITH"):
        p.items(p.expression, trailing_comma=True)


def _as_json(p: Parser) -> bool:
    return p.accept("AS") and p.keyword("TEXT", "JSON") == "JSON"


def describe(
    statement: Explain, session: Session, parameters: Sequence[SqlType | None]
) -> tuple[tuple[SqlType, ...], Schema]:
    if isinstance(statement, ExplainSchema):
        return (), explaining.schema_columns(statement)
    if isinstance(statement, ExplainTimestamp):
        return (), explaining.TIMESTAMP
    return (), explaining.COLUMNS


def execute(statement: Explain, session: Session, arguments: Arguments) -> Result:
    match statement:
        case ExplainPlan():
            return explaining.plan(session, statement)
        case ExplainSchema():
            return explaining.schema(session, statement)
        case ExplainTimestamp():
            return explaining.timestamp(session, statement)
