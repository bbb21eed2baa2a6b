"""The same facts for Prometheus, in its text format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tailrace.console.queries import status
from tailrace.engine.engine import Engine

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_STATUSES = ("created", "starting", "running", "stalled")
_OF_ROWS: tuple[tuple[str, str, str, str, str], ...] = (
    ("sources", "messages_received", "tailrace_source_messages_total", "counter", "Messages read since the start."),
    ("sources", "offset_known", "tailrace_source_offset_known", "gauge", "End offsets, summed over partitions."),
    ("sources", "offset_committed", "tailrace_source_offset_committed", "gauge", "Offsets that ticks have taken in."),
    ("sources", "records_indexed", "tailrace_source_records_indexed", "gauge", "Rows that an upsert source keeps."),
    ("sinks", "messages_staged", "tailrace_sink_messages_staged_total", "counter", "Messages sent to the target."),
    ("sinks", "messages_committed", "tailrace_sink_messages_committed_total", "counter", "Messages it has accepted."),
    ("sinks", "bytes_committed", "tailrace_sink_bytes_committed_total", "counter", "Bytes of those messages."),
    ("sinks", "frontier", "tailrace_sink_frontier", "gauge", "Last tick after which nothing is owed, in ms."),
    ("views", "frontier", "tailrace_view_frontier", "gauge", "Last tick that the view has absorbed, in ms."),
)
"""Which rows, which column, and the metric it becomes."""


def metrics(engine: Engine) -> str:
    return "".join(f"{line}\n" for line in _lines(engine))


def _lines(engine: Engine) -> Iterator[str]:
    found = status(engine)
    yield from _metric("tailrace_up", "gauge", "1 while the tick loop runs.", [({}, float(is_alive(engine)))])
    yield from _metric("tailrace_frontier", "gauge", "Logical time, in ms.", [({}, engine.cluster.frontier)])
    yield from _metric("tailrace_ticks_total", "counter", "Ticks since the start.", [({}, engine.cluster.ticks)])
    yield from _metric("tailrace_spark_jobs_total", "counter", "Spark jobs of ticks.", [({}, engine.store.work.jobs)])
    last = found["ticks"][0]["seconds"] if found["ticks"] else 0
    yield from _metric("tailrace_last_tick_seconds", "gauge", "How long the last tick took.", [({}, last)])
    yield from _metric("tailrace_sessions", "gauge", "Clients that are connected.", [({}, len(found["sessions"]))])
    for rows, column, name, kind, help in _OF_ROWS:
        samples = [(_who(row), row[column]) for row in found[rows] if row[column] is not None]
        yield from _metric(name, kind, help, samples)
    objects = [(kind, row) for kind in ("sources", "views", "sinks") for row in found[kind]]
    states = [
        ({**_who(row), "kind": kind.removesuffix("s"), "status": state}, float(row["status"] == state))
        for kind, row in objects
        for state in _STATUSES
    ]
    yield from _metric("tailrace_object_status", "gauge", "1 for the status that an object has.", states)


def is_alive(engine: Engine) -> bool:
    return engine.loop.failure is None and not engine.loop.has_ended


def _who(row: Mapping[str, Any]) -> dict[str, str]:
    return {"id": row["id"], "name": row["name"]}


def _metric(
    name: str, kind: str, help: str, samples: Iterable[tuple[Mapping[str, str], float]]
) -> Iterator[str]:
    yield f"# HELP {name} {help}"
    yield f"# TYPE {name} {kind}"
    for labels, value in samples:
        shown = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
        yield f"{name}{{{shown}}} {value}" if shown else f"{name} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
