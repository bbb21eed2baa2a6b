"""A DataFrame's rows on the driver, one Arrow batch after another: two partitions in memory, never all.

And what Spark has encoded, as one piece of memory for a socket.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.serializers import NoOpSerializer
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.util import _local_iterator_from_socket


def stream(frame: DataFrame) -> Iterator[pa.RecordBatch]:
    """The batches of all partitions in order.  Runs a Spark job for each, the next one while one is read.

    `toArrow` would hold everything at once, and `toLocalIterator` makes a Python object of every row: so this is the
    latter over the batches that the former has.  They come from Spark's tasks as they are, by no Python worker.
    """
    schema = to_arrow_schema(frame.schema)
    jvm: Any = frame.sparkSession.sparkContext._jvm
    batches = frame._jdf.toArrowBatchRdd()
    served = jvm.org.apache.spark.api.python.PythonRDD.toLocalIteratorAndServe(batches, True)
    for batch in _local_iterator_from_socket(served, NoOpSerializer()):
        yield pa.ipc.read_record_batch(pa.py_buffer(batch), schema)


def bytes_of(column: pa.Array) -> memoryview:
    """All strings, or binary values, of a column one after the other, as they lie in memory."""
    if not len(column):
        return memoryview(b"")
    _, offsets, content = column.buffers()
    ends = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    return memoryview(content)[ends[0] : ends[-1]] if content is not None else memoryview(b"")
