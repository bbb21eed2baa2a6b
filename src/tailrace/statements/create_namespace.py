"""CREATE DATABASE [IF NOT EXISTS] name | CREATE SCHEMA [IF NOT EXISTS] [database.]name: places for names.

A new database has a schema `public`.  SET database and SET search_path say where a session looks for names.
"""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.engine import namespaces
from tailrace.engine.context import Arguments, Session
from tailrace.errors import NotSupported
from tailrace.sql.names import Name, ObjectKind
from tailrace.sql.parser import Parser
from tailrace.statements.contract import Result

_KINDS = (ObjectKind.DATABASE, ObjectKind.SCHEMA)
STARTS = tuple(("CREATE", kind.upper()) for kind in _KINDS)


@dataclass(frozen=True, kw_only=True, slots=True)
class CreateNamespace:
    kind: ObjectKind
    name: Name
    if_not_exists: bool = False


def parse(p: Parser) -> CreateNamespace:
    p.expect("CREATE")
    kind = ObjectKind(p.keyword(*(kind.upper() for kind in _KINDS)).lower())
    if_not_exists = p.if_not_exists()
    if p.at("AUTHORIZATION"):
        raise _no_authorization(p)
    name = p.name(f"{kind} name")
    if kind is ObjectKind.SCHEMA and p.at("AUTHORIZATION"):
        raise _no_authorization(p)
    return CreateNamespace(kind=kind, name=name, if_not_exists=if_not_exists)


def _no_authorization(p: Parser) -> NotSupported:
    return NotSupported(
        "CREATE SCHEMA ... AUTHORIZATION not supported",
        hint="CREATE SCHEMA name, then ALTER SCHEMA name OWNER TO role.",
        position=p.position,
    )


def execute(statement: CreateNamespace, session: Session, arguments: Arguments) -> Result:
    namespaces.create(session, str(statement.kind), statement.name, if_not_exists=statement.if_not_exists)
    return Result(tag=f"CREATE {statement.kind.upper()}")
