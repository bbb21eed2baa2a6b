"""A checkpoint: every trace as files, named by one manifest that appears by an atomic rename.

Runs are files already, or become files here; a checkpoint therefore costs what changed since the last one.  Files
that no manifest names belong to nobody and are removed at the next chance.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from tailrace.state.layout import Layout
from tailrace.state.run import Run, remove
from tailrace.state.store import Store
from tailrace.state.trace import Frozen, Trace
from tailrace.testing.crash import crash_point
from tailrace.types.core import BEGINNING, Tick

_MANIFEST = "manifest.json"
_FORMAT = 1

Frontiers: TypeAlias = Mapping[str, tuple[Tick, Tick]]
"""Of each sink: the tick up to which it owes nothing, and the last tick it wrote.  Of a view that computes something
when it is read: twice the tick up to which all of it could be computed."""


def write(store: Store, tick: Tick, frontiers: Frontiers, before: Mapping[str, Frozen] | None = None) -> None:
    """Publishes the state of `tick`: on return it survives a crash.  No Spark job.

    Traces may know more than that; replaying a tick does nothing to those.  `before`: what traces were before somebody
    began to append to them, who has not finished.
    """
    known = [(trace, (before or {}).get(trace.id) or trace.freeze()) for trace in list(store.traces.values())]
    traces = {trace.id: _describe(trace.layout, was, _saved(store, trace, was.runs)) for trace, was in known}
    manifest = {
        "format": _FORMAT,
        "tick": tick,
        "frontiers": frontiers,
        "traces": traces,
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
    runs = store.directory / "runs"
    # In this order: what is written later is not found, and what gets a name later is still among the unnamed.
    found = list(runs.iterdir()) if runs.exists() else []
    unnamed = store.unnamed()
    manifest = _read(store.directory)
    named = unnamed | {run["path"] for t in (manifest or {"traces": {}})["traces"].values() for run in t["runs"]}
    named |= {run.path.name for t in list(store.traces.values()) for run in t.runs if run.path is not None}
    named |= {run.path.name for run in store.retired() if run.path is not None}
    for path in found:
        if path.name not in named:
            remove(path)


def _saved(store: Store, trace: Trace, runs: Sequence[Run]) -> list[Run]:
    """Arrow runs written as files.  They stay on the driver too: a file is only for the restart."""
    saved = []
    for run in runs:
        if run.path is None:
            spilled = replace(run, path=store.save(run))
            with trace.lock:
                trace.runs = [spilled if other is run else other for other in trace.runs]
            run = spilled
        saved.append(run)
    return saved


def _describe(of: Layout, was: Frozen, saved: Sequence[Run]) -> dict[str, Any]:
    runs = [
        {
            "lo": r.lo,
            "hi": r.hi,
            "rows": r.rows,
            "path": r.path.name,
            "settled": r.is_settled,
            "positive": r.positive,
        }
        for r in saved
        if r.path is not None
    ]
    layout = {"row": of.row, "sums": of.sums}
    return {"since": was.since, "upper": was.upper, "layout": layout, "runs": runs}


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
