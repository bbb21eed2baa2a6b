"""CREATE TABLE … FROM SOURCE: one way to read a source.

Of a Kafka source it is the same topic from the same start, with a FORMAT and an ENVELOPE of its own; of a load
generator it is one of its tables.  Nobody writes to it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tailrace.catalog.items import Item
from tailrace.engine import avro_sources, generated_sources, privileges, sources
from tailrace.engine.define import Identity
from tailrace.errors import SqlError
from tailrace.statements.contract import Result

if TYPE_CHECKING:
    from tailrace.engine.session import EngineSession
    from tailrace.statements.create_table_from_source import CreateTableFromSource


def create(session: EngineSession, statement: CreateTableFromSource) -> Result:
    engine = session.engine
    source = session.resolve(statement.source, "source")
    if source.statement is None:
        raise SqlError(f'source "{source.name.item}" is a part of another one', position=statement.source.position)

    def define(identity: Identity) -> Item:
        facts = {"source": source.id}
        if generated_sources.is_generated(source):
            facts["part"] = _part(source, statement)
        else:
            _check_topic(source, statement)
            privileges.check_new(session, sources.unread_table(session, statement, source, identity))
            sources.check_patterns(session, statement.ingest)
            facts |= {name: source.facts[name] for name in ("start", "topic_id")}
            facts |= avro_sources.schemas(engine, statement.ingest, source.statement.origin.topic)
        return item(session, statement, Identity(id=identity.id, name=identity.name, facts=facts))

    def also(table: Item) -> list[Item]:
        if "part" in table.facts:
            return []
        name = replace(table.name, item=f"{table.name.item}_dead_letters")
        facts = {"dead_letters_of": table.id}
        return [sources.dead_letters(table, Identity(id=engine.storage.next_id(), name=name, facts=facts))]

    return session.create("table", statement.name, define, if_not_exists=statement.if_not_exists, also=also)


def item(session: EngineSession, statement: CreateTableFromSource, identity: Identity) -> Item:
    source = session.engine.catalog.items[identity.facts["source"]]
    if "part" in identity.facts:
        made = generated_sources.generator(source.statement.origin)
        return Item(
            id=identity.id,
            kind="table",
            name=identity.name,
            statement=statement,
            create_sql=statement.create_sql(session.printer()),
            depends_on=frozenset({source.id}),
            schema=generated_sources.named(made.tables[identity.facts["part"]], statement.columns),
            append_only=made.append_only,
            cluster=source.cluster,
            facts=identity.facts,
        )
    return sources.table_item(session, statement, source, identity)


def _part(source: Item, statement: CreateTableFromSource) -> str:
    tables = generated_sources.generator(source.statement.origin).tables
    if statement.ingest.formats is not None or statement.ingest.include:
        raise SqlError("a table of a LOAD GENERATOR takes no FORMAT and no INCLUDE", sqlstate="42601")
    name = "" if statement.reference is None else statement.reference.item
    if name in tables or (statement.reference is not None and "" in tables and name == "counter"):
        return name if name in tables else ""
    known = ", ".join(tables) or "none"
    raise SqlError(
        f'source "{source.name.item}" has no table "{name}"' if name else "the table needs a REFERENCE",
        hint=f"Write (REFERENCE name).  The source has {known}.",
        position=statement.source.position if statement.reference is None else statement.reference.position,
        sqlstate="42704",
    )


def _check_topic(source: Item, statement: CreateTableFromSource) -> None:
    topic = source.statement.origin.topic
    if statement.reference is not None and statement.reference.item != topic:
        raise SqlError(
            f'source "{source.name.item}" has no topic "{statement.reference.item}"',
            hint=f'Its topic is "{topic}".',
            position=statement.reference.position,
            sqlstate="42704",
        )
