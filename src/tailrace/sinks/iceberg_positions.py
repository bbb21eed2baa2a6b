"""Rows of an Iceberg table by their key: in which file they are, at which position; and files that delete them there.

Readers skip what a position delete names.  It says nothing of later rows of the same key, and costs a reader no join,
as equality deletes do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg import expressions
from pyiceberg.expressions import AlwaysTrue, BooleanExpression, Or
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import _read_deletes
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat, ManifestEntry, ManifestFile
from pyiceberg.partitioning import PartitionKey
from pyiceberg.table import FileScanTask, ManifestGroupPlanner, Table, _min_sequence_number
from pyiceberg.typedef import KeyDefaultDict
from pyiceberg.utils.concurrent import ExecutorFactory

from tailrace.sinks.iceberg_write import TableFiles
from tailrace.sinks.kept import Kept

# pydantic's models: mypy knows their fields, not the way they are called.
_AtLeast, _AtMost = cast(Any, expressions.GreaterThanOrEqual), cast(Any, expressions.LessThanOrEqual)
_And, _IsNull = cast(Any, expressions.And), cast(Any, expressions.IsNull)

Positions = npt.NDArray[np.int64]

_PATH_ID, _POS_ID = 2147483546, 2147483545  # reserved by the specification
_FIELD_ID = b"PARQUET:field_id"
_ENTRY_BYTES = 4096  # about what a file is in memory, with the bounds of its columns
_DELETES = pa.schema(
    [
        pa.field("file_path", pa.string(), nullable=False, metadata={_FIELD_ID: str(_PATH_ID)}),
        pa.field("pos", pa.int64(), nullable=False, metadata={_FIELD_ID: str(_POS_ID)}),
    ]
)


@dataclass(frozen=True, slots=True)
class Found:
    """Live rows of one data file."""

    file: DataFile
    positions: Positions

    def values(self, table: Table, names: Sequence[str]) -> list[Any]:
        """Some columns of the first of them."""
        ids = [table.schema().find_field(name).field_id for name in names]
        [row] = columns_of(table.io, self.file, ids).slice(self.positions[0], 1).to_pylist()
        return list(row.values())


@dataclass(frozen=True, slots=True)
class Finder:
    """Looks at the key columns of the files that may have one of the keys.

    `kept` may outlive a finder, and the table's snapshots: all of its files are written once and never again.
    """

    table: Table
    names: Sequence[str]
    kept: Kept = field(default_factory=Kept)

    def find(self, keys: pa.Table) -> Iterator[Found]:
        """`keys` has the key's columns, in their order, with the table's types."""
        if not len(keys):
            return
        for task in self.plan(_range(keys, self.names[0])):
            there = _is_one_of(self._keys_of(task.file), keys)
            for gone in self._deletes(task):
                there[gone] = False
            positions = np.flatnonzero(there)
            if len(positions):
                yield Found(task.file, positions)

    def plan(self, condition: BooleanExpression) -> Iterable[FileScanTask]:
        """The table's data files that may have rows for which the condition is true, with those that delete there."""
        snapshot = self.table.current_snapshot()
        if snapshot is None:
            return []
        planner = _Planner(self.table.metadata, self.table.io, condition)
        planner.kept = self.kept
        return planner.plan_files(snapshot.manifests(self.table.io))

    def deleted(self, task: FileScanTask) -> Positions:
        """What earlier commits have deleted in a file."""
        parts = list(self._deletes(task))
        return np.unique(np.concatenate(parts)) if parts else np.zeros(0, np.int64)

    def _deletes(self, task: FileScanTask) -> Iterator[Positions]:
        for file in task.delete_files:
            by_path = self._by_path(file)
            if task.file.file_path in by_path:
                yield by_path[task.file.file_path]

    def _by_path(self, file: DataFile) -> dict[str, Positions]:
        """What one file deletes, by the file it deletes from."""
        return self.kept.get(
            file.file_path,
            lambda: {path: rows.to_numpy() for path, rows in _read_deletes(self.table.io, file).items()},
            lambda by_path: sum(rows.nbytes for rows in by_path.values()),
        )

    def _keys_of(self, file: DataFile) -> pa.Table:
        ids = tuple(self.table.schema().find_field(name).field_id for name in self.names)
        read = self.kept.get(
            (file.file_path, ids), lambda: columns_of(self.table.io, file, ids), lambda columns: int(columns.nbytes)
        )
        return read.rename_columns(list(self.names))


class _Planner(ManifestGroupPlanner):
    """pyiceberg's, which reads every manifest anew each time."""

    kept: Kept

    def plan_manifest_entries(self, manifests: Iterable[ManifestFile]) -> Iterator[list[ManifestEntry]]:
        may_match = KeyDefaultDict(self._build_manifest_evaluator)
        manifests = [manifest for manifest in manifests if may_match[manifest.partition_spec_id](manifest)]
        oldest = _min_sequence_number(manifests)
        manifests = [manifest for manifest in manifests if self._check_sequence_number(oldest, manifest)]
        matches, within = KeyDefaultDict(self._build_partition_evaluator), self._build_metrics_evaluator()
        for manifest, entries in zip(manifests, self._entries(manifests), strict=True):
            of_partition = matches[manifest.partition_spec_id]
            yield [entry for entry in entries if of_partition(entry.data_file) and within(entry.data_file)]

    def _entries(self, manifests: list[ManifestFile]) -> Iterator[list[ManifestEntry]]:
        """Of each manifest.  Several are read at a time."""
        return ExecutorFactory.get_or_create().map(
            lambda manifest: self.kept.get(
                manifest.manifest_path,
                lambda: manifest.fetch_manifest_entry(self.io),
                lambda entries: _ENTRY_BYTES * len(entries),
            ),
            manifests,
        )


def columns_of(io: FileIO, file: DataFile, ids: Sequence[int]) -> pa.Table:
    """Top-level columns of a data file, by their ids: they may have had other names when it was written."""
    with io.new_input(file.file_path).open() as stream, pq.ParquetFile(cast(Any, stream)) as parquet:
        by_id = {int(f.metadata[_FIELD_ID]): f.name for f in parquet.schema_arrow if f.metadata}
        return parquet.read(columns=[by_id[id] for id in ids])


def _range(keys: pa.Table, name: str) -> BooleanExpression:
    """All keys are within: files that are not need not be opened."""
    column = keys.column(name)
    if column.type in (pa.bool_(),) or not len(column.drop_null()):
        return AlwaysTrue()
    ends = pc.min_max(column)
    within: BooleanExpression = _And(_AtLeast(name, ends["min"].as_py()), _AtMost(name, ends["max"].as_py()))
    return Or(within, _IsNull(name)) if column.null_count else within


def _is_one_of(rows: pa.Table, keys: pa.Table) -> npt.NDArray[np.bool_]:
    """NULL is a value like others here."""
    if rows.num_columns == 1:
        values = keys.column(0).combine_chunks()
        one: npt.NDArray[np.bool_] = np.array(pc.is_in(rows.column(0), value_set=values), bool)
        return one
    coded = np.zeros(len(rows) + len(keys), np.int64)
    for of_rows, of_keys in zip(rows.columns, keys.columns, strict=True):
        both = pa.chunked_array([*of_rows.chunks, *of_keys.cast(of_rows.type).chunks], of_rows.type)
        codes = both.combine_chunks().dictionary_encode(null_encoding="encode")
        coded = coded * len(codes.dictionary) + codes.indices.to_numpy()
        coded = np.unique(coded, return_inverse=True)[1]  # small again, so that the product never overflows
    return np.isin(coded[: len(rows)], coded[len(rows) :])


# ── files of deletes ──


def write_deletes(files: TableFiles, found: Iterable[Found]) -> list[DataFile]:
    """One file for each partition; a reader of a data file reads those of its partition alone."""
    groups: dict[tuple[int, Any], list[Found]] = {}
    for each in found:
        if len(each.positions):
            groups.setdefault((each.file.spec_id, each.file.partition), []).append(each)
    return [_write_deletes(files, group) for group in groups.values()]


def _write_deletes(files: TableFiles, group: list[Found]) -> DataFile:
    group = sorted(group, key=lambda each: each.file.file_path)
    places = np.repeat(np.arange(len(group)), [len(each.positions) for each in group])
    table = pa.table(
        {
            "file_path": pa.array([each.file.file_path for each in group]).take(places),
            "pos": np.concatenate([np.sort(each.positions) for each in group]),
        },
        schema=_DELETES,
    )
    path = files.new_path("mz_deletes", _partition_of(files, group[0].file))
    output = files.io.new_output(path)
    with output.create(overwrite=True) as stream:
        pq.write_table(table, cast(Any, stream), compression="zstd", use_dictionary=["file_path"])
    first, last = group[0].file.file_path.encode(), group[-1].file.file_path.encode()
    file = DataFile.from_args(
        content=DataFileContent.POSITION_DELETES,
        file_path=path,
        file_format=FileFormat.PARQUET,
        partition=group[0].file.partition,
        record_count=len(table),
        file_size_in_bytes=len(output),
        lower_bounds={_PATH_ID: first},
        upper_bounds={_PATH_ID: last},
    )
    file.spec_id = group[0].file.spec_id
    return file


def _partition_of(files: TableFiles, file: DataFile) -> PartitionKey | None:
    """For the path alone."""
    spec = files.metadata.specs()[file.spec_id]
    if spec.is_unpartitioned():
        return None
    key = PartitionKey(field_values=[], partition_spec=spec, schema=files.metadata.schema())
    key.__dict__["partition"] = file.partition  # what it would compute from values that we do not have
    return key
