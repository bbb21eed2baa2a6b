"""Spark's Python daemon, with what our tasks need imported before it forks: a worker is then ready at once.

`spark.python.daemon.module` names it where executors run on the driver's machine.
"""

from pyspark.daemon import manager

import tailrace.sinks.kafka_slots  # noqa: F401

if __name__ == "__main__":
    manager()  # type: ignore[no-untyped-call]
