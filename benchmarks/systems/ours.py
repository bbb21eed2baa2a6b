"""Our own system: SQL over a Postgres connection to `tailrace serve`.

jobs/ours_job.py starts the server as its child, takes the first accepted connection for `engine_up` and also for
`job_running`, and runs `statements(run)` one by one over that one connection.  A peer's clock starts when its job
runs; ours starts before the first statement is even planned, since data flows from CREATE SOURCE on.  Topics and
verifier are the same as for the peers.

W1 has no append envelope in Materialize's dialect.  Keyed by the view's own id, an upsert sink writes each row
once; the verifier still counts every message, so a row written twice is an error.
"""

from __future__ import annotations

import json
import shlex
import socket
from collections.abc import Mapping

from benchmarks import environment
from benchmarks.settings import BOOTSTRAP, JVM_HEAP, PACKAGE, PARALLELISM
from benchmarks.systems.contract import Launch, Run

_SERVE = "{python} -m tailrace serve --data-dir {folder}/data --listen 127.0.0.1:{port}"
_COMMAND = _SERVE + " --master local[{parallelism}] --driver-memory {heap}"
_DSN = "host=127.0.0.1 port={port} user=materialize dbname=materialize"


class Ours:
    name = "ours"
    variants = {"eo": "exactly once, defaults", "alo": "at least once, otherwise defaults"}

    def refusal(self, workload: str) -> str | None:
        return None

    def remark(self, workload: str) -> str | None:
        return "DISTINCT ON instead of ROW_NUMBER()" if workload == "w4" else None

    def launch(self, run: Run) -> Launch:
        places = {
            "python": environment.PYTHON,
            "folder": run.folder,
            "port": _free_port(),
            "parallelism": PARALLELISM,
            "heap": JVM_HEAP,
        }
        job = {
            "command": shlex.split(_COMMAND.format(**places)),
            "dsn": _DSN.format(**places),
            "statements": statements(run),
        }
        spec = run.folder / "job.json"
        spec.write_text(json.dumps(job, indent=1))
        program = str(PACKAGE / "jobs" / "ours_job.py")
        return Launch(argv=(environment.PYTHON, program, str(spec)), envelope=run.output.kind)

    def versions(self) -> Mapping[str, str]:
        return environment.versions("tailrace", "pyspark")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def statements(run: Run) -> list[str]:
    """The workload in Materialize's dialect, from the connection to the sink."""
    connection = f"CREATE CONNECTION broker TO KAFKA (BROKER '{BOOTSTRAP}', SECURITY PROTOCOL PLAINTEXT)"
    return [connection, *{"w1": _w1, "w2": _w2, "w3": _w3, "w4": _w4}[run.workload](run)]


def _w1(run: Run) -> list[str]:
    return [
        _append_source("pageviews", run),
        _PAGEVIEWS,
        """CREATE MATERIALIZED VIEW passed AS
           SELECT view_id, user_id, viewtime, upper(user_region) AS region FROM pageviews WHERE page_id < 5000""",
        _sink("passed", "view_id", run),
    ]


def _w2(run: Run) -> list[str]:
    return [
        _append_source("pageviews", run),
        _PAGEVIEWS,
        """CREATE MATERIALIZED VIEW regions AS
           SELECT user_region, count(*) AS pv, count(DISTINCT user_id) AS uv
           FROM pageviews GROUP BY user_region""",
        _sink("regions", "user_region", run),
    ]


def _w3(run: Run) -> list[str]:
    return [
        _upsert_source("orders", run),
        _upsert_source("customers", run),
        """CREATE VIEW orders AS
           SELECT (data->>'order_id')::bigint AS order_id, (data->>'customer_id')::bigint AS customer_id,
                  (data->>'amount')::bigint AS amount
           FROM orders_topic""",
        """CREATE VIEW customers AS
           SELECT (data->>'customer_id')::bigint AS customer_id, data->>'segment' AS segment FROM customers_topic""",
        """CREATE MATERIALIZED VIEW segments AS
           SELECT c.segment, count(*) AS orders, sum(o.amount)::bigint AS revenue
           FROM orders o JOIN customers c ON o.customer_id = c.customer_id GROUP BY c.segment""",
        _sink("segments", "segment", run),
    ]


def _w4(run: Run) -> list[str]:
    return [
        _append_source("readings", run),
        """CREATE VIEW readings AS
           SELECT (data->>'device_id')::bigint AS device_id, (data->>'updated_at')::bigint AS updated_at,
                  data->>'status' AS status, (data->>'reading')::bigint AS reading
           FROM readings_topic""",
        # Materialize's own idiom for ROW_NUMBER() = 1; the seeds' Flink dialect may be used instead.
        """CREATE MATERIALIZED VIEW latest AS
           SELECT DISTINCT ON (device_id) device_id, updated_at, status, reading
           FROM readings ORDER BY device_id, updated_at DESC""",
        _sink("latest", "device_id", run),
    ]


_PAGEVIEWS = """CREATE VIEW pageviews AS
           SELECT (data->>'view_id')::bigint AS view_id, (data->>'user_id')::bigint AS user_id,
                  (data->>'page_id')::bigint AS page_id, data->>'viewtime' AS viewtime,
                  data->>'user_region' AS user_region
           FROM pageviews_topic"""


def _append_source(role: str, run: Run) -> str:
    return (
        f"CREATE SOURCE {role}_topic FROM KAFKA CONNECTION broker (TOPIC '{run.inputs[role]}')"
        " FORMAT JSON ENVELOPE NONE"
    )


def _upsert_source(role: str, run: Run) -> str:
    return (
        f"CREATE SOURCE {role}_topic FROM KAFKA CONNECTION broker (TOPIC '{run.inputs[role]}')"
        " KEY FORMAT JSON VALUE FORMAT JSON ENVELOPE UPSERT"
    )


def _sink(view: str, key: str, run: Run) -> str:
    unchecked = " NOT ENFORCED" if run.workload == "w1" else ""  # unique by the generator, not by the query
    return (
        f"CREATE SINK {view}_sink FROM {view} INTO KAFKA CONNECTION broker (TOPIC '{run.output_topic}')"
        f" KEY ({key}){unchecked} FORMAT JSON ENVELOPE UPSERT{_guarantee(run)}"
    )


def _guarantee(run: Run) -> str:
    return " WITH (DELIVERY GUARANTEE = 'at-least-once')" if run.variant == "alo" else ""
