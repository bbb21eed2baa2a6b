"""Iceberg connections and sinks: from statements to what runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailrace.catalog.items import Item
from tailrace.engine import aws
from tailrace.engine.secrets import revealed
from tailrace.engine.sink_key import key_places
from tailrace.engine.sink_request import SinkKind, SinkRequest
from tailrace.errors import SqlError, TailraceError, UnknownColumn
from tailrace.sinks.iceberg import IcebergSink
from tailrace.sinks.iceberg_connection import IcebergConnection, region_of, translated
from tailrace.sinks.iceberg_definition import IcebergSinkDefinition, Partition
from tailrace.sinks.s3_connection import S3Connection
from tailrace.sql.names import Name
from tailrace.statements.connections.iceberg import S3_TABLES, IcebergDetails
from tailrace.statements.sinks.iceberg import PARTITION_BY, IcebergTarget
from tailrace.testing import defences
from tailrace.types.core import Schema

if TYPE_CHECKING:
    from tailrace.engine.engine import Engine


def connection(engine: Engine, item: Item, using: Name | None = None) -> IcebergConnection:
    """The catalog connection of a catalog item, ready to use.  `using`: another way to its files than its own."""
    details = item.statement.details
    if not isinstance(details, IcebergDetails):
        raise SqlError(f'"{item.name.item}" is not an iceberg catalog connection', sqlstate="42809")
    files, name = None, using or details.aws_connection
    if name is not None:
        files = aws.connection(engine, engine.catalog.expect(name.parts, ("connection",), name.position))
    _refuse_other_region(details, files)
    return IcebergConnection(
        name=item.name.item,
        catalog_type=details.catalog_type,
        url=details.url,
        warehouse=details.warehouse,
        credential=revealed(engine, details.credential),
        scope=details.scope,
        files=files,
    )


def _refuse_other_region(details: IcebergDetails, files: S3Connection | None) -> None:
    """S3 Tables are reached in the region of their bucket alone."""
    bucket = region_of(details.warehouse) if details.catalog_type == S3_TABLES else None
    if bucket is not None and files is not None and files.region not in (None, bucket):
        raise SqlError(
            "S3 Tables connection region mismatch",
            detail=f'The bucket is in {bucket}, and AWS connection "{files.name}" is for {files.region}.',
            sqlstate="22023",
        )


def validate(engine: Engine, item: Item) -> None:
    """Asks for the namespaces."""
    used = connection(engine, item)
    try:
        catalog = used.open()
        with translated("listing namespaces", used):
            catalog.list_namespaces()
    except TailraceError as error:
        raise type(error)(
            "ICEBERG sink validation: catalog connection errored",
            detail=error.message,
            hint="WITH (VALIDATE = false) creates the connection without trying it.",
            sqlstate=error.sqlstate,
        ) from error


def _define(request: SinkRequest) -> IcebergSinkDefinition:
    target, schema = request.statement.target, request.relation.schema
    assert isinstance(target, IcebergTarget)
    assert schema is not None
    return IcebergSinkDefinition(
        id=request.identity.id,
        name=str(request.identity.name),
        connection=connection(request.engine, request.connection, target.aws_connection),
        namespace=target.namespace,
        table=target.table,
        schema=schema,
        key=None if target.key is None else key_places(schema, target.key),
        sole=request.statement.snapshot and target.key is not None and not target.key.enforced,
        partition_by=_partitions(target, schema),
        continues=not request.statement.snapshot,
    )


def _partitions(target: IcebergTarget, schema: Schema) -> tuple[Partition, ...]:
    names = [column.name for column in schema]
    for each in target.partition_by:
        if each.column not in names:
            raise UnknownColumn(
                f'PARTITION BY column "{each.column}" does not exist', position=target.options.position(PARTITION_BY)
            )
    return tuple(Partition(transform=each.iceberg, column=each.column) for each in target.partition_by)


def _open(engine: Engine, definition: IcebergSinkDefinition) -> IcebergSink:
    return IcebergSink(
        definition,
        engine.views.files,
        small=engine.views.small,
        small_rows=engine.sizes.small_rows,
        defences=defences.of_iceberg_sinks(),
    )


KIND = SinkKind(define=_define, open=_open)
