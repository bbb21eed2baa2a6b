"""INSERT, UPDATE, DELETE: a statement becomes the change of one table at one tick, and returns when that is done."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from tailrace.catalog.items import Item
from tailrace.engine import flink_tables, queries, returning
from tailrace.engine.contents import wait_until_filled
from tailrace.engine.context import Arguments
from tailrace.engine.privileges import require
from tailrace.engine.rows import arrow_schema
from tailrace.engine.widening import altered_meanwhile
from tailrace.errors import DuplicateColumn, NotNullViolation, NotSupported, SqlError, SyntaxFailure, UnknownColumn
from tailrace.plan.bind import BoundQuery, assign, bind_scalar
from tailrace.plan.context import refs
from tailrace.plan.expressions import Expression, Literal, Ref
from tailrace.plan.nodes import Node, Project
from tailrace.plan.parse import parse_expression, parse_query
from tailrace.plan.temporal import refuse_in_writes
from tailrace.plan.walk import scans
from tailrace.sql.names import Name, QueryText
from tailrace.sql.unparse import quote_ident
from tailrace.types.core import BIGINT, Column, SqlType

if TYPE_CHECKING:
    from tailrace.engine.session import EngineSession
    from tailrace.statements.delete import Delete
    from tailrace.statements.insert import Insert
    from tailrace.statements.update import Assignment, Update


def plan_insert(
    session: EngineSession, statement: Insert, parameters: Sequence[SqlType | None] = ()
) -> BoundQuery:
    """The query whose rows are the table's new rows, all columns in their places."""
    table = session.resolve(statement.table, "table")
    assert table.schema is not None
    names = [column.name for column in table.schema]
    targets = statement.columns or tuple(names)
    for target in targets:
        if target not in names:
            raise UnknownColumn(
                f'column "{target}" of relation "{table.name.item}" does not exist',
                position=statement.columns_position,
            )
        if targets.count(target) > 1:
            raise DuplicateColumn(
                f'column "{target}" specified more than once', position=statement.columns_position
            )
    text = statement.query or QueryText("SELECT")
    types = {column.name: column.type for column in table.schema}
    written = partial(_with_defaults, table, targets)
    bound = session.bind(text, parameters, targets=[types[target] for target in targets], written=written)
    given = bound.visible if statement.query is not None else 0
    if given > len(targets) or (statement.columns and given < len(targets)):
        more = "more" if given > len(targets) else "fewer"
        raise SqlError(f"INSERT has {more} expressions than target columns", sqlstate="42601")
    places = {target: i for i, target in enumerate(targets[:given])}
    row = tuple(_value(session, table, i, places, bound.node) for i in range(len(names)))
    node = Project(input=bound.node, expressions=row, names=tuple(names))
    refuse_in_writes(node)
    return BoundQuery(node=node, order_by=(), parameters=bound.parameters, volatile=(), visible=len(names))


def _with_defaults(table: Item, targets: Sequence[str], tree: exp.Expr) -> None:
    """DEFAULT in VALUES: what the column would have if it were not named."""
    places = {column.name: place for place, column in enumerate(table.schema or ())}
    for row in tree.expressions if isinstance(tree, exp.Values) else ():
        for target, value in zip(targets, list(row.expressions), strict=False):
            if isinstance(value, exp.Column) and [part.name for part in value.parts] == ["default"]:
                value.replace(_default(table, places[target]))


def _default(table: Item, place: int) -> exp.Expr:
    default = table.statement.columns[place].default
    return parse_expression("NULL" if default is None else default.text)


def _value(session: EngineSession, table: Item, place: int, given: dict[str, int], node: Node) -> Expression:
    """What goes into one column: the query's value, the column's default, or NULL."""
    assert table.schema is not None
    column = table.schema[place]
    if column.name in given:
        i = given[column.name]
        source = node.schema[i]
        return assign(Ref(index=i, type=source.type, nullable=source.nullable), column.type, column.name)
    default = table.statement.columns[place].default
    if default is None:
        return Literal(text=None, type=column.type)
    return assign(bind_scalar(parse_expression(default.text), (), session.engine.catalog), column.type)


def changeable(session: EngineSession, name: Name, verb: str) -> Item:
    """A table whose rows are ours, and may be changed so by this role."""
    session.check_writable()
    table = session.resolve(name, "table")
    require(session, verb, table)
    if flink_tables.is_flink(table):
        raise NotSupported(
            f"{verb} of a Kafka table not supported",
            detail=f'What is in "{table.name.item}" is what is in its topic, where nothing can be changed.',
            position=name.position,
        )
    if "source" in table.facts:
        raise NotSupported(
            f"{verb} of a table that is made from a source not supported",
            detail=f'What is in "{table.name.item}" is what its source has.',
            position=name.position,
        )
    return table


@dataclass(kw_only=True, slots=True)
class Changed:
    """How many rows, and what RETURNING says of them."""

    count: int = 0
    returned: pa.Table | None = None


def insert(session: EngineSession, statement: Insert, arguments: Arguments) -> Changed:
    table = changeable(session, statement.table, "INSERT")
    types = [type for type, _ in arguments]
    bound = plan_insert(session, statement, types)
    wanted = returning.plan(session, statement, table, types)
    wait_until_filled(session.engine, bound.node)
    if scans(bound.node):
        session.refuse_in_transaction("INSERT ... SELECT")
    inserted = Changed()

    def new() -> pa.Table:
        rows = queries.collect(session, bound, arguments)
        weighted = _weighted(table, rows, 1)
        if wanted is not None:
            inserted.returned = returning.answer(session, wanted, table, weighted, arguments)
        return weighted

    if session.transaction is not None:
        inserted.count = _hold(session, table, new)
    else:
        inserted.count = _change(session, table, new)
    return inserted


def insert_rows(session: EngineSession, table: Item, rows: pa.Table) -> int:
    """Rows that are there already, with all columns: at the next tick, or at the end of the transaction."""
    if session.transaction is None:
        return _change(session, table, lambda: _weighted(table, rows, 1))
    weighted = _weighted(table, rows, 1)
    _check_not_null(table, weighted)
    session.admit("write")
    session.transaction.insert(table.id, weighted)
    return int(rows.num_rows)


def _hold(session: EngineSession, table: Item, make: Callable[[], pa.Table]) -> int:
    """Rows for the end of the transaction: only such as do not depend on what is there then."""
    session.admit("write")
    assert session.transaction is not None
    rows = make()
    _check_not_null(table, rows)
    session.transaction.insert(table.id, rows)
    return int(rows.num_rows)


def new_rows(session: EngineSession, table: Item, statement: Insert, weight: int) -> pa.Table:
    """The rows of an INSERT with a weight, not inserted.  Runs one Spark job."""
    return _weighted(table, queries.collect(session, plan_insert(session, statement), ()), weight)


def plan_delete(
    session: EngineSession, statement: Delete, parameters: Sequence[SqlType | None] = ()
) -> BoundQuery:
    """The query of the rows that go."""
    table = changeable(session, statement.table, "DELETE")
    return _writable(_bound(session, table, statement, parameters, using=statement.using))


def delete(session: EngineSession, statement: Delete, arguments: Arguments) -> Changed:
    session.refuse_in_transaction("DELETE")
    table = changeable(session, statement.table, "DELETE")
    bound = plan_delete(session, statement, [type for type, _ in arguments])
    wanted = returning.plan(session, statement, table, bound.parameters)
    wait_until_filled(session.engine, bound.node)
    deleted = Changed()

    def gone() -> pa.Table:
        rows = _weighted(table, queries.collect(session, bound, arguments), -1)
        if wanted is not None:
            deleted.returned = returning.answer(session, wanted, table, rows, arguments)
        return rows

    deleted.count = _change(session, table, gone)
    return deleted


def plan_update(
    session: EngineSession, statement: Update, parameters: Sequence[SqlType | None] = ()
) -> BoundQuery:
    """The query of the rows that change: all columns as they were, then all as they are set."""
    table = changeable(session, statement.table, "UPDATE")
    assert table.schema is not None
    changed = {each.column: each for each in statement.assignments}
    for each in statement.assignments:
        if each.column not in [column.name for column in table.schema]:
            message = f'column "{each.column}" of relation "{table.name.item}" does not exist'
            raise UnknownColumn(message, position=each.position)
        if changed[each.column] is not each:
            raise SyntaxFailure(f'multiple assignments to same column "{each.column}"', position=each.position)
    bound = _bound(session, table, statement, parameters, changed, statement.using)
    count = len(table.schema)
    values = refs(bound.node)
    new = (assign(value, column.type) for value, column in zip(values[count:], table.schema, strict=True))
    names = tuple(f"c{i}" for i in range(2 * count))
    return _writable(replace(bound, node=Project(input=bound.node, expressions=(*values[:count], *new), names=names)))


def update(session: EngineSession, statement: Update, arguments: Arguments) -> Changed:
    """The rows of the condition leave as they were and come back as they are set, at the same tick."""
    session.refuse_in_transaction("UPDATE")
    table = changeable(session, statement.table, "UPDATE")
    bound = plan_update(session, statement, [type for type, _ in arguments])
    wanted = returning.plan(session, statement, table, bound.parameters)
    wait_until_filled(session.engine, bound.node)
    count = len(table.schema or ())
    updated = Changed()

    def both() -> pa.Table:
        found = queries.collect(session, bound, arguments)
        before, after = found.select(range(count)), found.select(range(count, 2 * count))
        new = _weighted(table, after, 1)
        if wanted is not None:
            updated.returned = returning.answer(session, wanted, table, new, arguments)
        return pa.concat_tables([_weighted(table, before, -1), new])

    updated.count = _change(session, table, both)
    return updated


def _bound(
    session: EngineSession,
    table: Item,
    statement: Update | Delete,
    parameters: Sequence[SqlType | None],
    changed: Mapping[str, Assignment] | None = None,
    using: QueryText | None = None,
) -> BoundQuery:
    """SELECT the table's columns, and again as they are `changed`, FROM the table WHERE the condition.

    With `using` a row goes once, however many others it meets: WHERE EXISTS (SELECT FROM `using` WHERE the condition).
    So it changes once: from the others it meets, one of them is taken, always the same.
    """
    assert table.schema is not None
    alias = quote_ident(statement.alias or table.name.item)
    columns = [f"{alias}.{quote_ident(column.name)}" for column in table.schema]
    place = ".".join(map(quote_ident, table.name.parts))
    tree = parse_query(f"SELECT {', '.join(columns)} FROM {place} AS {alias}")
    types = [column.type for column in table.schema]
    if changed is not None:
        given = [changed.get(column.name) for column in table.schema]
        kept = [parse_expression(column) for column in columns]
        new = [kept[i] if each is None else _assigned(table, i, each) for i, each in enumerate(given)]
        tree.set("expressions", [*tree.expressions, *new])
        types += types
    if statement.where is not None:
        tree.set("where", parse_expression(statement.where.text, statement.where.start))
    if using is not None:
        joined = _reading(f"SELECT {', '.join(columns)} FROM {place} AS {alias}, ", using, tree)
        joined.set("expressions", [each.copy() for each in tree.expressions])
        session.bind_change(joined, table, parameters, types)  # for names that could be either's
        if changed is None:
            tree.set("where", exp.Exists(this=_reading("SELECT 1 FROM ", using, tree)))
        else:
            _take_from(tree, using, len(columns))
    return session.bind_change(tree, table, parameters, types)


def _take_from(tree: exp.Expr, using: QueryText, kept: int) -> None:
    """The values behind the first `kept` from one row of `using`: LATERAL (SELECT values FROM `using` … LIMIT 1).

    Constants stay outside, where they take the type of their column.
    """
    row = _reading("SELECT 1 FROM ", using, tree)
    name = exp.Identifier(this="?met", quoted=True)  # ? is in no other name
    outputs, taken = list(tree.expressions), []
    for i, value in enumerate(outputs[kept:], start=kept):
        if value.find(exp.Column, exp.Query) is not None:
            column = exp.Identifier(this=f"value{i}", quoted=True)
            taken.append(exp.Alias(this=value, alias=column))
            outputs[i] = exp.Column(this=column.copy(), table=name.copy())
    if taken:
        row.set("expressions", taken)
    row.set("limit", exp.Limit(expression=exp.Literal.number(1)))
    met = exp.Subquery(this=row, lateral=True, alias=exp.TableAlias(this=name))
    tree.set("expressions", outputs)
    tree.set("where", None)
    tree.args["from_"].set("expressions", [*tree.args["from_"].expressions, met])


def is_query(value: QueryText) -> bool:
    """Is it a query in parentheses, and not a row that begins with one?"""
    return isinstance(parse_expression(value.text, value.start), exp.Subquery)


def _assigned(table: Item, place: int, given: Assignment) -> exp.Expr:
    if given.value.text.strip().upper() != "DEFAULT":
        tree = parse_expression(given.value.text, given.value.start)
        if given.of is not None:
            tree.set("of", given.of)  # see scalar_subquery
        return tree
    return _default(table, place)


def _reading(head: str, using: QueryText, tree: exp.Expr) -> exp.Expr:
    """A query that begins with `head`, goes on with the relations of USING, and has the condition of `tree`."""
    query = parse_query(head + using.text, using.start - len(head))
    if tree.args.get("where") is not None:
        query.set("where", tree.args["where"].copy())
    return query


def _writable(bound: BoundQuery) -> BoundQuery:
    refuse_in_writes(bound.node)
    return bound


def _change(session: EngineSession, table: Item, make: Callable[[], pa.Table]) -> int:
    """Runs `make` between two ticks, so that nothing moves under it; its rows are the next tick.

    Returns how many rows were inserted, or deleted, or updated.
    """
    counted = 0

    def work() -> dict[str, pa.Table]:
        nonlocal counted
        now = session.engine.catalog.items.get(table.id, table)
        if len(now.schema or ()) != len(table.schema or ()):  # what it takes away would not be what is there
            raise altered_meanwhile(table)
        rows = make()
        _check_not_null(table, rows)
        counted = _rows_affected(rows)
        return {table.id: rows} if rows.num_rows else {}

    session.engine.loop.change(work)
    return counted


def _weighted(table: Item, rows: pa.Table, weight: int) -> pa.Table:
    """Rows as the tick log keeps them: c0 …, weight, of exactly the types that Spark gives the table."""
    assert table.schema is not None
    schema = arrow_schema((*table.schema, Column("weight", BIGINT)))
    schema = pa.schema([*list(schema)[:-1], pa.field("weight", pa.int64())])
    weights = pa.repeat(pa.scalar(weight, pa.int64()), rows.num_rows)
    arrays = [*(column.cast(field.type) for column, field in zip(rows.columns, schema, strict=False)), weights]
    return pa.Table.from_arrays(arrays, schema=schema)


def _check_not_null(table: Item, rows: pa.Table) -> None:
    weights = rows["weight"]
    for i, column in enumerate(table.schema or ()):
        if column.nullable or rows.column(i).null_count == 0:
            continue
        if pc.any(pc.and_(pc.is_null(rows.column(i)), pc.greater(weights, 0))).as_py():
            raise NotNullViolation(f'null value in column "{column.name}" violates not-null constraint')


def _rows_affected(rows: pa.Table) -> int:
    weights = rows["weight"].to_numpy()
    return int(max(weights[weights > 0].sum(), -weights[weights < 0].sum(), 0))
