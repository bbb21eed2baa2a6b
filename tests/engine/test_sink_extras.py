"""HEADERS and PARTITION BY, from SQL to a reader of the topic."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from tailrace.engine.engine import Engine
from tailrace.errors import SqlError
from tailrace.testing.broker import Broker
from tailrace.testing.topics import read_committed


@pytest.fixture(scope="module")
def connected(engine: Engine, broker: Broker) -> Engine:
    engine.sql(f"CREATE CONNECTION k TO KAFKA (BROKER '{broker.bootstrap}', SECURITY PROTOCOL PLAINTEXT)")
    return engine


@pytest.fixture
def topic() -> str:
    return f"topic-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def orders(connected: Engine) -> Iterator[str]:
    name = f"orders_{uuid.uuid4().hex[:8]}"
    connected.sql(
        f"CREATE TABLE {name} (customer_id int, order_id int, note text, tags map[text=>text], raw map[text=>bytea],"
        " PRIMARY KEY (customer_id, order_id))"
    )
    yield name
    connected.sql(f"DROP TABLE {name} CASCADE")


def sink(orders: str, topic: str, options: str = "", clauses: str = "", envelope: str = "UPSERT") -> str:
    return (
        f"CREATE SINK {orders}_out FROM {orders} INTO KAFKA CONNECTION k"
        f" (TOPIC '{topic}', TOPIC PARTITION COUNT 6{options}) KEY (customer_id, order_id)"
        f" {clauses} FORMAT JSON ENVELOPE {envelope}"
    )


def test_a_map_becomes_headers_also_of_a_tombstone(connected, orders, broker, topic):
    connected.sql(sink(orders, topic, clauses="HEADERS tags"))
    connected.sql(
        f"INSERT INTO {orders} VALUES (1, 1, 'x', MAP['b' => 'ä', 'a' => NULL, 'materialize-x' => 'no'], NULL)"
    )
    connected.settle()
    connected.sql(f"DELETE FROM {orders}")
    connected.settle()
    came, gone = read_committed(broker.bootstrap, topic)
    assert (came.value is None, gone.value is None) == (False, True)
    for message in (came, gone):
        assert [key for key in message.headers if key != "materialize-timestamp"] == ["a", "b"]
        assert (message.headers["a"], message.headers["b"]) == (None, "ä".encode())
        assert int(message.headers["materialize-timestamp"]) > 0


def test_bytes_are_headers_as_they_are_and_no_map_is_no_header(connected, orders, broker, topic):
    connected.sql(
        rf"INSERT INTO {orders} VALUES (1, 1, 'x', NULL, MAP['h' => '\x00ff'::bytea]), (2, 1, 'y', NULL, NULL)"
    )
    connected.sql(sink(orders, topic, clauses="HEADERS raw"))
    connected.settle()
    found = {message.key: message.headers.get("h") for message in read_committed(broker.bootstrap, topic)}
    assert found == {b'{"customer_id":1,"order_id":1}': b"\0\xff", b'{"customer_id":2,"order_id":1}': None}


def test_the_seeds_example_keeps_the_orders_of_a_customer_together(connected, orders, broker, topic):
    values = ", ".join(f"({customer}, {order}, NULL, NULL, NULL)" for customer in (1, 42) for order in range(5))
    connected.sql(f"INSERT INTO {orders} VALUES {values}")
    connected.sql(sink(orders, topic, ", PARTITION BY = seahash(customer_id::text)"))
    connected.settle()
    found = {(m.key[15:16], m.partition) for m in read_committed(broker.bootstrap, topic)}
    assert found == {(b"1", 2), (b"4", 2)}  # both vectors are 2 modulo 6


@pytest.mark.parametrize(
    ("expression", "partition"),
    [
        ("kafka_murmur2(note)", 3),  # of abc
        ("crc32(note)", 891568578 % 6),
        ("NULL::int", 0),
        ("order_id - 8", 0),
        ("1 / (order_id - 7)", 0),
        ("note::int", 0),
        ("CASE WHEN note::int BETWEEN 1 AND 2 THEN note::int ELSE 5 END", 0),
        ("18446744073709551615::uint8", (2**64 - 1) % 6),
        ("order_id::double * 1.4", 4),  # 9.8 is 10
    ],
)
def test_any_number_decides_the_partition_and_what_is_none_means_0(
    connected, orders, broker, topic, expression, partition
):
    connected.sql(f"INSERT INTO {orders} VALUES (1, 7, 'abc', NULL, NULL)")
    connected.sql(sink(orders, topic, f", PARTITION BY {expression}"))
    connected.settle()
    [message] = read_committed(broker.bootstrap, topic)
    assert message.partition == partition


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (dict(clauses="HEADERS nobody"), r"HEADERS column \(nobody\) is unknown"),
        (dict(clauses="HEADERS note"), r"HEADERS column must have type map\[text => text\] or map\[text => bytea\]"),
        (dict(clauses="HEADERS tags", envelope="DEBEZIUM"), "HEADERS option is not supported with ENVELOPE DEBEZIUM"),
        (dict(options=", PARTITION BY = '2020-01-01'::date"), "does not support casting from date to uint8"),
        (dict(options=", PARTITION BY = noexist"), 'column "noexist" does not exist'),
        (
            dict(options=", PARTITION BY = crc32(note)", envelope="DEBEZIUM"),
            'PARTITION BY expression cannot refer to non-key column "note"',
        ),
        (dict(options=", PARTITION BY = sum(order_id)"), "aggregate"),
        (dict(options=", PARTITION BY = (SELECT 1)"), "subqueries"),
    ],
)
def test_what_makes_no_sense_is_refused(connected, orders, topic, statement, message):
    with pytest.raises(SqlError, match=message):
        connected.sql(sink(orders, topic, **statement))


def test_a_key_that_is_none_is_told_all_the_same_and_the_status_says_so(connected, broker, topic):
    connected.sql(
        f"CREATE TABLE loose (k int, v text); CREATE SINK loose_out FROM loose INTO KAFKA CONNECTION k"
        f" (TOPIC '{topic}') KEY (k) NOT ENFORCED FORMAT JSON ENVELOPE UPSERT"
    )
    status = "SELECT status, error, details FROM mz_internal.mz_sink_statuses WHERE name = 'loose_out'"
    for statement in ("INSERT INTO loose VALUES (1, 'a'), (2, 'b')", "UPDATE loose SET v = 'c' WHERE k = 2"):
        connected.sql(statement)
        connected.settle()
        assert connected.sql(status).to_pylist() == [{"status": "running", "error": None, "details": None}]
    connected.sql("INSERT INTO loose VALUES (3, 'a'), (3, 'b')")
    connected.settle()
    [now] = connected.sql(status).to_pylist()
    assert (now["status"], now["error"]) == ("running", None)
    assert r"More than one row of key {\"k\":3} came in one tick" in now["details"]
    assert [message.key for message in read_committed(broker.bootstrap, topic)][-2:] == 2 * [b'{"k":3}']
    connected.sql("DROP TABLE loose CASCADE")


def test_every_write_can_be_looked_at(connected, orders, broker, topic):
    connected.sql(sink(orders, topic) + " WITH (ATOMIC = true)")
    values = ", ".join(f"(1, {order}, NULL, NULL, NULL)" for order in range(3))
    connected.sql(f"INSERT INTO {orders} VALUES {values}")
    connected.settle()
    connected.sql(f"DELETE FROM {orders} WHERE order_id = 1")
    connected.settle()
    messages = read_committed(broker.bootstrap, topic)
    rows = connected.sql(
        "SELECT t.* FROM mz_internal.mz_sink_transactions t JOIN mz_sinks s ON s.id = t.sink_id"
        f" WHERE s.name = '{orders}_out' ORDER BY tick"
    ).to_pylist()
    assert [(row["slots"], row["messages"]) for row in rows] == [(0, 3), (0, 1)]
    ticks = {int(message.headers["materialize-timestamp"]) for message in messages}
    assert {int(row["tick"]) for row in rows} == ticks
    assert sum(row["bytes"] for row in rows) == sum(len(m.key) + len(m.value or b"") for m in messages)
    [shown] = connected.sql(f"SHOW CREATE SINK {orders}_out").to_pylist()
    assert "WITH (ATOMIC = true)" in shown["create_sql"]


def test_what_is_at_least_once_is_not_atomic(connected, orders, topic):
    with pytest.raises(SqlError, match="ATOMIC needs DELIVERY GUARANTEE 'exactly-once'"):
        connected.sql(sink(orders, topic) + " WITH (ATOMIC, DELIVERY GUARANTEE = 'at-least-once')")
