"""Apache Flink SQL through PyFlink: a local mini cluster and the Kafka SQL connectors.

Variants differ in the sink's guarantee and in tuning only; the SQL is the same.  Exactly once needs three
things from the user beyond `sink.delivery-guarantee`: checkpointing on, a transactional id prefix, and a
transaction timeout that the broker accepts (Flink's own default of one hour is refused by Kafka's default
`transaction.max.timeout.ms` of 15 minutes).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from benchmarks import environment
from benchmarks.settings import BOOTSTRAP, JVM_HEAP, PACKAGE, PARALLELISM
from benchmarks.systems.contract import Launch, Run

_MINI_BATCH = {
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "200 ms",
    "table.exec.mini-batch.size": "5000",
    "pipeline.object-reuse": "true",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class _Variant:
    text: str
    exactly_once: bool = True
    checkpoint: str = "1 s"
    tuning: Mapping[str, str] = field(default_factory=dict)


_VARIANTS = {
    "eo": _Variant(text="exactly once, checkpoint every 1 s, otherwise defaults"),
    "alo": _Variant(
        text="at least once (the connector's default), checkpoint every 1 s, otherwise defaults",
        exactly_once=False,
    ),
    "eo-batch": _Variant(
        text="exactly once, checkpoint every 1 s, mini-batch 200 ms / 5000 rows, object reuse",
        tuning=_MINI_BATCH,
    ),
    "eo-batch-10s": _Variant(
        text="as eo-batch, checkpoint every 10 s", checkpoint="10 s", tuning=_MINI_BATCH
    ),
    "eo-100ms": _Variant(
        text="exactly once, checkpoint every 100 ms, otherwise defaults", checkpoint="100 ms"
    ),
}


class Flink:
    name = "flink"
    variants = {name: variant.text for name, variant in _VARIANTS.items()}

    def refusal(self, workload: str) -> str | None:
        return None if environment.flink_is_there() else "not set up: python -m benchmarks setup"

    def remark(self, workload: str) -> str | None:
        return None

    def launch(self, run: Run) -> Launch:
        job = {"config": _config(run), "statements": _statements(run)}
        spec = run.folder / "job.json"
        spec.write_text(json.dumps(job, indent=1))
        env = {"JVM_ARGS": f"-Xmx{JVM_HEAP}", "FLINK_LOG_DIR": str(run.folder)}
        program = str(PACKAGE / "jobs" / "flink_job.py")
        return Launch(
            argv=(str(environment.FLINK_PYTHON), program, str(spec)), env=env, envelope=run.output.kind
        )

    def versions(self) -> Mapping[str, str]:
        return environment.flink_versions()


def _config(run: Run) -> dict[str, str]:
    variant = _VARIANTS[run.variant]
    config = {
        "parallelism.default": str(PARALLELISM),
        "pipeline.jars": ";".join(jar.as_uri() for jar in sorted(environment.FLINK_JARS.glob("*.jar"))),
        "execution.checkpointing.interval": variant.checkpoint,
        # The default keeps checkpoints on the job manager's heap and fails above 5 MB of state.
        "execution.checkpointing.storage": "filesystem",
        "execution.checkpointing.dir": (run.folder / "checkpoints").as_uri(),
        "io.tmp.dirs": str(run.folder),
    }
    return config | variant.tuning


def _statements(run: Run) -> list[str]:
    return {"w1": _w1, "w2": _w2, "w3": _w3, "w4": _w4}[run.workload](run)


def _w1(run: Run) -> list[str]:
    return [
        _PAGEVIEWS + _source(run, "pageviews"),
        "CREATE TABLE passed (view_id BIGINT, user_id BIGINT, viewtime STRING, region STRING)"
        + _with(connector="kafka", topic=run.output_topic, format="json", **_guarantee(run)),
        """INSERT INTO passed
           SELECT view_id, user_id, viewtime, UPPER(user_region) FROM pageviews WHERE page_id < 5000""",
    ]


def _w2(run: Run) -> list[str]:
    return [
        _PAGEVIEWS + _source(run, "pageviews"),
        "CREATE TABLE regions (user_region STRING, pv BIGINT, uv BIGINT, PRIMARY KEY (user_region) NOT ENFORCED)"
        + _upsert(run.output_topic, **_guarantee(run)),
        """INSERT INTO regions
           SELECT user_region, COUNT(*), COUNT(DISTINCT user_id) FROM pageviews GROUP BY user_region""",
    ]


def _w3(run: Run) -> list[str]:
    return [
        "CREATE TABLE orders (order_id BIGINT, customer_id BIGINT, amount BIGINT,"
        " PRIMARY KEY (order_id) NOT ENFORCED)" + _upsert(run.inputs["orders"]),
        "CREATE TABLE customers (customer_id BIGINT, segment STRING, PRIMARY KEY (customer_id) NOT ENFORCED)"
        + _upsert(run.inputs["customers"]),
        "CREATE TABLE segments (segment STRING, orders BIGINT, revenue BIGINT, PRIMARY KEY (segment) NOT ENFORCED)"
        + _upsert(run.output_topic, **_guarantee(run)),
        """INSERT INTO segments
           SELECT c.segment, COUNT(*), SUM(o.amount)
           FROM orders o JOIN customers c ON o.customer_id = c.customer_id GROUP BY c.segment""",
    ]


def _w4(run: Run) -> list[str]:
    return [
        "CREATE TABLE readings (device_id BIGINT, updated_at BIGINT, status STRING, reading BIGINT)"
        + _source(run, "readings"),
        "CREATE TABLE latest (device_id BIGINT, updated_at BIGINT, status STRING, reading BIGINT,"
        " PRIMARY KEY (device_id) NOT ENFORCED)" + _upsert(run.output_topic, **_guarantee(run)),
        """INSERT INTO latest
           SELECT device_id, updated_at, status, reading FROM (
             SELECT *, ROW_NUMBER() OVER (PARTITION BY device_id ORDER BY updated_at DESC) AS place FROM readings
           ) WHERE place = 1""",
    ]


_PAGEVIEWS = "CREATE TABLE pageviews (view_id BIGINT, user_id BIGINT, page_id BIGINT, viewtime STRING, user_region STRING)"


def _source(run: Run, role: str) -> str:
    return _with(
        connector="kafka",
        topic=run.inputs[role],
        format="json",
        **{"properties.group.id": run.id, "scan.startup.mode": "earliest-offset"},
    )


def _upsert(topic: str, **options: str) -> str:
    return _with(
        connector="upsert-kafka", topic=topic, **{"key.format": "json", "value.format": "json"}, **options
    )


def _guarantee(run: Run) -> dict[str, str]:
    if not _VARIANTS[run.variant].exactly_once:
        return {}
    return {
        "sink.delivery-guarantee": "exactly-once",
        "sink.transactional-id-prefix": run.id,
        "properties.transaction.timeout.ms": "600000",
    }


def _with(**options: str) -> str:
    options["properties.bootstrap.servers"] = BOOTSTRAP
    return " WITH (" + ", ".join(f"'{name}' = '{value}'" for name, value in options.items()) + ")"
