"""`SET 'key' = 'value'`: settings of Flink's SQL.  They are kept as they are; a few mean something here.

One that is known and does nothing here says so in a notice; an unknown one is kept in silence, as in Flink.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailrace.errors import InvalidOption, NotSupported
from tailrace.statements.flink.kinds import DURATION

if TYPE_CHECKING:
    from tailrace.engine.session import EngineSession

IDLE_TIMEOUT = "table.exec.source.idle-timeout"

OBEYED = ("pipeline.name", "table.dml-sync", "execution.runtime-mode", "table.local-time-zone", IDLE_TIMEOUT)

NO_EFFECT = {
    "execution.checkpointing.interval": "every tick is committed when it is done",
    "parallelism.default": "Spark decides",
    "pipeline.auto-watermark-interval": "the watermark goes on with every tick",
    "table.exec.state.ttl": "state is kept for as long as it is needed",
    "table.exec.sink.upsert-materialize": "a key's rows are paired by tick",
    "table.exec.sink.require-on-conflict": "the last row of a key wins",
    "sql-client.execution.result-mode": "rows are shown as they are",
    "table.exec.source.cdc-events-duplicate": "events are taken as they come",
}


def put(session: EngineSession, key: str, value: str) -> None:
    _check(key, value)
    session.settings[key] = value
    if key in NO_EFFECT:
        session.notice(f"'{key}' has no effect: {NO_EFFECT[key]}")


def _check(key: str, value: str) -> None:
    if key == "execution.runtime-mode" and value.lower() != "streaming":
        raise NotSupported(
            f"'{key}' = '{value}' not supported",
            hint="Give tables an end with 'scan.bounded.mode': a job over them ends by itself.",
        )
    if key == "table.local-time-zone" and value.upper() not in ("UTC", "ETC/UTC", "GMT", "+00:00"):
        raise NotSupported(f"'{key}' = '{value}' not supported", hint="Times are in UTC.")
    if key == IDLE_TIMEOUT:
        try:
            DURATION.read(value)
        except ValueError as error:
            raise InvalidOption(f"invalid value for '{key}': '{value}'", detail=str(error)) from None
    if key == "table.dml-sync" and value.lower() not in ("true", "false"):
        raise InvalidOption(f"invalid value for '{key}': '{value}'")
    if key == "table.exec.sink.not-null-enforcer" and value.upper() != "ERROR":
        raise NotSupported(f"'{key}' = '{value}' not supported", hint="A NULL in a NOT NULL column is an error.")
