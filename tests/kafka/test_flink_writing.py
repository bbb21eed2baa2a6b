"""INSERT INTO Flink's Kafka tables: formats, keys, guarantees, jobs, and what is refused."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from kafka.flink_tables import options, rows, send
from tailrace.engine.engine import Engine
from tailrace.errors import SqlError, TailraceError
from tailrace.kafka.partition import murmur2
from tailrace.testing.broker import Broker
from tailrace.testing.fixtures import TopicFactory
from tailrace.testing.topics import Message, read_committed
from tailrace.ticks.loop import Pace

UPSERT = {"connector": "upsert-kafka", "key.format": "json", "value.format": "json"}


@pytest.fixture(scope="module")
def engine(spark: SparkSession) -> Iterator[Engine]:
    with Engine(spark, pace=Pace(interval=0.02)) as opened:
        yield opened


@pytest.fixture(autouse=True)
def stopped_jobs(engine: Engine) -> Iterator[None]:
    """A test leaves nothing behind that the others would have to compute."""
    yield
    for job, *_ in rows(engine, "SHOW JOBS"):
        engine.sql(f"STOP JOB '{job}'")


def told(broker: Broker, topic: str, count: int) -> list[Message]:
    """The messages of a topic once there are so many."""
    deadline = time.monotonic() + 60
    while len(found := read_committed(broker.bootstrap, topic)) < count:
        assert time.monotonic() < deadline, found
        time.sleep(0.05)
    return found


def values(broker: Broker, topic: str, count: int) -> list[str | None]:
    found = (each.value for each in told(broker, topic, count))
    return sorted((value.decode() if value is not None else None for value in found), key=str)


def test_rows_of_values_are_written_at_once(engine: Engine, broker: Broker, topic: TopicFactory) -> None:
    name = topic("values", partitions=3)
    engine.sql(
        f"""CREATE TABLE written (
              id BIGINT, price DECIMAL(10, 2), tiny DECIMAL(20, 9), `at` TIMESTAMP(3), seen TIMESTAMP_LTZ(3), raw BYTES,
              tags ARRAY<STRING>, who ROW<name STRING, age INT>, x DOUBLE, missing STRING
            ) {options(broker, name, format="json")}"""
    )
    engine.sql(
        """INSERT INTO written (id, price, tiny, `at`, seen, raw, tags, who, x) VALUES
             (1, 12.5, 0.000000027, TIMESTAMP '2024-07-03 18:43:05.312', TIMESTAMPTZ '2024-07-03 18:43:05+00',
              'hi'::bytea, LIST['a', NULL], ROW('Ann "A"', 7), 1e10)"""
    )
    assert values(broker, name, 1) == [
        '{"id":1,"price":12.50,"tiny":2.7E-8,"at":"2024-07-03 18:43:05.312","seen":"2024-07-03 18:43:05Z","raw":"aGk=",'
        '"tags":["a",null],"who":{"name":"Ann \\"A\\"","age":7},"x":1.0E10,"missing":null}'
    ]
    assert rows(engine, "SELECT id, price, tags FROM written") == [(1, pytest.approx(12.5), ["a", None])]
    assert rows(engine, "SHOW JOBS") == []


def test_json_can_leave_nulls_out_and_write_plain_numbers(engine: Engine, broker: Broker, topic: TopicFactory) -> None:
    name = topic("plain")
    more = {
        "format": "json",
        "json.encode.ignore-null-fields": "true",
        "json.encode.decimal-as-plain-number": "true",
        "json.timestamp-format.standard": "ISO-8601",
        "json.map-null-key.mode": "LITERAL",
        "json.map-null-key.literal": "none",
        "json.decode.json-parser.enabled": "false",
    }
    engine.sql(f"CREATE TABLE plain (a INT, b DECIMAL(20, 9), c TIMESTAMP(3)) {options(broker, name, **more)}")
    engine.sql("INSERT INTO plain VALUES (NULL, 0.000000027, TIMESTAMP '2024-07-03 18:43:05')")
    assert values(broker, name, 1) == ['{"b":0.000000027,"c":"2024-07-03T18:43:05"}']


def test_csv_quotes_what_must_be_quoted(engine: Engine, broker: Broker, topic: TopicFactory) -> None:
    name, other = topic("csv"), topic("csv")
    columns = "(a INT, b STRING, c ARRAY<INT>, d DECIMAL(20, 9))"
    engine.sql(f"CREATE TABLE csv {columns} {options(broker, name, format='csv')}")
    engine.sql("INSERT INTO csv VALUES (1, 'a \"b\"', LIST[1, 2], 0.000000027), (NULL, 'plain', NULL, NULL)")
    assert values(broker, name, 2) == [",plain,,", '1,"a ""b""",1;2,2.7E-8']
    assert rows(engine, "SELECT a, b, c FROM csv") == [(1, 'a "b"', [1, 2]), (None, "plain", None)]
    more = {
        "format": "csv",
        "csv.field-delimiter": ";",
        "csv.quote-character": "^",
        "csv.escape-character": "\\",
        "csv.null-literal": "n/a",
        "csv.array-element-delimiter": "|",
        "csv.write-bigdecimal-in-scientific-notation": "false",
        "csv.ignore-parse-errors": "true",
        "csv.allow-comments": "true",
    }
    engine.sql(f"CREATE TABLE other_csv {columns} {options(broker, other, **more)}")
    engine.sql("INSERT INTO other_csv VALUES (1, 'x^y', LIST[1, 2], 0.000000027), (2, NULL, NULL, NULL)")
    assert values(broker, other, 2) == ["1;^x\\^y^;^1|2^;0.000000027", "2;n/a;n/a;n/a"]
    send(broker, other, b"# a comment", b"x;y;1|z;1", b"3")
    expected = [(1, "x^y", [1, 2]), (2, None, None), (3, None, None), (None, "y", [1, None])]
    assert rows(engine, "SELECT a, b, c FROM other_csv") == expected
    unquoted = topic("unquoted")
    bare = {"format": "csv", "csv.disable-quote-character": "true"}
    engine.sql(f"CREATE TABLE unquoted (a STRING) {options(broker, unquoted, **bare)}")
    engine.sql("INSERT INTO unquoted VALUES ('a b')")
    assert values(broker, unquoted, 1) == ["a b"]


def test_raw_is_written_as_it_is(engine: Engine, broker: Broker, topic: TopicFactory) -> None:
    name = topic("raw")
    more = {"format": "raw", "raw.endianness": "little-endian", "raw.charset": "UTF-8"}
    engine.sql(f"CREATE TABLE raw_numbers (n INT) {options(broker, name, **more)}")
    engine.sql("INSERT INTO raw_numbers VALUES (2), (NULL)")
    assert sorted((each.value for each in told(broker, name, 2)), key=str) == [None, b"\x02\0\0\0"]


def test_keys_leave_their_prefix_out_and_decide_the_partition(
    engine: Engine, broker: Broker, topic: TopicFactory
) -> None:
    name = topic("keyed", partitions=5)
    more = {
        "key.format": "json",
        "key.fields": "k_id",
        "key.fields-prefix": "k_",
        "value.format": "json",
        "value.fields-include": "EXCEPT_KEY",
    }
    engine.sql(f"CREATE TABLE keyed (k_id INT, v STRING) {options(broker, name, **more)}")
    engine.sql("INSERT INTO keyed VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    found = told(broker, name, 3)
    assert {(each.key, each.value) for each in found} == {
        (b'{"id":1}', b'{"v":"a"}'),
        (b'{"id":2}', b'{"v":"b"}'),
        (b'{"id":3}', b'{"v":"c"}'),
    }
    assert [each.partition for each in found] == [murmur2(pa.array([each.key]))[0] % 5 for each in found]
    assert all(not each.headers for each in found)


@pytest.mark.parametrize(("partitioner", "used"), [("fixed", 1), ("round-robin", 2), ("default", 2)])
def test_rows_without_a_key_go_where_the_partitioner_says(
    engine: Engine, broker: Broker, topic: TopicFactory, partitioner: str, used: int
) -> None:
    name = topic("spread", partitions=2)
    more = {"format": "json", "sink.partitioner": partitioner, "sink.parallelism": "2", "sink.semantic": "none"}
    engine.sql(f"CREATE TABLE spread (n INT) {options(broker, name, **more)}")
    engine.sql("INSERT INTO spread VALUES (1), (2), (3), (4), (5), (6), (7), (8)")
    assert len({each.partition for each in told(broker, name, 8)}) == used
    engine.sql("DROP TABLE spread")


def test_rows_go_where_a_function_says(
    engine: Engine, broker: Broker, topic: TopicFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By what is in the values; what names no such function is refused, one that answers nonsense stops the job."""
    (tmp_path / "placing.py").write_text(
        "from tailrace.kafka.partitioner import partitioner\n"
        "@partitioner\n"
        "def by_value(keys, values, partitions):\n"
        "    return [value.count(b'x') % partitions for value in values.to_pylist()]\n"
        "@partitioner\n"
        "def nowhere(keys, values, partitions):\n"
        "    return [partitions] * len(values)\n"
        "def anything(keys, values, partitions): ...\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    name = topic("placed", partitions=3)
    more = {"format": "json", "sink.partitioner": "placing:by_value"}
    engine.sql(f"CREATE TABLE placed (s STRING) {options(broker, name, **more)}")
    engine.sql("INSERT INTO placed VALUES ('xx'), ('x'), (''), ('xxxxx')")
    assert {(each.partition, each.value) for each in told(broker, name, 4)} == {
        (2, b'{"s":"xx"}'),
        (1, b'{"s":"x"}'),
        (0, b'{"s":""}'),
        (2, b'{"s":"xxxxx"}'),
    }
    for function, why in (
        ("placing:anything", "is no partitioner"),
        ("placing:missing", "cannot find the partitioner"),
        ("absent:by_value", "cannot find the partitioner"),
        ("placing:nowhere", "gave no partition of each message"),
    ):
        engine.sql("DROP TABLE placed")
        engine.sql(f"CREATE TABLE placed (s STRING) {options(broker, name, **more | {'sink.partitioner': function})}")
        with pytest.raises(TailraceError, match=why):
            engine.sql("INSERT INTO placed VALUES ('x')")


@pytest.mark.parametrize(("format", "guarantee"), [("json", "at-least-once"), ("debezium-json", "exactly-once")])
def test_each_row_says_which_topic_it_goes_to(
    engine: Engine, broker: Broker, topic: TopicFactory, format: str, guarantee: str
) -> None:
    """Of a list or by a pattern; equal rows of two topics stay two; another topic stops the job."""
    one, two = topic("one", partitions=2), topic("two")
    sure = {"format": format, "sink.delivery-guarantee": guarantee, "sink.transactional-id-prefix": one}
    columns = "(n INT, `to` STRING METADATA FROM 'topic')"
    engine.sql(f"CREATE TABLE routed {columns} {options(broker, f'{one};{two}', **sure)}")
    engine.sql("CREATE TABLE routes (n int, name text)")
    constants = f"VALUES (1, '{one}'), (1, '{two}'), (2, '{two}')"
    engine.sql(f"INSERT INTO routes {constants}")
    engine.sql(f"INSERT INTO routed {constants if format == 'json' else 'SELECT n, name FROM routes'}")
    assert [len(told(broker, name, count)) for name, count in ((one, 1), (two, 2))] == [1, 2]
    assert rows(engine, "SELECT n, `to` FROM routed") == sorted([(1, one), (1, two), (2, two)])
    by_pattern = sure | {"topic-pattern": f"{one[:-4]}.*", "sink.transactional-id-prefix": two}
    engine.sql(f"CREATE TABLE matched {columns} {options(broker, **by_pattern)}")
    engine.sql(f"INSERT INTO matched VALUES (3, '{one}')")
    assert any(b'"n":3' in (each.value or b"") for each in told(broker, one, 2))
    for table, wrong in (("routed", "elsewhere"), ("matched", two)):
        with pytest.raises(TailraceError, match=f"Expected topic to .* but was: {wrong}"):
            engine.sql(f"INSERT INTO {table} VALUES (4, '{wrong}')")
    engine.sql(f"CREATE TABLE unrouted (n INT) {options(broker, f'{one};{two}', format='json')}")
    with pytest.raises(SqlError, match="do not say which topic they go to"):
        engine.sql("INSERT INTO unrouted VALUES (1)")
    engine.sql("DROP TABLE routed, matched, unrouted, routes CASCADE")


def test_metadata_is_written_where_it_is_declared(engine: Engine, broker: Broker, topic: TopicFactory) -> None:
    name = topic("metadata")
    engine.sql(
        f"""CREATE TABLE stamped (
              n INT, ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp', headers MAP<STRING, BYTES> METADATA,
              `offset` BIGINT METADATA VIRTUAL, twice AS n * 2
            ) {options(broker, name, format="json")}"""
    )
    engine.sql("INSERT INTO stamped VALUES (1, TIMESTAMPTZ '2024-07-03 18:43:05.312+00', MAP['a' => 'x'::bytea])")
    [message] = told(broker, name, 1)
    assert (message.timestamp, message.headers, message.value) == (1720032185312, {"a": b"x"}, b'{"n":1}')
    columns = "n INT, ts TIMESTAMP(3) METADATA FROM 'timestamp', headers MAP<STRING, STRING> METADATA"
    engine.sql(f"CREATE TABLE cast_to_stamped ({columns}) {options(broker, name, format='json')}")
    engine.sql("INSERT INTO cast_to_stamped VALUES (2, TIMESTAMP '2024-07-03 18:43:05.312', MAP['a' => 'é'])")
    message = told(broker, name, 2)[1]
    assert (message.timestamp, message.headers) == (1720032185312, {"a": "é".encode()})
    engine.sql(f"CREATE TABLE only_read (`offset` BIGINT METADATA, n INT) {options(broker, name, format='json')}")
    with pytest.raises(SqlError, match="it can only be read"):
        engine.sql("INSERT INTO only_read VALUES (1, 2)")


def test_a_query_goes_on_writing_what_changes(engine: Engine, broker: Broker, topic: TopicFactory) -> None:
    views, totals = topic("views"), topic("totals")
    send(broker, views, {"user_id": 1, "region": "a"}, {"user_id": 1, "region": "a"})
    engine.sql(f"CREATE TABLE views (user_id BIGINT, region STRING) {options(broker, views, format='json')}")
    engine.sql(
        "CREATE TABLE totals (region STRING, pv BIGINT, uv BIGINT, PRIMARY KEY (region) NOT ENFORCED) "
        + options(broker, totals, **UPSERT)
    )
    engine.sql("INSERT INTO totals SELECT region, COUNT(*), COUNT(DISTINCT user_id) FROM views GROUP BY region")
    [(job, called, status, _)] = rows(engine, "SHOW JOBS")
    assert (called, status) == ("insert-into_materialize.public.totals", "RUNNING")
    told(broker, totals, 1)
    send(broker, views, {"user_id": 2, "region": "a"})
    found = told(broker, totals, 2)
    assert [each.key for each in found] == [b'{"region":"a"}'] * 2
    assert json.loads(found[-1].value or b"") == {"region": "a", "pv": 3, "uv": 2}
    assert rows(engine, "SELECT * FROM totals") == [("a", 3, 2)]
    with pytest.raises(SqlError, match="depended upon by job"):
        engine.sql("DROP TABLE totals")
    engine.sql(f"STOP JOB '{job}'")
    assert rows(engine, "SHOW JOBS") == []


def test_an_updating_query_is_refused_by_an_insert_only_table(
    engine: Engine, broker: Broker, topic: TopicFactory
) -> None:
    name = topic("inserts")
    engine.sql(f"CREATE TABLE inserts (k STRING, n BIGINT) {options(broker, name, format='json')}")
    message = "doesn't support consuming update and delete changes which is produced by node Aggregate"
    with pytest.raises(SqlError, match=message):
        engine.sql("INSERT INTO inserts SELECT k, count(*) FROM inserts GROUP BY k")
    with pytest.raises(SqlError, match="do not match"):
        engine.sql("INSERT INTO inserts SELECT k FROM inserts")
    with pytest.raises(SqlError, match="UPDATE of a Kafka table not supported"):
        engine.sql("UPDATE inserts SET n = 1")


def test_a_null_in_a_not_null_column_is_an_error(engine: Engine, broker: Broker, topic: TopicFactory) -> None:
    name = topic("strict")
    engine.sql(f"CREATE TABLE strict (k STRING NOT NULL) {options(broker, name, format='json')}")
    with pytest.raises(TailraceError, match="Column 'k' is NOT NULL, however, a null value is being written"):
        engine.sql("INSERT INTO strict SELECT CAST(NULL AS text)")
    assert read_committed(broker.bootstrap, name) == []


def test_a_statement_set_is_one_job(engine: Engine, broker: Broker, topic: TopicFactory) -> None:
    numbers, even, odd = topic("numbers"), topic("even"), topic("odd")
    send(broker, numbers, {"n": 1}, {"n": 2})
    for name in (numbers, even, odd):
        engine.sql(f"CREATE TABLE {name.split('.')[0]} (n INT) {options(broker, name, format='json')}")
    session = engine.session()
    list(
        session.sql(
            """SET 'pipeline.name' = 'parity';
            EXECUTE STATEMENT SET BEGIN
              INSERT INTO even SELECT n FROM numbers WHERE n % 2 = 0;
              INSERT INTO odd SELECT n FROM numbers WHERE n % 2 = 1;
            END;"""
        )
    )
    [(_, called, _, _)] = rows(engine, "SHOW JOBS")
    assert called == "parity"
    assert (values(broker, even, 1), values(broker, odd, 1)) == (['{"n":2}'], ['{"n":1}'])


def test_exactly_once_goes_on_after_a_restart(
    spark: SparkSession, broker: Broker, topic: TopicFactory, tmp_path: Path
) -> None:
    numbers, squares = topic("numbers"), topic("squares")
    exactly = {
        "format": "json",
        "sink.delivery-guarantee": "exactly-once",
        "sink.transactional-id-prefix": "squares",
        "sink.transaction-naming-strategy": "POOLING",
    }
    send(broker, numbers, {"n": 1}, {"n": 2})
    with Engine(spark, tmp_path, pace=Pace(interval=0.02)) as engine:
        engine.sql(f"CREATE TABLE numbers (n INT) {options(broker, numbers, format='json')}")
        engine.sql(f"CREATE TABLE squares (n INT) {options(broker, squares, **exactly)}")
        engine.sql("INSERT INTO squares SELECT n * n FROM numbers")
        told(broker, squares, 2)
    send(broker, numbers, {"n": 3})
    with Engine(spark, tmp_path, pace=Pace(interval=0.02)) as engine:
        assert values(broker, squares, 3) == ['{"n":1}', '{"n":4}', '{"n":9}']
        assert len(rows(engine, "SHOW JOBS")) == 1


def test_a_job_over_bounded_tables_finishes(engine: Engine, broker: Broker, topic: TopicFactory) -> None:
    numbers, totals = topic("numbers"), topic("totals")
    send(broker, numbers, {"k": "a", "n": 1}, {"k": "a", "n": 2})
    engine.sql(
        "CREATE TABLE bounded (k STRING, n INT) "
        + options(broker, numbers, format="json", **{"scan.bounded.mode": "latest-offset"})
    )
    flush = {"sink.buffer-flush.max-rows": "10", "sink.buffer-flush.interval": "1 s"}
    engine.sql(
        "CREATE TABLE bounded_totals (k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) "
        + options(broker, totals, **UPSERT, **flush)
    )
    session = engine.session()
    insert = "INSERT INTO bounded_totals SELECT k, sum(n) FROM bounded GROUP BY k"
    list(session.sql(f"SET 'table.dml-sync' = 'true'; {insert}"))
    assert [json.loads(each.value or b"") for each in told(broker, totals, 1)] == [{"k": "a", "n": 3}]
    assert rows(engine, "SHOW JOBS") == []
