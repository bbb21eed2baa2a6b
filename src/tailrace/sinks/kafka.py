"""A relation's changes to a Kafka topic, exactly once: messages and the tick they tell become visible together.

A small tick is one transaction of one long-lived writer on the driver, with the sink's progress record last.  A
large one is planned first (a committed record says in how many slots), then written slot by slot in Spark tasks,
each in a transaction of its own with a record of its own, and settled by the sink's record.  After a crash the
records say which slots are missing, and only those are written.

Start, and after every doubt: open the writer, which fences older ones; take the slots from whoever planned them;
only then read what the topic holds.  tests/kafka/test_sink_*.py hold all this against a real broker.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Iterable

import pyarrow as pa
from pyspark.sql import SparkSession

from tailrace.errors import InternalError, SqlError, Unavailable
from tailrace.ivm.zset import ZSet
from tailrace.kafka.admin import Topics
from tailrace.sinks.arrow_stream import stream
from tailrace.sinks.contract import Progress, Written
from tailrace.sinks.kafka_definition import AT_LEAST_ONCE, Defences, KafkaSinkDefinition, Limits
from tailrace.sinks.kafka_outlet import Outlet
from tailrace.sinks.kafka_progress import ProgressTopic
from tailrace.sinks.kafka_records import Held, Plan, Records
from tailrace.sinks.kafka_slots import OUTCOME, PlainTask, SlotTask, summed, this_process, total
from tailrace.sinks.kafka_topics import check_progress_topic, count_partitions
from tailrace.sinks.kafka_writer import (
    LARGE_SECONDS,
    SMALL_SECONDS,
    PlainWriter,
    TransactionalWriter,
    Writer,
)
from tailrace.testing.crash import crash_point, is_armed
from tailrace.types.core import Tick

log = logging.getLogger(__name__)


class KafkaSink:
    """Keeps the contract of sinks/contract.py.  Not for two threads at a time."""
