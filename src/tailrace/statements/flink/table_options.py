"""What the options of a Kafka table mean together.  A `TableOptions` that exists is valid."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from tailrace.errors import InvalidOption, NotSupported, SqlError
from tailrace.sql.options import Option
from tailrace.statements.flink import format_options, options
from tailrace.statements.flink.format_options import Format
from tailrace.statements.flink.with_options import WithOptions, required
from tailrace.types.core import SqlType

UPSERT = "upsert-kafka"

_FUNCTION = re.compile(r"\w+(\.\w+)*:\w+(\.\w+)*")


@dataclass(frozen=True, kw_only=True, slots=True)
class Position:
    """Where reading begins or ends: a mode, and what it needs."""

    mode: str
    offsets: tuple[tuple[int, int], ...] = ()
    milliseconds: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TableOptions:
    """`topics` or `pattern`.  `key` are names of columns, as the table has them; in messages without `key_prefix`."""

    connector: str
    topics: tuple[str, ...]
    pattern: str | None
    group_id: str | None
    key_format: Format | None
    value_format: Format
    key: tuple[str, ...]
    key_prefix: str
    value_has_key: bool
    start: Position
    end: Position
    discovery: timedelta | None
    idle_timeout: timedelta | None
    scan_parallelism: int | None
    sink_parallelism: int | None
    partitioner: str
    guarantee: str
    transactional_id_prefix: str | None

    @property
    def is_upsert(self) -> bool:
        return self.connector == UPSERT

    @property
    def is_bounded(self) -> bool:
        return self.end.mode != "unbounded"

    @property
    def is_changelog(self) -> bool:
        """Rows can leave the table as well as come."""
        return self.is_upsert or self.value_format.is_changelog


Physical = Sequence[tuple[str, SqlType | None]]


def table_options(given: WithOptions, *, table: str, physical: Physical, primary_key: tuple[str, ...]) -> TableOptions:
    """Raises InvalidOption, in Flink's words, for options that do not go together."""
    upsert = given.connector == UPSERT
    value = _value_format(given)
    _check_topics(given, upsert)
    _check_primary_key(given, value, table, primary_key)
    names = [name for name, _ in physical]
    key = primary_key if upsert else _key_fields(given, names)
    prefix = given.given.get(options.KEY_FIELDS_PREFIX) or ""
    has_key = given.given.value(options.VALUE_FIELDS_INCLUDE) == "ALL"
    _check_prefix(given, key, prefix, has_key)
    guarantee = _guarantee(given)
    discovery = given.given.value(options.SCAN_DISCOVERY_INTERVAL).length
    idle = given.given.get(options.SCAN_IDLE_TIMEOUT)
    return TableOptions(
        connector=given.connector,
        topics=given.given.get(options.TOPIC) or (),
        pattern=given.given.get(options.TOPIC_PATTERN),
        group_id=given.given.get(options.GROUP_ID),
        key_format=given.key_format,
        value_format=value,
        key=key,
        key_prefix=prefix,
        value_has_key=has_key,
        start=Position(mode="earliest-offset") if upsert else _start(given),
        end=_end(given),
        discovery=discovery or None,
        idle_timeout=None if idle is None else idle.length,
        scan_parallelism=given.given.get(options.SCAN_PARALLELISM),
        sink_parallelism=given.given.get(options.SINK_PARALLELISM),
        partitioner="default" if upsert else _partitioner(given, key),
        guarantee=guarantee,
        transactional_id_prefix=given.given.get(options.SINK_TRANSACTIONAL_ID_PREFIX),
    )


def _refused(given: WithOptions, option: Option[Any], message: str, hint: str | None = None) -> InvalidOption:
    position = given.given.position(option) or given.given.position(options.CONNECTOR)
    return InvalidOption(message, hint=hint, position=position)


def _value_format(given: WithOptions) -> Format:
    upsert = given.connector == UPSERT
    if given.given.has(options.FORMAT) and given.given.has(options.VALUE_FORMAT):
        raise _refused(given, options.FORMAT, "Option 'format' and 'value.format' shouldn't be set together.")
    if given.value_format is None:
        raise required(given, "value.format" if upsert else "format")
    if upsert and given.key_format is None:
        raise required(given, "key.format")
    for what, option, format in (
        ("key", options.KEY_FORMAT, given.key_format),
        ("value", options.VALUE_FORMAT, given.value_format),
    ):
        if format is None:
            continue
        if format.is_changelog and (upsert or what == "key"):
            message = f"connector doesn't support '{format.name}' as {what} format, because '{format.name}' is not in"
            raise _refused(given, option, f"'{given.connector}' {message} insert-only mode.")
        _check_json(given, format)
        if format.has_registry and not format.get(format_options.REGISTRY_URL):
            prefix = "" if given.given.has(options.FORMAT) and what == "value" else f"{what}."
            raise required(given, f"{prefix}{format.name}.url")
    return given.value_format


def _check_json(given: WithOptions, format: Format) -> None:
    if format.name != "json":
        return
    both = format_options.IGNORE_PARSE_ERRORS, format_options.FAIL_ON_MISSING_FIELD
    if all(format.value(option) for option in both):
        raise InvalidOption(
            "fail-on-missing-field and ignore-parse-errors shouldn't both be true.",
            position=format.options.position(both[1]),
        )


def _check_topics(given: WithOptions, upsert: bool) -> None:
    topics, pattern = given.given.get(options.TOPIC), given.given.get(options.TOPIC_PATTERN)
    if topics is not None and pattern is not None:
        raise _refused(given, options.TOPIC_PATTERN, "Option 'topic' and 'topic-pattern' shouldn't be set together.")
    if topics is None and pattern is None:
        raise _refused(given, options.TOPIC, "Either 'topic' or 'topic-pattern' must be set.")
    if upsert and (topics is None or len(topics) > 1):
        raise NotSupported(
            "'upsert-kafka' tables of several topics not supported",
            detail="A key belongs to one topic: which of two messages is the later one could not be said.",
            position=given.given.position(options.TOPIC if topics else options.TOPIC_PATTERN),
        )
    if pattern is not None:
        try:
            re.compile(pattern)
        except re.error as error:
            raise _refused(given, options.TOPIC_PATTERN, f"Invalid value for option 'topic-pattern'. {error}") from None


def _check_primary_key(given: WithOptions, value: Format, table: str, primary_key: tuple[str, ...]) -> None:
    position = given.given.position(options.CONNECTOR)
    if given.connector == UPSERT and not primary_key:
        raise SqlError(
            "'upsert-kafka' tables require to define a PRIMARY KEY constraint.",
            detail="The PRIMARY KEY specifies which columns should be read from or write to the Kafka message key.",
            hint="Add PRIMARY KEY (column) NOT ENFORCED to the table's columns.",
            position=position,
            sqlstate="42P16",
        )
    if given.connector != UPSERT and primary_key and not value.is_changelog:
        raise SqlError(
            f"The Kafka table '{table}' with '{value.name}' format doesn't support defining PRIMARY KEY constraint on"
            " the table, because it can't guarantee the semantic of primary key.",
            hint="Use 'connector' = 'upsert-kafka', or leave the PRIMARY KEY out.",
            position=position,
            sqlstate="42P16",
        )


def _key_fields(given: WithOptions, names: Sequence[str]) -> tuple[str, ...]:
    fields = given.given.get(options.KEY_FIELDS) or ()
    if fields and given.key_format is None:
        raise _refused(
            given,
            options.KEY_FIELDS,
            "The option 'key.fields' can only be declared if a key format is defined using 'key.format'.",
        )
    if not fields and given.key_format is not None:
        raise _refused(
            given,
            options.KEY_FORMAT,
            "A key format 'key.format' requires the declaration of one or more of key fields using 'key.fields'.",
        )
    for name in fields:
        if name not in names:
            raise _refused(
                given,
                options.KEY_FIELDS,
                f"Could not find the field '{name}' in the table schema for usage in the key format.",
                hint=f"A key field must be a regular, physical column. The columns are {', '.join(names)}.",
            )
    return fields


def _check_prefix(given: WithOptions, key: tuple[str, ...], prefix: str, value_has_key: bool) -> None:
    if not prefix:
        return
    for name in key:
        if not name.startswith(prefix):
            raise _refused(
                given,
                options.KEY_FIELDS_PREFIX,
                f"All fields in 'key.fields' must be prefixed with '{prefix}' when option 'key.fields-prefix' is set"
                f" but field '{name}' is not prefixed.",
            )
    if value_has_key:
        raise _refused(
            given,
            options.KEY_FIELDS_PREFIX,
            "A key prefix is not allowed when option 'value.fields-include' is set to 'ALL'. Set it to 'EXCEPT_KEY'"
            " instead to avoid field overlaps.",
        )


def _start(given: WithOptions) -> Position:
    offsets, millis = options.SCAN_STARTUP_OFFSETS, options.SCAN_STARTUP_MILLIS
    return _position(given, options.SCAN_STARTUP_MODE, offsets, millis, "startup")


def _end(given: WithOptions) -> Position:
    offsets, millis = options.SCAN_BOUNDED_OFFSETS, options.SCAN_BOUNDED_MILLIS
    return _position(given, options.SCAN_BOUNDED_MODE, offsets, millis, "bounded")


def _position(
    given: WithOptions, mode_option: Option[str], offsets: Option[Any], millis: Option[int], word: str
) -> Position:
    mode = given.given.value(mode_option)
    for needed_in, option in (("specific-offsets", offsets), ("timestamp", millis)):
        if mode == needed_in and not given.given.has(option):
            raise _refused(given, mode_option, f"'{option.name}' is required in '{mode}' {word} mode but missing.")
    if mode != "specific-offsets":
        return Position(mode=mode, milliseconds=given.given.get(millis) if mode == "timestamp" else None)
    topics = given.given.get(options.TOPIC) or ()
    if len(topics) != 1:
        raise _refused(given, offsets, "Currently Kafka source only supports specific offset for single topic.")
    return Position(mode=mode, offsets=given.given.value(offsets).by_partition)


def _partitioner(given: WithOptions, key: tuple[str, ...]) -> str:
    name = given.given.value(options.SINK_PARTITIONER)
    if name == "round-robin" and key:
        message = "Currently 'round-robin' partitioner only works when option 'key.fields' is not specified."
        raise _refused(given, options.SINK_PARTITIONER, message)
    if name not in ("default", "fixed", "round-robin") and not _FUNCTION.fullmatch(name):
        raise NotSupported(
            f"sink.partitioner '{name}' not supported",
            detail="A Java class of Flink's cannot run here.",
            hint="Use 'default', 'fixed', 'round-robin', or a function of Python's: 'module:function'.",
            position=given.given.position(options.SINK_PARTITIONER),
        )
    return name


def _guarantee(given: WithOptions) -> str:
    old = options.SINK_SEMANTIC if given.given.has(options.SINK_SEMANTIC) else options.SINK_DELIVERY_GUARANTEE
    option = options.SINK_DELIVERY_GUARANTEE if given.given.has(options.SINK_DELIVERY_GUARANTEE) else old
    guarantee = given.given.value(option)
    prefix = given.given.get(options.SINK_TRANSACTIONAL_ID_PREFIX)
    if guarantee == "exactly-once" and not prefix:
        message = "sink.transactional-id-prefix must be specified when using DeliveryGuarantee.EXACTLY_ONCE."
        raise _refused(given, option, message)
    return guarantee
