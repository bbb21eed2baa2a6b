"""Spark's Python daemon, with what our tasks need imported before it forks: a worker is then ready at once.

Spark ends workers after a minute without work, so a sink that commits once in a minute has new ones each time, and
each would take half a second to import what writes a file.  `spark.python.daemon.module` names this one where
executors run on the driver's machine.
"""

from pyspark.daemon import manager

import tailrace.sinks.iceberg_write
import tailrace.sinks.kafka_slots
import tailrace.sinks.s3_files  # noqa: F401

if __name__ == "__main__":
    manager()  # type: ignore[no-untyped-call]
