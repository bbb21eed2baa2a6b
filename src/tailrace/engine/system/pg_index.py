"""Indexes and declared keys as PostgreSQL shows them: a key is a constraint, and has an index of the same name.

Neither does anything here: state is found by its key without an index, and a declared key is believed, not enforced.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tailrace.catalog.items import Item
from tailrace.engine.system.contract import Rows, SystemTable, table
from tailrace.engine.system.identity import here, item_oid, key_oid, schema_oid
from tailrace.engine.system.mz_catalog import index_keys
from tailrace.plan.bind import bind_scalar
from tailrace.plan.parse import parse_expression
from tailrace.sql.unparse import quote_ident
from tailrace.types.core import SqlType

if TYPE_CHECKING:
    from tailrace.engine.session import EngineSession

BTREE = 403
_OPERATOR_CLASS = 1978
"""Of a kind that there is one of: which one, nothing depends on."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Index:
    """`keys`: the place from 1, or None, and the text of each.  `declared`: PRIMARY KEY or UNIQUE, of a key."""

    oid: int
    name: str
    on: Item
    keys: tuple[tuple[int | None, str], ...]
    declared: str | None = None

    @property
    def places(self) -> list[int]:
        """0 stands for an expression."""
        return [place or 0 for place, _ in self.keys]

    @property
    def definition(self) -> str:
        unique = "UNIQUE " if self.declared else ""
        where = f"{quote_ident(self.on.name.schema)}.{quote_ident(self.on.name.item)}"
        return f"CREATE {unique}INDEX {quote_ident(self.name)} ON {where} USING btree ({', '.join(self.key_texts)})"

    @property
    def constraint(self) -> str | None:
        return f"{self.declared} ({', '.join(self.key_texts)}) NOT ENFORCED" if self.declared else None

    @property
    def key_texts(self) -> list[str]:
        return [text if place is None else quote_ident(text) for place, text in self.keys]

    def key_type(self, session: EngineSession, number: int) -> SqlType:
        place, text = self.keys[number]
        schema = self.on.schema or ()
        if place is not None:
            return schema[place - 1].type
        return bind_scalar(parse_expression(text), schema, session.catalog, subqueries=False).type


def indexes(session: EngineSession) -> Iterator[Index]:
    items = session.catalog.items
    for item in here(session, "table", "source"):
        yield from _declared(item)
    for item in here(session, "index"):
        on = items[item.facts["index_of"]]
        yield Index(oid=item_oid(item), name=item.name.item, on=on, keys=tuple(index_keys(item, on)))


def _declared(item: Item) -> Iterator[Index]:
    names = [column.name for column in item.schema or ()]
    for number, (columns, primary, name) in enumerate(_keys_of(item)):
        ending = "pkey" if primary else "_".join((*columns, "key"))
        yield Index(
            oid=key_oid(item, number),
            name=name or f"{item.name.item}_{ending}",
            on=item,
            keys=tuple((names.index(column) + 1, column) for column in columns),
            declared="PRIMARY KEY" if primary else "UNIQUE",
        )


def _keys_of(item: Item) -> list[tuple[tuple[str, ...], bool, str | None]]:
    """Columns, whether it is the primary one, and its name if it was given one."""
    if keys := getattr(item.statement, "keys", None):
        return [(key.columns, key.primary, key.name) for key in keys]
    one = getattr(item.statement, "key", None) or getattr(item.statement, "primary_key", None)
    return [(one, True, None)] if one and item.part_of is None else []


def _rows(session: EngineSession) -> Rows:
    for index in indexes(session):
        count, unique = len(index.keys), index.declared is not None
        expressions = [text for place, text in index.keys if place is None]
        yield (
            *(index.oid, item_oid(index.on), count, count, unique, index.declared == "PRIMARY KEY", False, True),
            *(False, True, False, True, True, False, index.places, [0] * count, [_OPERATOR_CLASS] * count),
            *([0] * count, ", ".join(expressions) or None, None, False),
        )


def _constraints(session: EngineSession) -> Rows:
    for index in indexes(session):
        if index.declared:
            schema, kind = schema_oid(session, index.on), "p" if index.declared == "PRIMARY KEY" else "u"
            yield (
                *(index.oid, index.name, schema, kind, False, False, False, item_oid(index.on), 0, index.oid, 0, 0),
                *(" ", " ", " ", True, 0, True, index.places, *[None] * 7),
            )


def _indexes(session: EngineSession) -> Rows:
    for index in indexes(session):
        yield index.on.name.schema, index.on.name.item, index.name, None, index.definition


TABLES: tuple[SystemTable, ...] = (
    table(
        "pg_catalog.pg_index",
        "indexrelid oid, indrelid oid, indnatts smallint, indnkeyatts smallint, indisunique boolean,"
        " indisprimary boolean, indisexclusion boolean, indimmediate boolean, indisclustered boolean,"
        " indisvalid boolean, indcheckxmin boolean, indisready boolean, indislive boolean, indisreplident boolean,"
        " indkey int2vector, indcollation oidvector, indclass oidvector, indoption int2vector, indexprs text?,"
        " indpred text?, indnullsnotdistinct boolean",
        _rows,
    ),
    table(
        "pg_catalog.pg_constraint",
        'oid oid, conname text, connamespace oid, contype "char", condeferrable boolean, condeferred boolean,'
        " convalidated boolean, conrelid oid, contypid oid, conindid oid, conparentid oid, confrelid oid,"
        ' confupdtype "char", confdeltype "char", confmatchtype "char", conislocal boolean, coninhcount integer,'
        " connoinherit boolean, conkey smallint[]?, confkey smallint[]?, conpfeqop oid[]?, conppeqop oid[]?,"
        " conffeqop oid[]?, confdelsetcols smallint[]?, conexclop oid[]?, conbin text?",
        _constraints,
    ),
    table(
        "pg_catalog.pg_indexes",
        "schemaname text, tablename text, indexname text, tablespace text?, indexdef text",
        _indexes,
    ),
)
