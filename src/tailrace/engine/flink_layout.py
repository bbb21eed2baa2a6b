"""The columns of a Flink table, over what its messages give: physical, metadata and computed ones.

A physical column comes from the key's or the value's format, metadata from the message or from the value's format
(`value.…`), under another type by an explicit cast.  A computed one is an expression over both, in Spark's text: it is
evaluated where the message is decoded, so that readers see a plain relation.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tailrace.errors import SqlError
from tailrace.formats.decode_changes import FORMAT_METADATA
from tailrace.formats.decode_contract import Decoder, as_text
from tailrace.plan.bind import assign
from tailrace.plan.bind_expressions import ExpressionBinder
from tailrace.plan.context import Context, Place
from tailrace.plan.expressions import Cast, Expression, Ref
from tailrace.plan.parse import parse_expression
from tailrace.plan.scope import Scope, fields_of
from tailrace.plan.spark_expressions import Environment
from tailrace.sources.kafka_definition import (
    IncludeHeaderMap,
    IncludeHeaders,
    IncludeLeaderEpoch,
    IncludeOffset,
    IncludePartition,
    IncludeTimestamp,
    IncludeTimestampType,
    IncludeTopic,
    Laid,
    Metadata,
)
from tailrace.sql.names import QueryText
from tailrace.types.core import (
    BIGINT,
    BYTEA,
    INTEGER,
    TEXT,
    Char,
    Column,
    ListOf,
    MapOf,
    Record,
    Schema,
    SqlType,
    Timestamp,
    TimestampTz,
    Varchar,
)

if TYPE_CHECKING:
    from tailrace.engine.engine import Engine
    from tailrace.statements.create_flink_table import CreateFlinkTable, FlinkColumn

_FROM_VALUE = "value."
_WHEN = "timestamp"
_PROCTIME = re.compile(r"\s*proctime\s*\(\s*\)\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Told:
    """What a message tells of itself: Flink's type of it, who includes it, and its text over what that gives."""

    type: SqlType
    include: Metadata
    text: str = "{}"
    writable: bool = False
    nullable: bool = False


MESSAGE_METADATA: dict[str, Told] = {
    "topic": Told(TEXT, IncludeTopic(), writable=True),
    "partition": Told(INTEGER, IncludePartition()),
    "headers": Told(MapOf(BYTEA), IncludeHeaderMap(), writable=True),
    "header-list": Told(ListOf(Record((Column("key", TEXT), Column("value", BYTEA)))), IncludeHeaders(), writable=True),
    "leader-epoch": Told(INTEGER, IncludeLeaderEpoch(), nullable=True),
    "offset": Told(BIGINT, IncludeOffset(), "CAST({} AS bigint)"),
    "timestamp": Told(TimestampTz(3), IncludeTimestamp(), "CAST({} AS timestamp)", writable=True),
    "timestamp-type": Told(TEXT, IncludeTimestampType()),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Laying:
    """Who gives which columns: the key's format, the value's, then the value's own metadata, then the message's."""

    key: Decoder | None
    key_names: tuple[str, ...]
    value: Decoder
    value_names: tuple[str, ...]
    format_metadata: tuple[str, ...]
    metadata: tuple[Metadata, ...]


def metadata_of(statement: CreateFlinkTable) -> tuple[tuple[Metadata, ...], tuple[str, ...]]:
    """What messages must be asked for, and what the value's format must.  Raises SqlError for unknown keys."""
    told: dict[str, Metadata] = {}
    from_value: dict[str, None] = {}
    for column in statement.columns:
        key = _WHEN if is_proctime(column) else column.key
        if key is None:
            continue
        if key in MESSAGE_METADATA:
            told[key] = MESSAGE_METADATA[key].include
        elif key.removeprefix(_FROM_VALUE) in _format_keys(statement):
            from_value[key.removeprefix(_FROM_VALUE)] = None
        else:
            raise _unknown_key(statement, column)
    return tuple(told.values()), tuple(from_value)


def is_proctime(column: FlinkColumn) -> bool:
    """`c AS PROCTIME()`: here the time at which the message came into its topic, or a replay would differ."""
    return column.expression is not None and _PROCTIME.fullmatch(column.expression.text) is not None


def _format_keys(statement: CreateFlinkTable) -> tuple[str, ...]:
    return tuple(FORMAT_METADATA.get(statement.settings.value_format.name, {}))


def _unknown_key(statement: CreateFlinkTable, column: FlinkColumn) -> SqlError:
    keys = [*(f"value.{key}" for key in _format_keys(statement)), *MESSAGE_METADATA]
    return SqlError(
        f"Invalid metadata key '{column.key}' in column '{column.name}' of table '{statement.name.item}'.",
        detail=f"The supported metadata keys for reading are: {', '.join(keys)}.",
        position=column.position,
        sqlstate="42703",
    )


def lay(engine: Engine, statement: CreateFlinkTable, laying: Laying) -> tuple[Laid, ...]:
    """Every column of the table, in its order."""
    places = _places(statement, laying)
    plain = [_plain(statement, column, places) for column in statement.columns if column.expression is None]
    schema = tuple(laid.column for laid in plain)
    environment = Environment(columns=[laid.text for laid in plain])
    by_name = {laid.column.name: laid for laid in plain}
    for column in statement.columns:
        if is_proctime(column):
            told = MESSAGE_METADATA[_WHEN]
            text = told.text.format(places[("message", _WHEN)])
            by_name[column.name] = Laid(Column(column.name, told.type, nullable=False), text)
        elif column.expression is not None:
            by_name[column.name] = _computed(engine, statement, column, schema, environment)
    return tuple(by_name[column.name] for column in statement.columns)


def _places(statement: CreateFlinkTable, laying: Laying) -> dict[tuple[str, str], str]:
    """Where the decoded message has what: (role, name) → c0 …"""
    value_metadata = [("value metadata", f"{_FROM_VALUE}{key}") for key in laying.format_metadata]
    keys = {told.include: key for key, told in MESSAGE_METADATA.items()}
    order = [
        *(("key", name) for name in laying.key_names),
        *(("value", name) for name in laying.value_names),
        *value_metadata,
        *(("message", keys[each]) for each in laying.metadata),
    ]
    return {each: f"c{i}" for i, each in enumerate(order)}


def _plain(statement: CreateFlinkTable, column: FlinkColumn, places: dict[tuple[str, str], str]) -> Laid:
    assert column.type is not None
    if column.key is None:
        place = places.get(("key", column.name)) or places[("value", column.name)]
        return Laid(Column(column.name, column.type, not column.not_null), place)
    if column.key in MESSAGE_METADATA:
        told = MESSAGE_METADATA[column.key]
        text, type, nullable = told.text.format(places[("message", column.key)]), told.type, told.nullable
    else:
        key = _FROM_VALUE + column.key.removeprefix(_FROM_VALUE)
        type = FORMAT_METADATA[statement.settings.value_format.name][key.removeprefix(_FROM_VALUE)]
        text, nullable = places[("value metadata", key)], True
    return Laid(Column(column.name, column.type, nullable), _cast(column, text, type))


def _cast(column: FlinkColumn, text: str, type: SqlType) -> str:
    assert column.type is not None
    if type == column.type:
        return text
    text, type = _characters(text, type, column.type)
    if type == column.type:
        return text
    try:
        cast = assign(Ref(index=0, type=type, nullable=True), column.type)
    except SqlError:
        cast = Cast(input=Ref(index=0, type=type, nullable=True), type=column.type)
        if str(column.type) != "text":
            raise SqlError(
                f"Invalid data type for metadata column '{column.name}'.",
                detail=f"The metadata '{column.key}' of type {type} cannot be cast to {column.written}.",
                position=column.position,
                sqlstate="42804",
            ) from None
    return Environment(columns=[text]).render(cast)


def _characters(text: str, type: SqlType, wanted: SqlType) -> tuple[str, SqlType]:
    """Bytes as the characters that they are in UTF-8, as Flink casts them, wherever text is wanted of them."""
    if type == BYTEA and (wanted == TEXT or isinstance(wanted, Varchar | Char)):
        return as_text(text), TEXT
    match type, wanted:
        case MapOf(value=value), MapOf(value=other):
            inner, found = _characters("v", value, other)
            return f"transform_values({text}, (k, v) -> {inner})", MapOf(found)
        case ListOf(element=Record(fields=fields)), ListOf(element=Record(fields=others)) if len(fields) == len(others):
            each = [_characters(f"e.f{i}", a.type, b.type) for i, (a, b) in enumerate(zip(fields, others, strict=True))]
            parts = ", ".join(f"{inner} AS f{i}" for i, (inner, _) in enumerate(each))
            columns = (replace(column, type=found) for column, (_, found) in zip(fields, each, strict=True))
            return f"transform({text}, e -> struct({parts}))", ListOf(Record(tuple(columns)))
        case _:
            return text, type


def _computed(
    engine: Engine, statement: CreateFlinkTable, column: FlinkColumn, schema: Schema, environment: Environment
) -> Laid:
    assert column.expression is not None
    expression = _bound(engine, statement, f"computed column '{column.name}'", column.expression, schema)
    return Laid(Column(column.name, expression.type, expression.nullable), environment.render(expression))


def watermark_text(engine: Engine, statement: CreateFlinkTable, schema: Schema) -> str:
    """Spark text over c0 …: the milliseconds up to which a row says that all have come."""
    assert statement.watermark is not None
    text = statement.watermark.expression
    bound = _bound(engine, statement, "WATERMARK", text, schema)
    if not isinstance(bound.type, Timestamp | TimestampTz):
        raise SqlError(
            "Invalid data type of expression for watermark definition.",
            detail=f"The expression must be of type TIMESTAMP(p) or TIMESTAMP_LTZ(p), but is {bound.type}.",
            position=text.start + 1,
            sqlstate="42804",
        )
    said = Environment(columns=[f"c{i}" for i in range(len(schema))]).render(bound)
    return f"unix_millis(CAST({said} AS timestamp))"


def _bound(
    engine: Engine, statement: CreateFlinkTable, what: str, text: QueryText, schema: Sequence[Column]
) -> Expression:
    context = Context(engine.catalog)
    scope = Scope(fields_of(tuple(schema), (statement.name.item,)), similar=engine.catalog.similar)
    bound = ExpressionBinder(context, scope, Place({}, None)).bind(parse_expression(text.text, text.start))
    if context.volatile:
        raise SqlError(
            f"{what} calls {next(iter(context.volatile))}",
            detail="A row must be the same whenever its message is read again.",
            position=text.start + 1,
            sqlstate="42P17",
        )
    return bound
