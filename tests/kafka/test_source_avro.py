"""Schema ids are learnt before messages are decoded, in both ways of reading; a registry that is away is waited for."""

import json

import pytest
from pyspark.sql import SparkSession

from kafka.source_of import LARGE, SMALL, dead_letters_of, definition_of, opened, rows_of
from tailrace.errors import Unavailable
from tailrace.formats.decode_avro import AvroDecoder
from tailrace.formats.registry import RegistryConnection, Subject, publish
from tailrace.testing.broker import Broker
from tailrace.testing.fixtures import TopicFactory
from tailrace.testing.registry import Registry
from tailrace.testing.topics import produce

SCHEMA = json.dumps({"type": "record", "name": "row", "fields": [{"name": "id", "type": "int"}]})


@pytest.mark.parametrize("small_rows", [SMALL, LARGE], ids=["driver", "spark"])
def test_ids_are_learnt_from_the_messages(
    broker: Broker, registry: Registry, topic: TopicFactory, spark: SparkSession, small_rows: int
) -> None:
    name = topic()
    connection = RegistryConnection(name="csr", url=registry.url)
    id = publish(Subject(connection=connection, name=f"{name}-value"), SCHEMA)
    bodies = [b"\0" + number.to_bytes(4, "big") + b"\x54" for number in (id, id, 4711)]
    produce(broker.bootstrap, name, [(None, body) for body in (*bodies, b"\0")])
    definition = definition_of(broker, name, AvroDecoder(reader=SCHEMA, connection=connection))
    with opened(definition, small_rows) as source:
        end = source.latest({})
        assert rows_of(source, {}, end, spark) == [(42, 1), (42, 1)]
        letters = dead_letters_of(source, {}, end, spark)
        assert [letter[1] for letter in letters] == [2, 3]
        assert "no schema with id 4711" in letters[0][5]


def test_a_registry_that_is_away_is_no_dead_letter(broker: Broker, topic: TopicFactory, spark: SparkSession) -> None:
    name = topic()
    produce(broker.bootstrap, name, [(None, b"\0\0\0\0\x07\x54")])
    away = RegistryConnection(name="csr", url="http://127.0.0.1:9")
    definition = definition_of(broker, name, AvroDecoder(reader=SCHEMA, connection=away))
    with opened(definition) as source, pytest.raises(Unavailable, match="fetch schema 7 failed"):
        rows_of(source, {}, source.latest({}), spark)
