"""A checkpoint: every trace as files, named by one manifest that appears by an atomic rename.

Runs are files already, or become files here; a checkpoint therefore costs what changed since the last one.  Files
that no manifest names belong to nobody and are removed at the next chance.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from tailrace.state.layout import Layout
from tailrace.state.run import Run, remove
from tailrace.state.store import Store
from tailrace.state.trace import Trace
from tailrace.testing.crash import crash_point
from tailrace.types.core import BEGINNING, Tick

_MANIFEST = "manifest.json"
_FORMAT = 1

Frontiers: TypeAlias = Mapping[str, tuple[Tick, Tick]]
"""Of each sink: the tick up to which it owes nothing, and the last tick it wrote.  Of a view that computes something
when it is read: twice the tick up to which all of it could be computed."""


def write(store: Store, tick: Tick, frontiers: Frontiers) -> None:
    """Publishes the state of `tick`: on return it survives a crash.  No Spark job."""
    for trace in store.traces.values():
        _flush(store, trace)
    manifest = {
        "format": _FORMAT,
        "tick": tick,
        "frontiers": frontiers,
        "traces": {trace.id: _describe(trace, store.directory) for trace in store.traces.values()},
    }
    temporary = store.directory / (_MANIFEST + ".tmp")
    with temporary.open("w") as file:
        json.dump(manifest, file)
        file.flush()
        os.fsync(file.fileno())
    crash_point("checkpoint.before_publish")
    temporary.replace(store.directory / _MANIFEST)
    _sync_directory(store.directory)
    crash_point("checkpoint.after_publish")
    sweep(store)


def load(store: Store) -> tuple[Tick, Frontiers]:
    """Opens the traces of the last checkpoint and removes what no checkpoint names.  No Spark job."""
    store.lookups.begin_anew()
    manifest = _read(store.directory)
    if manifest is not None:
        for id, description in manifest["traces"].items():
            store.traces[id] = _restore(store, id, description)
    sweep(store)
    if manifest is None:
        return BEGINNING, {}
    frontiers = {id: (Tick(kept), Tick(written)) for id, (kept, written) in manifest["frontiers"].items()}
    return Tick(manifest["tick"]), frontiers


def sweep(store: Store) -> None:
    """Removes run files that neither the published manifest nor a living trace names."""
    if store.merging:
        return
    manifest = _read(store.directory)
    named = {run["path"] for t in (manifest or {"traces": {}})["traces"].values() for run in t["runs"]}
    named |= {run.path.name for t in store.traces.values() for run in t.runs if run.path is not None}
    named |= {run.path.name for run in store.retired() if run.path is not None}
    runs = store.directory / "runs"
    for path in runs.iterdir() if runs.exists() else ():
        if path.name not in named:
            remove(path)


def _flush(store: Store, trace: Trace) -> None:
    """Arrow runs written as files.  They stay on the driver too: a file is only for the restart."""
    for run in trace.runs:
        if run.table is not None and run.path is None:
            spilled = replace(run, path=store.save(run))
            with trace.lock:
                trace.runs = [spilled if other is run else other for other in trace.runs]


def _describe(trace: Trace, directory: Path) -> dict[str, Any]:
    runs = [
        {
            "lo": r.lo,
            "hi": r.hi,
            "rows": r.rows,
            "path": r.path.name,
            "settled": r.is_settled,
            "positive": r.positive,
        }
        for r in trace.runs
        if r.path
    ]
    layout = {"row": trace.layout.row, "sums": trace.layout.sums}
    return {"since": trace.since, "upper": trace.upper, "layout": layout, "runs": runs}


def _restore(store: Store, id: str, description: dict[str, Any]) -> Trace:
    saved = description["layout"]
    layout = Layout(row=tuple(saved["row"]), sums=tuple((name, type) for name, type in saved["sums"]))
    runs = [_restore_run(store, layout, run) for run in description["runs"]]
    return Trace(
        id=id, layout=layout, since=Tick(description["since"]), upper=Tick(description["upper"]), runs=runs
    )


def _restore_run(store: Store, layout: Layout, saved: dict[str, Any]) -> Run:
    path = store.directory / "runs" / saved["path"]
    lo, hi, rows = Tick(saved["lo"]), Tick(saved["hi"]), saved["rows"]
    run = store.loaded(path, layout, lo, hi, rows)
    return replace(run, is_settled=saved["settled"], positive=saved.get("positive", False))


def _read(directory: Path) -> dict[str, Any] | None:
    path = directory / _MANIFEST
    if not path.exists():
        return None
    manifest: dict[str, Any] = json.loads(path.read_text())
    if manifest["format"] != _FORMAT:
        raise ValueError(f"{path} has format {manifest['format']}, this program reads {_FORMAT}")
    return manifest


def _sync_directory(directory: Path) -> None:
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
