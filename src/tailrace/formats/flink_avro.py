"""`'format' = 'avro'`, `'avro-confluent'` and `'debezium-avro-confluent'` of Flink's tables.

The schema is that of the table's columns.

`avro` has no framing: who reads must have the same table.  `avro-confluent` has a schema registry: what is written is
published there, and what is read is resolved from its writer's schema to the table's.  The bytes are those of our own
Avro (encode_avro.py, decode_avro.py); here is which types Flink's formats take, and how a change is told: a record of
`before`, `after` and `op`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Generic, Self, TypeVar

from tailrace.errors import SqlError
from tailrace.formats import registry
from tailrace.formats.avro_schema import Naming, as_text, row_schema
from tailrace.formats.decode_avro import AvroDecoder
from tailrace.formats.decode_changes import NO_BEFORE, weighed
from tailrace.formats.decode_contract import Decoded
from tailrace.formats.encode_avro import AvroEncoder
from tailrace.formats.encode_contract import ChangeFrame
from tailrace.formats.encode_scalars import literal
from tailrace.formats.registry import RegistryConnection, Subject
from tailrace.types.core import (
    TEXT,
    ArrayOf,
    Column,
    ListOf,
    MapOf,
    Record,
    Schema,
    SqlType,
    Timestamp,
    TimestampTz,
)
from tailrace.types.spark import spark_type

_NOBODY = Subject(connection=RegistryConnection(name="", url=""), name="")

# before, after and op are ["null", …]: 0 is the first branch, 1 the second; numbers and lengths are doubled.
_FRAME = ChangeFrame(came=(b"\x00\x02", b"\x02\x02c"), left=(b"\x02", b"\x00\x02\x02d"))


def _naming(legacy: bool) -> Naming:
    return Naming(
        fullname="org.apache.flink.avro.generated.record",
        null_defaults=True,
        by_field=True,
        local_timestamps=not legacy,
    )


def _change(fields: Schema) -> Schema:
    """What a message of `debezium-avro-confluent` is, as a row."""
    return (Column("before", Record(fields)), Column("after", Record(fields)), Column("op", TEXT))


D = TypeVar("D", AvroDecoder, "FlinkAvroDecoder")


@dataclass(frozen=True, slots=True)
class _Over(Generic[D]):
    """A decoder of `fields` that goes by what another one makes of a message."""

    fields: Schema
    inner: D

    is_single: ClassVar[bool] = False

    @property
    def schema(self) -> Schema:
        return self.fields

    @property
    def head(self) -> int:
        return self.inner.head

    def learned(self, heads: Iterable[bytes]) -> Self:
        return replace(self, inner=self.inner.learned(heads))

    def surely_differ(self, values: Sequence[bytes]) -> bool:
        return False

    def surely_decodes(self, values: Sequence[bytes]) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class FlinkAvroDecoder(_Over[AvroDecoder]):
    """Columns have the table's types; Avro knows fewer."""

    keyword: ClassVar[str] = "avro"

    def decoded(self, data: str) -> Decoded:
        inner = self.inner.decoded(data)
        columns = zip(inner.columns, self.fields, strict=True)
        return replace(inner, columns=tuple(f"CAST({x} AS {spark_type(f.type)})" for x, f in columns))


@dataclass(frozen=True, slots=True)
class DebeziumAvroDecoder(_Over[FlinkAvroDecoder]):
    """A message is the row that left, the one that came, or both."""

    keyword: ClassVar[str] = "debezium-avro"

    def decoded(self, data: str) -> Decoded:
        told = self.inner.decoded(data)
        message, rows = f"{data}_message", f"{data}_rows"
        parts = ", ".join(f"{text} AS {name}" for text, name in zip(told.columns, ("b", "a", "op"), strict=True))
        once = (*told.once, (message, f"struct({parts})"), (rows, self._rows(message)))
        columns = tuple(f"row.r.f{i}" for i in range(len(self.fields)))
        return Decoded(columns, self._error(told.error, message, rows), once=once, rows=rows)

    def _rows(self, m: str) -> str:
        came, left = weighed(1, f"{m}.a"), weighed(-1, f"{m}.b")
        return (
            f"CASE WHEN {m}.op IN ('c', 'r') AND {m}.a IS NOT NULL THEN array({came})"
            f" WHEN {m}.op = 'd' AND {m}.b IS NOT NULL THEN array({left})"
            f" WHEN {m}.op = 'u' AND {m}.b IS NOT NULL AND {m}.a IS NOT NULL THEN array({left}, {came}) END"
        )

    def _error(self, unread: str | None, m: str, rows: str) -> str:
        update, delete = (literal(NO_BEFORE.format(op=op)) for op in ("UPDATE", "DELETE"))
        return (
            f"CASE WHEN {unread} IS NOT NULL THEN {unread}"
            f" WHEN {m}.op = 'u' AND {m}.b IS NULL THEN {update}"
            f" WHEN {m}.op = 'd' AND {m}.b IS NULL THEN {delete}"
            f" WHEN {rows} IS NULL THEN concat('Unknown \"op\" value \"', coalesce({m}.op, 'null'),"
            " '\". The Debezium Avro message is corrupt.') END"
        )


def avro_decoder(fields: Schema, source: RegistryConnection | None, *, legacy: bool) -> FlinkAvroDecoder:
    """`legacy`: timestamps as Flink wrote them before it knew Avro's local ones."""
    check(fields, legacy)
    reader = as_text(row_schema(fields, _naming(legacy)))
    return FlinkAvroDecoder(fields, AvroDecoder(reader=reader, connection=source, framed=source is not None))


def debezium_decoder(fields: Schema, source: RegistryConnection, *, legacy: bool) -> DebeziumAvroDecoder:
    return DebeziumAvroDecoder(fields, avro_decoder(_change(fields), source, legacy=legacy))


@dataclass(frozen=True, slots=True)
class BareAvroEncoder:
    """Without framing, and nobody to publish to."""

    inner: AvroEncoder
    legacy: bool

    name: ClassVar[str] = "avro"
    framing: ClassVar[int] = 0
    prefix: ClassVar[bytes] = b""
    change: ClassVar[ChangeFrame] = ChangeFrame()

    def check(self, columns: Schema) -> None:
        check(columns, self.legacy)

    def registered(self, columns: Schema, *, change: bool) -> Self:
        return self

    def record(self, columns: Schema, places: Sequence[str]) -> str:
        return self.inner.record(columns, places)

    def side(self, columns: Schema, places: Sequence[str]) -> str:
        return self.inner.side(columns, places)


@dataclass(frozen=True, slots=True)
class FramedAvroEncoder:
    """With a registry.  `changes`: a row is written as one side of a change."""

    inner: AvroEncoder
    legacy: bool
    changes: bool = False

    name: ClassVar[str] = "avro"
    framing: ClassVar[int] = AvroEncoder.framing
    change: ClassVar[ChangeFrame] = _FRAME

    @property
    def prefix(self) -> bytes:
        return self.inner.prefix

    def check(self, columns: Schema) -> None:
        check(columns, self.legacy)

    def registered(self, columns: Schema, *, change: bool) -> Self:
        schema = self.inner.schema(_change(columns) if self.changes else columns, change=False)
        return replace(self, inner=replace(self.inner, id=registry.publish(self.inner.subject, schema)))

    def record(self, columns: Schema, places: Sequence[str]) -> str:
        return self.inner.record(columns, places)

    def side(self, columns: Schema, places: Sequence[str]) -> str:
        return self.inner.side(columns, places)


def bare_encoder(*, legacy: bool) -> BareAvroEncoder:
    return BareAvroEncoder(AvroEncoder(naming=_naming(legacy), subject=_NOBODY), legacy)


def framed_encoder(to: RegistryConnection, subject: str, *, legacy: bool, changes: bool = False) -> FramedAvroEncoder:
    inner = AvroEncoder(naming=_naming(legacy), subject=Subject(connection=to, name=subject))
    return FramedAvroEncoder(inner, legacy, changes)


def check(fields: Schema, legacy: bool) -> None:
    """Raises SqlError for a type that Flink's Avro has no form of."""
    for field in fields:
        _check(field.type, legacy)


def _check(type: SqlType, legacy: bool) -> None:
    match type:
        case ListOf(element=element) | ArrayOf(element=element):
            _check(element, legacy)
        case MapOf(value=value):
            _check(value, legacy)
        case Record(fields=fields):
            check(fields, legacy)
        case Timestamp(precision=digits) if legacy and (digits is None or digits > 3):
            raise SqlError(
                f"Avro does not support TIMESTAMP type with precision: {6 if digits is None else digits},"
                " it only supports precision less than 3.",
                hint="Declare it TIMESTAMP(3), or set 'timestamp_mapping.legacy' = 'false' of the format.",
                sqlstate="42804",
            )
        case TimestampTz() if legacy:
            raise SqlError(
                "Unsupported to derive Schema for type: TIMESTAMP_LTZ",
                hint="Set 'timestamp_mapping.legacy' = 'false' of the format.",
                sqlstate="42804",
            )
        case _ if str(type) in ("time", "interval"):
            raise SqlError(f"Unsupported to derive Schema for type: {str(type).upper()}", sqlstate="42804")
        case _:
            pass
