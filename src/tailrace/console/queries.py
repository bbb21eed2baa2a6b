"""What the console and the metrics know: nothing but what anyone can SELECT from the system relations."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

from tailrace.engine.engine import Engine

QUERIES = {
    "sources": """
        SELECT s.id, s.name, s.type, t.status, t.error, t.details->'hints'->>0 AS hint, x.messages_received,
            x.offset_known, x.offset_committed, x.records_indexed
        FROM mz_sources s JOIN mz_internal.mz_source_statuses t ON t.id = s.id
        LEFT JOIN mz_internal.mz_source_statistics x ON x.id = s.id ORDER BY s.name""",
    "views": """
        SELECT v.id, v.name, t.status, t.error, t.details->'hints'->>0 AS hint, f.write_frontier::bigint AS frontier
        FROM mz_materialized_views v JOIN mz_internal.mz_materialized_view_statuses t ON t.id = v.id
        LEFT JOIN mz_internal.mz_frontiers f ON f.object_id = v.id ORDER BY v.name""",
    "sinks": """
        SELECT s.id, s.name, s.type, t.status, t.error, t.details->'hints'->>0 AS hint, x.messages_staged,
            x.messages_committed, x.bytes_committed, f.write_frontier::bigint AS frontier
        FROM mz_sinks s JOIN mz_internal.mz_sink_statuses t ON t.id = s.id
        LEFT JOIN mz_internal.mz_sink_statistics x ON x.id = s.id
        LEFT JOIN mz_internal.mz_frontiers f ON f.object_id = s.id ORDER BY s.name""",
    "ticks": "SELECT tick::bigint AS tick, jobs, seconds FROM mz_internal.mz_ticks ORDER BY tick DESC LIMIT 50",
    "sessions": """
        SELECT s.connection_id, r.name AS role, s.client_ip, s.connected_at
        FROM mz_internal.mz_sessions s LEFT JOIN mz_roles r ON r.id = s.role_id ORDER BY s.connection_id""",
}


def status(engine: Engine) -> dict[str, list[dict[str, Any]]]:
    """Rows by the name of their query.  No Spark job."""
    return {name: _rows(engine, text) for name, text in QUERIES.items()}


def _rows(engine: Engine, text: str) -> list[dict[str, Any]]:
    answer = engine.sql(text)
    assert answer is not None
    return [{key: _plain(value) for key, value in row.items()} for row in answer.to_pylist()]


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return float(value) if isinstance(value, Decimal) else value
