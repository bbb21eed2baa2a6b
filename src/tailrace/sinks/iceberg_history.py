"""Up to which tick an Iceberg table holds a sink's relation: its snapshots say."""

from __future__ import annotations

import json
from collections.abc import Iterator

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation, Snapshot

from tailrace.errors import SqlError
from tailrace.types.core import Tick

FRONTIER, VERSION, SINK = "mz-frontier", "mz-sink-version", "mz-sink-id"
_OUR_VERSION = 0
_HINT = "Nobody else may write to the table of a sink.  Drop the sink and create it with another table."


def summary(sink_id: str, tick: Tick) -> dict[str, str]:
    """Of a snapshot with which the table holds everything up to the tick."""
    return {FRONTIER: f"[{tick + 1}]", VERSION: str(_OUR_VERSION), SINK: sink_id}


def held(table: Table, sink_id: str, *, continues: bool) -> Tick | None:
    """From the last snapshot that says; those of others that only rearrange files are passed over.

    None: nothing yet.  `continues`: the sink takes the table as it is, whoever has written it (SNAPSHOT = false).
    Only snapshots that the current one comes from count: others were rolled back, or are of another branch.
    """
    for snapshot in _ancestors(table):
        said = {} if snapshot.summary is None else snapshot.summary.additional_properties
        if said.get(FRONTIER) is not None:
            if said.get(SINK, sink_id) == sink_id:
                _refuse_newer(int(said.get(VERSION, _OUR_VERSION)))
                [upper] = json.loads(said[FRONTIER])
                return Tick(int(upper) - 1)
            if continues:
                return None
            raise SqlError(
                f"Iceberg table has been written by another sink, {said[SINK]}",
                detail=f"Its snapshot {snapshot.snapshot_id} says so.",
                hint="Drop the table, or write to another; WITH (SNAPSHOT = false) goes on with the table as it is.",
                sqlstate="55000",
            )
        operation = None if snapshot.summary is None else snapshot.summary.operation
        if operation is not Operation.REPLACE:
            raise SqlError(
                f"Iceberg table is in an inconsistent state: snapshot {snapshot.snapshot_id} has operation"
                f" '{'unknown' if operation is None else operation.value}' but is missing '{FRONTIER}' property",
                hint=_HINT,
                sqlstate="55000",
            )
    if table.metadata.current_snapshot_id is not None:
        raise SqlError(
            f"Iceberg table is in an inconsistent state: no snapshot has the '{FRONTIER}' property any more",
            detail="All that had it have expired.",
            hint=_HINT,
            sqlstate="55000",
        )
    return None


def _refuse_newer(version: int) -> None:
    if version > _OUR_VERSION:
        raise SqlError(
            f"Fenced off by newer sink version: resume_version {version}, sink_version {_OUR_VERSION}",
            hint="Run the program that has written the table last, or a newer one.",
            sqlstate="55000",
        )


def _ancestors(table: Table) -> Iterator[Snapshot]:
    """The current snapshot, and what it comes from, as far as it has not expired."""
    snapshot = table.current_snapshot()
    while snapshot is not None:
        yield snapshot
        parent = snapshot.parent_snapshot_id
        snapshot = None if parent is None else table.snapshot_by_id(parent)
