"""From raw messages to rows: one Spark SQL text for the whole source, whichever way the messages were read.

`decoded_sql` gives, for each message, the relation's columns c0 …, the reason why it has none (`error`), and
the raw message.  Everything else a source offers is a thin selection from it, so that each message is either
a row, or a dead letter, or a null value that means nothing; never two of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import assert_never

import pyarrow as pa

from tailrace.formats.decode_contract import Decoder, as_text
from tailrace.formats.decode_json import same_text
from tailrace.formats.encode_scalars import literal
from tailrace.ivm.zset import columns
from tailrace.sources.kafka_definition import (
    BadMessages,
    Envelope,
    IncludeHeader,
    IncludeHeaderMap,
    IncludeHeaders,
    IncludeLeaderEpoch,
    IncludeOffset,
    IncludePartition,
    IncludeTimestamp,
    IncludeTimestampType,
    IncludeTopic,
    KafkaSourceDefinition,
    Metadata,
    key_columns,
    message_schema,
    source_schema,
)
from tailrace.types.core import JSONB, Column
from tailrace.types.spark import spark_type

RAW = "key binary, value binary, partition int, offset bigint, timestamp timestamp_ntz"
"""The columns that every raw view has, as Spark DDL."""

_SOMETIMES = {
    "headers": "headers array<struct<key:string,value:binary>>",
    "timestamp_type": "timestamp_type int",
}

_MARK = ("TAILRACE<22000:", ">TAILRACE")  # by which plan/data_errors.py knows an error of ours

NO_VALUE = "Envelope error: Flat: Value not present for message"

NO_VALUE_IN_FLINK = "Invalid null value received in non-upsert mode. Could not to set row kind for output record."

NO_KEY = (
    "record with NULL key in UPSERT source; to retract this error, produce a record upstream with a NULL key"
    " and NULL value"
)


_MORE = {
    IncludeHeader: "headers",
    IncludeHeaders: "headers",
    IncludeHeaderMap: "headers",
    IncludeTimestampType: "timestamp_type",
}


def more_columns(definition: KafkaSourceDefinition) -> tuple[str, ...]:
    """The raw columns that only some sources need."""
    return tuple(sorted({_MORE[type(item)] for item in definition.metadata if type(item) in _MORE}))


def raw_ddl(more: Sequence[str]) -> str:
    """The columns of a raw view, as Spark DDL."""
    return ", ".join([RAW, *(_SOMETIMES[name] for name in more)])


def decoded_sql(definition: KafkaSourceDefinition, raw_view: str, *, surely: bool = False) -> str:
    """A query: c0 …, error, is_null_value, and the raw partition, offset, timestamp, key, value.

    `surely`: all these messages are known to decode, so that no error needs to be looked for.
    """
    outputs = [f"{text} AS c{i}" for i, text in enumerate(_columns(definition))]
    source, weight = _judged(definition, raw_view, surely=surely), "1L"
    value = definition.value_format.decoded("value")
    if value.rows is not None:
        source, weight = f"(SELECT *, explode_outer({value.rows}) AS row FROM {source})", "row.w"
    is_null = "value IS NULL" if value.absent is None else f"(value IS NULL OR {value.absent})"
    return (
        f"SELECT {', '.join(outputs)}, error, {is_null} AS is_null_value, {weight} AS weight,"
        f" partition, offset, timestamp, key, value FROM {source}"
    )


def _judged(definition: KafkaSourceDefinition, raw_view: str, *, surely: bool = False) -> str:
    """The raw messages with what their decoders compute once, and `error`."""
    source = raw_view
    for name, text in _once(definition):
        source = f"(SELECT *, {text} AS {name} FROM {source})"
    error = "CAST(NULL AS STRING)" if surely else _error(definition)
    if not surely and _once(definition):
        # Spark would move a condition on `error` to below these, and there compute them again for each of their fields
        # that it mentions.  It moves nothing past a value that it takes for another one each time.
        error = f"IF(monotonically_increasing_id() < 0, NULL, {error})"
    return f"(SELECT *, {error} AS error FROM {source})"


def _once(definition: KafkaSourceDefinition) -> tuple[tuple[str, str], ...]:
    key = definition.key_format if definition.includes_key else None
    return (*definition.value_format.decoded("value").once, *(() if key is None else key.decoded("key").once))


def rows_sql(
    definition: KafkaSourceDefinition, raw_view: str, *, surely: bool = False, placed: bool = False
) -> str:
    """A Z-set: one row, of weight 1, per message that has a value; a changelog's rows with their weights.

    `placed`: with the message's partition as `place`.
    """
    place = ", partition AS place" if placed else ""
    decoded = decoded_sql(definition, raw_view, surely=surely)
    fine = f"{_is_fine(definition, surely=surely)} AND NOT is_null_value AND weight IS NOT NULL"
    return f"SELECT {_laid(definition)}, CAST(weight AS BIGINT) AS weight{place} FROM ({decoded}) WHERE {fine}"


def _laid(definition: KafkaSourceDefinition, deleted: str | None = None) -> str:
    """The relation's columns over those of key, value and metadata.

    Where `deleted` is true only the key's are known, and nothing is computed from the others.
    """
    if not definition.layout:
        return columns(len(source_schema(definition)))
    texts = (
        laid.text
        if deleted is None or place in definition.key_places
        else f"CASE WHEN NOT {deleted} THEN {laid.text} END"
        for place, laid in enumerate(definition.layout)
    )
    return ", ".join(f"{text} AS c{i}" for i, text in enumerate(texts))


def last_messages_sql(
    definition: KafkaSourceDefinition,
    raw_view: str,
    *,
    surely: bool = False,
    unique: bool = False,
    steps: Mapping[int, Sequence[int]] | None = None,
) -> str:
    """ENVELOPE UPSERT: c0 … and `deleted`, of the last good message of each key, by partition and offset.

    `unique`: each key is known to be there once.  `steps`: for each partition the offsets at which a later tick
    begins; a message of a later tick is later, whatever its partition.
    """
    names = columns(len(message_schema(definition)))
    outputs = _laid(definition, "deleted") if definition.layout else names
    keys = columns(len(key_columns(definition)))
    good = (
        f"SELECT {names}, is_null_value AS deleted, partition, offset"
        f" FROM ({decoded_sql(definition, raw_view, surely=surely)})"
        f" WHERE {_is_fine(definition, surely=surely)} AND key IS NOT NULL"
    )
    if unique:
        return f"SELECT {outputs}, deleted FROM ({good})"
    # Sorting by a hash first compares numbers, where keys often begin with the same letters.
    order = f"{_step(steps)} DESC, partition DESC, offset DESC" if steps else "partition DESC, offset DESC"
    last = f"row_number() OVER (PARTITION BY xxhash64({keys}), {keys} ORDER BY {order})"
    return f"SELECT {outputs}, deleted FROM (SELECT *, {last} AS place FROM ({good})) WHERE place = 1"


def _step(steps: Mapping[int, Sequence[int]]) -> str:
    """How many ticks of the step ended before a message."""
    cases = (
        f"WHEN {partition} THEN size(filter(array({', '.join(f'{o}L' for o in offsets)}), o -> o <= offset))"
        for partition, offsets in steps.items()
    )
    return f"CASE partition {' '.join(cases)} ELSE 0 END"


def no_messages_sql(definition: KafkaSourceDefinition) -> str:
    """What `last_messages_sql` gives for no messages at all."""
    names = [f"CAST(NULL AS {spark_type(column.type)})" for column in source_schema(definition)]
    outputs = "".join(f"{text} AS c{i}, " for i, text in enumerate(names))
    return f"SELECT {outputs}false AS deleted WHERE false"


def dead_letters_sql(definition: KafkaSourceDefinition, raw_view: str) -> str:
    """The messages with an error as a Z-set of `DEAD_LETTERS`."""
    return (
        "SELECT partition AS c0, offset AS c1, timestamp AS c2, key AS c3, value AS c4, error AS c5,"
        f" CAST(1 AS BIGINT) AS weight FROM {_judged(definition, raw_view)} WHERE error IS NOT NULL"
    )


def _is_fine(definition: KafkaSourceDefinition, *, surely: bool) -> str:
    """The condition on a decoded message to be a row; under STOP, it fails at the first that is not."""
    if definition.bad_messages is BadMessages.DEAD_LETTER or surely:
        return "error IS NULL"
    head = literal(f"{_MARK[0]}source {definition.name}: partition ")
    said = f"concat({head}, partition, ' offset ', offset, ': ', error, {literal(_MARK[1])})"
    return f"CASE WHEN error IS NULL THEN true ELSE raise_error({said}) END"


def _columns(definition: KafkaSourceDefinition) -> list[str]:
    """Spark text of each column of the relation, over a raw view."""
    value = definition.value_format.decoded("value")
    return [*_key(definition), *value.columns, *(_metadata(item, definition) for item in definition.metadata)]


def _key(definition: KafkaSourceDefinition) -> list[str]:
    if not key_columns(definition) or definition.key_format is None:
        return []
    fields = definition.key_format.decoded("key").columns
    if definition.envelope is Envelope.UPSERT:
        fields = tuple(map(_identity, fields, definition.key_format.schema))
    if definition.key_format.is_single:
        return list(fields)
    if definition.key_record is None:
        return [f"CASE WHEN key IS NOT NULL THEN {text} END" for text in fields]
    packed = ", ".join(f"{text} AS f{i}" for i, text in enumerate(fields))
    return [f"CASE WHEN key IS NOT NULL THEN struct({packed}) END"]


def _identity(text: str, column: Column) -> str:
    """Two keys are the same when their values are, however they were written."""
    return same_text(text) if column.type == JSONB else text


def _metadata(item: Metadata, definition: KafkaSourceDefinition) -> str:
    match item:
        case IncludePartition():
            return "partition"
        case IncludeOffset():
            return "CAST(offset AS DECIMAL(20, 0))"
        case IncludeTimestamp():
            return "timestamp"
        case IncludeHeaders():
            records = "transform(headers, h -> struct(h.key AS f0, h.value AS f1))"
            return f"coalesce({records}, array())"
        case IncludeHeader(as_bytes=as_bytes):
            value = f"{_header(item)}.value"
            return value if as_bytes else as_text(value)
        case IncludeTopic():
            return literal(definition.topic)
        case IncludeTimestampType():
            return "CASE timestamp_type WHEN 0 THEN 'CreateTime' WHEN 1 THEN 'LogAppendTime' ELSE 'NoTimestampType' END"
        case IncludeLeaderEpoch():
            return "CAST(NULL AS INT)"
        case IncludeHeaderMap():
            keys = "array_distinct(transform(headers, h -> h.key))"
            last = "element_at(filter(headers, h -> h.key = k), -1).value"
            return f"coalesce(map_from_arrays({keys}, transform({keys}, k -> {last})), map())"
        case _:
            assert_never(item)


def _header(item: IncludeHeader) -> str:
    return f"try_element_at(filter(headers, h -> h.key = {literal(item.key)}), -1)"


def _error(definition: KafkaSourceDefinition) -> str:
    """The first reason why a message is no row, or NULL."""
    reasons = [
        *_key_errors(definition),
        *_format_error(definition.value_format, "value"),
        *(reason for item in definition.metadata for reason in _header_errors(item)),
    ]
    return f"coalesce({', '.join(reasons)})" if reasons else "CAST(NULL AS STRING)"


def _format_error(format: Decoder, data: str) -> list[str]:
    error = format.decoded(data).error
    return [] if error is None else [f"CASE WHEN {data} IS NOT NULL THEN {error} END"]


def _key_errors(definition: KafkaSourceDefinition) -> list[str]:
    if not definition.includes_key or definition.key_format is None:
        return []
    if definition.envelope is Envelope.UPSERT:
        # A NULL key with a NULL value takes back an earlier NULL key: it is no error itself.
        missing = f"CASE WHEN key IS NULL AND value IS NOT NULL THEN {literal(NO_KEY)} END"
    else:
        said = NO_VALUE_IN_FLINK if definition.layout else NO_VALUE
        missing = f"CASE WHEN value IS NULL THEN {literal(said)} END"
    return [missing, *_format_error(definition.key_format, "key")]


def _header_errors(item: Metadata) -> list[str]:
    """Only for messages with a value: one without has no metadata columns to fill."""
    if not isinstance(item, IncludeHeader):
        return []
    absent = literal(f"A header with key '{item.key}' was not found in the message headers")
    garbled = literal(f"The header with key '{item.key}' is not valid UTF-8")
    found = f"{_header(item)}.value"
    reasons = [f"WHEN {_header(item)} IS NULL THEN {absent}"]
    if not item.as_bytes:
        reasons.append(f"WHEN NOT is_valid_utf8({as_text(found)}) THEN {garbled}")
    return [f"CASE WHEN value IS NULL THEN NULL {' '.join(reasons)} END"]


def is_surely_fine(definition: KafkaSourceDefinition, raw: pa.Table) -> bool:
    """Whether no message of a small table has an error, as far as that is cheap to say on the driver."""
    if any(isinstance(item, IncludeHeader) for item in definition.metadata):
        return False
    keys, values = raw["key"], raw["value"]
    if definition.includes_key and definition.key_format is not None:
        required = keys if definition.envelope is Envelope.UPSERT else values
        if required.null_count or not definition.key_format.surely_decodes(_present(keys)):
            return False
    return definition.value_format.surely_decodes(_present(values))


def last_of_each_key(definition: KafkaSourceDefinition, raw: pa.Table) -> pa.Table | None:
    """The last message of each key of a small table, if keys are the same when their bytes are; else None."""
    places = {key: place for place, key in enumerate(raw["key"].to_pylist())}
    different = [key for key in places if key is not None]
    if definition.key_format is None or not definition.key_format.surely_differ(different):
        return None
    return raw.take(pa.array(list(places.values()), pa.int64()))


def _present(column: pa.ChunkedArray) -> list[bytes]:
    return column.drop_null().to_pylist()  # type: ignore[no-any-return]
