"""From a CREATE statement to a catalog item.  Pure: nothing outside is asked or changed.

Used when the statement runs, and again at every start with the stored text; both give the same item.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tailrace.catalog.items import FullName, Item
from tailrace.errors import DuplicateColumn, NotSupported, SqlError
from tailrace.plan.append_only import is_append_only
from tailrace.plan.bind import BoundQuery
from tailrace.plan.build import call, conjunction, is_null, negation
from tailrace.plan.context import refs
from tailrace.plan.expressions import Literal, Ref
from tailrace.plan.functions.conditional import ERROR_IF_NULL
from tailrace.plan.keys import infer_keys
from tailrace.plan.nodes import Filter, Node, Project, Scan
from tailrace.plan.temporal import refuse_untimely
from tailrace.plan.walk import scans
from tailrace.sql.names import Name
from tailrace.types.core import TEXT, Column, Schema, named_in

if TYPE_CHECKING:
    from tailrace.engine.session import EngineSession
    from tailrace.statements.create_materialized_view import CreateMaterializedView
    from tailrace.statements.create_table import CreateTable
    from tailrace.statements.create_view import CreateView


@dataclass(frozen=True, kw_only=True, slots=True)
class Identity:
    """Who the new item is: decided once, and stored."""

    id: str
    name: FullName
    facts: Mapping[str, Any]


def table(session: EngineSession, statement: CreateTable, identity: Identity) -> Item:
    schema = tuple(Column(c.name, c.type, not c.not_null) for c in statement.columns)
    places = {column.name: i for i, column in enumerate(schema)}
    keys = frozenset(frozenset(places[name] for name in key.columns) for key in statement.keys)
    made = _item(session, statement, identity, kind="table", schema=schema, keys=keys)
    return replace(made, depends_on=frozenset[str]().union(*(named_in(column.type) for column in schema)))


def view(session: EngineSession, statement: CreateView, identity: Identity) -> Item:
    bound = session.bind(statement.query)
    node = named(bound, statement.columns, statement.name)
    return _item(session, statement, identity, kind="view", schema=node.schema, plan=node, keys=infer_keys(node))


def materialized_view(session: EngineSession, statement: CreateMaterializedView, identity: Identity) -> Item:
    bound = session.bind(statement.query)
    if bound.volatile:
        raise SqlError(
            f"cannot materialize call to {bound.volatile[0]}",
            detail="A materialized view is a function of its inputs only.",
            hint="Remove the call, or use a plain view.",
            sqlstate="42P17",
        )
    refuse_untimely(bound.node, bound.now_at)
    if any(relation.startswith("s") for relation in scans(bound.node)):
        raise NotSupported("materialized views of system relations not yet supported", hint="Use a plain view.")
    node = named(bound, statement.columns, statement.name)
    schema, plan = _asserted(node, statement.assert_not_null)
    return _item(
        session,
        statement,
        identity,
        kind="materialized view",
        schema=schema,
        plan=plan,
        keys=infer_keys(node),
        append_only=is_append_only(node),
        cluster=statement.cluster or session.variables.get("cluster"),
    )


def named(bound: BoundQuery, columns: tuple[str, ...], name: Name) -> Node:
    """The plan of a view: hidden columns cut off, its own column names given, and no name twice."""
    schema = bound.node.schema[: bound.visible]
    if len(columns) > len(schema):
        raise SqlError(
            f'view "{name}" has {len(columns)} column names, its query {len(schema)} columns',
            position=name.position,
            sqlstate="42601",
        )
    names = [*columns, *(column.name for column in schema[len(columns) :])]
    for i, each in enumerate(names):
        if each in names[:i]:
            raise DuplicateColumn(f'column "{each}" specified more than once')
    if len(schema) == len(bound.node.schema) and names == [column.name for column in schema]:
        return bound.node
    visible = tuple(Ref(index=i, type=c.type, nullable=c.nullable) for i, c in enumerate(schema))
    return Project(input=bound.node, expressions=visible, names=tuple(names))


def _asserted(node: Node, names: tuple[str, ...]) -> tuple[Schema, Node]:
    """The schema that ASSERT NOT NULL promises, and the plan that keeps it: a row that does not is an error."""
    places = {column.name: i for i, column in enumerate(node.schema)}
    conditions = []
    for name in names:
        if name not in places:
            raise SqlError(f'column "{name}" in ASSERT NOT NULL option not found', sqlstate="42703")
        value = refs(node)[places[name]]
        message = Literal(text=f'column "{name}" must not be null', type=TEXT)
        conditions.append(negation(is_null(call(ERROR_IF_NULL, (value, message), value.type))))
    schema = tuple(replace(c, nullable=c.nullable and c.name not in names) for c in node.schema)
    return schema, Filter(input=node, predicate=conjunction(conditions)) if conditions else node


def _item(session: EngineSession, statement: Any, identity: Identity, **fields: Any) -> Item:
    plan = fields.get("plan")
    below = frozenset() if plan is None else scans(plan)
    mentioned = frozenset() if plan is None else session.used()
    return Item(
        id=identity.id,
        name=identity.name,
        facts=identity.facts,
        statement=statement,
        create_sql=statement.create_sql(session.printer()),
        depends_on=below | mentioned,
        **fields,
    )


def scan_of(item: Item) -> Scan:
    """A relation of the catalog as a leaf of plans."""
    assert item.schema is not None
    return Scan(
        relation=item.id,
        schema=item.schema,
        keys=item.keys,
        append_only=item.append_only,
        watermark=item.watermark,
    )


def made_with(owner: Item, identity: Identity, schema: Schema, *, append_only: bool) -> Item:
    """A relation that a source brings along: it comes and goes with it."""
    return Item(
        id=identity.id,
        kind="source",
        name=identity.name,
        statement=None,
        create_sql=f"-- made by CREATE SOURCE {owner.name}",
        depends_on=frozenset({owner.id}),
        schema=schema,
        append_only=append_only,
        cluster=owner.cluster,
        facts=identity.facts,
    )
