"""An Iceberg table of tests in a directory, written as a sink writes it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import _pyarrow_to_schema_without_ids
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionSpec
from pyiceberg.schema import assign_fresh_schema_ids
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation

from tailrace.sinks.iceberg_commit import Change, commit, prepared
from tailrace.sinks.iceberg_connection import IcebergConnection
from tailrace.sinks.iceberg_positions import Finder, write_deletes
from tailrace.sinks.iceberg_write import TableFiles
from tailrace.sinks.kept import Kept

CONNECTION = IcebergConnection(name="lake", catalog_type="sql", url="unused")


class Written:
    """A table and what is in it."""

    def __init__(
        self, directory: Path, columns: pa.Schema, spec: PartitionSpec = UNPARTITIONED_PARTITION_SPEC, **properties: str
    ) -> None:
        (directory / "warehouse").mkdir()
        self.catalog = SqlCatalog(
            "default", uri=f"sqlite:///{directory}/catalog.db", warehouse=f"file://{directory}/warehouse"
        )
        self.catalog.create_namespace("n")
        schema = assign_fresh_schema_ids(_pyarrow_to_schema_without_ids(columns))
        all_properties = {"format-version": "2", **properties}
        self.catalog.create_table("n.t", schema, partition_spec=spec, properties=all_properties)
        self.table: Table = self.catalog.load_table("n.t")
        self.arrow = self.table.schema().as_arrow()
        self.kept = Kept()

    @property
    def files(self) -> TableFiles:
        columns = pa.schema([pa.field(f.name, f.type) for f in self.arrow])
        return TableFiles(
            connection=CONNECTION, shown="n.t", io=self.table.io, metadata=self.table.metadata, columns=columns
        )

    def change(
        self, came: Mapping[str, list[Any]], left: Mapping[str, list[Any]] | None = None, **summary: str
    ) -> None:
        """One commit: rows, and keys."""
        files = self.files
        added = files.write(self._rows(came).to_batches())
        if left is not None:
            added += write_deletes(files, Finder(self.table, tuple(left), self.kept).find(self._rows(left)))
        change = Change(operation=Operation.OVERWRITE, summary=summary, added=tuple(added))
        commit(self.table, prepared(self.table, change))

    def _rows(self, values: Mapping[str, list[Any]]) -> pa.Table:
        return pa.table({name: pa.array(each, self.arrow.field(name).type) for name, each in values.items()})

    def rows(self) -> list[tuple[Any, ...]]:
        """As a reader sees them, who knows nothing of us."""
        read = self.catalog.load_table("n.t").scan().to_arrow().to_pylist()
        return sorted((tuple(row.values()) for row in read), key=str)

    def paths(self) -> set[Path]:
        """Of all files that are there."""
        return {path for path in Path(self.table.location().removeprefix("file://")).rglob("*") if path.is_file()}
