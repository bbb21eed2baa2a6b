"""FORMAT clauses: how bytes become columns and columns bytes.

`FORMAT f` or `KEY FORMAT f VALUE FORMAT g`, for sources and sinks alike; which of them each can use, the
execution decides.  Every format prints itself as it is written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from tailrace.errors import InvalidOption, NotSupported
from tailrace.sql.kinds import BOOLEAN
from tailrace.sql.names import Name
from tailrace.sql.options import Option, parse_options
from tailrace.sql.parser import Parser, one_of
from tailrace.sql.unparse import Printer
from tailrace.statements.avro_options import AvroSinkOptions, parse_avro_sink_options


@dataclass(frozen=True, slots=True)
class Json:
    def sql(self, printer: Printer) -> str:
        return "JSON"


@dataclass(frozen=True, slots=True)
class Text:
    def sql(self, printer: Printer) -> str:
        return "TEXT"


@dataclass(frozen=True, slots=True)
class Bytes:
    def sql(self, printer: Printer) -> str:
        return "BYTES"


@dataclass(frozen=True, slots=True)
class Csv:
    """`columns` counts them (`WITH 3 COLUMNS`), or names them if there is a header (`WITH HEADER (a, b)`)."""

    columns: int | tuple[str, ...]
    delimiter: str = ","
    position: int | None = field(default=None, compare=False)

    @property
    def has_header(self) -> bool:
        return isinstance(self.columns, tuple)

    def sql(self, printer: Printer) -> str:
        delimited = "" if self.delimiter == "," else f" DELIMITED BY {printer.text(self.delimiter)}"
        if isinstance(self.columns, int):
            return f"CSV WITH {self.columns} COLUMNS{delimited}"
        names = f" {printer.columns(self.columns)}" if self.columns else ""
        return f"CSV WITH HEADER{names}{delimited}"


@dataclass(frozen=True, slots=True)
class Regex:
    pattern: str
    position: int | None = field(default=None, compare=False)

    def sql(self, printer: Printer) -> str:
        return f"REGEX {printer.text(self.pattern)}"


@dataclass(frozen=True, slots=True)
class Strategy:
    """Which schema reads the data: LATEST, ID n, or INLINE 'json'."""

    kind: str
    value: int | str | None = None

    def sql(self, printer: Printer) -> str:
        if self.value is None:
            return self.kind
        shown = printer.number(self.value) if isinstance(self.value, int) else printer.text(self.value)
        return f"{self.kind} {shown}"


@dataclass(frozen=True, kw_only=True, slots=True)
class AvroRegistry:
    """AVRO USING CONFLUENT SCHEMA REGISTRY: strategies are a source's, options a sink's."""

    connection: Name
    key_strategy: Strategy | None = None
    value_strategy: Strategy | None = None
    options: AvroSinkOptions = field(default_factory=AvroSinkOptions)

    def sql(self, printer: Printer) -> str:
        text = f"AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION {printer.name(self.connection)}"
        if self.key_strategy is not None:
            text += f" KEY STRATEGY {self.key_strategy.sql(printer)}"
        if self.value_strategy is not None:
            text += f" VALUE STRATEGY {self.value_strategy.sql(printer)}"
        return text + (self.options.options.clause(printer, " ") or "")


@dataclass(frozen=True, kw_only=True, slots=True)
class AvroSchema:
    """AVRO USING SCHEMA 'json', framed as by a registry unless told otherwise."""

    schema: str
    confluent_wire_format: bool = True

    def sql(self, printer: Printer) -> str:
        wire = "" if self.confluent_wire_format else " (CONFLUENT WIRE FORMAT = false)"
        return f"AVRO USING SCHEMA {printer.text(self.schema)}{wire}"


@dataclass(frozen=True, kw_only=True, slots=True)
class ProtobufRegistry:
    connection: Name
    position: int | None = field(default=None, compare=False)

    def sql(self, printer: Printer) -> str:
        return f"PROTOBUF USING CONFLUENT SCHEMA REGISTRY CONNECTION {printer.name(self.connection)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class ProtobufSchema:
    message: str
    schema: str
    position: int | None = field(default=None, compare=False)

    def sql(self, printer: Printer) -> str:
        return f"PROTOBUF MESSAGE {printer.text(self.message)} USING SCHEMA {printer.text(self.schema)}"


Format: TypeAlias = (
    Json | Text | Bytes | Csv | Regex | AvroRegistry | AvroSchema | ProtobufRegistry | ProtobufSchema
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Formats:
    """`FORMAT f` (then `key` is None), or `KEY FORMAT f VALUE FORMAT g`."""

    value: Format
    key: Format | None = None

    @property
    def of_key(self) -> Format:
        """A bare FORMAT is also the key's."""
        return self.value if self.key is None else self.key

    def sql(self, printer: Printer) -> str:
        if self.key is None:
            return f"FORMAT {self.value.sql(printer)}"
        return f"KEY FORMAT {self.key.sql(printer)}\nVALUE FORMAT {self.value.sql(printer)}"


def parse_formats(p: Parser, side: str) -> Formats | None:
    """The clause, if there is one.  `side` is `sources` or `sinks`, for errors and for Avro's options."""
    if p.accept("FORMAT"):
        return Formats(value=_format(p, side))
    if p.accept("KEY", "FORMAT"):
        key = _format(p, side)
        p.expect("VALUE", "FORMAT")
        return Formats(value=_format(p, side), key=key)
    return None


def _format(p: Parser, side: str) -> Format:
    position = p.position
    word = p.token.word
    rule = _RULES.get(word)
    if rule is None:
        raise p.expected(one_of(tuple(_RULES)))
    p.advance()
    if word == "JSON" and p.accept("ARRAY"):
        raise NotSupported(f"JSON ARRAY format in {side} not yet supported", position=position)
    return rule(p, side)


def _avro(p: Parser, side: str) -> Format:
    p.expect("USING")
    if p.accept("SCHEMA"):
        schema = p.string()
        wire = parse_options(p, (_WIRE_FORMAT,)).get(_WIRE_FORMAT) if p.at("(") else True
        return AvroSchema(schema=schema, confluent_wire_format=wire is not False)
    _refuse_glue(p)
    p.expect("CONFLUENT", "SCHEMA", "REGISTRY", "CONNECTION")
    connection = p.name("connection name")
    if side == "sinks":
        return AvroRegistry(connection=connection, options=parse_avro_sink_options(p))
    key = _strategy(p, "KEY")
    return AvroRegistry(connection=connection, key_strategy=key, value_strategy=_strategy(p, "VALUE"))


def _refuse_glue(p: Parser) -> None:
    position = p.position
    if p.accept("AWS", "GLUE", "SCHEMA", "REGISTRY"):
        raise NotSupported("AWS GLUE SCHEMA REGISTRY formats not yet supported", position=position)


def _strategy(p: Parser, side: str) -> Strategy | None:
    if not p.accept(side, "STRATEGY"):
        return None
    kind = p.keyword("LATEST", "ID", "INLINE")
    return Strategy(kind, p.integer() if kind == "ID" else p.string() if kind == "INLINE" else None)


def _protobuf(p: Parser, side: str) -> Format:
    position = p.position
    if p.accept("MESSAGE"):
        message = p.string()
        p.expect("USING", "SCHEMA")
        return ProtobufSchema(message=message, schema=p.string(), position=position)
    p.expect("USING", "CONFLUENT", "SCHEMA", "REGISTRY", "CONNECTION")
    return ProtobufRegistry(connection=p.name("connection name"), position=position)


def refused(format: Format, side: str) -> NotSupported:
    """The error for a format that `sources` or `sinks` cannot use."""
    name = type(format).__name__.removesuffix("Registry").removesuffix("Schema").upper()
    others = "AVRO, JSON, TEXT, BYTES, CSV and REGEX" if side == "sources" else "AVRO, JSON, TEXT and BYTES"
    return NotSupported(
        f"{name} format in {side} not yet supported",
        hint=f"There are {others}.",
        position=getattr(format, "position", None),
    )


def _csv(p: Parser, side: str) -> Format:
    p.expect("WITH")
    start = p.position
    columns: int | tuple[str, ...]
    if p.accept("HEADER") or p.accept("HEADERS"):
        columns = p.columns() if p.at("(") else ()
    else:
        position = p.position
        columns = p.integer("HEADER or a number of columns")
        if columns < 1:
            raise InvalidOption("CSV needs at least one column", position=position)
        p.expect("COLUMNS")
    return Csv(columns, _delimiter(p), start)


def _delimiter(p: Parser) -> str:
    if not p.accept("DELIMITED"):
        return ","
    p.expect("BY")
    position = p.position
    delimiter = p.string()
    if len(delimiter) != 1 or not delimiter.isascii():
        raise InvalidOption("CSV delimiter must be a single ASCII character", position=position)
    return delimiter


_WIRE_FORMAT = Option("CONFLUENT WIRE FORMAT", BOOLEAN, doc="Whether each message begins with a schema id.")
_RULES: dict[str, Callable[[Parser, str], Format]] = {
    "AVRO": _avro,
    "PROTOBUF": _protobuf,
    "REGEX": lambda p, side: Regex(position=p.position, pattern=p.string()),
    "CSV": _csv,
    "JSON": lambda p, side: Json(),
    "TEXT": lambda p, side: Text(),
    "BYTES": lambda p, side: Bytes(),
}
