"""A relation under the keys of a Redis database, exactly once: a tick's rows and the tick itself are one script.

Rows are encoded by Spark as the arguments of a script, in the form they have on the wire, and sent as they are.  The
script checks the sink's progress key, applies the rows and moves the tick; Redis runs nothing in between, and
writes all of it to its log, or nothing.

A tick of more than a chunk's size takes several scripts.  The progress key then says which tick is unfinished: the
very same change is offered again, and applying it twice is applying it once, as every key gets its last row.  Only
in this case can a reader see a part of a tick.

At the start and after every doubt: raise the generation, and only then read the tick.  Redis itself may forget
what it has acknowledged, after a failover or a crash without `appendfsync always`; the sink then finds an older tick
than it wrote, says so, and stands still.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import redis
from pyspark.sql import SparkSession
from redis.connection import AbstractConnection

from tailrace.errors import Fenced, InternalError, KeyViolation, Unavailable
from tailrace.ivm.views import TooMuch, few
from tailrace.ivm.zset import ZSet
from tailrace.sinks.arrow_stream import bytes_of, stream
from tailrace.sinks.contract import Progress, Written
from tailrace.sinks.cord import Cord
from tailrace.sinks.redis_connection import translate
from tailrace.sinks.redis_definition import SCRIPT, Defences, RedisSinkDefinition
from tailrace.sinks.upserts import DELETE, partitions
from tailrace.testing.crash import crash_point
from tailrace.types.core import Tick


@dataclass(frozen=True, kw_only=True, slots=True)
class ChunkSize:
    """How much one script gets; Redis does nothing else while it runs.  Up to so much, a tick is atomic."""

    arguments: int = 200_000
    bytes: int = 32 << 20

    @staticmethod
    def of_rows(rows: int, sink: RedisSinkDefinition) -> ChunkSize:
        """For so many rows at most."""
        return ChunkSize(arguments=min(rows * (2 + sink.values), ChunkSize().arguments))


@dataclass(slots=True)
class _Writer:
    """An open client, and what it knows of the sink's progress key."""

    client: redis.Redis
    cord: Cord
    script: str
    generation: int
    tick: int | None
    unfinished: int | None

    @property
    def wire(self) -> AbstractConnection:
        connection: AbstractConnection | None = self.client.connection
        assert connection is not None
        return connection


class RedisSink:
    """Keeps the contract of sinks/contract.py.  Not for two threads at a time."""

    def __init__(
        self,
        definition: RedisSinkDefinition,
        spark: SparkSession,
        *,
        small: SparkSession | None = None,
        small_rows: int = 20_000,
        chunk: ChunkSize | None = None,
        defences: Defences | None = None,
    ) -> None:
        """`small`: the session that plans for up to `small_rows` rows."""
        self._sink = definition
        self._spark = spark
        self._small = small or spark
        self._small_rows = small_rows
        self._chunk = chunk or ChunkSize()
        self._defences = defences or Defences()
        self._writer: _Writer | None = None

    def progress(self) -> Progress:
        """Fences older writers, and only then reads what the keys hold."""
        self.close()
        key = self._sink.progress_key
        client = self._sink.connection.open()
        try:
            with self._translated("asking what it holds"):
                too_early = None if self._defences.fence_before_progress else self._read(client)
                generation = int(client.hincrby(key, "generation", 1))
                tick, unfinished = too_early or self._read(client)
                script = str(client.script_load(SCRIPT))
        except BaseException:
            client.close()
            raise
        self._writer = _Writer(client, _cord_of(client), script, generation, tick, unfinished)
        return Progress(
            tick=None if tick is None else Tick(tick), unfinished=None if unfinished is None else Tick(unfinished)
        )

    def write(self, tick: Tick, delta: ZSet) -> Written:
        """Runs one Spark job, or for a large change one for each partition."""
        writer, name = self._writer, self._sink.name
        if writer is None:
            raise Unavailable(f'it is in doubt what sink "{name}" has written')
        if writer.tick is not None and tick <= writer.tick:
            raise InternalError(f'sink "{name}" holds tick {writer.tick} and was given {tick}')
        if writer.unfinished not in (None, tick):
            raise InternalError(f'sink "{name}" must finish tick {writer.unfinished} and was given {tick}')
        try:
            with self._translated(f'writing as "{self._sink.name}"'):
                written = self._write(writer, tick, delta)
        except BaseException:
            self.close()  # whatever was done, the next writer asks
            raise
        writer.tick, writer.unfinished = tick, None
        return written

    def close(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.client.close()
            writer.cord.close()

    def interrupt(self) -> None:
        """No further script is sent."""
        writer = self._writer
        if writer is not None:
            writer.cord.cut()

    def _read(self, client: redis.Redis) -> tuple[int | None, int | None]:
        tick, unfinished = client.hmget(self._sink.progress_key, ["tick", "unfinished"])
        crash_point("redis.progress_read")
        return None if tick is None else int(tick), None if unfinished is None else int(unfinished)

    # ── one tick ──

    def _write(self, writer: _Writer, tick: Tick, delta: ZSet) -> Written:
        here = self._here(delta)
        if here is None and self._sink.sole:
            self._refuse_repeated(delta)
        rows = size = 0
        chunks = self._chunks(self._streamed(delta) if here is None else here)
        chunk: _Chunk | None = next(chunks, _Chunk())
        while chunk is not None:
            following = next(chunks, None)
            alone = rows == 0 and following is None
            self._run(writer, tick, chunk, last=following is None, sole=alone and here is not None)
            if following is not None:
                crash_point("redis.chunk_written")
            rows, size = rows + chunk.rows, size + chunk.bytes
            chunk = following
        crash_point("redis.written_not_seen")
        return Written(messages=rows, bytes=size)

    def _here(self, delta: ZSet) -> list[pa.RecordBatch] | None:
        """The rows of a small change; None if it is not small."""
        if delta.is_empty:
            return []
        if delta.rows > self._small_rows:
            return None
        try:
            rows = few(self._small, self._sink.encoded(delta))
        except TooMuch:
            return None
        here: list[pa.RecordBatch] = self._sink.rows_here(rows).to_batches()
        for batch in here:
            self._check_unique(batch)  # all of them, before the first is written
        return here

    def _streamed(self, delta: ZSet) -> Iterable[pa.RecordBatch]:
        delta = delta if delta.rows > self._small_rows else delta.many()
        return stream(self._spark.sql(self._sink.rows(delta, self._partitions(delta))))

    def _partitions(self, delta: ZSet) -> int:
        return partitions(delta, self._spark.sparkContext.defaultParallelism)

    def _chunks(self, batches: Iterable[pa.RecordBatch]) -> Iterator[_Chunk]:
        """The rows in pieces of bounded size; none is split."""
        chunk = _Chunk()
        for batch in batches:
            for piece in self._pieces(batch):
                if chunk.rows and (
                    chunk.arguments + piece.arguments > self._chunk.arguments
                    or chunk.bytes + piece.bytes > self._chunk.bytes
                ):
                    yield chunk
                    chunk = _Chunk()
                chunk = chunk.plus(piece)
        if chunk.rows:
            yield chunk

    def _pieces(self, batch: pa.RecordBatch) -> Iterator[_Chunk]:
        """A batch cut where a chunk would be full, by whole columns."""
        gone = pc.equal(batch.column("change"), DELETE).to_numpy(zero_copy_only=False)
        arguments = np.cumsum(np.where(gone, 2, 2 + self._sink.values))
        sizes = np.cumsum(pc.binary_length(batch.column("args")).to_numpy())
        place = np.maximum(arguments // self._chunk.arguments, sizes // self._chunk.bytes)
        starts = np.flatnonzero(np.diff(place, prepend=-1))
        for start, end in zip(starts, [*starts[1:], batch.num_rows], strict=True):
            before = arguments[start - 1] if start else 0
            content = bytes_of(batch.column("args").slice(start, end - start))
            yield _Chunk(
                rows=int(end - start), arguments=int(arguments[end - 1] - before), bytes=len(content), parts=(content,)
            )

    def _run(self, writer: _Writer, tick: Tick, chunk: _Chunk, *, last: bool, sole: bool) -> None:
        """One script.  The rows go to the wire as they lie in memory."""
        follows = "last" if last else "more"
        header = [
            *("EVALSHA", writer.script, "1", self._sink.progress_key),
            str(writer.generation) if self._defences.generation and self._defences.progress_record else "",
            *("" if writer.tick is None else str(writer.tick), str(tick)),
            follows if self._defences.progress_record else "unrecorded",
            "sole" if sole and self._sink.sole and writer.tick is not None and writer.unfinished is None else "",
            *(str(len(self._sink.fields)), *self._sink.fields),
        ]
        opening = f"*{len(header) + chunk.arguments}\r\n".encode() + b"".join(map(_argument, header))
        writer.wire.send_packed_command(chain([opening], chunk.parts))  # type: ignore[no-untyped-call]
        try:
            writer.wire.read_response()
        except redis.ResponseError as error:
            raise self._refusal(str(error), error) from error

    def _refusal(self, said: str, error: redis.ResponseError) -> Exception:
        if said.startswith("FENCED"):
            return Fenced("a newer writer of this sink has taken over", detail=said)
        if said.startswith("TWICE"):
            return self._violation(said.removeprefix("TWICE "))
        return error

    # ── keys that are not unique ──

    def _refuse_repeated(self, delta: ZSet) -> None:
        """Before the first chunk is written: after it there would be no way back.  One more Spark job."""
        repeated = self._spark.sql(self._sink.repeated(delta, self._partitions(delta))).toArrow()
        if repeated.num_rows:
            raise self._violation(repeated["k"][0].as_py())

    def _check_unique(self, batch: pa.RecordBatch) -> None:
        several = batch.filter(pc.greater(batch.column("came"), 1))
        if several.num_rows:
            raise self._violation(several.column("k")[0].as_py())

    def _violation(self, key: str) -> KeyViolation:
        return KeyViolation(
            f'sink "{self._sink.name}" has more than one row of key {key}',
            detail="Redis can hold one of them only, and which one cannot be known.",
            hint="The sink goes on by itself when the relation has one row of this key again.",
        )

    @contextmanager
    def _translated(self, doing: str) -> Iterator[None]:
        try:
            yield
        except redis.RedisError as error:
            raise translate(error, doing, self._sink.connection) from error


@dataclass(frozen=True, kw_only=True, slots=True)
class _Chunk:
    """Rows on their way; `parts` are their arguments as bytes."""

    rows: int = 0
    arguments: int = 0
    bytes: int = 0
    parts: tuple[memoryview, ...] = ()

    def plus(self, other: _Chunk) -> _Chunk:
        return _Chunk(
            rows=self.rows + other.rows,
            arguments=self.arguments + other.arguments,
            bytes=self.bytes + other.bytes,
            parts=(*self.parts, *other.parts),
        )


def _cord_of(client: redis.Redis) -> Cord:
    socket = None if client.connection is None else client.connection._get_socket()
    assert socket is not None  # the client has one connection, and it was used
    return Cord(socket.fileno())


def _argument(text: str) -> bytes:
    encoded = text.encode()
    return b"$%d\r\n%b\r\n" % (len(encoded), encoded)
