"""An Avro schema as SQL columns, and how its values are read.

Spark reads under a *plain* schema: logical types are left off and fields are called by their place, with their own
names as aliases, so that Avro resolves whatever the writer's schema was.  Expressions then make SQL values of it.
A field that no writer has and that defaults to true says that reading went well: on failure Spark gives NULLs.

A field that may be one of several types is as many columns, of which at most one is not NULL.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeAlias

import fastavro
from fastavro.schema import SchemaParseException, UnknownType

from tailrace.errors import NotSupported, SqlError
from tailrace.formats.avro_schema import UNSCALED_PRECISION, UNSCALED_SCALE
from tailrace.types import core
from tailrace.types.core import Column, ListOf, MapOf, Numeric, Record, Schema, SqlType, Timestamp

Text: TypeAlias = Callable[[str], str]
"""From the Spark text of a plain value to another text about it."""

OK = "tailrace_ok"

_MOST_DIGITS = 39
_MOST_SCALE = 38
_MICROS_A_SECOND = 1_000_000
_LATEST_SECOND = 253_402_300_800  # the year 10000: what Spark can hold in any case

# Spark reads a union of just these two as one number.  A third type, that nobody writes, makes it keep them apart.
_MERGED = ({"int", "long"}, {"float", "double"})

_PRIMITIVES = {
    "boolean": core.BOOLEAN,
    "int": core.INTEGER,
    "long": core.BIGINT,
    "float": core.REAL,
    "double": core.DOUBLE,
    "string": core.TEXT,
    "bytes": core.BYTEA,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """One type: what it is in SQL, its plain schema, how a plain value becomes ours, and when it cannot."""

    type: SqlType
    plain: Any
    nullable: bool = False
    value: Text = lambda x: x
    error: Text | None = None  # Spark text of a reason, or NULL


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordReading:
    """The columns of a record, each with the place of its field.  `plain` is the schema to read with, as JSON."""

    columns: Schema
    plain: str
    fields: tuple[tuple[int, Reading], ...]


Field: TypeAlias = tuple[Reading, ...]
"""How a field is read: as one column, or as one for each of its types."""


def place(i: int) -> str:
    """What the i-th field is called in a plain schema."""
    return f"_{i}_"


@lru_cache(maxsize=256)
def reading_of(schema: str) -> RecordReading:
    """The fields of a schema's record.  Raises SqlError for a schema that is none, or that has no SQL form."""
    record, types = _parsed(schema)
    fields = [_of_field(field, types) for field in record["fields"]]
    return _record_reading(record, record["fields"], fields)


@lru_cache(maxsize=256)
def after_of(schema: str) -> RecordReading:
    """The fields of the record in the field `after` of a Debezium message.  In `plain` it is the one field, place 0."""
    record, types = _parsed(schema)
    by_name = {field["name"]: field for field in record["fields"]}
    if "after" not in by_name:
        raise SqlError("'after' column missing from debezium input", sqlstate="42P16")
    after = _branch(by_name["after"]["type"])
    if "before" in by_name and types.name_of(_branch(by_name["before"]["type"])) != types.name_of(after):
        raise SqlError("'before' type differs from 'after' column", sqlstate="42P16")
    row = types.definition(after)
    if row is None or row["type"] != "record":
        raise SqlError("'after' column of debezium input is no record", sqlstate="42P16")
    whole = types.of(after)
    assert isinstance(whole.type, Record)
    fields = [_of_field(field, types) for field in row["fields"]]
    read = _record_reading(record, [by_name["after"]], [(replace(whole, plain=["null", whole.plain]),)])
    return replace(read, columns=whole.type.fields, fields=_placed(fields))


def is_schema(schema: str) -> bool:
    """Whether somebody can have written with it."""
    try:
        fastavro.parse_schema(json.loads(schema))
    except (ValueError, SchemaParseException, UnknownType):
        return False
    return True


def _parsed(schema: str) -> tuple[dict[str, Any], _Types]:
    named: dict[str, Any] = {}
    try:
        parsed = fastavro.parse_schema(json.loads(schema), named_schemas=named)
    except (ValueError, SchemaParseException, UnknownType) as error:
        raise SqlError(f"invalid Avro schema: {error}", sqlstate="42P16") from error
    if not isinstance(parsed, dict) or parsed.get("type") != "record":
        raise NotSupported("Avro schemas whose top is no record not yet supported")
    return parsed, _Types(named)


def _record_reading(
    record: dict[str, Any], fields: Sequence[dict[str, Any]], readings: Sequence[Field]
) -> RecordReading:
    plain = [*_plain_fields(fields, readings), {"name": OK, "type": "boolean", "default": True}]
    return RecordReading(
        columns=_columns(fields, readings),
        plain=json.dumps({"type": "record", "name": record["name"], "fields": plain}),
        fields=_placed(readings),
    )


def _placed(readings: Sequence[Field]) -> tuple[tuple[int, Reading], ...]:
    return tuple((i, reading) for i, several in enumerate(readings) for reading in several)


def _columns(fields: Sequence[dict[str, Any]], readings: Sequence[Field]) -> Schema:
    """A field of several types is called by their number: `name1`, `name2` …"""
    return tuple(
        Column(field["name"] + (str(number) if len(several) > 1 else ""), reading.type, reading.nullable)
        for field, several in zip(fields, readings, strict=True)
        for number, reading in enumerate(several, start=1)
    )


def _plain_fields(fields: Sequence[dict[str, Any]], readings: Sequence[Field]) -> list[dict[str, Any]]:
    plain = []
    for i, (field, several) in enumerate(zip(fields, readings, strict=True)):
        # The default of a record names its fields, which are called otherwise here.
        has_default = "default" in field and not (field["default"] and isinstance(field["default"], dict))
        default = {"default": field["default"]} if has_default else {}
        aliases = [field["name"], *field.get("aliases", ())]
        plain.append({"name": place(i), "type": several[0].plain, "aliases": aliases, **default})
    return plain


def _branch(type: Any) -> Any:
    """The one type of a union that is not null."""
    if not isinstance(type, list):
        return type
    [*others] = [each for each in type if each != "null"]
    if len(others) != 1:
        what = "with several types inside of arrays, maps and changes" if others else "of null alone"
        raise NotSupported(f"Avro unions {what} not yet supported", detail=f"The union is {json.dumps(type)}.")
    return others[0]


def _of_field(field: dict[str, Any], types: _Types) -> Field:
    try:
        return types.of_field(field["type"])
    except SqlError as error:
        error.detail = f'Field "{field["name"]}". {error.detail or ""}'.rstrip()
        raise


class _Types:
    """The types of one schema.  A named one is defined once in the plain schema too, and named afterwards."""

    def __init__(self, named: dict[str, Any]) -> None:
        self._named = named
        self._known: dict[str, Reading] = {}
        self._open: list[str] = []
        self._padding = 0

    def definition(self, type: Any) -> dict[str, Any] | None:
        found = self._named.get(type) if isinstance(type, str) else type
        return found if isinstance(found, dict) else None

    def name_of(self, type: Any) -> Any:
        return type["name"] if isinstance(type, dict) and "name" in type else type

    def of_field(self, type: Any) -> Field:
        if not isinstance(type, list) or sum(each != "null" for each in type) <= 1:
            return (self.of(type),)
        inner = {i: self.of(each) for i, each in enumerate(type) if each != "null"}
        plain = ["null" if i not in inner else inner[i].plain for i in range(len(type))]
        if {each for each in plain if isinstance(each, str)} - {"null"} in _MERGED and len(inner) == 2:
            self._padding += 1
            plain.append({"type": "fixed", "name": f"tailrace_never{self._padding}", "size": 1})
        return tuple(_member(each, number, plain) for number, each in enumerate(inner.values()))

    def of(self, type: Any) -> Reading:
        if isinstance(type, list):
            inner = self.of(_branch(type))
            order = ["null" if each == "null" else inner.plain for each in type]
            return replace(inner, plain=order if "null" in type else inner.plain, nullable="null" in type)
        if isinstance(type, str) and type in self._known:
            return replace(self._known[type], plain=type)
        if isinstance(type, str) and type in self._open:
            raise NotSupported(f"Recursive types are not supported: {type}")
        definition = self.definition(type)
        if definition is None:
            return _primitive(type, {})
        name = definition.get("name")
        if name is None:
            return self._unnamed(definition)
        if name in self._known:
            return replace(self._known[name], plain=name)
        if name in self._open:
            raise NotSupported(f"Recursive types are not supported: {name}")
        self._open.append(name)
        self._known[name] = self._of_named(definition)
        self._open.pop()
        return self._known[name]

    def _unnamed(self, type: dict[str, Any]) -> Reading:
        match type["type"]:
            case "array":
                items = self.of(type["items"])
                return Reading(
                    type=ListOf(items.type),
                    plain={"type": "array", "items": items.plain},
                    value=_each(items, lambda x, e, value: f"transform({x}, {e} -> {value})"),
                )
            case "map":
                values = self.of(type["values"])
                return Reading(
                    type=MapOf(values.type),
                    plain={"type": "map", "values": values.plain},
                    value=_each(values, lambda x, e, value: f"transform_values({x}, (k, {e}) -> {value})"),
                )
            case str() as primitive:
                return _primitive(primitive, type)
            case inner:
                return self.of(inner)

    def _of_named(self, type: dict[str, Any]) -> Reading:
        name = type["name"]
        if type["type"] == "enum":
            kept = {key: type[key] for key in ("type", "name", "symbols", "default") if key in type}
            return Reading(type=core.TEXT, plain=kept)
        if type["type"] == "fixed":
            reading = _primitive("bytes", type)
            return replace(reading, plain={"type": "fixed", "name": name, "size": type["size"]})
        fields = [_of_field(field, self) for field in type["fields"]]
        return Reading(
            type=Record(_columns(type["fields"], fields)),
            plain={"type": "record", "name": name, "fields": _plain_fields(type["fields"], fields)},
            value=lambda x: _struct(x, fields),
        )


def _each(inner: Reading, over: Callable[[str, str, str], str]) -> Text:
    """Elements one by one, unless they are what they should be already.  Inside e stands ee, and so on."""
    if inner.value("e") == "e":
        return lambda x: x

    def value(x: str) -> str:
        root = x.partition(".")[0]
        variable = f"{root}e" if set(root) == {"e"} else "e"
        return over(x, variable, inner.value(variable))

    return value


def _member(reading: Reading, number: int, plain: list[Any]) -> Reading:
    """One of a union's types: Spark reads the union as a struct that has a field for each."""
    member: Text = lambda x: f"{x}.member{number}"  # noqa: E731
    error = reading.error
    return replace(
        reading,
        plain=plain,
        nullable=True,
        value=lambda x: reading.value(member(x)),
        error=None if error is None else lambda x: error(member(x)),
    )


def _struct(x: str, fields: Sequence[Field]) -> str:
    parts = (f"{reading.value(f'{x}.{place(i)}')} AS f{n}" for n, (i, reading) in enumerate(_placed(fields)))
    return f"CASE WHEN {x} IS NOT NULL THEN struct({', '.join(parts)}) END"


def _primitive(type: str, about: dict[str, Any]) -> Reading:
    logical = about.get("logicalType")
    plain = type
    match type, logical:
        case "int", "date":
            return Reading(type=core.DATE, plain=plain, value=lambda x: f"date_from_unix_date({x})")
        case "int", "time-millis":
            return Reading(type=core.TIME, plain=plain, value=lambda x: f"CAST({x} AS bigint) * 1000L")
        case "long", "time-micros":
            return Reading(type=core.TIME, plain=plain)
        case "long", "timestamp-millis" | "local-timestamp-millis":
            return _timestamp(3, 1000)
        case "long", "timestamp-micros" | "local-timestamp-micros":
            return _timestamp(6, _MICROS_A_SECOND)
        case "bytes", "decimal":
            return _decimal(about)
        case "string", "uuid":
            return Reading(type=core.UUID, plain=plain, value=lambda x: f"lower({x})")
        case "string", _ if about.get("connect.name") == "io.debezium.data.Json":
            wrong = "'a field that must be JSON is none'"
            error: Text = lambda x: f"CASE WHEN NOT tailrace_is_json(CAST({x} AS BINARY)) THEN {wrong} END"  # noqa: E731
            return Reading(type=core.JSONB, plain=plain, error=error)
        case "null", _:
            raise NotSupported("Avro fields of type null alone not yet supported")
        case _ if type in _PRIMITIVES:
            return Reading(type=_PRIMITIVES[type], plain=plain)
        case _:
            raise NotSupported(f"Avro type {type} not yet supported")


def _timestamp(digits: int, a_second: int) -> Reading:
    """Values that Spark cannot hold are an error of the message."""
    latest = _LATEST_SECOND * a_second
    inside: Text = lambda x: f"{x} >= -{latest}L AND {x} < {latest}L"  # noqa: E731
    made = "timestamp_millis" if digits == 3 else "timestamp_micros"
    return Reading(
        type=Timestamp(digits),
        plain="long",
        value=lambda x: f"CASE WHEN {inside(x)} THEN CAST({made}({x}) AS timestamp_ntz) END",
        error=lambda x: f"CASE WHEN NOT ({inside(x)}) THEN 'a timestamp is out of range' END",
    )


def _decimal(about: dict[str, Any]) -> Reading:
    precision, scale = about["precision"], about.get("scale", 0)
    if (precision, scale) == (UNSCALED_PRECISION, UNSCALED_SCALE):  # as our own sinks write a numeric without scale
        type, held = Numeric(), 18
    elif precision > _MOST_DIGITS or scale > _MOST_SCALE:
        raise NotSupported(f"Avro decimals of {precision} digits not yet supported", hint="At most 39 digits are.")
    else:
        type, held = Numeric(scale), scale
    value: Text = lambda x: f"try_cast(tailrace_decimal_text({x}, {scale}) AS decimal(38,{held}))"  # noqa: E731
    return Reading(
        type=type,
        plain="bytes",
        value=value,
        error=lambda x: f"CASE WHEN {x} IS NOT NULL AND {value(x)} IS NULL THEN 'a decimal is out of range' END",
    )
