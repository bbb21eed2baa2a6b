"""One commit of an Iceberg table: one snapshot, with files that come and files that go, made against what was read.

pyiceberg has snapshots that add data files, and ones that replace them; none that adds deletes of positions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

from pyiceberg.exceptions import CommitFailedException
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    ManifestWriter,
    ManifestWriterV2,
)
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.table import Table, Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Operation, Summary
from pyiceberg.table.update import AssertCurrentSchemaId, AssertDefaultSpecId, AssertTableUUID
from pyiceberg.table.update.snapshot import _SnapshotProducer
from pyiceberg.typedef import EMPTY_DICT

from tailrace.errors import Fenced

# pydantic's models: mypy knows their fields, not the way they are called.
_AssertSchema, _AssertSpec = cast(Any, AssertCurrentSchemaId), cast(Any, AssertDefaultSpecId)


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """What a snapshot does.  `summary`: what it says beside its numbers.  `merges`: all manifests are written anew."""

    operation: Operation
    summary: dict[str, str]
    added: tuple[DataFile, ...] = ()
    removed: tuple[DataFile, ...] = ()
    merges: bool = False


def prepared(table: Table, change: Change) -> Transaction:
    """Everything is written but the table itself."""
    transaction = _Transaction(table)
    snapshot = _Snapshot(change, transaction)
    snapshot.commit()  # to the transaction
    return transaction


def commit(table: Table, transaction: Transaction, *, conditional: bool = True) -> None:
    """Once, against what we read.  `conditional` is switched off by tests alone: then as pyiceberg would."""
    if not conditional:
        transaction.commit_transaction()
        return
    read = table.metadata
    requirements = (
        *transaction._requirements,
        AssertTableUUID(uuid=read.table_uuid),
        _AssertSchema(current_schema_id=read.current_schema_id),  # or a column may have been dropped that files have
        _AssertSpec(default_spec_id=read.default_spec_id),
    )
    try:
        table._do_commit(transaction._updates, requirements)
    except CommitFailedException as error:
        name = ".".join(table.name())
        raise Fenced(f'table "{name}" has been modified by another writer', detail=str(error)) from error
    finally:
        transaction._updates, transaction._requirements = (), ()


class _Transaction(Transaction):
    @property
    def table_metadata(self) -> TableMetadata:
        """pyiceberg copies all of it whenever it looks at some of it, and a snapshot looks at it twenty times."""
        return super().table_metadata if self._updates else self._table.metadata


class _Snapshot(_SnapshotProducer["_Snapshot"]):
    def __init__(self, change: Change, transaction: Transaction) -> None:
        io = transaction._table.io
        super().__init__(change.operation, transaction, io, snapshot_properties=change.summary)
        self._change = change
        self._added_data_files = list(change.added)
        self._deleted_data_files = set(change.removed)

    def _validate_concurrency(self) -> None:
        """Whoever comes in between makes the commit fail."""

    def _summary(self, snapshot_properties: dict[str, str] = EMPTY_DICT) -> Summary:
        """pyiceberg knows how to count for all operations but REPLACE, which counts as they do."""
        self._operation = Operation.OVERWRITE
        counted = super()._summary(snapshot_properties)
        self._operation = self._change.operation
        return Summary(self._operation, **counted.additional_properties)

    def _deleted_entries(self) -> list[ManifestEntry]:
        return []

    def _existing_manifests(self) -> list[ManifestFile]:
        return []

    def _manifests(self) -> list[ManifestFile]:
        groups: dict[tuple[int, ManifestContent], list[ManifestEntry]] = defaultdict(list)
        for file in self._added_data_files:
            deletes = file.content is not DataFileContent.DATA
            content = ManifestContent.DELETES if deletes else ManifestContent.DATA
            added = self._entry(ManifestEntryStatus.ADDED, file)
            groups[file.spec_id, content].append(added)
        kept = [] if self._change.merges else self._kept(groups)
        if self._change.merges:
            for manifest in self._of_parent():
                groups[manifest.partition_spec_id, manifest.content] += self._rewritten(manifest)
        return [self._write(*group, entries) for group, entries in groups.items()] + kept

    def _kept(self, groups: dict[tuple[int, ManifestContent], list[ManifestEntry]]) -> list[ManifestFile]:
        """Manifests as they are, but those with files that go: what they have is written with what comes."""
        kept = []
        for manifest in self._of_parent():
            entries = self._rewritten(manifest) if self._deleted_data_files else []
            if any(entry.status is ManifestEntryStatus.DELETED for entry in entries):
                groups[manifest.partition_spec_id, manifest.content] += entries
            else:
                kept.append(manifest)
        return kept

    def _of_parent(self) -> Iterable[ManifestFile]:
        parent = self._transaction.table_metadata.snapshot_by_id(self._parent_snapshot_id or 0)
        manifests = [] if parent is None else parent.manifests(self._io)
        return [each for each in manifests if each.has_added_files() or each.has_existing_files()]

    def _rewritten(self, manifest: ManifestFile) -> list[ManifestEntry]:
        return [
            self._entry(
                ManifestEntryStatus.DELETED
                if entry.data_file in self._deleted_data_files
                else ManifestEntryStatus.EXISTING,
                entry.data_file,
                entry,
            )
            for entry in manifest.fetch_manifest_entry(self._io, discard_deleted=True)
        ]

    def _entry(
        self, status: ManifestEntryStatus, file: DataFile, before: ManifestEntry | None = None
    ) -> ManifestEntry:
        stays = status is ManifestEntryStatus.EXISTING and before is not None
        return ManifestEntry.from_args(
            status=status,
            snapshot_id=before.snapshot_id if stays and before is not None else self._snapshot_id,
            sequence_number=None if before is None else before.sequence_number,
            file_sequence_number=None if before is None else before.file_sequence_number,
            data_file=file,
        )

    def _write(self, spec_id: int, content: ManifestContent, entries: list[ManifestEntry]) -> ManifestFile:
        kind = ManifestWriterV2 if content is ManifestContent.DATA else _DeleteManifestWriter
        spec: PartitionSpec = self.spec(spec_id)
        output = self.new_manifest_output()
        with kind(spec, self.schema(), output, self._snapshot_id, self._compression) as writer:
            each: ManifestWriter = writer
            for entry in entries:
                each.add_entry(entry)
        return writer.to_manifest_file()


class _DeleteManifestWriter(ManifestWriterV2):
    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}
