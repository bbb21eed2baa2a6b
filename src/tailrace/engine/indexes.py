"""Indexes: names in the catalog.  State is found by its key, and a materialized view is kept, without one."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from tailrace.catalog.items import Item, whole
from tailrace.engine.define import Identity
from tailrace.engine.privileges import require_owner
from tailrace.errors import WrongObjectType
from tailrace.plan.bind import bind_scalar
from tailrace.plan.parse import parse_expression
from tailrace.sql.names import Name
from tailrace.statements.contract import Result

if TYPE_CHECKING:
    from tailrace.engine.session import EngineSession
    from tailrace.statements.create_index import CreateIndex

_INDEXED = ("table", "source", "view", "materialized view")


def item(session: EngineSession, statement: CreateIndex, identity: Identity) -> Item:
    relation = whole(session.resolve(statement.relation))
    if relation.kind not in _INDEXED:
        raise WrongObjectType(
            f"{relation.name} is a {relation.kind}, which cannot be indexed", position=statement.relation.position
        )
    schema, catalog = relation.schema or (), session.catalog
    for key in statement.keys or ():
        bind_scalar(parse_expression(key.text, key.start), schema, catalog, subqueries=False)
    return Item(
        id=identity.id,
        kind="index",
        name=identity.name,
        statement=statement,
        create_sql=statement.create_sql(session.printer()),
        depends_on=frozenset({relation.id}),
        facts={**identity.facts, "index_of": relation.id},
    )


def create(session: EngineSession, statement: CreateIndex) -> Result:
    relation = session.resolve(statement.relation)
    require_owner(session, relation)
    name = statement.name or _free_name(statement, session, relation)
    if len(name.parts) == 1:  # it is where its relation is
        name = Name(replace(relation.name, item=name.item).parts, name.position)
    named = replace(statement, name=name)
    hints = {"hint": "CREATE MATERIALIZED VIEW keeps a result up to date."} if relation.kind == "view" else {}
    session.notice(f'index "{name.item}" is kept in the catalog and has no effect', **hints)
    return session.create(
        "index", name, lambda identity: item(session, named, identity), if_not_exists=named.if_not_exists
    )


def _free_name(statement: CreateIndex, session: EngineSession, relation: Item) -> Name:
    """`v_primary_idx` of a default index, `v_a_expr_idx` of one on `a` and an expression; with a number if taken."""
    keys = ["primary"] if statement.keys is None else [_word(key.text) for key in statement.keys]
    base = "_".join((relation.name.item, *keys, "idx"))
    for number in itertools.count():
        full = replace(relation.name, item=f"{base}{number or ''}")
        if session.catalog.named(full) is None:
            break
    return Name(full.parts)


def _word(key: str) -> str:
    return key if re.fullmatch(r"[a-z_][a-z0-9_]*", key) else "expr"
