"""Spark's Python daemon, with what our tasks need imported before it forks: a worker is then ready at once.

Spark ends workers after a minute without work, so a sink that commits once in a minute has new ones each time, and
each would take half a second to import what writes a file.  `spark.python.daemon.module` names this one where
executors run on the driver's machine.

Before every task Spark has Python forget what it knows of the import path, and after it look for unused objects.  Both
took a tenth of a second, of a task's own three, and had nothing to find.
"""

import gc
import zipimport

from pyspark.daemon import manager

import tailrace.sinks.iceberg_write
import tailrace.sinks.kafka_slots
import tailrace.sinks.s3_files  # noqa: F401


def _stay(archive: zipimport.zipimporter) -> None:
    """Python would read the archive's table of contents again.  Those on Spark's path are Spark's own, a jar of five
    thousand files among them, and never change."""


if __name__ == "__main__":
    zipimport.zipimporter.invalidate_caches = _stay  # type: ignore[assignment, method-assign]
    gc.freeze()  # what is imported stays
    manager()  # type: ignore[no-untyped-call]
