"""A key that is told twice in one transaction is noticed, and only keys are held until its end."""

from __future__ import annotations

import gc

import pyarrow as pa
import pytest

from tailrace.kafka.partition import seahash
from tailrace.sinks.key_watch import KeyWatch


def seen(*batches: tuple[list[bytes], list[int]]) -> KeyWatch:
    watch = KeyWatch()
    for keys, copies in batches:
        column = pa.array(keys, pa.binary())
        watch.see(column, seahash(column), pa.array(copies, pa.int64()))
    return watch


@pytest.mark.parametrize(
    ("batches", "broken"),
    [
        ([], None),
        ([([b"a", b"b"], [1, 1]), ([b"c"], [1])], None),
        ([([b"a", b"b"], [1, 1]), ([b"b"], [1])], "b"),
        ([([b"a", b"a"], [1, 1])], "a"),
        ([([b"a", b"b"], [1, 2])], "b"),
        ([([b"\xff", b"\xff"], [1, 1])], r"\xff"),
    ],
)
def test_a_key_that_is_told_twice(batches: list[tuple[list[bytes], list[int]]], broken: str | None) -> None:
    assert seen(*batches).broken_key() == broken


def test_other_keys_with_the_same_hash_are_other_keys() -> None:
    watch = KeyWatch()
    keys = pa.array([b"a", b"b"], pa.binary())
    watch.see(keys, seahash(pa.array([b"x", b"x"], pa.binary())), pa.array([1, 1]))
    assert watch.broken_key() is None


def test_values_are_not_held() -> None:
    """What comes from Spark has keys and values in one piece of memory."""
    rows = pa.record_batch({"key": [b"%d" % i for i in range(100)], "value": [b"x" * 10_000] * 100})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write(rows)
    written = sink.getvalue().to_pybytes()
    del rows, sink
    gc.collect()
    before = pa.total_allocated_bytes()
    watch = KeyWatch()
    batch = pa.ipc.open_stream(pa.input_stream(pa.BufferReader(written))).read_next_batch()
    watch.see(batch["key"], seahash(batch["key"]), pa.array([1] * 100))
    buffers = [buffer for keys in watch._keys for buffer in keys.buffers() if buffer is not None]
    assert sum(buffer.size for buffer in buffers) < 10_000
    assert all(buffer.parent is None for buffer in buffers)
    del batch
    assert pa.total_allocated_bytes() - before < 100_000
