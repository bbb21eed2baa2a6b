"""A DataFrame's rows on the driver, one Arrow batch after another: two partitions in memory, never all.

And what Spark has encoded, as one piece of memory for a socket.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame


def stream(frame: DataFrame) -> Iterator[pa.RecordBatch]:
    """The batches of all partitions in order.  Runs a Spark job for each, the next one while one is read.

    `toArrow` would hold everything at once, and `toLocalIterator` alone makes a Python object of every row:
    so each batch travels as one binary value.
    """
    for row in frame.mapInArrow(_packed, "batch binary").toLocalIterator(prefetchPartitions=True):
        with pa.ipc.open_stream(row.batch) as reader:
            yield from reader


def _packed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        yield pa.record_batch({"batch": pa.array([sink.getvalue().to_pybytes()], pa.binary())})


def bytes_of(column: pa.Array) -> memoryview:
    """All strings, or binary values, of a column one after the other, as they lie in memory."""
    if not len(column):
        return memoryview(b"")
    _, offsets, content = column.buffers()
    ends = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    return memoryview(content)[ends[0] : ends[-1]] if content is not None else memoryview(b"")
