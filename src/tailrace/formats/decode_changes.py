"""Changelogs in JSON: which rows the messages of Debezium, Canal and Maxwell bring, and which they take away.

A message becomes an array of `{w, r}`: rows, as texts, with their weights; an update is the old row with −1 and the new
one with +1.  Canal and Maxwell tell of an old row only what was different: the rest is filled from the new one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, Self

from tailrace.errors import NotSupported
from tailrace.formats.decode_contract import SHOWN, Decoded, as_text
from tailrace.formats.decode_fields import SQL, any_of, bad, name_in_ddl, texts_struct, value
from tailrace.formats.decode_flink_json import STRICTLY
from tailrace.formats.decode_json import is_json
from tailrace.formats.encode_scalars import literal
from tailrace.types.core import INTEGER, TEXT, ArrayOf, Column, ListOf, MapOf, Record, Schema, SqlType, TimestampTz

_MOMENT = TimestampTz(3)
_TEXTS = MapOf(TEXT)

FORMAT_METADATA: dict[str, dict[str, SqlType]] = {
    "debezium-json": {
        "schema": TEXT,
        "ingestion-timestamp": _MOMENT,
        "source.timestamp": _MOMENT,
        "source.database": TEXT,
        "source.schema": TEXT,
        "source.table": TEXT,
        "source.properties": _TEXTS,
    },
    "canal-json": {
        "database": TEXT,
        "table": TEXT,
        "sql-type": MapOf(INTEGER),
        "pk-names": ListOf(TEXT),
        "ingestion-timestamp": _MOMENT,
        "event-timestamp": _MOMENT,
    },
    "maxwell-json": {
        "database": TEXT,
        "table": TEXT,
        "primary-key-columns": ListOf(TEXT),
        "ingestion-timestamp": _MOMENT,
    },
}
"""By format: what it tells of each message beside rows."""

NO_BEFORE = (
    'The "before" field of {op} message is null, if you are using Debezium Postgres Connector, please check the'
    " Postgres table has been set REPLICA IDENTITY to FULL level."
)


class Dialect(Protocol):
    """How one tool writes changes.  `m` is Spark text of a message, taken apart by `message_type`."""

    name: ClassVar[str]

    def message_type(self, fields: Schema) -> str:
        """Spark's type of a message whose rows have these fields."""

    def rows(self, m: str, fields: Schema) -> str:
        """Spark text: an array of structs `w` and `r`; NULL if the message means nothing that we know."""

    def reason(self, m: str) -> str:
        """Spark text: why a message cannot be read, or NULL."""

    def metadata(self, m: str, key: str) -> str:
        """Spark text of one of FORMAT_METADATA."""


@dataclass(frozen=True, slots=True)
class ChangesDecoder:
    """`metadata`: keys of what is told beside the rows, as further columns."""

    dialect: Dialect
    fields: Schema
    metadata: tuple[str, ...] = ()
    ignore_errors: bool = False
    standard: str = SQL

    keyword: ClassVar[str] = "changes"
    head: ClassVar[int] = 0
    is_single: ClassVar[bool] = False

    @property
    def schema(self) -> Schema:
        types = FORMAT_METADATA[self.dialect.name]
        return (*self.fields, *(Column(key, types[key]) for key in self.metadata))

    def learned(self, heads: Iterable[bytes]) -> Self:
        return self

    def decoded(self, data: str) -> Decoded:
        message, rows = f"{data}_message", f"{data}_rows"
        taken_apart = f"from_json({as_text(data)}, {literal(self.dialect.message_type(self.fields))}, {STRICTLY})"
        once = ((message, taken_apart), (rows, self.dialect.rows(message, self.fields)))
        columns = [value(f"row.r.{name_in_ddl(f.name)}", f.type, self.standard) for f in self.fields]
        columns += [self.dialect.metadata(message, key) for key in self.metadata]
        return Decoded(tuple(columns), self._error(data, message, rows), once=once, rows=rows)

    def _error(self, data: str, message: str, rows: str) -> str:
        """An empty message means nothing.  What cannot be read is an error: a dead letter, or the end."""
        corrupt = _corrupt(self.dialect.name, data)
        unfit = any_of([bad(f"e.r.{name_in_ddl(f.name)}", f.type, self.standard) for f in self.fields])
        checked = "false" if self.ignore_errors or unfit == "false" else f"exists({rows}, e -> {unfit})"
        return (
            f"CASE WHEN octet_length({data}) = 0 THEN NULL WHEN NOT {is_json(data)} THEN {corrupt}"
            f" WHEN {self.dialect.reason(message)} IS NOT NULL THEN {self.dialect.reason(message)}"
            f" WHEN {rows} IS NULL OR {checked} THEN {corrupt} END"
        )

    def surely_differ(self, values: Sequence[bytes]) -> bool:
        return False

    def surely_decodes(self, values: Sequence[bytes]) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class Debezium:
    """`{"before": row, "after": row, "op": "c" | "r" | "u" | "d", "source": {…}, …}`, perhaps as `payload`."""

    schema_include: bool = False

    name: ClassVar[str] = "debezium-json"

    def message_type(self, fields: Schema) -> str:
        row = texts_struct(fields)
        body = f"before:{row},after:{row},op:string,ts_ms:string,source:map<string,string>"
        inside = f"struct<{body}>"
        if self.schema_include:
            return f"struct<schema:string,payload:{inside},__bad:string>"
        return f"struct<{body},__bad:string>"

    def rows(self, m: str, fields: Schema) -> str:
        p = self._payload(m)
        return (
            f"CASE WHEN {p}.op IN ('c', 'r') AND {p}.after IS NOT NULL THEN array({weighed(1, f'{p}.after')})"
            f" WHEN {p}.op = 'd' AND {p}.before IS NOT NULL THEN array({weighed(-1, f'{p}.before')})"
            f" WHEN {p}.op = 'u' AND {p}.before IS NOT NULL AND {p}.after IS NOT NULL"
            f" THEN array({weighed(-1, f'{p}.before')}, {weighed(1, f'{p}.after')}) END"
        )

    def reason(self, m: str) -> str:
        p = self._payload(m)
        update, delete = (literal(NO_BEFORE.format(op=op)) for op in ("UPDATE", "DELETE"))
        unknown = f"concat('Unknown \"op\" value \"', {p}.op, '\". The Debezium JSON message is corrupt.')"
        return (
            f"CASE WHEN {p}.op = 'u' AND {p}.before IS NULL THEN {update}"
            f" WHEN {p}.op = 'd' AND {p}.before IS NULL THEN {delete}"
            f" WHEN {p}.op NOT IN ('c', 'r', 'u', 'd') THEN {unknown} END"
        )

    def metadata(self, m: str, key: str) -> str:
        p = self._payload(m)
        match key:
            case "schema":
                return f"{m}.schema" if self.schema_include else "CAST(NULL AS string)"
            case "ingestion-timestamp":
                return _moment(f"{p}.ts_ms")
            case "source.timestamp":
                return _moment(f"{p}.source['ts_ms']")
            case "source.database":
                return f"{p}.source['db']"
            case "source.schema":
                return f"{p}.source['schema']"
            case "source.table":
                return f"coalesce({p}.source['table'], {p}.source['collection'])"
            case _:
                return f"{p}.source"

    def _payload(self, m: str) -> str:
        return f"{m}.payload" if self.schema_include else m


@dataclass(frozen=True, slots=True)
class Canal:
    """`{"type": "INSERT" | "UPDATE" | "DELETE", "data": [row, …], "old": [part of a row, …], "table": s, …}`"""

    database: str | None = None
    table: str | None = None

    name: ClassVar[str] = "canal-json"

    def message_type(self, fields: Schema) -> str:
        _check_flat(fields, self.name)
        return (
            f"struct<data:array<{texts_struct(fields)}>,old:array<map<string,string>>,type:string,database:string,"
            "table:string,ts:string,es:string,sqlType:map<string,string>,pkNames:array<string>,__bad:string>"
        )

    def rows(self, m: str, fields: Schema) -> str:
        new = f"transform({m}.data, d -> {weighed(1, 'd')})"
        gone = f"transform({m}.data, d -> {weighed(-1, 'd')})"
        old = f"transform({m}.data, (d, i) -> {weighed(-1, _filled('d', f'get({m}.old, i)', fields))})"
        other = [
            f"NOT coalesce({m}.{field} RLIKE {literal(f'^(?:{pattern})$')}, false)"
            for field, pattern in (("database", self.database), ("table", self.table))
            if pattern is not None
        ]
        skipped = " OR ".join([f"{m}.type = 'CREATE'", *other])
        nothing = f"filter({gone}, d -> false)"
        return (
            f"CASE WHEN {skipped} THEN coalesce({nothing}, array()) WHEN {m}.type = 'INSERT' THEN {new}"
            f" WHEN {m}.type = 'DELETE' THEN {gone} WHEN {m}.type = 'UPDATE' AND {m}.old IS NOT NULL"
            f" THEN concat({old}, {new}) END"
        )

    def reason(self, m: str) -> str:
        return _unknown_type(m, "Canal", ("INSERT", "UPDATE", "DELETE", "CREATE"))

    def metadata(self, m: str, key: str) -> str:
        match key:
            case "sql-type":
                return f"transform_values({m}.sqlType, (k, v) -> try_cast(v AS int))"
            case "pk-names":
                return f"{m}.pkNames"
            case "ingestion-timestamp":
                return _moment(f"{m}.ts")
            case "event-timestamp":
                return _moment(f"{m}.es")
            case _:
                return f"{m}.{key}"


@dataclass(frozen=True, slots=True)
class Maxwell:
    """`{"type": "insert" | "update" | "delete", "data": row, "old": part of a row, "table": s, "ts": n, …}`"""

    name: ClassVar[str] = "maxwell-json"

    def message_type(self, fields: Schema) -> str:
        _check_flat(fields, self.name)
        return (
            f"struct<data:{texts_struct(fields)},old:map<string,string>,type:string,database:string,table:string,"
            "ts:string,primary_key_columns:array<string>,__bad:string>"
        )

    def rows(self, m: str, fields: Schema) -> str:
        old = weighed(-1, _filled(f"{m}.data", f"{m}.old", fields))
        return (
            f"CASE WHEN {m}.data IS NULL THEN NULL WHEN {m}.type = 'insert' THEN array({weighed(1, f'{m}.data')})"
            f" WHEN {m}.type = 'delete' THEN array({weighed(-1, f'{m}.data')})"
            f" WHEN {m}.type = 'update' AND {m}.old IS NOT NULL THEN array({old}, {weighed(1, f'{m}.data')}) END"
        )

    def reason(self, m: str) -> str:
        return _unknown_type(m, "Maxwell", ("insert", "update", "delete"))

    def metadata(self, m: str, key: str) -> str:
        match key:
            case "primary-key-columns":
                return f"{m}.primary_key_columns"
            case "ingestion-timestamp":
                return _moment(f"{m}.ts", seconds=True)
            case _:
                return f"{m}.{key}"


def weighed(weight: int, row: str) -> str:
    """Spark text: one row of a change."""
    return f"named_struct('w', {weight}L, 'r', {row})"


def _filled(new: str, old: str, fields: Schema) -> str:
    """The old row: what is said of it, and the rest as in the new one.  A field that is said to be NULL was NULL."""
    parts = ", ".join(
        f"{literal(f.name)}, IF(map_contains_key({old}, {literal(f.name)}), {old}[{literal(f.name)}],"
        f" {new}.{name_in_ddl(f.name)})"
        for f in fields
    )
    return f"named_struct({parts})"


def _unknown_type(m: str, tool: str, known: Sequence[str]) -> str:
    names = ", ".join(map(literal, known))
    said = f"concat('Unknown \"type\" value \"', {m}.type, '\". The {tool} JSON message is corrupt.')"
    return f"CASE WHEN {m}.type NOT IN ({names}) THEN {said} END"


def _corrupt(format: str, data: str) -> str:
    tool = format.removesuffix("-json").capitalize()
    opening, closing = literal(f"Corrupt {tool} JSON message '"), literal("'.")
    return f"concat({opening}, left({as_text(data)}, {SHOWN}), {closing})"


def _moment(text: str, *, seconds: bool = False) -> str:
    return f"{'timestamp_seconds' if seconds else 'timestamp_millis'}(try_cast({text} AS bigint))"


def _check_flat(fields: Schema, format: str) -> None:
    for field in fields:
        if isinstance(field.type, ListOf | ArrayOf | MapOf | Record):
            raise NotSupported(f"type {field.type} in format '{format}' not supported")
