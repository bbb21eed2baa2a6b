"""SHOW [REDACTED] CREATE kind name: the statement that would make the object again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tailrace.engine import show
from tailrace.engine.context import Arguments, Session
from tailrace.sql.names import Name, ObjectKind
from tailrace.sql.parser import Parser
from tailrace.statements.contract import Result
from tailrace.types.core import Schema, SqlType

STARTS = (("SHOW", "CREATE"), ("SHOW", "REDACTED", "CREATE"))
_KINDS = (
    *(ObjectKind.CLUSTER, ObjectKind.CONNECTION, ObjectKind.INDEX, ObjectKind.MATERIALIZED_VIEW),
    *(ObjectKind.SINK, ObjectKind.SOURCE, ObjectKind.TABLE, ObjectKind.TYPE, ObjectKind.VIEW),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ShowCreate:
    kind: ObjectKind
    name: Name
    redacted: bool = False


def parse(p: Parser) -> ShowCreate:
    p.expect("SHOW")
    redacted = p.accept("REDACTED")
    p.expect("CREATE")
    kind = ObjectKind(p.phrase(*(kind.upper() for kind in _KINDS)).lower())
    return ShowCreate(kind=kind, name=p.name(f"{kind} name"), redacted=redacted)


def describe(
    statement: ShowCreate, session: Session, parameters: Sequence[SqlType | None]
) -> tuple[tuple[SqlType, ...], Schema]:
    return (), show.CREATE


def execute(statement: ShowCreate, session: Session, arguments: Arguments) -> Result:
    return show.create(session, statement)
