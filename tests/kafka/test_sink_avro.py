"""Avro in large ticks: slots frame what they write, and a slot is a function of the bytes without the frame."""

import io
import json
from collections import Counter

import fastavro
import pytest

from kafka.sink_of import SCHEMA, definition_of, numbers, told, zset
from tailrace.formats.avro_schema import Naming
from tailrace.formats.encode_avro import AvroEncoder
from tailrace.formats.registry import RegistryConnection, Subject
from tailrace.sinks.kafka import KafkaSink
from tailrace.types.core import Tick


@pytest.fixture
def definition(broker, registry):
    plain = definition_of(broker, envelope="debezium")
    connection = RegistryConnection(name="csr", url=registry.url)
    key, value = (
        AvroEncoder(naming=Naming(fullname=name), subject=Subject(connection=connection, name=f"{plain.topic}-{side}"))
        for side, name in (("key", "row"), ("value", "envelope"))
    )
    return definition_of(broker, topic=plain.topic, key_format=key, value_format=value, envelope="debezium")


def test_a_snapshot_in_slots_and_a_small_tick_after_it(definition, spark):
    sink = KafkaSink(definition, spark)
    sink.progress()
    sink.write(Tick(1), numbers(100, large=True))
    sink.write(Tick(2), zset((7, "v7", -1), (7, "new", 1)))
    schema = fastavro.parse_schema(json.loads(definition.value_format.schema(SCHEMA, change=True)))
    changes = Counter()
    for message in told(definition):
        assert message.key[:1] == message.value[:1] == b"\0"
        change = fastavro.schemaless_reader(io.BytesIO(message.value[5:]), schema, None)
        sides = (None if side is None else (side["k"], side["v"]) for side in (change["before"], change["after"]))
        changes[tuple(sides)] += 1
    expected = Counter({(None, (k, f"v{k}")): 1 for k in range(100)})
    assert changes == expected + Counter({((7, "v7"), (7, "new")): 1})
