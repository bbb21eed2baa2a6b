"""Pathway: differential dataflow in Rust behind Python.  Kafka in and out works without a licence key.

Its Kafka writer is at least once and writes a stream of updates (each row with a `diff` of +1 or -1), not an
upsert topic: there are no tombstones, and whoever reads the topic must add the weights up.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from benchmarks import environment
from benchmarks.settings import BOOTSTRAP, PACKAGE, PARALLELISM
from benchmarks.systems.contract import Launch, Run


class Pathway:
    name = "pathway"
    variants = {"alo": "at least once (the only guarantee of its Kafka writer), autocommit 100 ms"}

    def refusal(self, workload: str) -> str | None:
        return None if environment.PATHWAY_PYTHON.exists() else "not set up: python -m benchmarks setup"

    def remark(self, workload: str) -> str | None:
        return {
            "w2": "update stream with diffs instead of an upsert topic",
            "w3": "no upsert reader: newest message per key by offset, by hand; update stream instead of an upsert topic",
            "w4": "argmax instead of ROW_NUMBER(); update stream with diffs instead of an upsert topic",
        }.get(workload)

    def launch(self, run: Run) -> Launch:
        spec = run.folder / "job.json"
        job = {
            "workload": run.workload,
            "bootstrap": BOOTSTRAP,
            "group": run.id,
            "inputs": dict(run.inputs),
            "output_topic": run.output_topic,
        }
        spec.write_text(json.dumps(job, indent=1))
        return Launch(
            argv=(str(environment.PATHWAY_PYTHON), str(PACKAGE / "jobs" / "pathway_job.py"), str(spec)),
            env={"PATHWAY_THREADS": str(PARALLELISM), "PATHWAY_PROCESSES": "1"},
            envelope="append" if run.output.kind == "append" else "diff",
        )

    def versions(self) -> Mapping[str, str]:
        return environment.pathway_versions()
