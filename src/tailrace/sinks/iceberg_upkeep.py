"""An Iceberg table is kept in order by the sink that writes it, between two of its own commits: so neither waits for,
nor spoils, the other.

Small files, and files of which much is deleted, are merged; deletes of one partition are merged into one file; old
snapshots expire as the table's properties say, and then files that no snapshot names are deleted.  If anything fails,
the table is as good as before, and it is tried again after some more commits.
"""

from __future__ import annotations

import itertools
import logging
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import pyarrow as pa
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.manifest import DataFile, ManifestFile
from pyiceberg.table import FileScanTask, Table, Transaction
from pyiceberg.table.snapshots import Operation, Snapshot
from pyiceberg.table.update import AssertRefSnapshotId, RemoveSnapshotsUpdate
from pyiceberg.utils.properties import property_as_bool, property_as_int

from tailrace.sinks.iceberg_commit import Change, commit, prepared
from tailrace.sinks.iceberg_positions import Finder, Found, write_deletes
from tailrace.sinks.iceberg_write import TableFiles
from tailrace.sinks.kept import Kept

# pydantic's models: mypy knows their fields, not the way they are called.
_Remove, _AssertHead = cast(Any, RemoveSnapshotsUpdate), cast(Any, AssertRefSnapshotId)

_log = logging.getLogger(__name__)

AFTER_COMMITS = 20
_SMALL_BYTES = 32 << 20
_WORTH_MERGING = 8
_MOST_BYTES = 512 << 20  # of files that are merged at a time, of one partition: readers of the tick wait meanwhile
_MUCH = 0.3  # of a file's rows are deleted
_AGE, _AGE_MS = "history.expire.max-snapshot-age-ms", 5 * 24 * 60 * 60 * 1000
_KEPT, _GC = "history.expire.min-snapshots-to-keep", "gc.enabled"


@dataclass(slots=True)
class _Part:
    """What one partition has."""

    tasks: list[FileScanTask]
    deletes: dict[str, DataFile]


def compact(table: Table, files: TableFiles, summary: dict[str, str], kept: Kept | None = None) -> bool:
    """Commits a snapshot with the same rows in fewer files, if there is something to win.  Reads and writes files."""
    finder = Finder(table, (), kept or Kept())
    added: list[DataFile] = []
    removed: list[DataFile] = []
    for part in _parts(finder):
        gone = {task.file.file_path: finder.deleted(task) for task in part.tasks}
        merged = _worth_merging(part, gone)
        if not merged and len(part.deletes) < _WORTH_MERGING:
            continue
        paths = {task.file.file_path for task in merged}
        stay = [Found(task.file, gone[task.file.file_path]) for task in part.tasks if task.file.file_path not in paths]
        added += files.write_rows(_rows(table, merged)) + write_deletes(files, stay)
        removed += [*(task.file for task in merged), *part.deletes.values()]
    if not removed:
        return False
    change = Change(
        operation=Operation.REPLACE, summary=summary, added=tuple(added), removed=tuple(removed), merges=True
    )
    commit(table, prepared(table, change))
    _log.info("table compacted table=%s files_before=%d files_after=%d", table.name()[-1], len(removed), len(added))
    return True


def _parts(finder: Finder) -> Iterable[_Part]:
    parts: dict[Any, _Part] = defaultdict(lambda: _Part([], {}))
    for task in finder.plan(AlwaysTrue()):
        part = parts[task.file.spec_id, task.file.partition]
        part.tasks.append(task)
        part.deletes |= {file.file_path: file for file in task.delete_files}
    return parts.values()


def _worth_merging(part: _Part, gone: dict[str, Any]) -> list[FileScanTask]:
    small = _of_like_size([task for task in part.tasks if task.file.file_size_in_bytes < _SMALL_BYTES])
    chosen = small if len(small) >= _WORTH_MERGING else []
    known = {task.file.file_path for task in chosen}
    for task in part.tasks:
        share = len(gone[task.file.file_path]) / max(task.file.record_count, 1)
        if task.file.file_path not in known and share > _MUCH:
            chosen.append(task)
    total = itertools.accumulate(task.file.file_size_in_bytes for task in chosen)
    return [task for task, size in zip(chosen, total, strict=True) if size <= _MOST_BYTES]


def _of_like_size(tasks: list[FileScanTask]) -> list[FileScanTask]:
    """The smallest, up to one that is larger than all of them together: it would be written again for their sake.

    The largest is no larger than the others together.  So a row is only ever written again into a file that is twice
    as large as the one it was in: a few times in its life.
    """
    tasks = sorted(tasks, key=lambda each: each.file.file_size_in_bytes)
    sizes = [task.file.file_size_in_bytes for task in tasks]
    before = list(itertools.accumulate(sizes, initial=0))
    count = next((i for i in range(_WORTH_MERGING, len(tasks)) if sizes[i] > before[i]), len(tasks))
    while count and sizes[count - 1] > before[count - 1]:
        count -= 1
    return tasks[:count]


def _rows(table: Table, tasks: list[FileScanTask]) -> Iterator[pa.RecordBatch]:
    """The live rows of some files, one batch after another."""
    scan = ArrowScan(table.metadata, table.io, table.schema(), AlwaysTrue())
    for task in tasks:
        yield from scan.to_record_batches([task])


def expire(table: Table) -> int:
    """Forgets snapshots that are old enough, and deletes the files that only they had.  Returns how many."""
    properties = table.metadata.properties
    if not property_as_bool(properties, _GC, True):
        return 0
    before = time.time() * 1000 - (property_as_int(properties, _AGE, _AGE_MS) or 0)
    snapshots = sorted(table.metadata.snapshots, key=lambda each: each.timestamp_ms)
    newest = {each.snapshot_id for each in snapshots[-(property_as_int(properties, _KEPT, 1) or 1) :]}
    needed = newest | {ref.snapshot_id for ref in table.metadata.refs.values()}
    old = [each for each in snapshots if each.timestamp_ms < before and each.snapshot_id not in needed]
    if not old:
        return 0
    ids = {each.snapshot_id for each in old}
    kept = [each for each in snapshots if each.snapshot_id not in ids]
    useless = _files(table, old) - _files(table, kept)
    transaction = Transaction(table)
    head = table.metadata.refs["main"].snapshot_id
    transaction._stage((_Remove(snapshot_ids=list(ids)),), (_AssertHead(ref="main", snapshot_id=head),))
    commit(table, transaction)
    for path in useless:
        try:
            table.io.delete(path)
        except OSError as error:
            _log.warning("file of an expired snapshot not deleted path=%s error=%s", path, error)
    _log.info("snapshots expired table=%s snapshots=%d files=%d", table.name()[-1], len(old), len(useless))
    return len(old)


def _files(table: Table, snapshots: list[Snapshot]) -> set[str]:
    """All that can be reached from some snapshots."""
    found: set[str] = set()
    manifests: dict[str, ManifestFile] = {}
    for snapshot in snapshots:
        found.add(snapshot.manifest_list)
        manifests |= {manifest.manifest_path: manifest for manifest in snapshot.manifests(table.io)}
    for path, manifest in manifests.items():
        found.add(path)
        found |= {e.data_file.file_path for e in manifest.fetch_manifest_entry(table.io, discard_deleted=True)}
    return found

