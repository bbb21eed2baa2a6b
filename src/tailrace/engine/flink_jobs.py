"""INSERT INTO a Kafka table of Flink's: a job, that is, a query kept up to date and a sink that its changes go to.

A job is an item of the catalog and goes on after a restart.  What is delivered, and how often, is the Kafka sink's
business: the same transactions, progress records and recovery as for CREATE SINK.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tailrace.catalog.items import Item
from tailrace.engine import flink_connections, flink_formats, flink_tables, naming, privileges
from tailrace.engine.define import Identity
from tailrace.engine.flink_layout import MESSAGE_METADATA
from tailrace.engine.rows import rows_of
from tailrace.errors import NotSupported, SqlError, Unavailable, UnknownColumn, UnknownObject
from tailrace.kafka.partitioner import load_partitioner
from tailrace.plan.append_only import is_append_only
from tailrace.plan.bind import assign
from tailrace.plan.expressions import Expression, Literal, Ref
from tailrace.plan.keys import infer_keys
from tailrace.plan.nodes import Node, Project, inputs
from tailrace.plan.walk import scans
from tailrace.sinks.contract import Sink
from tailrace.sinks.envelope import APPEND, CHANGELOG, UPSERT
from tailrace.sinks.kafka import KafkaSink
from tailrace.sinks.kafka_definition import AT_LEAST_ONCE, EXACTLY_ONCE, KafkaSinkDefinition
from tailrace.sinks.kafka_outlet import FIXED, MURMUR2, ROUND_ROBIN, Routes
from tailrace.sql.names import QueryText
from tailrace.statements.contract import Result
from tailrace.testing import defences
from tailrace.types.core import BEGINNING, TEXT, TIMESTAMPTZ, Column, Schema

if TYPE_CHECKING:
    from tailrace.engine.engine import Engine
    from tailrace.engine.session import EngineSession
    from tailrace.statements.create_flink_table import CreateFlinkTable
    from tailrace.statements.insert import Insert

JOBS: Schema = (
    Column("job id", TEXT),
    Column("job name", TEXT),
    Column("status", TEXT),
    Column("start time", TIMESTAMPTZ),
)

_PARTITIONERS = {"default": MURMUR2, "fixed": FIXED, "round-robin": ROUND_ROBIN}
_COMPRESSION = "none"  # Kafka's default
_WAIT_SECONDS = 120.0


def is_job(session: EngineSession, statement: Insert) -> bool:
    """Whether the target is a Kafka table."""
    try:
        return flink_tables.is_flink(session.resolve(statement.table))
    except UnknownObject:
        return False


def start(session: EngineSession, statements: Sequence[Insert], *, name: str | None = None) -> Result:
    """Starts the INSERTs as one job.  Of constants alone, it ends at once, and so does this."""
    engine = session.engine
    job = uuid.uuid4().hex
    items = []
    for given in statements:
        statement = naming.of_job(session, given)
        table = session.resolve(statement.table, "table")
        privileges.require(session, "INSERT", table)
        if ":" in table.statement.settings.partitioner:
            load_partitioner(table.statement.settings.partitioner)
        called = name or session.settings.get("pipeline.name") or f"insert-into_{table.name}"
        facts = {"job": job, "job_name": called, "started": int(time.time() * 1000), "sink": engine.storage.next_id()}
        made = _made(session, statement, table, facts)
        items.append(_made(session, statement, table, facts) if made.is_too_old else made)
        engine.role_store.own(items[-1].id, session.role)
    engine.add(*items)
    session.notice(f"Job ID: {job}")
    is_bounded = all(each.plan is not None and not scans(each.plan) for each in items)
    if is_bounded or session.settings.get("table.dml-sync") == "true":
        written = sum(_finish(session, each) for each in items)
        return Result(tag=f"INSERT 0 {written}")
    return Result(tag="INSERT 0 0")


def _made(session: EngineSession, statement: Insert, table: Item, facts: dict[str, Any]) -> Item:
    id = session.engine.storage.next_id()
    full = replace(table.name, item=f"insert_into_{table.name.item}_{id}")
    return item(session, statement, Identity(id=id, name=full, facts=facts))


def _finish(session: EngineSession, job: Item) -> int:
    """Waits until a job has nothing more to do, and ends it.  Returns how many messages it sent."""
    engine, sink = session.engine, job.facts["sink"]
    deadline = time.monotonic() + _WAIT_SECONDS
    while True:
        engine.loop.change(dict)
        delivery, status = engine.cluster.deliveries[sink], engine.statuses.of(sink)
        if delivery.is_known and delivery.frontier > BEGINNING and _status(engine, job) == "FINISHED":
            engine.drop({job.id})
            return delivery.counts.messages
        session.check_cancelled()
        if status.status == "stalled" and job.plan is not None and not scans(job.plan):
            engine.drop({job.id})
            raise Unavailable(status.error or "the job failed", hint=status.hint, sqlstate="55000")
        if time.monotonic() > deadline and job.plan is not None and not scans(job.plan):
            raise Unavailable(f"job {job.facts['job']} has not finished within {_WAIT_SECONDS:.0f} s")
        time.sleep(0.02)


def item(session: EngineSession, statement: Insert, identity: Identity) -> Item:
    table = session.resolve(statement.table, "table")
    plan = _plan(session, statement, table)
    used = session.used()
    _check_changes(table, plan)
    definition_of(session.engine, table, identity, plan.schema)
    return Item(
        id=identity.id,
        kind="job",
        name=identity.name,
        statement=statement,
        create_sql=statement.create_sql(session.printer()),
        depends_on=frozenset({table.id}) | scans(plan) | used,
        schema=plan.schema,
        plan=plan,
        keys=infer_keys(plan),
        append_only=is_append_only(plan),
        cluster=(cluster := identity.facts.get("cluster") or session.variables.get("cluster")),
        facts={**identity.facts, "cluster": cluster},
    )


def _plan(session: EngineSession, statement: Insert, table: Item) -> Node:
    """The query with the table's writable columns in their places; those not named are NULL."""
    columns = [column for column in table.statement.columns if column.is_written]
    for column in columns:
        told = MESSAGE_METADATA.get(column.key or "")
        if column.key is not None and (told is None or not told.writable):
            raise SqlError(
                f"Invalid metadata key '{column.key}' in column '{column.name}': it can only be read.",
                hint=f"Declare the column VIRTUAL: {column.name} … METADATA VIRTUAL.",
                sqlstate="42703",
            )
    names = [column.name for column in columns]
    folded = {name.lower(): name for name in names}
    targets = [name if name in names else folded.get(name, name) for name in statement.columns] or names
    types = {column.name: column.type for column in columns}
    for target in targets:
        if target not in types:
            raise UnknownColumn(
                f'column "{target}" of table "{table.name.item}" does not exist or cannot be written',
                position=statement.columns_position,
            )
    bound = session.bind(statement.query or QueryText("SELECT"), targets=[types[each] for each in targets])
    if bound.volatile:
        raise SqlError(
            f"a job cannot call {bound.volatile[0]}",
            detail="What a job writes is a function of its inputs only, so that it can be computed again.",
            sqlstate="42P17",
        )
    if bound.visible != len(targets):
        raise SqlError(
            f"Column types of query result and sink for '{table.name}' do not match.",
            detail=f"The query has {bound.visible} columns, the sink {len(targets)}: {', '.join(targets)}.",
            sqlstate="42601",
        )
    node = bound.node
    row: list[Expression] = []
    for column in columns:
        if column.name in targets:
            place = targets.index(column.name)
            source = node.schema[place]
            row.append(assign(Ref(index=place, type=source.type, nullable=source.nullable), column.type))
        else:
            row.append(Literal(text=None, type=column.type))
    return Project(input=node, expressions=tuple(row), names=tuple(names))


def _check_changes(table: Item, plan: Node) -> None:
    """A plain Kafka table with an insert-only format has no way to say that a row left."""
    settings = table.statement.settings
    if settings.is_changelog or is_append_only(plan):
        return
    raise SqlError(
        f"Table sink '{table.name}' doesn't support consuming update and delete changes which is produced by node"
        f" {_producer(plan)}",
        detail=f"Format '{settings.value_format.name}' can only say that a row has come.",
        hint="Use 'connector' = 'upsert-kafka' with a PRIMARY KEY, or a changelog format such as 'debezium-json'.",
        sqlstate="0A000",
    )


def _producer(node: Node) -> str:
    """The lowest node whose output is not append-only though its inputs are."""
    for child in inputs(node):
        if not is_append_only(child):
            return _producer(child)
    return type(node).__name__


def open_sink(engine: Engine, job: Item) -> Sink:
    table = engine.catalog.resolve(job.statement.table.parts)
    identity = Identity(id=job.facts["sink"], name=job.name, facts=job.facts)
    definition = definition_of(engine, table, identity, job.schema or ())
    limits, small = engine.sizes.of_kafka_sinks, engine.views.small
    return KafkaSink(definition, engine.views.large, limits, defences.of_kafka_sinks(), small=small)


def definition_of(engine: Engine, table: Item, identity: Identity, schema: Schema) -> KafkaSinkDefinition:
    """The table as a target of rows of `schema`: its writable columns."""
    statement: CreateFlinkTable = table.statement
    settings = statement.settings
    told = {column.key: column for column in statement.columns if column.is_written and column.key is not None}
    if "header-list" in told:
        raise NotSupported(
            "writing the metadata 'header-list' not yet supported", hint=f"Declare {told['header-list'].name} VIRTUAL."
        )
    names = [column.name for column in schema]
    routes = None if len(settings.topics) == 1 else Routes(names=settings.topics, pattern=settings.pattern)
    if routes is not None and "topic" not in told:
        raise SqlError(
            f"rows of table \"{table.name.item}\" do not say which topic they go to",
            detail="The table has several topics, and no column of the metadata 'topic' that can be written.",
            hint="Add a column: topic STRING METADATA.  Or create a table with a single 'topic'.",
            sqlstate="42P16",
        )
    properties = statement.options.properties()
    registries = flink_connections.Registries(engine, statement, table.id)
    return KafkaSinkDefinition(
        id=identity.id,
        name=str(identity.name),
        connection=flink_connections.connection(engine, statement, table.id),
        region=engine.region,
        topic=settings.pattern or ";".join(settings.topics),
        schema=schema,
        key=tuple(names.index(name) for name in settings.key) if settings.key_format is not None else None,
        key_format=flink_formats.key_encoder(statement, registries),
        value_format=flink_formats.value_encoder(statement, registries),
        envelope=UPSERT if settings.is_upsert else CHANGELOG if settings.value_format.is_changelog else APPEND,
        headers=names.index(told["headers"].name) if "headers" in told else None,
        timestamp=names.index(told["timestamp"].name) if "timestamp" in told else None,
        routed_by=None if routes is None else names.index(told["topic"].name),
        routes=routes,
        partitioner=_PARTITIONERS.get(settings.partitioner, settings.partitioner),
        tells_tick=False,
        slots=settings.sink_parallelism,
        compression=properties.get("compression.type", _COMPRESSION),
        transactional_id_prefix=f"{settings.transactional_id_prefix}-" if settings.transactional_id_prefix else "",
        guarantee=EXACTLY_ONCE if settings.guarantee == "exactly-once" else AT_LEAST_ONCE,
    )


# ── jobs that run ──


def show(session: EngineSession) -> Result:
    """SHOW JOBS."""
    engine = session.engine
    jobs: dict[str, list[Item]] = {}
    for each in engine.catalog.of_kind("job"):
        jobs.setdefault(each.facts["job"], []).append(each)
    rows = []
    for job, parts in jobs.items():
        found = {_status(engine, part) for part in parts}
        status = next(s for s in ("RESTARTING", "RUNNING", "FINISHED") if s in found)
        rows.append((job, parts[0].facts["job_name"], status, parts[0].facts["started"] * 1000))
    return Result(tag="SHOW", columns=JOBS, rows=rows_of(JOBS, rows))


def _status(engine: Engine, job: Item) -> str:
    """RESTARTING: something is wrong, and is tried again.  FINISHED: nothing can come any more."""
    if "stalled" in (engine.statuses.of(job.id).status, engine.statuses.of(job.facts["sink"]).status):
        return "RESTARTING"
    assert job.plan is not None
    delivery = engine.cluster.deliveries.get(job.facts["sink"])
    through = delivery is not None and delivery.is_known and delivery.frontier >= engine.cluster.done > BEGINNING
    return "FINISHED" if through and _has_ended(engine, job.plan) else "RUNNING"


def _has_ended(engine: Engine, node: Node) -> bool:
    """Nothing that the query reads can ever change again."""
    for id in scans(node):
        read = engine.catalog.items[id]
        if read.kind == "materialized view" and read.plan is not None:
            if not _has_ended(engine, read.plan):
                return False
            continue
        source = engine.cluster.sources.get(id)
        if source is None or not source.is_done(engine.cluster.log.position(id, engine.loop.clock.last)):
            return False
    return True


def stop(session: EngineSession, job: str) -> Result:
    """STOP JOB: after the tick in progress; what is written stays."""
    engine = session.engine
    parts = {each.id for each in engine.catalog.of_kind("job") if each.facts["job"] == job}
    if not parts:
        raise UnknownObject(f"could not stop job {job}: there is no such job", sqlstate="42704")
    for id in parts:
        privileges.require_owner(session, engine.catalog.items[id])
    engine.drop(parts)
    return Result(tag="STOP JOB")
