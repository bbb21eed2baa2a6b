"""Reading many messages on the executors: Spark's batch Kafka source between two positions, committed
messages only.

Making the view costs nothing; each query over it asks the cluster for the topic's partitions (100–200 ms) and
then reads.  A message that is gone makes the query fail (`failOnDataLoss`), never skip.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from pyspark.sql import SparkSession

from tailrace.ivm.views import Views
from tailrace.kafka.client import spark_options
from tailrace.sources.contract import Offsets
from tailrace.sources.kafka_definition import KafkaSourceDefinition

_FETCH = {
    "kafka.isolation.level": "read_committed",
    # Fewer, larger answers: half the CPU of the defaults (1 MiB, 500 records) per message.
    "kafka.max.partition.fetch.bytes": str(8 << 20),
    "kafka.fetch.max.bytes": str(64 << 20),
    "kafka.max.poll.records": "20000",
    # Spark asks for a partition's ends after each answer, on the connection on which the consumer has asked for more
    # already: at the end of a partition the broker would let it wait for new messages first, 500 ms by default.
    "kafka.fetch.max.wait.ms": "10",
}

_ROWS_PER_TASK = 100_000  # a task that reads less is not worth its start

# Spark's session may have any time zone; a record's time must not depend on it.
_TIMESTAMP = "timestampadd(MICROSECOND, unix_micros(timestamp), TIMESTAMP_NTZ '1970-01-01 00:00:00')"

_MORE = {"headers": "headers", "timestamp_type": "timestampType AS timestamp_type"}


def scan(
    definition: KafkaSourceDefinition, since: Offsets, until: Offsets, views: Views, *, more: Sequence[str], tasks: int
) -> str:
    """The name of a raw view (kafka_decode.RAW) of the messages between two positions.  Runs no job.

    A partition is read by one task, unless there are fewer partitions than `tasks`.
    """
    unread = {p: (since.get(p, 0), end) for p, end in sorted(until.items()) if since.get(p, 0) < end}
    reader = views.large.read.format("kafka").options(
        **spark_options(definition.connection),
        **_FETCH,
        assign=json.dumps({definition.topic: list(unread)}),
        startingOffsets=_offsets(definition.topic, {p: start for p, (start, _) in unread.items()}),
        endingOffsets=_offsets(definition.topic, {p: end for p, (_, end) in unread.items()}),
        failOnDataLoss="true",
        includeHeaders=str("headers" in more).lower(),
        groupIdPrefix=definition.group_id,
        minPartitions=str(tasks),
    )
    columns = ["key", "value", "partition", "offset", f"{_TIMESTAMP} AS timestamp"]
    return views.add(reader.load().selectExpr(*columns, *(_MORE[name] for name in more)))


def _offsets(topic: str, offsets: Offsets) -> str:
    return json.dumps({topic: {str(partition): offset for partition, offset in offsets.items()}})


def tasks(rows: int, spark: SparkSession) -> int:
    """How many are worth having: several share a partition if there are more cores, and enough to do."""
    return max(1, min(spark.sparkContext.defaultParallelism, rows // _ROWS_PER_TASK))
