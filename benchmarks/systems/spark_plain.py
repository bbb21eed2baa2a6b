"""Plain Spark Structured Streaming with Spark's own Kafka source and sink, as far as it goes.

Its Kafka sink is at least once (a retried task writes again).  Streaming queries have no retractions, so a join
of changelogs cannot be written; two queries need a different wording, which `remark` states.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from benchmarks import environment
from benchmarks.settings import BOOTSTRAP, JVM_HEAP, PACKAGE, PARALLELISM
from benchmarks.systems.contract import Launch, Run


class SparkPlain:
    name = "spark_plain"
    variants = {"alo": "at least once (the only guarantee of Spark's Kafka sink), default trigger"}

    def refusal(self, workload: str) -> str | None:
        if workload == "w3":
            return "no updates or deletes in a stream: a join of two upsert topics cannot be expressed"
        return None

    def remark(self, workload: str) -> str | None:
        return {
            "w2": "COUNT(DISTINCT) is refused on streams: written as size(collect_set(user_id))",
            "w4": "ROW_NUMBER() is refused on streams: written as max_by over GROUP BY device_id",
        }.get(workload)

    def launch(self, run: Run) -> Launch:
        spec = run.folder / "job.json"
        job = {
            "workload": run.workload,
            "bootstrap": BOOTSTRAP,
            "inputs": dict(run.inputs),
            "output_topic": run.output_topic,
            "checkpoint": str(run.folder / "checkpoint"),
            "master": f"local[{PARALLELISM}]",
            "conf": {
                "spark.jars": ",".join(map(str, environment.spark_files())),
                "spark.driver.memory": JVM_HEAP,
                "spark.sql.shuffle.partitions": str(PARALLELISM),
                "spark.ui.enabled": "false",
                "spark.local.dir": str(run.folder),
                "spark.sql.warehouse.dir": str(run.folder / "warehouse"),
            },
        }
        spec.write_text(json.dumps(job, indent=1))
        program = str(PACKAGE / "jobs" / "spark_job.py")
        return Launch(
            argv=(environment.PYTHON, program, str(spec)),
            env={"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": environment.PYTHON},
            envelope=run.output.kind,
        )

    def versions(self) -> Mapping[str, str]:
        return environment.versions("pyspark")
