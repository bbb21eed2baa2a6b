"""ENVELOPE DEBEZIUM: an upsert source whose rows stand in `after`, the key's columns among them.

The key is the message's own, also for a row that is gone: `before` is not trusted, so that repeated and replayed
messages do no harm.
"""

from __future__ import annotations

from dataclasses import replace

from tailrace.errors import SqlError
from tailrace.sources.kafka_definition import KafkaSourceDefinition, Laid, key_columns, message_schema, renamed


def laid_out(definition: KafkaSourceDefinition) -> KafkaSourceDefinition:
    """The source of rows under their own columns.  Raises SqlError if the key is none of theirs."""
    keys, row = key_columns(definition), definition.value_format.schema
    types = {column.name: column.type for column in row}
    for column in keys:
        if column.name not in types:
            raise SqlError(f"Value schema missing primary key column: {column.name}", sqlstate="42P16")
        if types[column.name] != column.type:
            both = f"{column.type} in the key and {types[column.name]} in the value"
            raise SqlError(f'column "{column.name}" is of type {both}', sqlstate="42P16")
    of_key = {column.name: place for place, column in enumerate(keys)}
    texts = [f"c{of_key.get(column.name, len(keys) + i)}" for i, column in enumerate(row)]
    metadata = range(len(keys) + len(row), len(message_schema(definition)))
    columns = (
        *(replace(column, nullable=column.nullable and column.name not in of_key) for column in row),
        *(message_schema(definition)[place] for place in metadata),
    )
    texts += [f"c{place}" for place in metadata]
    places = [column.name for column in row]
    return replace(
        definition,
        layout=tuple(Laid(column, text) for column, text in zip(renamed(columns, definition), texts, strict=True)),
        key_places=tuple(places.index(column.name) for column in keys),
    )
