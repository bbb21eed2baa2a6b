"""ALTER TABLE … ADD COLUMN: what was made of the table before keeps the columns that it knew.

A table's rows are the sum of one trace for each width that it has had (ticks/inputs.py), so nothing that is written is
ever written again.  A view's plan reads a wider table without the columns it does not know.  A materialized view's must
be the very one that its state belongs to: at a start the tables grow again in between the statements of the catalog, as
they did when those ran.  Sinks are restored last, and remember how wide their table was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tailrace.catalog.catalog import Catalog
from tailrace.catalog.items import Item
from tailrace.engine.define import scan_of
from tailrace.errors import SqlError
from tailrace.plan.context import refs
from tailrace.plan.expressions import Expression
from tailrace.plan.nodes import Node, Project, Scan
from tailrace.plan.walk import scans, with_children, with_expressions, with_inputs, with_subquery
from tailrace.types.core import Column, named_in

if TYPE_CHECKING:
    from tailrace.engine.session import EngineSession
    from tailrace.statements.create_table import ColumnDefinition

WIDTHS = "widths"
"""Fact of a table: [number, width],… : objects with ids below the number know so many of its columns."""
WIDTH = "width"
"""Fact of a sink: how many columns of its table it knows, if not all."""


def add_columns(session: EngineSession, table: Item, columns: Sequence[ColumnDefinition]) -> None:
    """Between two ticks, so that no row is on its way."""
    engine = session.engine
    number = int(engine.storage.next_id()[1:])
    statement = replace(table.statement, columns=(*table.statement.columns, *columns))
    schema = table.schema or ()
    wide = replace(
        table,
        statement=statement,
        create_sql=statement.create_sql(session.printer()),
        schema=(*schema, *(Column(column.name, column.type) for column in columns)),
        depends_on=table.depends_on.union(*(named_in(column.type) for column in columns)),
        facts={**table.facts, WIDTHS: [*table.facts.get(WIDTHS, ()), [number, len(schema)]]},
    )

    def widen() -> None:
        with engine.lock:
            if engine.catalog.items.get(table.id) is not table:
                raise altered_meanwhile(table)
            engine.running.widen(wide)
            engine.swap(wide, *_views(engine.catalog, wide), *_sinks(engine.catalog, table))

    engine.loop.do(widen)


def altered_meanwhile(item: Item) -> SqlError:
    return SqlError(
        f'{item.kind} "{item.name}" was altered or dropped by another session',
        hint="Run the statement again.",
        sqlstate="40001",
    )


def widths(table: Item) -> list[int]:
    """How many columns it has had, the fewest first."""
    return [*(width for _, width in table.facts.get(WIDTHS, ())), len(table.schema or ())]


def read_by(facts: Mapping[str, Any], relation: Item) -> Item:
    """A sink's relation with the columns that the sink, of which these are the facts, knows."""
    width = facts.get(WIDTH)
    return relation if width is None else _cut(relation, width)


def known_to(catalog: Catalog, number: int) -> Catalog:
    """The catalog with the columns of tables that an object of this number knows."""
    cut = [
        _cut(table, width)
        for table in catalog.of_kind("table")
        for width in [next((width for since, width in table.facts.get(WIDTHS, ()) if number < since), None)]
        if width is not None
    ]
    return _with(catalog, cut) if cut else catalog


class Replay:
    """The widening of tables, while the catalog is restored."""

    def __init__(self) -> None:
        self._later: list[tuple[int, Item]] = []

    def first(self, item: Item) -> Item:
        """The item as it was when it was made."""
        known = item.facts.get(WIDTHS, ())
        self._later += [
            (number, _cut(item, width)) for (number, _), width in zip(known, widths(item)[1:], strict=True)
        ]
        return _cut(item, widths(item)[0]) if known else item

    def before(self, catalog: Catalog, number: float) -> Catalog:
        """The catalog in which the object of this number was made."""
        for since, wide in sorted(self._later, key=lambda each: each[0]):
            if since < number:
                catalog = _with(catalog, (wide, *_views(catalog, wide)))
        self._later = [each for each in self._later if each[0] >= number]
        return catalog


def _cut(table: Item, width: int) -> Item:
    return replace(table, schema=(table.schema or ())[:width])


def _with(catalog: Catalog, items: Iterable[Item]) -> Catalog:
    changed = {item.id: item for item in items}
    catalog = catalog.without(changed)
    for item in changed.values():
        catalog = catalog.with_item(item)
    return catalog


def _sinks(catalog: Catalog, table: Item) -> list[Item]:
    reading = (sink for sink in catalog.of_kind("sink") if sink.facts["from"] == table.id and WIDTH not in sink.facts)
    return [replace(sink, facts={**sink.facts, WIDTH: len(table.schema or ())}) for sink in reading]


def _views(catalog: Catalog, wide: Item) -> list[Item]:
    """The views of the table, which are a part of whatever mentions them next."""
    scan = scan_of(wide)
    return [
        replace(view, plan=_reading(view.plan, scan))
        for view in catalog.of_kind("view")
        if view.plan is not None and wide.id in scans(view.plan)
    ]


def _reading(node: Node, wide: Scan) -> Node:
    """The plan that reads the wider table, without the columns that it does not know."""

    def of_expression(expression: Expression) -> Expression:
        return with_children(with_subquery(expression, of_node), of_expression)

    def of_node(inner: Node) -> Node:
        if isinstance(inner, Scan):
            if inner.relation != wide.relation:
                return inner
            names = tuple(column.name for column in inner.schema)
            return Project(input=wide, expressions=refs(wide)[: len(names)], names=names)
        return with_expressions(with_inputs(inner, of_node), of_expression)

    return of_node(node)
