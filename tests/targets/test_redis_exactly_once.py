"""What exactly-once in Redis rests on, each with the defence on, and failing with it off."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tailrace.errors import Fenced, Unavailable
from tailrace.ivm.zset import ZSet
from tailrace.secret import Secret
from tailrace.sinks import redis_connection
from tailrace.sinks.redis import ChunkSize, RedisSink
from tailrace.sinks.redis_connection import RedisConnection
from tailrace.sinks.redis_definition import Defences, RedisSinkDefinition
from tailrace.testing.proxy import Proxy
from tailrace.testing.redis import PASSWORD, Redis
from tailrace.types.core import Tick
from targets.postgres_sink_of import SCHEMA, numbers, zset

T1, T2, T3 = Tick(10), Tick(20), Tick(30)


def definition_of(redis: Redis, port: int = 0) -> RedisSinkDefinition:
    fresh = uuid.uuid4().hex[:8]
    return RedisSinkDefinition(
        id="u7",
        name="totals_out",
        connection=RedisConnection(
            name="r", host="127.0.0.1", port=port or redis.port, password=Secret(PASSWORD)
        ),
        region=fresh,
        schema=SCHEMA,
        template=((f"{fresh}:", 0),),
    )


class Writers:
    """Opens writers of one sink; closes them all."""

    def __init__(self, spark: SparkSession, sink: RedisSinkDefinition) -> None:
        self._spark = spark
        self.sink = sink
        self._opened: list[RedisSink] = []

    def open(self, **more: Any) -> RedisSink:
        self._opened.append(RedisSink(self.sink, self._spark, **more))
        return self._opened[-1]

    def close(self) -> None:
        for each in self._opened:
            each.close()


@pytest.fixture
def writers(spark: SparkSession, redis: Redis) -> Iterator[Writers]:
    opened = Writers(spark, definition_of(redis))
    yield opened
    opened.close()


def contents(redis: Redis, sink: RedisSinkDefinition) -> dict[int, str]:
    with redis.connect() as client:
        keys = client.keys(f"{sink.region}:*")
        rows = [json.loads(value) for value in client.mget(keys)] if keys else []
    return {row["k"]: row["v"] for row in rows}


def test_what_was_written_is_read_from_redis_itself(redis: Redis, writers: Writers) -> None:
    first = writers.open()
    assert first.progress().tick is None
    first.write(T1, zset((1, "a", 1), (2, "b", 1)))
    first.write(T2, zset((1, "a", -1), (1, "c", 1), (2, "b", -1)))
    first.write(T3, ZSet(arity=2, sql=zset((9, "x", 0)).sql, rows=1))
    assert contents(redis, writers.sink) == {1: "c"}
    assert writers.open().progress().tick == T3


def take_over(writers: Writers, defences: Defences) -> None:
    """An older writer wakes up when a newer one has written."""
    older, newer = writers.open(defences=defences), writers.open(defences=defences)
    older.progress()
    older.write(T1, zset((1, "a", 1)))
    newer.progress()
    newer.write(T2, zset((1, "a", -1), (1, "b", 1)))
    newer.write(T3, zset((1, "b", -1), (1, "c", 1)))
    older.write(T2, zset((1, "a", -1), (1, "b", 1)))


def test_an_older_writer_is_fenced(redis: Redis, writers: Writers) -> None:
    with pytest.raises(Fenced):
        take_over(writers, Defences())
    assert contents(redis, writers.sink) == {1: "c"}


def test_without_the_generation_an_older_writer_undoes_what_a_newer_one_wrote(
    redis: Redis, writers: Writers
) -> None:
    take_over(writers, Defences(generation=False))
    assert contents(redis, writers.sink) == {1: "b"}


def late(redis: Redis, writers: Writers, defences: Defences) -> None:
    """An older writer writes at the very moment when a newer one has asked what there is."""
    older, newer = writers.open(defences=defences), writers.open(defences=defences)
    older.progress()
    older.write(T1, zset((1, "a", 1)))
    read = newer._read

    def read_slowly(client: Any) -> tuple[int | None, int | None]:
        found = read(client)
        older.write(T2, zset((1, "a", -1), (1, "b", 1)))
        return found

    newer._read = read_slowly  # type: ignore[method-assign]
    with pytest.raises(Fenced):
        newer.progress()
    assert contents(redis, writers.sink) == {1: "a"}


def test_nobody_writes_after_progress_was_read(redis: Redis, writers: Writers) -> None:
    late(redis, writers, Defences())


def test_if_progress_is_read_before_fencing_somebody_may(redis: Redis, writers: Writers) -> None:
    with pytest.raises(pytest.fail.Exception):
        late(redis, writers, Defences(fence_before_progress=False))
    assert contents(redis, writers.sink) == {1: "b"}


def lose_an_answer(redis: Redis, spark: SparkSession, defences: Defences) -> Tick | None:
    """Redis has done it, the answer is lost, the engine asks and goes on from there."""
    with Proxy(redis.port) as proxy:
        writer = RedisSink(definition_of(redis, proxy.port), spark, defences=defences)
        try:
            writer.progress()
            writer.write(T1, zset((1, "a", 1)))
            proxy.lose_answer_to(b"EVALSHA")
            with pytest.raises(Unavailable):
                writer.write(T2, zset((1, "a", -1), (2, "b", 1)))
            assert proxy.lost == 1
            return writer.progress().tick
        finally:
            writer.close()


def test_a_write_whose_answer_was_lost_is_known_to_have_happened(redis: Redis, spark: SparkSession) -> None:
    assert lose_an_answer(redis, spark, Defences()) == T2


def test_without_the_progress_key_nobody_knows(redis: Redis, spark: SparkSession) -> None:
    assert lose_an_answer(redis, spark, Defences(progress_record=False)) != T2


def test_a_connection_that_is_reset_at_the_script_has_written_nothing(redis: Redis, spark: SparkSession) -> None:
    with Proxy(redis.port) as proxy:
        sink = definition_of(redis, proxy.port)
        writer = RedisSink(sink, spark)
        writer.progress()
        writer.write(T1, zset((1, "a", 1)))
        proxy.reset_at(b"EVALSHA")
        with pytest.raises(Unavailable):
            writer.write(T2, zset((1, "a", -1), (2, "b", 1)))
        assert proxy.lost == 1
        assert writer.progress().tick == T1
        assert contents(redis, sink) == {1: "a"}
        writer.write(T2, zset((1, "a", -1), (2, "b", 1)))
        writer.close()
    assert contents(redis, sink) == {2: "b"}


SMALL_CHUNKS = {"small_rows": 1000, "chunk": ChunkSize(arguments=3000)}


def test_a_large_snapshot_goes_through_in_chunks(redis: Redis, writers: Writers) -> None:
    writer = writers.open(**SMALL_CHUNKS)
    writer.progress()
    assert writer.write(T1, numbers(20_000)).messages == 20_000
    assert contents(redis, writers.sink) == {i: f"v{i}" for i in range(20_000)}
    assert writers.open().progress().tick == T1


@pytest.mark.usefixtures("little_room")
def test_what_was_thought_to_be_small_and_does_not_fit_the_driver_goes_through_in_chunks(
    redis: Redis, writers: Writers
) -> None:
    writer = writers.open()
    writer.progress()
    assert writer.write(T1, replace(numbers(40_000), rows=3)).messages == 40_000
    assert len(contents(redis, writers.sink)) == 40_000


def test_a_large_tick_that_was_cut_off_is_offered_again_and_finished(redis: Redis, writers: Writers) -> None:
    writer = writers.open(**SMALL_CHUNKS)
    writer.progress()
    writer.write(T1, zset((0, "old", 1), (-1, "gone", 1)))
    change = zset((0, "old", -1), (-1, "gone", -1)).plus(numbers(20_000))
    chunks = writer._chunks
    writer._chunks = lambda batches: _cut(chunks(batches))  # type: ignore[method-assign]
    with pytest.raises(ConnectionError):
        writer.write(T2, change)
    half = contents(redis, writers.sink)
    assert 0 < len(half) < 20_000
    again = writers.open(**SMALL_CHUNKS)
    progress = again.progress()
    assert (progress.tick, progress.unfinished) == (T1, T2)
    again.write(T2, change)
    assert contents(redis, writers.sink) == {i: f"v{i}" for i in range(20_000)}
    progress = writers.open().progress()
    assert (progress.tick, progress.unfinished) == (T2, None)


def _cut(chunks: Iterator[Any]) -> Iterator[Any]:
    yield next(chunks)
    yield next(chunks)
    raise ConnectionError


def test_a_write_that_the_server_keeps_waiting_can_be_interrupted(
    redis: Redis, writers: Writers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_connection, "_SECONDS", 600.0)  # it does not end by itself
    writer = writers.open()
    writer.progress()
    with redis.connect() as client, ThreadPoolExecutor() as beside:
        client.execute_command("CLIENT", "PAUSE", 60_000, "WRITE")
        try:
            writing = beside.submit(writer.write, T1, zset((1, "a", 1)))
            while not writing.done():
                writer.interrupt()
                time.sleep(0.02)
        finally:
            client.execute_command("CLIENT", "UNPAUSE")
        with pytest.raises(Unavailable):
            writing.result()
    if writer.progress().tick is None:
        writer.write(T1, zset((1, "a", 1)))
    assert contents(redis, writers.sink) == {1: "a"}
