"""The Avro schemas that a sink publishes: how SQL types, names and comments look to readers of its topic.

A row is a record with a field for each column.  With ENVELOPE DEBEZIUM the record is called `row` and stands in
`before` and, by its name, in `after` of a record around it.  What encode_avro.py writes is readable by exactly
these schemas; tests/unit/formats/test_encode_avro.py has an independent reader try.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, assert_never

from tailrace.types.core import (
    ArrayOf,
    Char,
    Column,
    ListOf,
    MapOf,
    Numeric,
    RangeOf,
    Record,
    Scalar,
    Schema,
    SqlType,
    Timestamp,
    TimestampTz,
    Varchar,
)

AvroType: TypeAlias = str | dict[str, Any] | list[Any]

_NAMESPACE = "com.materialize.sink"
_DEEPEST_MILLISECONDS = 3  # digits of a second; more are told in microseconds

SCALED_PRECISION, UNSCALED_PRECISION = 39, 81
UNSCALED_SCALE = 39

_SCALARS: dict[str, AvroType] = {
    "boolean": "boolean",
    "smallint": "int",
    "integer": "int",
    "bigint": "long",
    "real": "float",
    "double precision": "double",
    "text": "string",
    "unknown": "string",
    "bytea": "bytes",
    "date": {"type": "int", "logicalType": "date"},
    "time": {"type": "long", "logicalType": "time-micros"},
    "jsonb": {"type": "string", "connect.name": "io.debezium.data.Json"},
    "uuid": {"type": "string", "logicalType": "uuid"},
    "mz_timestamp": "string",
}
FIXED_SIZES = {"uint2": 2, "uint4": 4, "uint8": 8, "oid": 4, "interval": 16}
"""Types that are so many bytes."""


_STRINGS_AND_A_TIME = (
    *(("version", "string"), ("connector", "string"), ("name", "string"), ("ts_ms", "long"), ("snapshot", "string")),
    *(("db", "string"), ("schema", "string"), ("table", "string")),
)
_SOURCE: AvroType = {
    "type": "record",
    "name": "source",
    "namespace": "com.materialize.sink",
    "fields": [{"name": name, "type": type} for name, type in _STRINGS_AND_A_TIME],
}
"""`Origin.source`, field by field."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Naming:
    """What a sink may say about one of its schemas.

    `fullname` is the outer record's; `doc` and `column_docs` tell of the relation and its columns by name.
    `by_field`: an inner record is called `{fullname}_{field}`, as by Flink.  `local_timestamps`: a timestamp without
    time zone says so.
    """

    fullname: str
    null_defaults: bool = False
    by_field: bool = False
    local_timestamps: bool = False
    doc: str | None = None
    tells_origin: bool = False  # of a change
    column_docs: Mapping[str, str] = field(default_factory=dict, hash=False)


def row_schema(columns: Schema, naming: Naming) -> AvroType:
    """A row alone: a key, or the value of an upsert."""
    return _Types(naming).row(_parts(naming.fullname), columns)


def change_schema(columns: Schema, naming: Naming) -> AvroType:
    """A row before and after."""
    types = _Types(naming)
    row = types.row({"name": "row"}, columns)
    fields = [types.field("before", row, nullable=True), types.field("after", "row", nullable=True)]
    if naming.tells_origin:
        fields += [
            types.field("source", _SOURCE, nullable=False),
            types.field("op", "string", nullable=False),
            types.field("ts_ms", "long", nullable=True),
        ]
    return {"type": "record", **_parts(naming.fullname), "fields": fields}


def as_text(schema: AvroType) -> str:
    """As it is published: compact, members in the order in which they stand."""
    return json.dumps(schema, separators=(",", ":"), ensure_ascii=False)


def avro_names(names: Sequence[str]) -> list[str]:
    """Names that Avro takes: `col-a, col@a` are `col_a, col_a1`.  One record's fields all differ."""
    taken: list[str] = []
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9]", "_", name)
        plain = f"_{plain}" if plain[:1].isdigit() or not plain else plain
        unique, number = plain, 0
        while unique in taken:
            number += 1
            unique = f"{plain}{number}"
        taken.append(unique)
    return taken


class _Types:
    """Types of one schema: a named one is defined where it first stands, later its name is enough."""

    def __init__(self, naming: Naming) -> None:
        self._naming = naming
        self._defined: set[str] = set()
        self._records = 0

    def row(self, named: Mapping[str, str], columns: Schema) -> AvroType:
        fields = self._fields(columns, self._naming.column_docs, self._naming.fullname)
        return {"type": "record", **named, **_doc(self._naming.doc), "fields": fields}

    def field(self, name: str, type: AvroType, *, nullable: bool, doc: str | None = None) -> dict[str, Any]:
        if not nullable:
            return {"name": name, "type": type, **_doc(doc)}
        default = {"default": None} if self._naming.null_defaults else {}
        return {"name": name, "type": ["null", type], **default, **_doc(doc)}

    def _fields(self, columns: Sequence[Column], docs: Mapping[str, str], path: str) -> list[dict[str, Any]]:
        names = avro_names([column.name for column in columns])
        return [
            self.field(name, self.of(c.type, f"{path}_{name}"), nullable=c.nullable, doc=docs.get(c.name))
            for name, c in zip(names, columns, strict=True)
        ]

    def of(self, type: SqlType, path: str) -> AvroType:
        """`path`: what a record of this type is called if inner records are called by fields."""
        match type:
            case Scalar(name=name) if name in FIXED_SIZES:
                return self._fixed("uint4" if name == "oid" else name, FIXED_SIZES[name])
            case Scalar(name=name):
                return _SCALARS[name]
            case Numeric(scale=scale):
                unscaled = (UNSCALED_PRECISION, UNSCALED_SCALE)
                return _decimal(*unscaled) if scale is None else _decimal(SCALED_PRECISION, scale)
            case Varchar() | Char() | RangeOf():
                return "string"
            case Timestamp() | TimestampTz():
                unit = "timestamp-millis" if in_milliseconds(type) else "timestamp-micros"
                local = "local-" if self._naming.local_timestamps and isinstance(type, Timestamp) else ""
                return {"type": "long", "logicalType": local + unit}
            case ListOf() | ArrayOf():
                return {"type": "array", "items": ["null", self.of(items(type), path)]}
            case MapOf(value=value):
                return {"type": "map", "values": ["null", self.of(value, path)]}
            case Record(fields=fields):
                name = path if self._naming.by_field else f"{_NAMESPACE}.record{self._records}"
                self._records += 1
                return {"type": "record", **_parts(name), "fields": self._fields(fields, {}, path)}
            case _:
                assert_never(type)

    def _fixed(self, name: str, size: int) -> AvroType:
        fullname = f"{_NAMESPACE}.{name}"
        if fullname in self._defined:
            return fullname
        self._defined.add(fullname)
        return {"type": "fixed", **_parts(fullname), "size": size}


def items(type: ListOf | ArrayOf) -> SqlType:
    """What an Avro array of it holds: an array of several dimensions is told as one, a list of lists is not."""
    element = type.element
    while isinstance(type, ArrayOf) and isinstance(element, ArrayOf):
        element = element.element
    return element


def in_milliseconds(type: Timestamp | TimestampTz) -> bool:
    return type.precision is not None and type.precision <= _DEEPEST_MILLISECONDS


def _decimal(precision: int, scale: int) -> AvroType:
    return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}


def _parts(fullname: str) -> dict[str, str]:
    namespace, dot, name = fullname.rpartition(".")
    return {"name": name, "namespace": namespace} if dot else {"name": name}


def _doc(doc: str | None) -> dict[str, str]:
    return {} if doc is None else {"doc": doc}
