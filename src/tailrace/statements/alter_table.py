"""ALTER TABLE [IF EXISTS] name RENAME COLUMN a TO b | ADD COLUMN [IF NOT EXISTS] c type
| SET (RETAIN HISTORY …) | RESET (RETAIN HISTORY) | RENAME TO | OWNER TO"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tailrace.errors import NotSupported
from tailrace.sql.names import Name, ObjectKind
from tailrace.sql.parser import Parser
from tailrace.statements import alter_object, retain_history
from tailrace.statements.alter_object import AlterOwner, Rename
from tailrace.statements.retain_history import AlterHistory
from tailrace.types.core import SqlType

STARTS = (("ALTER", "TABLE"),)
_REFUSED = (
    *(("DROP",), ("ALTER",), ("SET", "SCHEMA")),
    *(("ADD", "CONSTRAINT"), ("ADD", "PRIMARY"), ("ADD", "UNIQUE"), ("ADD", "FOREIGN"), ("ADD", "CHECK")),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class RenameColumn:
    table: Name
    column: str
    to: str
    if_exists: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class AddColumn:
    table: Name
    column: str
    type: SqlType
    if_not_exists: bool = False
    if_exists: bool = False


AlterTable: TypeAlias = RenameColumn | AddColumn | AlterHistory | Rename | AlterOwner


def parse(p: Parser) -> AlterTable:
    p.expect("ALTER", "TABLE")
    target = alter_object.target(p, ObjectKind.TABLE)
    if p.accept("RENAME", "COLUMN"):
        column = p.identifier("column name")
        p.expect("TO")
        to = p.identifier("column name")
        return RenameColumn(table=target.name, column=column, to=to, if_exists=target.if_exists)
    position = p.position
    for words in _REFUSED:
        if p.at(*words):
            raise NotSupported(
                f"ALTER TABLE ... {' '.join(words)} not supported",
                hint="A table keeps the columns that it was made with: make another one, or a view with other columns.",
                position=position,
            )
    if p.accept("ADD"):
        p.accept("COLUMN")
        if_not_exists = p.if_not_exists()
        return AddColumn(
            table=target.name,
            column=p.identifier("column name"),
            type=p.type_(),
            if_not_exists=if_not_exists,
            if_exists=target.if_exists,
        )
    change = alter_object.common(p, target) or retain_history.parse_change(p, target)
    if change is None:
        raise p.expected("one of ADD or RENAME or SET or RESET or OWNER")
    return change
