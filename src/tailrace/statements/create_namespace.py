"""CREATE DATABASE | SCHEMA [IF NOT EXISTS] name: little more than a name."""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.catalog.items import DEFAULT_DATABASE, DEFAULT_SCHEMA
from tailrace.engine.context import Arguments, Session
from tailrace.errors import DuplicateObject, NotSupported
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
    return CreateNamespace(kind=kind, name=p.name(f"{kind} name"), if_not_exists=if_not_exists)


def execute(statement: CreateNamespace, session: Session, arguments: Arguments) -> Result:
    tag = f"CREATE {statement.kind.upper()}"
    there = DEFAULT_DATABASE if statement.kind is ObjectKind.DATABASE else DEFAULT_SCHEMA
    if statement.name.item != there:
        raise NotSupported(
            f"{tag} not yet supported",
            hint=f'There is one {statement.kind} for objects, "{there}".',
            position=statement.name.position,
        )
    if not statement.if_not_exists:
        raise DuplicateObject(f'{statement.kind} "{there}" already exists', position=statement.name.position)
    session.notice(f'{statement.kind} "{there}" already exists, skipping', sqlstate="42710")
    return Result(tag=tag)
