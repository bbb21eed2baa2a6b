"""CREATE DATABASE | SCHEMA [IF NOT EXISTS] name: little more than a name."""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.sql.names import Name, ObjectKind
from tailrace.sql.parser import Parser

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
