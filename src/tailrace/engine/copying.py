"""COPY to and from the client: rows of a query as lines, and lines as rows of a table, all in one tick or none."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tailrace.catalog.items import Item
from tailrace.engine import dml
from tailrace.engine.copy_binary import columns_of_binary
from tailrace.engine.copy_lines import columns_of_csv, columns_of_text
from tailrace.engine.rows import arrow_schema
from tailrace.errors import DuplicateColumn, InvalidOption, NotSupported, SqlError, UnknownColumn
from tailrace.plan.bind import assign, bind_scalar
from tailrace.plan.coercion import cast as cast_to
from tailrace.plan.data_errors import explain
from tailrace.plan.expressions import Expression, Ref
from tailrace.plan.expressions import Literal as Constant
from tailrace.plan.nodes import Project, Scan
from tailrace.plan.parse import parse_expression
from tailrace.plan.to_spark import render
from tailrace.sql.options import Option, Options
from tailrace.statements.contract import CopyStyle, Result
from tailrace.types.core import TEXT, Char, Column, Varchar
from tailrace.types.postgres import oid_of
from tailrace.types.spark import ddl

if TYPE_CHECKING:
    from tailrace.engine.session import EngineSession
    from tailrace.statements.copy import CopyFrom, CopyTo

_OUT = ("text", "csv", "binary")
_MOST_BYTES = 1 << 30
_NO_DELIMITERS = "\\.abcdefghijklmnopqrstuvwxyz0123456789"
"""Of text: after a backslash they mean something else."""


def to_client(statement: CopyTo, result: Result) -> Result:
    """The rows of a SELECT or SUBSCRIBE as the data of COPY … TO STDOUT."""
    result.tag = "COPY {rows}"
    result.copy = style(statement, "TO")
    return result


def from_client(session: EngineSession, statement: CopyFrom) -> Result:
    table = dml.changeable(session, statement.table, "INSERT")
    columns, lines = _columns(table, statement), style(statement, "FROM")
    return Result(tag="COPY {rows}", copy_in=Incoming(session, table, columns, lines))


def _columns(table: Item, statement: CopyFrom) -> tuple[str, ...]:
    names = [column.name for column in table.schema or ()]
    for i, name in enumerate(statement.columns):
        if name not in names:
            raise UnknownColumn(f'column "{name}" of relation "{table.name.item}" does not exist')
        if name in statement.columns[:i]:
            raise DuplicateColumn(f'column "{name}" specified more than once')
    return statement.columns or tuple(names)


def style(statement: CopyTo | CopyFrom, verb: str) -> CopyStyle:
    """What the options say, if it can be read again."""
    from tailrace.statements import copy

    format, options = statement.format or "text", statement.options
    if format not in _OUT:
        where = "" if verb == "TO" else "COPY FROM with "
        raise NotSupported(f"{where}FORMAT {format.upper()} not yet supported")
    is_csv = format == "csv"
    if format == "binary":
        _refuse_styles(statement)
        return CopyStyle(is_binary=True)
    csv_only: tuple[Option[Any], ...] = (copy.QUOTE, copy.ESCAPE, copy.HEADER)
    for option in csv_only:
        if options.has(option) and not is_csv:
            raise InvalidOption(f"COPY {option.name} available only in CSV mode", position=options.position(option))
    quote = _given(options.get(copy.QUOTE), '"')
    header = options.get(copy.HEADER)
    given = CopyStyle(
        is_csv=is_csv,
        delimiter=_given(options.get(copy.DELIMITER), "," if is_csv else "\t"),
        null=_given(options.get(copy.NULL), "" if is_csv else "\\N"),
        quote=quote,
        escape=_given(options.get(copy.ESCAPE), quote),
        header=header is True,
    )
    _check_characters(given, options)
    return given


def _check_characters(style: CopyStyle, options: Options) -> None:
    """PostgreSQL's rules and words: what separates values must not be taken for one."""
    from tailrace.statements import copy

    def refuse(message: str, option: Option[str]) -> None:
        raise InvalidOption(f"COPY {message}", position=options.position(option))

    known: tuple[tuple[Option[str], str], ...] = (
        (copy.DELIMITER, style.delimiter),
        (copy.QUOTE, style.quote),
        (copy.ESCAPE, style.escape),
    )
    for given, value in known:
        if len(value.encode()) != 1:
            refuse(f"{given.name.lower()} must be a single one-byte character", given)
        if value in "\r\n":
            refuse(f"{given.name.lower()} cannot be newline or carriage return", given)
    if not style.is_csv and style.delimiter in _NO_DELIMITERS:
        refuse(f'delimiter cannot be "{style.delimiter}"', copy.DELIMITER)
    if "\r" in style.null or "\n" in style.null:
        refuse("null representation cannot use newline or carriage return", copy.NULL)
    if style.delimiter in style.null:
        refuse("delimiter character must not appear in the NULL specification", copy.NULL)
    if style.is_csv and style.delimiter == style.quote:
        refuse("delimiter and quote must be different", copy.DELIMITER)
    if style.is_csv and style.quote in style.null:
        refuse("quote character must not appear in the NULL specification", copy.NULL)


def _refuse_styles(statement: CopyTo | CopyFrom) -> None:
    """Binary data have no delimiters and no quotes."""
    from tailrace.statements import copy

    styles: tuple[Option[Any], ...] = (copy.DELIMITER, copy.NULL, copy.QUOTE, copy.ESCAPE, copy.HEADER)
    for option in styles:
        if statement.options.has(option):
            message = f"cannot specify {option.name} in BINARY mode"
            raise InvalidOption(message, position=statement.options.position(option))


def _given(value: str | None, default: str) -> str:
    return default if value is None else value


@dataclass(eq=False, slots=True)
class Incoming:
    """The data so far.  They become rows, by one Spark job, when all are there."""

    session: EngineSession
    table: Item
    names: tuple[str, ...]
    style: CopyStyle
    _data: bytearray = field(default_factory=bytearray)

    @property
    def columns(self) -> int:
        return len(self.names)

    @property
    def is_binary(self) -> bool:
        return self.style.is_binary

    def write(self, data: bytes) -> None:
        self._data += data
        if len(self._data) > _MOST_BYTES:
            raise SqlError("COPY data of more than 1 GB not yet supported", sqlstate="54000")

    def finish(self) -> int:
        texts = self._texts()
        return dml.insert_rows(self.session, self.table, self._rows(texts)) if texts.num_rows else 0

    def _texts(self) -> pa.Table:
        """The data as texts, under the names of their columns."""
        if self.style.is_binary:
            types = {column.name: column.type for column in self.table.schema or ()}
            return columns_of_binary(bytes(self._data), {name: oid_of(types[name]) for name in self.names})
        try:
            text = bytes(self._data).decode()
        except UnicodeDecodeError:
            raise SqlError('invalid byte sequence for encoding "UTF8"', sqlstate="22021") from None
        read = columns_of_csv if self.style.is_csv else columns_of_text
        return read(text, self.names, self.style)

    def _rows(self, texts: pa.Table) -> pa.Table:
        """Each text as a value of its column.  Runs one Spark job."""
        schema = tuple(Column(name, TEXT) for name in self.names)
        node = Project(
            input=Scan(relation="data", schema=schema),
            expressions=tuple(self._value(i) for i in range(len(self.table.schema or ()))),
            names=tuple(column.name for column in self.table.schema or ()),
        )
        engine = self.session.engine
        table = pa.Table.from_arrays(texts.columns, schema=arrow_schema(schema))
        with engine.views.scratch():
            view = engine.views.add_arrow(table, ddl(schema))
            try:
                return self.session.collect(render(node, lambda _: view))
            except Exception as error:
                raise explain(error) from error

    def _value(self, place: int) -> Expression:
        column = (self.table.schema or ())[place]
        if column.name in self.names:
            text = Ref(index=self.names.index(column.name), type=TEXT, nullable=True)
            return assign(text, column.type) if isinstance(column.type, Varchar | Char) else cast_to(text, column.type)
        default = self.table.statement.columns[place].default
        if default is None:
            return Constant(text=None, type=column.type)
        return assign(bind_scalar(parse_expression(default.text), (), self.session.engine.catalog), column.type)
