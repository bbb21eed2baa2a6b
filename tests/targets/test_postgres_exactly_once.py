"""What exactly-once in a table rests on, each with the defence on, and failing with it off."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tailrace.errors import Fenced, Unavailable
from tailrace.sinks.postgres import PostgresSink
from tailrace.sinks.postgres_definition import Defences, PostgresSinkDefinition
from tailrace.testing.postgres import Postgres
from tailrace.testing.proxy import Proxy
from tailrace.types.core import Tick
from targets.postgres_sink_of import connection_of, contents, definition_of, numbers, zset

T1, T2, T3 = Tick(10), Tick(20), Tick(30)


class Writers:
    """Opens writers of one sink; closes them all."""

    def __init__(self, spark: SparkSession, sink: PostgresSinkDefinition) -> None:
        self._spark = spark
        self.sink = sink
        self._opened: list[PostgresSink] = []

    def open(self, defences: Defences | None = None, small_rows: int = 20_000) -> PostgresSink:
        self._opened.append(PostgresSink(self.sink, self._spark, defences=defences, small_rows=small_rows))
        return self._opened[-1]

    def close(self) -> None:
        for each in self._opened:
            each.close()


@pytest.fixture
def writers(spark: SparkSession, postgres: Postgres) -> Iterator[Writers]:
    opened = Writers(spark, definition_of(postgres))
    yield opened
    opened.close()


def test_what_was_written_is_read_from_the_table_itself(postgres: Postgres, writers: Writers) -> None:
    first = writers.open()
    assert first.progress().tick is None
    first.write(T1, zset((1, "a", 1), (2, "b", 1)))
    first.write(T2, zset((1, "a", -1), (1, "c", 1), (2, "b", -1)))
    assert contents(postgres, writers.sink) == {1: "c"}
    assert writers.open().progress().tick == T2


def take_over(writers: Writers, defences: Defences) -> None:
    """An older writer wakes up when a newer one has written."""
    older, newer = writers.open(defences), writers.open(defences)
    older.progress()
    older.write(T1, zset((1, "a", 1)))
    newer.progress()
    newer.write(T2, zset((1, "a", -1), (1, "b", 1)))
    newer.write(T3, zset((1, "b", -1), (1, "c", 1)))
    older.write(T2, zset((1, "a", -1), (1, "b", 1)))


def test_an_older_writer_is_fenced(postgres: Postgres, writers: Writers) -> None:
    with pytest.raises(Unavailable):
        take_over(writers, Defences())
    assert contents(postgres, writers.sink) == {1: "c"}


def test_an_older_writer_is_fenced_even_if_its_session_lives(postgres: Postgres, writers: Writers) -> None:
    with pytest.raises(Fenced):
        take_over(writers, Defences(end_older=False))
    assert contents(postgres, writers.sink) == {1: "c"}


def test_without_the_generation_an_older_writer_undoes_what_a_newer_one_wrote(
    postgres: Postgres, writers: Writers
) -> None:
    take_over(writers, Defences(end_older=False, generation=False))
    assert contents(postgres, writers.sink) == {1: "b"}


def late(writers: Writers, defences: Defences) -> Tick | None:
    """An older writer writes at the very moment when a newer one has asked what there is."""
    older, newer = writers.open(defences), writers.open(defences)
    older.progress()
    older.write(T1, zset((1, "a", 1)))
    read = newer._read

    def read_slowly(session: Any) -> tuple[int | None]:
        found = read(session)
        older.write(T2, zset((1, "a", -1), (1, "b", 1)))
        return found

    newer._read = read_slowly  # type: ignore[method-assign]
    return newer.progress().tick


def test_if_progress_is_read_before_fencing_it_may_be_out_of_date(postgres: Postgres, writers: Writers) -> None:
    """In the right order there is no such moment: raising the generation and reading the tick are one statement."""
    assert late(writers, Defences(fence_before_progress=False)) == T1
    assert contents(postgres, writers.sink) == {1: "b"}


def hang(writers: Writers, defences: Defences) -> None:
    """A writer that stops in mid-transaction, as on a machine that lost its network, and one that takes over."""
    older, newer = writers.open(defences), writers.open(defences)
    older.progress()
    older.write(T1, zset((1, "a", 1)))
    assert older._writer is not None
    older._writer.session.execute("BEGIN")
    older._advance(older._writer, T2)
    newer._lock_seconds = 1
    assert newer.progress().tick == T1
    newer.write(T2, zset((1, "a", -1), (1, "b", 1)))


def test_a_writer_that_hangs_does_not_hold_up_the_next_one(postgres: Postgres, writers: Writers) -> None:
    hang(writers, Defences())
    assert contents(postgres, writers.sink) == {1: "b"}


def test_a_writer_that_hangs_holds_up_the_next_one_if_nobody_ends_it(writers: Writers) -> None:
    with pytest.raises(Unavailable, match="lock timeout"):
        hang(writers, Defences(end_older=False))


def test_somebody_who_locks_the_table_does_not_hold_us_up_for_ever(postgres: Postgres, writers: Writers) -> None:
    writer = writers.open()
    writer._lock_seconds = 1
    writer.progress()
    writer.write(T1, zset((1, "a", 1)))
    with postgres.connect() as other, other.transaction():
        other.execute(f"LOCK TABLE {writers.sink.shown}".encode())
        with pytest.raises(Unavailable, match="lock timeout"):
            writer.write(T2, zset((2, "b", 1)))
    assert writer.progress().tick == T1
    writer.write(T2, zset((2, "b", 1)))
    assert contents(postgres, writers.sink) == {1: "a", 2: "b"}


def lose_an_answer(postgres: Postgres, spark: SparkSession, defences: Defences) -> dict[int, str | None]:
    """The server commits, the answer is lost, the engine asks and goes on from there."""
    with Proxy(postgres.port) as proxy:
        sink = definition_of(postgres, connection=connection_of(proxy.port))
        writer = PostgresSink(sink, spark, defences=defences)
        try:
            writer.progress()
            writer.write(T1, zset((1, "a", 1)))
            proxy.lose_answer_to(b"COMMIT")
            with pytest.raises(Unavailable):
                writer.write(T2, zset((1, "a", -1), (2, "b", 1)))
            assert proxy.lost == 1
            held = writer.progress().tick
            assert held is not None
            if held < T2:
                writer.write(T2, zset((1, "a", -1), (2, "b", 1)))
            writer.write(T3, zset((3, "c", 1)))
            assert contents(postgres, sink) == {2: "b", 3: "c"}
        finally:
            writer.close()
        return {} if held == T2 else {1: "written again"}


def test_a_commit_whose_answer_was_lost_is_not_repeated(postgres: Postgres, spark: SparkSession) -> None:
    assert lose_an_answer(postgres, spark, Defences()) == {}


def test_without_the_progress_row_nobody_knows_what_a_lost_answer_said(
    postgres: Postgres, spark: SparkSession
) -> None:
    with pytest.raises(AssertionError):
        assert lose_an_answer(postgres, spark, Defences(progress_record=False)) == {}


def test_a_connection_that_is_reset_at_commit_has_committed_nothing(postgres: Postgres, spark: SparkSession) -> None:
    with Proxy(postgres.port) as proxy:
        sink = definition_of(postgres, connection=connection_of(proxy.port))
        writer = PostgresSink(sink, spark)
        writer.progress()
        writer.write(T1, zset((1, "a", 1)))
        proxy.reset_at(b"COMMIT")
        with pytest.raises(Unavailable):
            writer.write(T2, zset((1, "a", -1), (2, "b", 1)))
        assert proxy.lost == 1
        assert writer.progress().tick == T1
        assert contents(postgres, sink) == {1: "a"}
        writer.write(T2, zset((1, "a", -1), (2, "b", 1)))
        writer.close()
    assert contents(postgres, sink) == {2: "b"}


def test_a_large_snapshot_goes_through_in_pieces(postgres: Postgres, writers: Writers) -> None:
    writer = writers.open(small_rows=1000)
    writer.progress()
    written = writer.write(T1, numbers(20_000))
    assert written.messages == 20_000
    found = contents(postgres, writers.sink)
    assert found == {i: f"v{i}" for i in range(20_000)}
    assert writers.open().progress().tick == T1


@pytest.mark.usefixtures("little_room")
def test_what_was_thought_to_be_small_and_does_not_fit_the_driver_goes_through_in_pieces(
    postgres: Postgres, writers: Writers
) -> None:
    writer = writers.open()
    writer.progress()
    assert writer.write(T1, replace(numbers(40_000), rows=3)).messages == 40_000
    assert len(contents(postgres, writers.sink)) == 40_000


def test_a_snapshot_goes_into_an_empty_table_directly_and_over_rows_that_are_there(
    postgres: Postgres, spark: SparkSession
) -> None:
    """Either way it is the same table."""
    for there in ("", "INSERT INTO {} VALUES (3, 'older'), (-1, 'not ours')"):
        sink = definition_of(postgres, proven=True)
        writer = PostgresSink(sink, spark, small_rows=10)
        writer.progress()
        if there:
            with postgres.connect() as connection:
                connection.execute(there.format(sink.shown).encode())
        assert writer.write(T1, numbers(100)).messages == 100
        writer.write(T2, zset((3, "v3", -1), (4, "v4", -1), (4, "w", 1)))
        writer.close()
        expected = {i: f"v{i}" for i in range(100) if i != 3} | {4: "w"} | ({-1: "not ours"} if there else {})
        assert contents(postgres, sink) == expected


def test_readers_see_whole_ticks(postgres: Postgres, writers: Writers) -> None:
    """Every tick moves all rows to other keys: a reader between two statements would see none, or both."""
    writer = writers.open()
    writer.progress()
    writer.write(T1, zset(*((k, "0", 1) for k in range(10))))
    seen: set[tuple[int, int]] = set()
    stop = threading.Event()

    def read() -> None:
        with postgres.connect() as connection:
            while not stop.is_set():
                query = f"SELECT count(*), count(DISTINCT v) FROM {writers.sink.shown}"
                seen.add(connection.execute(query.encode()).fetchone())  # type: ignore[arg-type]

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for n in range(1, 15):
            old = ((k + 10 * (n - 1), str(n - 1), -1) for k in range(10))
            writer.write(Tick(10 + n), zset(*old, *((k + 10 * n, str(n), 1) for k in range(10))))
    finally:
        stop.set()
        reader.join()
    assert seen == {(10, 1)}


def test_a_table_that_was_written_and_is_gone_is_not_made_again(postgres: Postgres, writers: Writers) -> None:
    writer = writers.open()
    writer.progress()
    writer.write(T1, zset((1, "a", 1)))
    with postgres.connect() as connection:
        connection.execute(f"DROP TABLE {writers.sink.shown} CASCADE".encode())
    with pytest.raises(Exception, match="is gone"):
        writers.open().progress()
