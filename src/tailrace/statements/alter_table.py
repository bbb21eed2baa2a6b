"""ALTER TABLE [IF EXISTS] name RENAME [COLUMN] a TO b | ADD [COLUMN] [IF NOT EXISTS] c type,…
| SET (RETAIN HISTORY …) | RESET (RETAIN HISTORY) | RENAME TO | OWNER TO | SET SCHEMA"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tailrace.engine import renaming, widening
from tailrace.engine.context import Arguments, Session
from tailrace.errors import DuplicateColumn, NotSupported
from tailrace.sql.names import Name, ObjectKind
from tailrace.sql.parser import Parser
from tailrace.statements import alter_object, retain_history
from tailrace.statements.alter_object import Common
from tailrace.statements.contract import Result
from tailrace.statements.create_table import ColumnDefinition, CreateTable
from tailrace.statements.retain_history import AlterHistory

STARTS = (("ALTER", "TABLE"),)
_REFUSED = (
    *(("DROP",), ("ALTER",)),
    *(("ADD", "CONSTRAINT"), ("ADD", "PRIMARY"), ("ADD", "UNIQUE"), ("ADD", "FOREIGN"), ("ADD", "CHECK")),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class RenameColumn:
    name: Name
    column: str
    to: str
    if_exists: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class AddedColumn:
    """It may be NULL, and is in the rows that are there."""

    definition: ColumnDefinition
    if_not_exists: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class AlterAddColumns:
    name: Name
    columns: tuple[AddedColumn, ...]
    if_exists: bool = False


AlterTable: TypeAlias = RenameColumn | AlterAddColumns | AlterHistory | Common


def parse(p: Parser) -> AlterTable:
    p.expect("ALTER", "TABLE")
    target = alter_object.target(p, ObjectKind.TABLE)
    if p.at("RENAME") and not p.at("RENAME", "TO"):
        p.expect("RENAME")
        p.accept("COLUMN")
        column = p.identifier("column name")
        p.expect("TO")
        to = p.identifier("column name")
        return RenameColumn(name=target.name, column=column, to=to, if_exists=target.if_exists)
    position = p.position
    for words in _REFUSED:
        if p.at(*words):
            raise NotSupported(
                f"ALTER TABLE ... {' '.join(words)} not supported",
                hint="A table keeps its columns as they are: make another one, or a view with other columns.",
                position=position,
            )
    if p.at("ADD"):
        columns = p.several(lambda: _added(p))
        return AlterAddColumns(name=target.name, columns=columns, if_exists=target.if_exists)
    change = alter_object.common(p, target) or retain_history.parse_change(p, target)
    if change is None:
        raise p.expected("one of ADD or RENAME or SET or RESET or OWNER")
    return change


def _added(p: Parser) -> AddedColumn:
    p.expect("ADD")
    p.accept("COLUMN")
    if_not_exists = p.if_not_exists()
    return AddedColumn(definition=_column(p), if_not_exists=if_not_exists)


def _column(p: Parser) -> ColumnDefinition:
    """Rows that are there have NULL in it, so nothing else can be its default."""
    position = p.position
    column = ColumnDefinition(name=p.identifier("column name"), type=p.type_(), position=position)
    while p.token.word and not p.at_end():
        at = p.position
        if p.accept("DEFAULT", "NULL") or p.accept("NULL"):
            continue
        for words in (("NOT", "NULL"), ("DEFAULT",), ("PRIMARY", "KEY"), ("UNIQUE",), ("CHECK",), ("REFERENCES",)):
            if p.at(*words):
                raise NotSupported(
                    f"ALTER TABLE ... ADD COLUMN ... {' '.join(words)} not supported",
                    detail="The rows that are there have NULL in the new column.",
                    hint="Add the column without it; UPDATE gives it other values.",
                    position=at,
                )
        break
    return column


def execute(statement: RenameColumn | AlterAddColumns, session: Session, arguments: Arguments) -> Result:
    tag = Result(tag="ALTER TABLE")
    table = session.resolve_if_exists(statement.name, "table", if_exists=statement.if_exists)
    if table is None:
        return tag
    if not isinstance(table.statement, CreateTable):
        raise NotSupported(
            "columns of a table whose rows come from outside cannot be altered",
            hint="Its columns are those of its source: drop it and create it again.",
            position=statement.name.position,
        )
    if isinstance(statement, RenameColumn):
        renaming.rename_column(session, table, statement.column, statement.to)
        return tag
    known = [column.name for column in table.schema or ()]
    new: list[ColumnDefinition] = []
    for added in statement.columns:
        column = added.definition
        if column.name not in (*known, *(each.name for each in new)):
            new.append(column)
            continue
        message = f'column "{column.name}" of relation "{table.name.item}" already exists'
        if not added.if_not_exists:
            raise DuplicateColumn(message, position=column.position)
        session.notice(f"{message}, skipping", sqlstate="42701")
    if new:
        widening.add_columns(session, table, new)
    return tag
