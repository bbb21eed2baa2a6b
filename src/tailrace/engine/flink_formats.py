"""The formats of a Flink table as decoders, and which columns they carry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tailrace.engine.flink_connections import Registries
from tailrace.engine.flink_layout import Laying, metadata_of
from tailrace.errors import NotSupported, SqlError
from tailrace.formats.decode_changes import Canal, ChangesDecoder, Debezium, Dialect, Maxwell
from tailrace.formats.decode_contract import Decoder
from tailrace.formats.decode_flink_csv import FlinkCsvDecoder
from tailrace.formats.decode_flink_json import FlinkJsonDecoder
from tailrace.formats.decode_raw import RawDecoder
from tailrace.formats.encode_contract import ChangeFrame, Encoder
from tailrace.formats.encode_flink_csv import FlinkCsvEncoder
from tailrace.formats.encode_flink_json import FlinkJsonEncoder
from tailrace.formats.encode_raw import RawEncoder
from tailrace.formats.encode_selected import SelectedEncoder
from tailrace.formats.flink_avro import avro_decoder, bare_encoder, debezium_decoder, framed_encoder
from tailrace.formats.registry import RegistryConnection
from tailrace.statements.flink import format_options as options
from tailrace.statements.flink.format_options import Format
from tailrace.types.core import Column, Schema

if TYPE_CHECKING:
    from tailrace.statements.create_flink_table import CreateFlinkTable

_FRAMES = {
    "debezium-json": ChangeFrame(
        came=(b'{"before":null,"after":', b',"op":"c"}'), left=(b'{"before":', b',"after":null,"op":"d"}')
    ),
    "canal-json": ChangeFrame(came=(b'{"data":[', b'],"type":"INSERT"}'), left=(b'{"data":[', b'],"type":"DELETE"}')),
    "maxwell-json": ChangeFrame(came=(b'{"data":', b',"type":"insert"}'), left=(b'{"data":', b',"type":"delete"}')),
}
"""An update is written as two messages, as by Flink."""


def laying(statement: CreateFlinkTable, registries: Registries) -> Laying:
    """Which decoders give the table's columns.

    Where key and value both have a column it is read from the value; an upsert table's key only from the key.
    """
    settings = statement.settings
    columns = {c.name: Column(c.name, c.type, not c.not_null) for c in statement.physical if c.type is not None}
    in_value = [name for name in columns if settings.value_has_key or name not in settings.key]
    reads_key = settings.key_format is not None and (settings.is_upsert or not settings.value_has_key)
    key: Decoder | None = None
    if reads_key and settings.key_format is not None:
        fields = key_schema([columns[name] for name in settings.key], settings.key_prefix)
        key = decoder(settings.key_format, fields, registries.of_key())
    metadata, format_metadata = metadata_of(statement)
    return Laying(
        key=key,
        key_names=settings.key if key is not None else (),
        value=decoder(
            settings.value_format, [columns[name] for name in in_value], registries.of_value(), format_metadata
        ),
        value_names=tuple(in_value),
        format_metadata=format_metadata,
        metadata=metadata,
    )


def key_schema(columns: Sequence[Column], prefix: str) -> Schema:
    """The key's fields under the names that messages have."""
    return tuple(Column(column.name.removeprefix(prefix), column.type, column.nullable) for column in columns)


def decoder(
    format: Format, fields: Sequence[Column], registry: RegistryConnection, metadata: Sequence[str] = ()
) -> Decoder:
    """`metadata`: keys of what the format itself tells of a message, as further columns."""
    schema = tuple(fields)
    match format.name:
        case "json":
            return FlinkJsonDecoder(
                schema,
                ignore_errors=format.value(options.IGNORE_PARSE_ERRORS),
                fail_on_missing=format.value(options.FAIL_ON_MISSING_FIELD),
                standard=format.value(options.TIMESTAMP_STANDARD),
            )
        case "csv":
            return FlinkCsvDecoder(
                schema,
                delimiter=format.value(options.FIELD_DELIMITER),
                quote=None if format.value(options.DISABLE_QUOTE) else format.value(options.QUOTE),
                escape=format.get(options.ESCAPE),
                null_literal=format.get(options.NULL_LITERAL),
                array_delimiter=format.value(options.ARRAY_DELIMITER),
                allow_comments=format.value(options.ALLOW_COMMENTS),
                ignore_errors=format.value(options.IGNORE_PARSE_ERRORS),
            )
        case "raw":
            return RawDecoder(
                schema,
                charset=format.value(options.CHARSET),
                big_endian=format.value(options.ENDIANNESS) == "big-endian",
            )
        case "avro":
            return avro_decoder(schema, None, legacy=format.value(options.AVRO_LEGACY_TIMESTAMPS))
        case "avro-confluent":
            return avro_decoder(schema, registry, legacy=format.value(options.AVRO_LEGACY_TIMESTAMPS))
        case "debezium-avro-confluent":
            return debezium_decoder(schema, registry, legacy=format.value(options.AVRO_LEGACY_TIMESTAMPS))
        case "debezium-json" | "canal-json" | "maxwell-json":
            return ChangesDecoder(
                _changes(format),
                schema,
                metadata=tuple(metadata),
                ignore_errors=format.value(options.IGNORE_PARSE_ERRORS),
                standard=format.value(options.TIMESTAMP_STANDARD),
            )
        case _:
            raise NotSupported(f"format '{format.name}' of Kafka tables not yet supported")


def _changes(format: Format) -> Dialect:
    match format.name:
        case "debezium-json":
            return Debezium(format.value(options.SCHEMA_INCLUDE))
        case "canal-json":
            return Canal(format.get(options.DATABASE_INCLUDE), format.get(options.TABLE_INCLUDE))
        case _:
            return Maxwell()


def key_encoder(statement: CreateFlinkTable, registries: Registries) -> Encoder:
    settings = statement.settings
    if settings.key_format is None:
        return encoder(settings.value_format, registries.of_value())  # nobody asks it
    columns = [_column(statement, name) for name in settings.key]
    inner = encoder(settings.key_format, registries.of_key(), f"{_first_topic(statement)}-key")
    return SelectedEncoder(inner, key_schema(columns, settings.key_prefix), settings.key)


def value_encoder(statement: CreateFlinkTable, registries: Registries) -> Encoder:
    settings = statement.settings
    names = [c.name for c in statement.physical if settings.value_has_key or c.name not in settings.key]
    columns = tuple(_column(statement, name) for name in names)
    inner = encoder(settings.value_format, registries.of_value(), f"{_first_topic(statement)}-value")
    return SelectedEncoder(inner, columns, tuple(names))


def _first_topic(statement: CreateFlinkTable) -> str:
    settings = statement.settings
    return settings.topics[0] if settings.topics else settings.pattern or ""


def _column(statement: CreateFlinkTable, name: str) -> Column:
    [column] = [column for column in statement.physical if column.name == name]
    assert column.type is not None
    return Column(name, column.type, not column.not_null)


def encoder(format: Format, registry: RegistryConnection, subject: str = "") -> Encoder:
    """`subject`: what a schema registry is to know the schema by, if the table does not say."""
    match format.name:
        case "avro":
            return bare_encoder(legacy=format.value(options.AVRO_LEGACY_TIMESTAMPS))
        case "avro-confluent" | "debezium-avro-confluent":
            return framed_encoder(
                registry,
                format.get(options.REGISTRY_SUBJECT) or subject,
                legacy=format.value(options.AVRO_LEGACY_TIMESTAMPS),
                changes=format.is_changelog,
            )
        case "json":
            return _json(format)
        case "csv":
            return FlinkCsvEncoder(
                delimiter=format.value(options.FIELD_DELIMITER),
                quote=None if format.value(options.DISABLE_QUOTE) else format.value(options.QUOTE),
                escape=format.get(options.ESCAPE),
                null_literal=format.get(options.NULL_LITERAL),
                array_delimiter=format.value(options.ARRAY_DELIMITER),
                scientific=format.value(options.SCIENTIFIC),
            )
        case "raw":
            return RawEncoder(
                charset=format.value(options.CHARSET),
                big_endian=format.value(options.ENDIANNESS) == "big-endian",
            )
        case "debezium-json" | "canal-json" | "maxwell-json":
            if format.name == "debezium-json" and format.value(options.SCHEMA_INCLUDE):
                raise SqlError("Debezium JSON serialization doesn't support 'debezium-json.schema-include'.")
            return replace(_json(format), change=_FRAMES[format.name])
        case _:
            raise NotSupported(f"writing format '{format.name}' not yet supported")


def _json(format: Format) -> FlinkJsonEncoder:
    return FlinkJsonEncoder(
        ignore_nulls=format.value(options.IGNORE_NULL_FIELDS),
        plain_decimals=format.value(options.DECIMAL_AS_PLAIN),
        standard=format.value(options.TIMESTAMP_STANDARD),
    )
