"""The KEY of a sink against its relation: columns that exist, and that are known to identify a row."""

from __future__ import annotations

from tailrace.catalog.items import Item
from tailrace.errors import DuplicateColumn, KeyNotUnique, UnknownColumn
from tailrace.plan.nodes import Key
from tailrace.statements.sinks.contract import SinkKey
from tailrace.types.core import Schema


def key_places(schema: Schema, key: SinkKey) -> tuple[int, ...]:
    names = [column.name for column in schema]
    for i, name in enumerate(key.columns):
        if name in key.columns[:i]:
            raise DuplicateColumn(f"duplicate column referenced in KEY: {name}", position=key.position)
        if name not in names:
            raise UnknownColumn(f"column referenced in KEY does not exist: {name}", position=key.position)
    return tuple(names.index(name) for name in key.columns)


def check_key(relation: Item, key: SinkKey) -> None:
    """The key must contain columns that are known to identify a row."""
    assert relation.schema is not None
    places = frozenset(key_places(relation.schema, key))
    if any(known <= places for known in relation.keys):
        return
    specified = ", ".join(f'"{name}"' for name in key.columns)
    raise KeyNotUnique(
        "upsert key could not be validated as unique",
        detail=(
            f"Tailrace could not prove that the specified upsert envelope key ({specified}) is a unique key of the"
            f" upstream relation. {_known_keys(relation.schema, relation.keys)}"
        ),
        hint="Use one of the known keys, or add NOT ENFORCED if you know the rows to be unique.",
        position=key.position,
    )


def _known_keys(schema: Schema, keys: frozenset[Key]) -> str:
    if not keys:
        return "There are no known valid unique keys for the upstream relation."
    lines = sorted("  (" + ", ".join(f'"{schema[i].name}"' for i in sorted(key)) + ")" for key in keys)
    return "\n".join(["The following keys are known to be unique for the upstream relation:", *lines])
