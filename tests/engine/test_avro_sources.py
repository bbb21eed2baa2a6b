"""FORMAT AVRO in sources, against a real registry: what our own sinks write comes back as the same relation."""

from __future__ import annotations

import io
import json
import urllib.request
import uuid
from typing import Any

import fastavro
import pytest

from tailrace.engine.engine import Engine
from tailrace.errors import SqlError
from tailrace.testing.broker import Broker
from tailrace.testing.registry import Registry
from tailrace.testing.topics import create_topic, produce

CSR = "FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION csr"


@pytest.fixture(scope="module")
def connected(engine: Engine, broker: Broker, registry: Registry) -> Engine:
    engine.sql(
        f"CREATE CONNECTION k TO KAFKA (BROKER '{broker.bootstrap}', SECURITY PROTOCOL PLAINTEXT);"
        f"CREATE CONNECTION csr TO CONFLUENT SCHEMA REGISTRY (URL '{registry.url}')"
    )
    return engine


@pytest.fixture
def name() -> str:
    return f"t_{uuid.uuid4().hex[:8]}"


def registered(registry: Registry, subject: str, schema: dict[str, Any]) -> int:
    request = urllib.request.Request(
        f"{registry.url}/subjects/{subject}/versions",
        data=json.dumps({"schema": json.dumps(schema)}).encode(),
        headers={"Content-Type": "application/vnd.schemaregistry.v1+json"},
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        id: int = json.load(answer)["id"]
        return id


def message(id: int, schema: dict[str, Any], row: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), row)
    return b"\0" + id.to_bytes(4, "big") + out.getvalue()


def rows(engine: Engine, sql: str) -> list[tuple[Any, ...]]:
    engine.settle()
    found = engine.sql(sql)
    assert found is not None
    return [tuple(row.values()) for row in found.to_pylist()]


@pytest.mark.parametrize("envelope", ["UPSERT", "DEBEZIUM"])
def test_what_a_sink_writes_a_source_reads(connected, name, envelope):
    connected.sql(f"""
        CREATE TABLE {name} (id int NOT NULL, item text, price numeric(10,2), n numeric, at timestamp(3),
            tags text list, doc jsonb, PRIMARY KEY (id));
        INSERT INTO {name} VALUES (1, 'tea', 1.5, -2.25, '1969-12-31 23:59:59.999', LIST['a', NULL], '{{"a":1}}'),
            (2, NULL, NULL, NULL, NULL, NULL, NULL), (3, 'cup', 3, 4, '2024-01-01', LIST['b'], 'null');
        CREATE SINK {name}_out FROM {name} INTO KAFKA CONNECTION k (TOPIC '{name}') KEY (id) {CSR} ENVELOPE {envelope}
    """)
    connected.settle()
    key = " KEY FORMAT {0} VALUE FORMAT {0}".format(CSR.removeprefix("FORMAT ")) if envelope == "UPSERT" else f" {CSR}"
    names = " (id_key, id, item, price, n, at, tags, doc)" if envelope == "UPSERT" else ""
    connected.sql(f"CREATE SOURCE {name}_in{names} FROM KAFKA CONNECTION k (TOPIC '{name}'){key} ENVELOPE {envelope}")
    columns = "id, item, price, n, at, tags, doc"
    for change in ("SELECT 1", f"DELETE FROM {name} WHERE id = 3", f"UPDATE {name} SET item = 'pot' WHERE id = 1"):
        connected.sql(change)
        original = rows(connected, f"SELECT {columns} FROM {name} ORDER BY id")
        while rows(connected, f"SELECT {columns} FROM {name}_in ORDER BY id") != original:
            assert rows(connected, f"SELECT * FROM {name}_in_dead_letters") == []
    with pytest.raises(SqlError, match="depended upon"):
        connected.sql("DROP CONNECTION csr")


def test_writers_may_change_and_broken_messages_are_dead_letters(connected, broker, registry, name):
    create_topic(broker.bootstrap, name)
    old = {"type": "record", "name": "row", "fields": [{"name": "id", "type": "int"}]}
    new = {**old, "fields": [*old["fields"], {"name": "note", "type": ["null", "string"], "default": None}]}
    newest = {**new, "fields": [*new["fields"], {"name": "more", "type": "int", "default": 0}]}
    ids = [registered(registry, f"{name}-value", schema) for schema in (old, new)]
    connected.sql(f"CREATE SOURCE {name} FROM KAFKA CONNECTION k (TOPIC '{name}') {CSR}")
    ids.append(registered(registry, f"{name}-value", newest))
    values = [
        message(ids[0], old, {"id": 1}),
        message(ids[1], new, {"id": 2, "note": "x"}),
        message(ids[2], newest, {"id": 3, "note": None, "more": 9}),
        message(ids[1], new, {"id": 4, "note": "long"})[:8],
        message(4711, old, {"id": 5}),
        b"{}",
    ]
    produce(broker.bootstrap, name, [(None, value) for value in values])
    while len(found := rows(connected, f"SELECT * FROM {name} ORDER BY id")) < 3:
        pass
    assert found == [(1, None), (2, "x"), (3, None)]
    letters = rows(connected, f'SELECT "offset", error FROM {name}_dead_letters ORDER BY "offset"')
    assert [offset for offset, _ in letters] == [3, 4, 5]
    assert "does not fit its schema" in letters[0][1]
    assert "no schema with id 4711" in letters[1][1]
    assert "does not begin with a schema id" in letters[2][1]


def test_without_a_schema_there_is_no_source(connected, broker, name):
    create_topic(broker.bootstrap, name)
    with pytest.raises(SqlError, match=f"fetch schema {name}-value from schema registry"):
        connected.sql(f"CREATE SOURCE {name} FROM KAFKA CONNECTION k (TOPIC '{name}') {CSR}")


def test_a_schema_may_be_given_inline(connected, broker, name):
    create_topic(broker.bootstrap, name)
    schema = {"type": "record", "name": "row", "fields": [{"name": "id", "type": "int"}]}
    connected.sql(
        f"CREATE SOURCE {name} FROM KAFKA CONNECTION k (TOPIC '{name}')"
        f" FORMAT AVRO USING SCHEMA '{json.dumps(schema)}' (CONFLUENT WIRE FORMAT = false)"
    )
    produce(broker.bootstrap, name, [(None, message(0, schema, {"id": 7})[5:])])
    while not (found := rows(connected, f"SELECT id FROM {name}")):
        pass
    assert found == [(7,)]
