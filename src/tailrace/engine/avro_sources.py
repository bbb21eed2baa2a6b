"""Avro in sources: the schemas that decide a source's columns, looked up when it is made, and kept for ever."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tailrace.engine import connections
from tailrace.errors import SqlError
from tailrace.formats import registry
from tailrace.formats.decode_avro import AvroDecoder
from tailrace.statements.formats import AvroRegistry, AvroSchema, Format, Strategy
from tailrace.statements.ingest import EnvelopeKind, Ingest, Metadata

if TYPE_CHECKING:
    from tailrace.engine.engine import Engine

KEY, VALUE = "key", "value"


def format_of(clauses: Ingest, side: str) -> Format | None:
    """Of keys or of values.  A bare registry format is the key's too, where somebody asks for the key."""
    formats = clauses.formats
    if formats is None or side == VALUE:
        return None if formats is None else formats.value
    wants_key = clauses.envelope.kind is not EnvelopeKind.NONE or any(
        each.metadata is Metadata.KEY for each in clauses.include
    )
    bare = formats.key is None and isinstance(formats.value, AvroRegistry) and wants_key
    return formats.value if bare else formats.key


def schemas(engine: Engine, clauses: Ingest, topic: str) -> dict[str, Any]:
    """Facts about a new source: the reader's schemas.  Asks the registry."""
    found = {}
    for side in (KEY, VALUE):
        format = format_of(clauses, side)
        if isinstance(format, AvroRegistry):
            strategy = format.key_strategy if side == KEY else format.value_strategy
            found[f"{side}_schema"] = _schema(engine, format, strategy, f"{topic}-{side}")
    return found


def _schema(engine: Engine, format: AvroRegistry, strategy: Strategy | None, subject: str) -> str:
    connection = connections.registry(engine, engine.catalog.resolve(format.connection.parts))
    match strategy:
        case Strategy(kind="INLINE", value=str() as schema):
            return schema
        case Strategy(kind="ID", value=int() as id):
            found = registry.schema_of(connection, id)
            if found is None:
                raise SqlError(f"schema registry has no schema with id {id}", sqlstate="42704")
            return found
        case _:
            return registry.latest(connection, subject)


def decoder(
    engine: Engine, format: AvroRegistry | AvroSchema, side: str, facts: Mapping[str, Any], *, changes: bool
) -> AvroDecoder:
    """`changes`: values are those of ENVELOPE DEBEZIUM."""
    if isinstance(format, AvroSchema):
        return AvroDecoder(reader=format.schema, framed=format.confluent_wire_format, changes=changes)
    connection = connections.registry(engine, engine.catalog.resolve(format.connection.parts))
    return AvroDecoder(reader=facts[f"{side}_schema"], connection=connection, changes=changes)
