"""CREATE [TEMP] TABLE [IF NOT EXISTS] name (column type [NOT NULL] [DEFAULT expression], …) [WITH (option,…)]

PRIMARY KEY and UNIQUE are declarations, not enforced: they tell the planner which columns identify a row.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tailrace.catalog.items import Item
from tailrace.engine import define as definitions
from tailrace.engine.context import Arguments, Session
from tailrace.engine.define import Identity
from tailrace.errors import DuplicateColumn, NotSupported, SqlError
from tailrace.sql.durations import Duration
from tailrace.sql.kinds import COLUMN, FOR_INTERVAL, Several
from tailrace.sql.names import Name, QueryText
from tailrace.sql.options import Option, Options, parse_options
from tailrace.sql.parser import Parser
from tailrace.sql.unparse import Printer, lines, quote_ident
from tailrace.statements import create_flink_table, create_table_from_source
from tailrace.statements.contract import Result
from tailrace.statements.create_flink_table import CreateFlinkTable
from tailrace.statements.create_table_from_source import CreateTableFromSource
from tailrace.types.core import SqlType

STARTS = (("CREATE", "TABLE"), ("CREATE", "TEMP", "TABLE"), ("CREATE", "TEMPORARY", "TABLE"))

PARTITION_BY = Option("PARTITION BY", Several(COLUMN), doc="How the stored rows are ordered.")
RETAIN_HISTORY = Option("RETAIN HISTORY", FOR_INTERVAL, doc="How far back AS OF can reach.")
WITH_OPTIONS: tuple[Option[Any], ...] = (PARTITION_BY, RETAIN_HISTORY)
_AFTER_DEFAULT = (("NOT", "NULL"), ("NULL",), ("PRIMARY",), ("UNIQUE",), ("CONSTRAINT",), ("DEFAULT",))


@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnDefinition:
    name: str
    type: SqlType
    not_null: bool = False
    default: QueryText | None = None
    position: int | None = field(default=None, compare=False)

    def sql(self, printer: Printer) -> str:
        default = "" if self.default is None else f" DEFAULT {printer.query(self.default)}"
        return f"{quote_ident(self.name)} {self.type}" + (" NOT NULL" if self.not_null else "") + default


@dataclass(frozen=True, kw_only=True, slots=True)
class DeclaredKey:
    """PRIMARY KEY (columns) or UNIQUE (columns)."""

    columns: tuple[str, ...]
    primary: bool
    name: str | None = None
    position: int | None = field(default=None, compare=False)

    def sql(self, printer: Printer) -> str:
        name = "" if self.name is None else f"CONSTRAINT {quote_ident(self.name)} "
        return f"{name}{'PRIMARY KEY' if self.primary else 'UNIQUE'} {printer.columns(self.columns)} NOT ENFORCED"


@dataclass(frozen=True, kw_only=True, slots=True)
class CreateTable:
    """Columns have different names, and keys name only them; columns of a primary key are NOT NULL."""

    name: Name
    columns: tuple[ColumnDefinition, ...]
    keys: tuple[DeclaredKey, ...] = ()
    temporary: bool = False
    partition_by: tuple[str, ...] = ()
    retain_history: Duration | None = None
    options: Options = field(default_factory=Options)
    if_not_exists: bool = False

    def create_sql(self, printer: Printer) -> str:
        items = [*(c.sql(printer) for c in self.columns), *(key.sql(printer) for key in self.keys)]
        body = ",\n".join(f"    {item}" for item in items)
        temporary = "TEMPORARY " if self.temporary else ""
        create = f"CREATE {temporary}TABLE {printer.name(self.name)} (\n{body}\n)" if items else None
        return lines(
            create or f"CREATE {temporary}TABLE {printer.name(self.name)} ()",
            self.options.clause(printer, "WITH "),
        )


def parse(p: Parser) -> CreateTable | CreateTableFromSource | CreateFlinkTable:
    mark = p.mark
    p.expect("CREATE")
    temporary = p.accept("TEMP") or p.accept("TEMPORARY")
    p.expect("TABLE")
    if_not_exists = p.if_not_exists()
    before_name = p.mark
    p.name("table name")
    if create_table_from_source.follows(p):
        p.rewind(mark)
        return create_table_from_source.parse(p)
    if create_flink_table.follows(p):
        p.rewind(mark)
        return create_flink_table.parse(p)
    if p.at("AS"):
        raise NotSupported(
            "CREATE TABLE AS not yet supported",
            hint="CREATE MATERIALIZED VIEW … AS keeps the result; or CREATE TABLE, then INSERT INTO … SELECT.",
            position=p.position,
        )
    p.rewind(before_name)
    name = p.new_name("table name")
    columns, keys = _body(p)
    options = parse_options(p, WITH_OPTIONS) if p.accept("WITH") else Options()
    return CreateTable(
        name=name,
        columns=columns,
        keys=keys,
        temporary=temporary,
        partition_by=options.get(PARTITION_BY) or (),
        retain_history=options.get(RETAIN_HISTORY),
        options=options,
        if_not_exists=if_not_exists,
    )


def _body(p: Parser) -> tuple[tuple[ColumnDefinition, ...], tuple[DeclaredKey, ...]]:
    columns: list[ColumnDefinition] = []
    keys: list[DeclaredKey] = []
    p.expect("(")
    while not p.accept(")"):
        if p.token.word in ("PRIMARY", "UNIQUE", "CONSTRAINT", "CHECK", "FOREIGN"):
            keys.append(_table_constraint(p))
        else:
            columns.append(_column(p, keys))
        if not p.at(")") and not p.accept(","):
            raise p.expected('"," or ")"')
    _check(columns, keys)
    return _with_primary_key(columns, keys), tuple(keys)


def _column(p: Parser, keys: list[DeclaredKey]) -> ColumnDefinition:
    position = p.position
    name = p.identifier("column name")
    type_ = p.type_()
    not_null, default = False, None
    while p.token.word not in (",", ")") and not p.at_end():
        constraint = _constraint_name(p)
        if p.accept("NOT", "NULL"):
            not_null = True
        elif p.accept("DEFAULT"):
            default = p.expression(*_AFTER_DEFAULT)
        elif p.token.word in ("PRIMARY", "UNIQUE"):
            keys.append(_key(p, constraint, (name,)))
        elif not p.accept("NULL"):
            _refuse_constraint(p)
            raise p.expected('"," or ")"')
    return ColumnDefinition(name=name, type=type_, not_null=not_null, default=default, position=position)


def _table_constraint(p: Parser) -> DeclaredKey:
    name = _constraint_name(p)
    _refuse_constraint(p)
    return _key(p, name)


def _key(p: Parser, name: str | None, column: tuple[str, ...] | None = None) -> DeclaredKey:
    position = p.position
    primary = p.keyword("PRIMARY", "UNIQUE") == "PRIMARY"
    if primary:
        p.expect("KEY")
    columns = p.columns() if column is None else column
    if p.at("NOT", "ENFORCED"):
        p.expect("NOT", "ENFORCED")
    return DeclaredKey(columns=columns, primary=primary, name=name, position=position)


def _constraint_name(p: Parser) -> str | None:
    return p.identifier("constraint name") if p.accept("CONSTRAINT") else None


def _refuse_constraint(p: Parser) -> None:
    if p.at("GENERATED"):
        raise NotSupported(
            "GENERATED columns not supported",
            hint="There are no sequences: give keys yourself, a uuid for example.  A view can compute columns.",
            position=p.position,
        )
    for word, what in (("CHECK", "CHECK"), ("FOREIGN", "FOREIGN KEY"), ("REFERENCES", "FOREIGN KEY")):
        if p.at(word):
            message = f"CREATE TABLE with {what} constraint not yet supported"
            raise NotSupported(message, position=p.position)


def _check(columns: list[ColumnDefinition], keys: list[DeclaredKey]) -> None:
    seen: set[str] = set()
    for column in columns:
        if column.name in seen:
            message = f'column "{column.name}" specified more than once'
            raise DuplicateColumn(message, position=column.position)
        seen.add(column.name)
    if sum(key.primary for key in keys) > 1:
        raise SqlError("multiple primary keys for one table are not allowed", sqlstate="42P16")
    for key in keys:
        for name in key.columns:
            if name not in seen:
                message = f'column "{name}" named in key does not exist'
                raise SqlError(message, position=key.position, sqlstate="42703")


def _with_primary_key(
    columns: list[ColumnDefinition], keys: list[DeclaredKey]
) -> tuple[ColumnDefinition, ...]:
    primary = {name for key in keys if key.primary for name in key.columns}
    return tuple(
        ColumnDefinition(
            name=column.name,
            type=column.type,
            not_null=column.not_null or column.name in primary,
            default=column.default,
            position=column.position,
        )
        for column in columns
    )


def define(statement: CreateTable, session: Session, identity: Identity) -> Item:
    return definitions.table(session, statement, identity)


def execute(statement: CreateTable, session: Session, arguments: Arguments) -> Result:
    return session.create(
        "table",
        statement.name,
        lambda identity: define(statement, session, identity),
        if_not_exists=statement.if_not_exists,
        temporary=statement.temporary,
    )
