"""Every option of `'connector' = 'kafka'` and `'upsert-kafka'`, once: name, type, default, a line of doc.

The tuples drive parsing, the hints of errors, SHOW CREATE TABLE and docs/reference/flink-kafka-options.md.  What an
option means together with others is in table_options.py.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tailrace.sql.durations import Duration
from tailrace.sql.options import Option
from tailrace.statements.flink import kinds

CONNECTOR = Option("connector", kinds.STRING, required=True, doc="`kafka` or `upsert-kafka`.")
TOPIC = Option("topic", kinds.NAMES, doc="The topic to read and to write; several to read, separated by `;`.")
TOPIC_PATTERN = Option("topic-pattern", kinds.STRING, doc="A regular expression that the topics' whole names match.")
BOOTSTRAP_SERVERS = Option(
    "properties.bootstrap.servers", kinds.STRING, required=True, doc="The brokers, separated by commas."
)
GROUP_ID = Option(
    "properties.group.id", kinds.STRING, doc="The consumer group; by default `KafkaSource-{table}`.  For sources only."
)
FORMAT = Option("format", kinds.STRING, doc="The format of the value, as `value.format`.")
KEY_FORMAT = Option("key.format", kinds.STRING, doc="The format of the key.")
KEY_FIELDS = Option("key.fields", kinds.NAMES, doc="The columns of the key, in order, separated by `;`.")
KEY_FIELDS_PREFIX = Option(
    "key.fields-prefix", kinds.STRING, doc="What the key's columns begin with in the table, and not in the message."
)
VALUE_FORMAT = Option("value.format", kinds.STRING, doc="The format of the value.")
VALUE_FIELDS_INCLUDE = Option(
    "value.fields-include",
    kinds.Choice("ALL", "EXCEPT_KEY"),
    default="ALL",
    doc="Whether the value has the key's columns too.",
)
SCAN_STARTUP_MODE = Option(
    "scan.startup.mode",
    kinds.Choice("earliest-offset", "latest-offset", "group-offsets", "timestamp", "specific-offsets"),
    default="group-offsets",
    doc="Where reading begins.",
)
SCAN_STARTUP_OFFSETS = Option(
    "scan.startup.specific-offsets", kinds.OFFSETS, doc="With `specific-offsets`: the first offset of each partition."
)
SCAN_STARTUP_MILLIS = Option(
    "scan.startup.timestamp-millis", kinds.LONG, doc="With `timestamp`: milliseconds since 1970."
)
SCAN_BOUNDED_MODE = Option(
    "scan.bounded.mode",
    kinds.Choice("unbounded", "latest-offset", "group-offsets", "timestamp", "specific-offsets"),
    default="unbounded",
    doc="Where reading ends.",
)
SCAN_BOUNDED_OFFSETS = Option(
    "scan.bounded.specific-offsets",
    kinds.OFFSETS,
    doc="With `specific-offsets`: where each partition ends; others are not read.",
)
SCAN_BOUNDED_MILLIS = Option(
    "scan.bounded.timestamp-millis", kinds.LONG, doc="With `timestamp`: milliseconds since 1970."
)
SCAN_DISCOVERY_INTERVAL = Option(
    "scan.topic-partition-discovery.interval",
    kinds.DURATION,
    default=Duration("5 min", timedelta(minutes=5)),
    doc="How often new topics and partitions are looked for; 0 is never.",
)
SCAN_IDLE_TIMEOUT = Option(
    "scan.watermark.idle-timeout",
    kinds.DURATION,
    doc="After how long without a row a partition does not hold the watermark back; `table.exec.source.idle-timeout`.",
)
SCAN_PARALLELISM = Option("scan.parallelism", kinds.PARALLELISM, doc="At least so many Spark tasks read a large step.")
SINK_PARTITIONER = Option(
    "sink.partitioner",
    kinds.STRING,
    default="default",
    doc="`default`: Kafka's own; `fixed`; `round-robin`, only without a key; or a function, `module:function`.",
)
SINK_SEMANTIC = Option(
    "sink.semantic",
    kinds.Choice("at-least-once", "exactly-once", "none"),
    default="at-least-once",
    doc="Deprecated: `sink.delivery-guarantee`.",
)
SINK_DELIVERY_GUARANTEE = Option(
    "sink.delivery-guarantee",
    kinds.Choice("at-least-once", "exactly-once", "none"),
    default="at-least-once",
    doc="`none` is carried out as `at-least-once`.",
)
SINK_TRANSACTIONAL_ID_PREFIX = Option(
    "sink.transactional-id-prefix", kinds.STRING, doc="How transactional ids begin.  Required for `exactly-once`."
)
SINK_TRANSACTION_NAMING = Option(
    "sink.transaction-naming-strategy",
    kinds.Choice("INCREMENTING", "POOLING"),
    default="INCREMENTING",
    doc="Taken and of no effect: transactional ids are fixed.",
)
SINK_PARALLELISM = Option("sink.parallelism", kinds.PARALLELISM, doc="Into how many slots a large step is written.")
SINK_BUFFER_ROWS = Option(
    "sink.buffer-flush.max-rows", kinds.ROWS, default=0, doc="Taken: of each key and tick only the last row is written."
)
SINK_BUFFER_INTERVAL = Option(
    "sink.buffer-flush.interval",
    kinds.DURATION,
    default=Duration("0 s", timedelta()),
    doc="Taken: of each key and tick only the last row is written.",
)

_COMMON: tuple[Option[Any], ...] = (
    *(CONNECTOR, TOPIC, TOPIC_PATTERN, BOOTSTRAP_SERVERS, GROUP_ID, KEY_FORMAT, KEY_FIELDS_PREFIX),
    *(VALUE_FORMAT, VALUE_FIELDS_INCLUDE, SCAN_BOUNDED_MODE, SCAN_BOUNDED_OFFSETS, SCAN_BOUNDED_MILLIS),
    *(SCAN_DISCOVERY_INTERVAL, SCAN_IDLE_TIMEOUT, SCAN_PARALLELISM),
    *(SINK_DELIVERY_GUARANTEE, SINK_TRANSACTIONAL_ID_PREFIX),
    *(SINK_TRANSACTION_NAMING, SINK_PARALLELISM),
)

CONNECTORS: dict[str, tuple[Option[Any], ...]] = {
    "kafka": (
        *_COMMON,
        *(FORMAT, KEY_FIELDS, SCAN_STARTUP_MODE, SCAN_STARTUP_OFFSETS, SCAN_STARTUP_MILLIS),
        *(SINK_PARTITIONER, SINK_SEMANTIC),
    ),
    "upsert-kafka": (*_COMMON, SINK_BUFFER_ROWS, SINK_BUFFER_INTERVAL),
}

PROPERTIES = "properties."
"""Options that begin so are properties of the Kafka clients; those named above have a meaning of their own."""
