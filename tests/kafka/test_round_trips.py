"""What is written in a format is read back in it, by either dialect's tables: random schemas, random values.

One table of ours is sent through many topics at once.  What a format cannot carry is left out of its schema, and each
such gap is named here.
"""

from __future__ import annotations

import itertools
import string
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from pyspark.sql import SparkSession

from kafka.flink_tables import options, rows
from tailrace.engine.engine import Engine
from tailrace.testing.broker import Broker
from tailrace.testing.fixtures import TopicFactory
from tailrace.testing.registry import Registry
from tailrace.ticks.loop import Pace

pytestmark = pytest.mark.slow

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Type:
    """Our name of a type, Flink's, and values of it."""

    ours: str
    flink: str
    values: SearchStrategy[Any]

    def sql(self, value: Any) -> str:
        return f"NULL::{self.ours}" if value is None else f"'{_text(value)}'::{self.ours}"


def _text(value: Any) -> str:
    match value:
        case bytes():
            return rf"\x{value.hex()}"
        case list():
            return "{" + ",".join("NULL" if each is None else str(each) for each in value) + "}"
        case dict():
            return "{" + ",".join(f"{key}=>{each}" for key, each in value.items()) + "}"
        case _:
            return str(value).replace("'", "''")


def _floats(width: int) -> SearchStrategy[float]:
    return st.floats(allow_nan=False, allow_infinity=False, width=width).map(lambda x: 0.0 if x == 0 else x)


_INTS = st.integers(-(2**31), 2**31 - 1)
_TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
_MOMENTS = st.integers(-(10**12), 4 * 10**12).map(lambda ms: datetime(1970, 1, 1) + timedelta(milliseconds=ms))  # noqa: DTZ001
_KEYS = st.text(string.ascii_lowercase, min_size=1, max_size=3)
# A list of one NULL is left out: in CSV it is the text of NULL, as a NULL of the column is.
_LISTS = st.lists(st.none() | _INTS, max_size=3).filter(lambda found: found != [None])

TYPES = {
    "small": Type("smallint", "SMALLINT", st.integers(-(2**15), 2**15 - 1)),
    "whole": Type("int", "INT", _INTS),
    "large": Type("bigint", "BIGINT", st.integers(-(2**63), 2**63 - 1)),
    "flag": Type("boolean", "BOOLEAN", st.booleans()),
    "single": Type("real", "FLOAT", _floats(32)),
    "double": Type("double precision", "DOUBLE", _floats(64)),
    "text": Type("text", "STRING", _TEXTS),
    "price": Type("numeric(38,4)", "DECIMAL(20, 4)", st.decimals(-(10**15), 10**15, places=4)),
    "day": Type("date", "DATE", st.dates(date(1800, 1, 1), date(2200, 1, 1))),
    "at": Type("timestamp(3)", "TIMESTAMP(3)", _MOMENTS),
    "moment": Type("timestamptz(3)", "TIMESTAMP_LTZ(3)", _MOMENTS.map(lambda m: m.replace(tzinfo=UTC))),
    "raw": Type("bytea", "BYTES", st.binary(max_size=6)),
    "counts": Type("int list", "ARRAY<INT>", _LISTS),
    "named": Type("map[text=>int]", "MAP<STRING, INT>", st.dictionaries(_KEYS, _INTS, max_size=3)),
}
NESTED = {"counts", "named"}
PLAIN = {"small", "whole", "large", "flag", "text"}  # what both dialects write alike in JSON

Row = tuple[Any, ...]

# An example takes many topics: few of them, each with nearly all types, and no search for a smaller one that fails.
BRIEFLY = settings(
    max_examples=2, deadline=None, suppress_health_check=list(HealthCheck), phases=(Phase.explicit, Phase.generate)
)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[Row]]:
    """Columns, and rows of them with a key in front."""
    columns = draw(st.permutations(sorted(TYPES)))[: draw(st.integers(10, len(TYPES)))]
    values = [TYPES[column].values | st.none() for column in columns]
    found = draw(st.lists(st.tuples(*values), min_size=20, max_size=40))
    return columns, [(number, *row) for number, row in enumerate(found)]


# The connector, its options, and what it cannot carry.
FORMATS: dict[str, tuple[Mapping[str, str], set[str]]] = {
    "json": ({"format": "json"}, set()),
    "iso": ({"format": "json", "json.timestamp-format.standard": "ISO-8601"}, set()),
    "csv": ({"format": "csv", "csv.null-literal": "-NULL-"}, {"named"}),
    "avro": ({"format": "avro", "avro.timestamp_mapping.legacy": "false"}, set()),
    "confluent": ({"format": "avro-confluent", "avro-confluent.timestamp_mapping.legacy": "false"}, set()),
    "debezium": ({"format": "debezium-json"}, set()),
    "canal": ({"format": "canal-json"}, NESTED),
    "maxwell": ({"format": "maxwell-json"}, NESTED),
    "changes": (
        {"format": "debezium-avro-confluent", "debezium-avro-confluent.timestamp_mapping.legacy": "false"},
        set(),
    ),
    "upsert": ({"connector": "upsert-kafka", "key.format": "json", "value.format": "json"}, set()),
}


CHANGELOGS = ("debezium", "canal", "maxwell", "changes", "upsert")


@pytest.fixture(scope="module")
def engine(spark: SparkSession) -> Iterator[Engine]:
    with Engine(spark, pace=Pace(interval=0.02)) as opened:
        yield opened


@settings(BRIEFLY)
@given(table=tables())
def test_flink_tables_give_back_what_they_were_given(
    engine: Engine, broker: Broker, registry: Registry, topic: TopicFactory, table: tuple[list[str], list[Row]]
) -> None:
    columns, given_rows = table
    name = make(engine, columns, given_rows)
    for format, (more, cannot) in FORMATS.items():
        carried = [column for column in columns if column not in cannot]
        key = ", PRIMARY KEY (id) NOT ENFORCED" if more.get("connector") == "upsert-kafka" else ""
        typed = ", ".join(f"`{column}` {TYPES[column].flink}" for column in carried)
        url = {f"{more['format']}.url": registry.url} if more.get("format", "").endswith("confluent") else {}
        there = options(broker, topic(format), **more, **url)
        engine.sql(f"CREATE TABLE {name}_{format} (id BIGINT, {typed}{key}) {there}")
        append_only = f"(VALUES {written(columns, given_rows)}) t ({listed(columns)})"  # a table of ours is not
        given_by = name if format in CHANGELOGS else append_only
        engine.sql(f"INSERT INTO {name}_{format} SELECT {listed(carried)} FROM {given_by}")
    wrong: list[tuple[Any, ...]] = []
    for formats in (FORMATS.keys(), CHANGELOGS):
        for format in formats:
            carried = listed([column for column in columns if column not in FORMATS[format][1]])
            expected = rows(engine, f"SELECT {carried} FROM {name}")
            wrong += [(format, *pair) for pair in differences(engine, f"{name}_{format}", carried, expected)]
        assert not wrong, wrong
        change(engine, name, columns)
    gone = f"DROP TABLE {name}, " + ", ".join(f"{name}_{format}" for format in FORMATS)
    engine.sql(gone + " CASCADE")


@settings(BRIEFLY)
@given(table=tables())
def test_one_dialect_reads_what_the_other_writes(
    engine: Engine, broker: Broker, registry: Registry, topic: TopicFactory, table: tuple[list[str], list[Row]]
) -> None:
    """Avro carries all types both ways; JSON those that both write alike."""
    columns, given_rows = table
    name = make(engine, columns, given_rows)
    engine.sql(f"CREATE CONNECTION IF NOT EXISTS k TO KAFKA (BROKER '{broker.bootstrap}', SECURITY PROTOCOL PLAINTEXT)")
    engine.sql(f"CREATE CONNECTION IF NOT EXISTS r TO CONFLUENT SCHEMA REGISTRY (URL '{registry.url}')")
    plain = [column for column in columns if column in PLAIN]
    engine.sql(f"CREATE MATERIALIZED VIEW {name}_plain AS SELECT {listed(plain)} FROM {name}")
    confluent = {"url": registry.url, "timestamp_mapping.legacy": "false"}
    avro = {"connector": "upsert-kafka", "key.format": "avro-confluent", "value.format": "avro-confluent"}
    avro |= {f"{side}.avro-confluent.{k}": v for side in ("key", "value") for k, v in confluent.items()}
    json = {"connector": "upsert-kafka", "key.format": "json", "value.format": "json"}
    registered = "FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION r"
    upserts, changes, texts, theirs = topic("upserts"), topic("changes"), topic("texts"), topic("theirs")

    def flink_table(reader: str, there: str, more: Mapping[str, str], only: list[str]) -> None:
        typed = ", ".join(f"`{column}` {TYPES[column].flink}" for column in only)
        key = "PRIMARY KEY (id) NOT ENFORCED"
        engine.sql(f"CREATE TABLE {name}_{reader} (id BIGINT, {typed}, {key}) {options(broker, there, **more)}")

    def sink(there: str, what: str, how: str) -> None:
        into = f"INTO KAFKA CONNECTION k (TOPIC '{there}') KEY (id) NOT ENFORCED {how}"
        engine.sql(f'CREATE SINK "{there}_sink" FROM {what} {into}')

    def source(reader: str, there: str, how: str) -> None:
        engine.sql(f"CREATE SOURCE {name}_{reader} FROM KAFKA CONNECTION k (TOPIC '{there}') {how}")

    flink_table("written", theirs, avro, columns)
    engine.sql(f"INSERT INTO {name}_written SELECT {listed(columns)} FROM {name}")
    sink(upserts, name, f"{registered} ENVELOPE UPSERT")
    sink(changes, name, f"{registered} ENVELOPE DEBEZIUM")
    sink(texts, f"{name}_plain", "FORMAT JSON ENVELOPE UPSERT")
    flink_table("upserts", upserts, avro, columns)
    flink_table("texts", texts, json, plain)
    everything = listed(columns)
    wrong = differences(engine, f"{name}_written", everything, rows(engine, f"SELECT {everything} FROM {name}"))
    # Both sides of an upsert have the key; one of them needs another name.
    source("from_theirs", theirs, f"{registered} INCLUDE KEY AS message_key ENVELOPE UPSERT")
    source("from_upserts", upserts, f"{registered} INCLUDE KEY AS message_key ENVELOPE UPSERT")
    source("from_changes", changes, f"{registered} ENVELOPE DEBEZIUM")
    source("from_texts", texts, "KEY FORMAT JSON VALUE FORMAT JSON ENVELOPE UPSERT")
    fields = [f"(data->>'{column}')::{TYPES[column].ours} AS \"{column}\"" for column in plain]
    readers = {reader: everything for reader in ("written", "upserts", "from_theirs", "from_upserts", "from_changes")}
    readers |= {"texts": listed(plain), "from_texts": ", ".join(["(data->>'id')::bigint AS id", *fields])}
    for _ in range(2):
        for reader, shown in readers.items():
            given_back = rows(engine, f"SELECT {everything if shown == everything else listed(plain)} FROM {name}")
            wrong += [(reader, *pair) for pair in differences(engine, f"{name}_{reader}", shown, given_back)]
        assert not wrong, wrong
        change(engine, name, columns)
    engine.sql(f"DROP TABLE {name} CASCADE")


def make(engine: Engine, columns: list[str], found: list[Row]) -> str:
    name = f"t{next(_numbers)}"
    typed = ", ".join(["id bigint NOT NULL", *(f'"{column}" {TYPES[column].ours}' for column in columns)])
    engine.sql(f"CREATE TABLE {name} ({typed})")
    engine.sql(f"INSERT INTO {name} SELECT * FROM (VALUES {written(columns, found)})")
    return name


def change(engine: Engine, name: str, columns: list[str]) -> None:
    """Some rows go, others lose their values."""
    engine.sql(f"DELETE FROM {name} WHERE id % 3 = 0")
    nothing = ", ".join(f'"{column}" = NULL' for column in columns)
    engine.sql(f"UPDATE {name} SET {nothing} WHERE id % 2 = 0")


def written(columns: list[str], found: list[Row]) -> str:
    """The rows as constants of SQL."""
    return ", ".join(
        f"({', '.join([str(row[0]), *(TYPES[c].sql(v) for c, v in zip(columns, row[1:], strict=True))])})"
        for row in found
    )


def listed(columns: list[str]) -> str:
    return ", ".join(["id", *(f'"{column}"' for column in columns)])


def differences(engine: Engine, relation: str, columns: str, expected: list[Row]) -> list[Any]:
    """What did not come back though it had the time, beside what was given."""
    deadline = time.monotonic() + 8
    while True:
        found = rows(engine, f"SELECT {columns} FROM {relation}")
        if len(found) == len(expected):
            pairs = [pair for both in zip(found, expected, strict=True) for pair in zip(*both, strict=True)]
            wrong: list[Any] = [(came, given) for came, given in pairs if alike(came) != alike(given)]
        else:
            wrong = [(found, expected)]
        if not wrong or time.monotonic() > deadline:
            return wrong
        time.sleep(0.05)


def alike(value: Any) -> Any:
    """A value as it is compared: the entries of a map have no order, and our sources read timestamps without a zone."""
    if isinstance(value, list) and all(isinstance(each, tuple) for each in value):
        return sorted(value)
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value
