"""CREATE SOURCE … FROM LOAD GENERATOR: the relations that a generator makes, as items of the catalog.

COUNTER is a relation itself.  The others have several tables: FOR ALL TABLES makes a relation of each, CREATE TABLE …
FROM SOURCE of those that one wants.
"""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from tailrace.catalog.items import Item
from tailrace.engine.define import Identity, made_with
from tailrace.errors import NotSupported, SqlError
from tailrace.sources.generated import Generated
from tailrace.sources.generators.auction import Auction
from tailrace.sources.generators.contract import Generator
from tailrace.sources.generators.counter import Counter
from tailrace.sources.generators.tpch import Tpch
from tailrace.statements.contract import Result
from tailrace.statements.sources.load_generator import TICK_INTERVAL, LoadGeneratorOrigin
from tailrace.types.core import Column, Schema

if TYPE_CHECKING:
    from tailrace.engine.session import EngineSession
    from tailrace.statements.create_source import CreateSource


def is_generated(item: Item) -> bool:
    return isinstance(getattr(item.statement, "origin", None), LoadGeneratorOrigin)


def generator(origin: LoadGeneratorOrigin) -> Generator:
    match origin.kind:
        case "COUNTER":
            return Counter(origin.max_cardinality)
        case "AUCTION":
            return Auction()
        case "TPCH":
            return Tpch(origin.scale_factor)
        case _:
            raise NotSupported(
                f"LOAD GENERATOR {origin.kind} not yet supported", hint="There are COUNTER, AUCTION and TPCH."
            )


def create(session: EngineSession, statement: CreateSource) -> Result:
    engine, origin = session.engine, statement.origin
    assert isinstance(origin, LoadGeneratorOrigin)
    tables = generator(origin).tables
    if statement.ingest.formats is not None or statement.ingest.include:
        raise SqlError("a LOAD GENERATOR takes no FORMAT and no INCLUDE", sqlstate="42601")
    if origin.all_tables and "" in tables:
        raise SqlError(f"FOR ALL TABLES cannot be used with {origin.kind}, which is one relation", sqlstate="42601")

    def define(identity: Identity) -> Item:
        facts = {"began": int(time.time() * 1000)}
        return item(session, statement, Identity(id=identity.id, name=identity.name, facts=facts))

    def also(source: Item) -> list[Item]:
        return [
            part(
                source,
                Identity(
                    id=engine.storage.next_id(),
                    name=replace(source.name, item=name),
                    facts={"part_of": source.id, "part": name},
                ),
            )
            for name in (tables if origin.all_tables else ())
        ]

    return session.create("source", statement.name, define, if_not_exists=statement.if_not_exists, also=also)


def item(session: EngineSession, statement: CreateSource, identity: Identity) -> Item:
    origin = statement.origin
    assert isinstance(origin, LoadGeneratorOrigin)
    made = generator(origin)
    schema = made.tables.get("")
    if schema is None and (statement.columns or statement.key):
        raise SqlError(f"{origin.kind} has several tables, whose columns cannot be named here", sqlstate="42601")
    columns = None if schema is None else named(schema, statement.columns)
    return Item(
        id=identity.id,
        kind="source",
        name=identity.name,
        statement=statement,
        create_sql=statement.create_sql(session.printer()),
        schema=columns,
        append_only=made.append_only,
        cluster=statement.cluster or session.variables.get("cluster"),
        facts=identity.facts,
    )


def part(owner: Item, identity: Identity) -> Item:
    """One of the tables of FOR ALL TABLES."""
    made = generator(owner.statement.origin)
    return made_with(owner, identity, made.tables[identity.facts["part"]], append_only=made.append_only)


def named(schema: Schema, names: tuple[str, ...]) -> Schema:
    """The columns under the names that a statement gives them."""
    if names and len(names) != len(schema):
        raise SqlError(f"the statement names {len(names)} columns, the relation has {len(schema)}", sqlstate="42601")
    return tuple(Column(name, c.type, c.nullable) for name, c in zip(names, schema, strict=True)) if names else schema


def open_generated(source: Item) -> Generated:
    """The running source.  TPCH without a TICK INTERVAL stays as it is."""
    origin: LoadGeneratorOrigin = source.statement.origin
    first = origin.as_of or 0
    rests = origin.kind == "TPCH" and not origin.options.has(TICK_INTERVAL)
    return Generated(
        generator=generator(origin),
        began=source.facts["began"],
        interval=max(1, int(origin.tick_interval / timedelta(milliseconds=1))),
        first=first,
        until=first + 1 if rests and origin.up_to is None else origin.up_to,
    )
