"""An Iceberg sink as the catalog keeps it, and its rows as Spark text."""

from __future__ import annotations

from dataclasses import dataclass
from operator import gt, lt

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema as IcebergSchema
from pyiceberg.transforms import parse_transform

from tailrace.errors import SqlError
from tailrace.formats import iceberg_columns, parquet_columns
from tailrace.ivm.zset import ZSet
from tailrace.sinks import iceberg_partitions
from tailrace.sinks.iceberg_connection import IcebergConnection
from tailrace.types.core import BIGINT, INTEGER, Column, Schema, Tick

DIFF, TIMESTAMP = "_mz_diff", "_mz_timestamp"
_FIRST_FIELD = 1000  # of partitions: where Iceberg itself begins


@dataclass(frozen=True, kw_only=True, slots=True)
class Partition:
    """`transform` as Iceberg writes it, such as `bucket[16]`, of one column."""

    transform: str
    column: str


@dataclass(frozen=True, kw_only=True, slots=True)
class IcebergSinkDefinition:
    """Which relation goes to which table.  One that exists is valid.

    `key` is None for MODE APPEND.  `sole`: the key was promised, not proven, to be unique.  `partition_by`: of a table
    that we create.  `continues`: the table is taken as it is (SNAPSHOT = false).
    """

    id: str
    name: str
    connection: IcebergConnection
    namespace: str
    table: str
    schema: Schema
    key: tuple[int, ...] | None
    sole: bool = False
    partition_by: tuple[Partition, ...] = ()
    continues: bool = False

    def __post_init__(self) -> None:
        unknown = iceberg_columns.not_encodable(self.schema)
        if unknown:
            message = f"Cannot encode the following columns/types: [{', '.join(unknown)}]"
            raise SqlError(message, hint="Cast them, for example to text.", sqlstate="0A000")
        for place in self.key or ():
            column = self.schema[place]
            if not iceberg_columns.can_be_key(column.type):
                reason = "which cannot be used as an Iceberg equality delete key"
                raise SqlError(f"column {column.name} has type {column.type} {reason}", sqlstate="42P10")
        for column in self.schema:
            if self.key is None and column.name in (DIFF, TIMESTAMP):
                conflict = "conflicts with the system column that MODE APPEND adds to the Iceberg table"
                raise SqlError(f'column "{column.name}" {conflict}', sqlstate="42701")
        self.partition_spec(self.table_schema)

    @property
    def identifier(self) -> tuple[str, ...]:
        return (*self.namespace.split("."), self.table)

    @property
    def shown(self) -> str:
        return ".".join(self.identifier)

    @property
    def columns(self) -> Schema:
        """Of the table."""
        if self.key is not None:
            return self.schema
        return (*self.schema, Column(DIFF, INTEGER, False), Column(TIMESTAMP, BIGINT, False))

    @property
    def key_names(self) -> list[str]:
        return [self.schema[place].name for place in self.key or ()]

    @property
    def table_schema(self) -> IcebergSchema:
        """Of a table that we create."""
        return iceberg_columns.table_schema(self.columns, self.key or ())

    @property
    def arrow_schema(self) -> pa.Schema:
        return iceberg_columns.arrow_schema(self.columns)

    def partition_spec(self, schema: IcebergSchema) -> PartitionSpec:
        """PARTITION BY for a table of this schema."""
        fields = []
        for i, partition in enumerate(self.partition_by):
            source = schema.find_field(partition.column)
            name = partition.transform.partition("[")[0]
            field = PartitionField(
                source_id=source.field_id,
                field_id=_FIRST_FIELD + i,
                transform=parse_transform(partition.transform),
                name=partition.column if name == "identity" else f"{partition.column}_{name}",
            )
            iceberg_partitions.check(field, source.field_type)
            fields.append(field)
        return PartitionSpec(*fields)

    # ── rows, as Spark SQL text ──

    def appended(self, delta: ZSet, tick: Tick) -> str:
        """Every change as a row."""
        rows = delta.consolidated(self.schema).sql
        return f"SELECT {self._outputs}, CAST(weight AS int) AS diff, {tick}L AS t FROM ({rows})"

    def came(self, delta: ZSet) -> str:
        """Rows that are new, or of a key that changed.  Where nothing cancels, as in a snapshot, no shuffle."""
        return f"SELECT {self._outputs} FROM ({delta.settled(self.schema).sql}) WHERE weight > 0"

    def left(self, delta: ZSet) -> str:
        """Keys whose row is gone, or another."""
        return f"SELECT {self._key_outputs} FROM ({delta.settled(self.schema).sql}) WHERE weight < 0"

    def changes(self, delta: ZSet) -> str:
        """Rows that came and rows that left, with their weight."""
        return f"SELECT {self._outputs}, weight FROM ({delta.settled(self.schema).sql})"

    def split(self, changes: pa.Table) -> tuple[pa.Table, pa.Table]:
        """What `came` and `left` give, from the rows of `changes`."""
        came, left = (changes.filter(sign(pc.field("weight"), 0)).drop_columns("weight") for sign in (gt, lt))
        return came, left.select(list(self.key or ()))

    def new(self, delta: ZSet) -> str:
        """Keys that have a row now and had none."""
        return f"SELECT {self._key_outputs} FROM ({self._counted(delta)}) WHERE net > 0"

    def repeated(self, delta: ZSet) -> str:
        """A key with several rows."""
        return f"SELECT {self._key_outputs} FROM ({self._counted(delta)}) WHERE came > 1 LIMIT 1"

    def _counted(self, delta: ZSet) -> str:
        names = ", ".join(f"c{place}" for place in self.key or ())
        counts = "sum(greatest(weight, 0L)) AS came, sum(weight) AS net"
        return f"SELECT {names}, {counts} FROM ({delta.consolidated(self.schema).sql}) GROUP BY {names}"

    @property
    def _key_outputs(self) -> str:
        columns = tuple(self.schema[place] for place in self.key or ())
        return parquet_columns.select(columns, [f"c{place}" for place in self.key or ()])

    @property
    def _outputs(self) -> str:
        return parquet_columns.select(self.schema, [f"c{i}" for i in range(len(self.schema))])


@dataclass(frozen=True, kw_only=True, slots=True)
class Defences:
    """What exactly-once rests on.  Each can be switched off, by tests alone.

    `progress_record`: the tick is in the summary of the snapshot.  `conditional_commit`: a commit fails if anybody else
    has committed since the table was read.
    """

    progress_record: bool = True
    conditional_commit: bool = True
