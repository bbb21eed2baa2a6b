"""CREATE [TEMPORARY] TABLE [IF NOT EXISTS] name (column,… [, WATERMARK …] [, PRIMARY KEY …]) [COMMENT 's']
WITH ('connector' = 'kafka' | 'upsert-kafka', …): Flink SQL's tables.

A column is physical (`c type`), of metadata (`c type METADATA [FROM 'key'] [VIRTUAL]`) or computed (`c AS expression`).
One table is a source where it is read and a sink where it is written; nothing happens before that.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum

from tailrace.catalog.items import Item
from tailrace.engine import flink_tables
from tailrace.engine.context import Arguments, Session
from tailrace.engine.define import Identity
from tailrace.errors import DuplicateColumn, NotSupported, SqlError, UnknownColumn
from tailrace.sql.flink_types import flink_identifier, parse_flink_type
from tailrace.sql.names import Name, QueryText
from tailrace.sql.parser import Parser
from tailrace.sql.unparse import Printer, lines, quote_ident
from tailrace.statements.contract import Result
from tailrace.statements.flink import with_options
from tailrace.statements.flink.table_options import TableOptions, table_options
from tailrace.statements.flink.with_options import WithOptions, parse_with
from tailrace.types.core import SqlType, Timestamp, TimestampTz

STARTS = ()  # create_table.py sends us what turns out to be ours

DIALECT = "flink"


class Role(Enum):
    PHYSICAL = "physical"
    METADATA = "metadata"
    COMPUTED = "computed"


@dataclass(frozen=True, kw_only=True, slots=True)
class FlinkColumn:
    """`type` is None for a computed column; `key` is the metadata's.  `written` is the type as it stood there."""

    name: str
    role: Role = Role.PHYSICAL
    type: SqlType | None = None
    written: str = ""
    not_null: bool = False
    key: str | None = None
    virtual: bool = False
    expression: QueryText | None = None
    comment: str | None = None
    position: int | None = field(default=None, compare=False)

    @property
    def is_written(self) -> bool:
        """INSERT has a place for it."""
        return self.role is Role.PHYSICAL or (self.role is Role.METADATA and not self.virtual)

    def sql(self, printer: Printer) -> str:
        parts = [quote_ident(self.name)]
        if self.expression is not None:
            parts.append(f"AS {printer.query(self.expression)}")
        else:
            parts.append(self.written + (" NOT NULL" if self.not_null else ""))
        if self.role is Role.METADATA:
            source = "" if self.key == self.name else f" FROM {printer.text(self.key or '')}"
            parts.append(f"METADATA{source}" + (" VIRTUAL" if self.virtual else ""))
        if self.comment is not None:
            parts.append(f"COMMENT {printer.text(self.comment)}")
        return " ".join(parts)


@dataclass(frozen=True, kw_only=True, slots=True)
class Watermark:
    """WATERMARK FOR column AS expression.  Kept; nothing here waits for watermarks yet."""

    column: str
    expression: QueryText

    def sql(self, printer: Printer) -> str:
        return f"WATERMARK FOR {quote_ident(self.column)} AS {printer.query(self.expression)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class CreateFlinkTable:
    """`settings` is what the options mean together.  The columns of the primary key are NOT NULL."""

    name: Name
    columns: tuple[FlinkColumn, ...]
    options: WithOptions
    settings: TableOptions
    primary_key: tuple[str, ...] = ()
    watermark: Watermark | None = None
    comment: str | None = None
    temporary: bool = False
    if_not_exists: bool = False

    @property
    def physical(self) -> tuple[FlinkColumn, ...]:
        return tuple(column for column in self.columns if column.role is Role.PHYSICAL)

    def create_sql(self, printer: Printer) -> str:
        items = [column.sql(printer) for column in self.columns]
        if self.watermark is not None:
            items.append(self.watermark.sql(printer))
        if self.primary_key:
            items.append(f"PRIMARY KEY {printer.columns(self.primary_key)} NOT ENFORCED")
        body = ",\n".join(f"    {item}" for item in items)
        temporary = "TEMPORARY " if self.temporary else ""
        return lines(
            f"CREATE {temporary}TABLE {printer.name(self.name)} (\n{body}\n)",
            None if self.comment is None else f"COMMENT {printer.text(self.comment)}",
            self.options.show(printer),
        )


def follows(p: Parser) -> bool:
    """Whether, after a table's name, this statement and not a plain CREATE TABLE goes on."""
    mark, depth = p.mark, 0
    while not p.at_end():
        depth += {"(": 1, ")": -1}.get(p.advance().word, 0)
        if depth == 0:
            break
    if p.accept("COMMENT"):
        p.advance()
    answer = with_options.follows(p) or p.at("PARTITIONED", "BY")
    p.rewind(mark)
    return answer


def parse(p: Parser) -> CreateFlinkTable:
    p.expect("CREATE")
    temporary = p.accept("TEMPORARY") or p.accept("TEMP")
    p.expect("TABLE")
    if_not_exists = p.if_not_exists()
    name = _name(p)
    columns, key, watermark = _body(p)
    comment = p.string("comment") if p.accept("COMMENT") else None
    if p.at("PARTITIONED"):
        raise NotSupported("PARTITIONED BY of Kafka tables not supported", position=p.position)
    options = parse_with(p)
    if p.at("LIKE") or p.at("AS"):
        raise NotSupported(f"CREATE TABLE ... {p.token.word} not yet supported", position=p.position)
    columns = _with_key(columns, key)
    return CreateFlinkTable(
        name=name,
        columns=columns,
        options=options,
        settings=table_options(
            options,
            table=name.item,
            physical=[(column.name, column.type) for column in columns if column.role is Role.PHYSICAL],
            primary_key=() if key is None else key.columns,
        ),
        primary_key=() if key is None else key.columns,
        watermark=watermark,
        comment=comment,
        temporary=temporary,
        if_not_exists=if_not_exists,
    )


@dataclass(frozen=True, slots=True)
class _Key:
    columns: tuple[str, ...]
    position: int


def _name(p: Parser) -> Name:
    """A table's name as it is written."""
    position = p.position
    parts = [flink_identifier(p, "table name")]
    while p.accept("."):
        parts.append(flink_identifier(p, "identifier"))
    if parts[:-1] in (["default_catalog", "default_database"], ["default_database"]):
        parts = parts[-1:]
    return Name(tuple(parts), position)


def _body(p: Parser) -> tuple[tuple[FlinkColumn, ...], _Key | None, Watermark | None]:
    columns: list[FlinkColumn] = []
    keys: list[_Key] = []
    watermarks: list[tuple[Watermark, int]] = []
    p.expect("(")
    while not p.accept(")"):
        position = p.position
        if p.at("PRIMARY") or p.at("CONSTRAINT"):
            keys.append(_key(p, None))
        elif p.at("UNIQUE"):
            raise NotSupported("UNIQUE constraint not supported", hint="Flink has PRIMARY KEY only.", position=position)
        elif p.accept("WATERMARK", "FOR"):
            watermarks.append((_watermark(p), position))
        else:
            columns.append(_column(p, keys))
        if not p.at(")") and not p.accept(","):
            raise p.expected('"," or ")"')
    _check(columns, keys, watermarks)
    return tuple(columns), keys[0] if keys else None, watermarks[0][0] if watermarks else None


def _column(p: Parser, keys: list[_Key]) -> FlinkColumn:
    position = p.position
    name = flink_identifier(p, "column name")
    if p.accept("AS"):
        expression = p.expression(("COMMENT",))
        return FlinkColumn(name=name, role=Role.COMPUTED, expression=expression, comment=_comment(p), position=position)
    start = p.token.start
    type_, not_null = parse_flink_type(p)
    written = _without_null(p.text_since(start))
    if p.at("PRIMARY") or p.at("CONSTRAINT"):
        keys.append(_key(p, name))
    if not p.accept("METADATA"):
        return FlinkColumn(
            name=name, type=type_, written=written, not_null=not_null, comment=_comment(p), position=position
        )
    key = p.string("metadata key") if p.accept("FROM") else name
    virtual = p.accept("VIRTUAL")
    return FlinkColumn(
        name=name,
        role=Role.METADATA,
        type=type_,
        written=written,
        not_null=not_null,
        key=key,
        virtual=virtual,
        comment=_comment(p),
        position=position,
    )


def _without_null(text: str) -> str:
    """A type without its NOT NULL."""
    for ending in (" NOT NULL", " NULL"):
        if text.upper().endswith(ending):
            return text[: -len(ending)]
    return text


def _comment(p: Parser) -> str | None:
    return p.string("comment") if p.accept("COMMENT") else None


def _key(p: Parser, column: str | None) -> _Key:
    position = p.position
    if p.accept("CONSTRAINT"):
        p.identifier("constraint name")
    p.expect("PRIMARY", "KEY")
    columns = (column,) if column is not None else p.items(lambda: flink_identifier(p, "column name"))
    if not p.accept("NOT", "ENFORCED"):
        raise SqlError(
            "Flink doesn't support ENFORCED mode for PRIMARY KEY constraint.",
            detail="Nobody checks the key: the data is not ours alone.",
            hint="Add NOT ENFORCED.",
            position=position,
        )
    return _Key(columns, position)


def _watermark(p: Parser) -> Watermark:
    column = flink_identifier(p, "column name")
    p.expect("AS")
    return Watermark(column=column, expression=p.expression())


def _check(columns: list[FlinkColumn], keys: list[_Key], watermarks: list[tuple[Watermark, int]]) -> None:
    by_name: dict[str, FlinkColumn] = {}
    for column in columns:
        if column.name in by_name:
            raise DuplicateColumn(f'column "{column.name}" specified more than once', position=column.position)
        by_name[column.name] = column
    if len(keys) > 1:
        raise SqlError("Duplicate primary key definition", sqlstate="42P16", position=keys[1].position)
    for key in keys:
        for name in key.columns:
            if name not in by_name:
                raise UnknownColumn(f'column "{name}" named in key does not exist', position=key.position)
            if by_name[name].role is not Role.PHYSICAL:
                message = f"Could not create a PRIMARY KEY with column '{name}': it is not a physical column."
                raise SqlError(message, position=key.position)
    if len(watermarks) > 1:
        raise NotSupported("Multiple WATERMARK declarations are not supported yet.", position=watermarks[1][1])
    for watermark, position in watermarks:
        _check_watermark(by_name.get(watermark.column), watermark.column, position)


def _check_watermark(column: FlinkColumn | None, name: str, position: int) -> None:
    if column is None:
        raise UnknownColumn(f'column "{name}" named in WATERMARK does not exist', position=position)
    if column.type is not None and not isinstance(column.type, Timestamp | TimestampTz):
        raise SqlError(
            "Invalid data type of time field for watermark definition.",
            detail=f"The field '{name}' must be of type TIMESTAMP(p) or TIMESTAMP_LTZ(p), but is {column.written}.",
            position=position,
            sqlstate="42804",
        )


def _with_key(columns: tuple[FlinkColumn, ...], key: _Key | None) -> tuple[FlinkColumn, ...]:
    """The columns of a primary key are never NULL."""
    named = () if key is None else key.columns
    return tuple(replace(c, not_null=True) if c.name in named else c for c in columns)


def define(statement: CreateFlinkTable, session: Session, identity: Identity) -> Item:
    return flink_tables.item(session, statement, identity)


def execute(statement: CreateFlinkTable, session: Session, arguments: Arguments) -> Result:
    return flink_tables.create(session, statement)
