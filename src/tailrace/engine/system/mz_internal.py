"""`mz_internal`: how everything is doing."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tailrace.catalog.items import Item
from tailrace.engine.system.contract import Rows, SystemTable, empty, table
from tailrace.engine.system.identity import schema_id
from tailrace.engine.system.mz_catalog import (
    OBJECTS,
    cluster_id,
    format_name,
    job_sink,
    sink_type,
    source_type,
)
from tailrace.ivm.dataflow import reach
from tailrace.ivm.rules.arrange import Arranged
from tailrace.ivm.rules.event_time import EventTimeWindows
from tailrace.sources.kafka_upsert import UpsertSource
from tailrace.sql.names import SecretRef
from tailrace.statements.connections.aws import AwsDetails
from tailrace.ticks.status import Status

if TYPE_CHECKING:
    from tailrace.engine.session import EngineSession

REPLICA_ID = "u1"


def moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)


def _details(status: Status, error: str | None, namespace: str) -> str | None:
    """Where the error comes from, and what can be done; without an error, what one should know."""
    if error is None and status.hint is None:
        return None
    details: dict[str, object] = {"hints": [status.hint] if status.hint else []}
    if error is not None:
        details["namespaced"] = {namespace: status.error}
    return json.dumps(details, sort_keys=True, separators=(",", ":"))


def _namespaced(status: Status, namespace: str) -> str | None:
    if status.error is None or status.error.startswith(f"{namespace}: "):  # many errors begin so by themselves
        return status.error
    return f"{namespace}: {status.error}"


def _namespace(item: Item) -> str:
    if item.kind == "materialized view":
        return "internal"
    if item.kind == "job":
        return "kafka"
    return source_type(item) if item.kind == "source" else sink_type(item)


def _type(item: Item) -> str:
    match item.kind:
        case "job":
            return "kafka"
        case "sink":
            return sink_type(item)
        case "source":
            return source_type(item)
        case _:
            return item.kind.replace(" ", "-")


def _watched(session: EngineSession, kind: str) -> list[tuple[str, Item]]:
    """With the id that its status is noted under."""
    kinds = (kind, "job") if kind == "sink" else (kind,)
    items = [item for item in session.catalog.of_kind(*kinds) if item.part_of is None]
    return [(job_sink(item) if item.kind == "job" else item.id, item) for item in items]


def _statuses(kind: str) -> Callable[[EngineSession], Rows]:
    def rows(session: EngineSession) -> Rows:
        for id, item in _watched(session, kind):
            status = session.engine.statuses.of(id)
            changed = moment(status.changed_at) if status.changed_at else None
            error = _namespaced(status, _namespace(item))
            details = _details(status, error, _namespace(item))
            yield id, item.name.item, _type(item), changed, status.status, error, details, error

    return rows


def _history(*kinds: str) -> Callable[[EngineSession], Rows]:
    def rows(session: EngineSession) -> Rows:
        seen = session.engine.seen
        jobs = {job_sink(item): item for item in seen.values() if item.kind == "job"}
        for id, status in session.engine.statuses.history():
            item = jobs.get(id) if "sink" in kinds and id in jobs else seen.get(id)
            if item is not None and (item.kind in kinds or id in jobs) and item.part_of is None:
                namespace = _namespace(item)
                error = _namespaced(status, namespace)
                details = _details(status, error, namespace)
                yield moment(status.changed_at), id, status.status, error, details, REPLICA_ID

    return rows


def _sink_statistics(session: EngineSession) -> Rows:
    for delivery in list(session.engine.cluster.deliveries.values()):
        counts = delivery.counts
        if delivery.id.startswith("u"):
            staged = counts.messages + counts.messages_refused + delivery.rows_under_way
            yield delivery.id, REPLICA_ID, staged, counts.messages, counts.bytes, counts.bytes


def _sink_transactions(session: EngineSession) -> Rows:
    for delivery in list(session.engine.cluster.deliveries.values()):
        for each in tuple(delivery.recent) if delivery.id.startswith("u") else ():
            sent = each.written
            yield delivery.id, each.tick, sent.slots, sent.messages, sent.bytes, each.seconds, moment(each.at)


def _source_statistics(session: EngineSession) -> Rows:
    cluster = session.engine.cluster
    for id, source in list(cluster.sources.items()):
        read = cluster.log.position(id, cluster.done)
        start = source.start()
        received = sum(offset - start.get(partition, 0) for partition, offset in read.items())
        known = cluster.known_ends.get(id, read)
        indexed = cluster.inputs[id].traces()[0].rows if isinstance(source, UpsertSource) else 0
        is_snapshot_done = cluster.done > 0
        yield (
            *(id, REPLICA_ID, received, 0, received, received, indexed, 0, None),
            *(None, None, is_snapshot_done, sum(known.values()), sum(read.values())),
        )


def _dependencies(session: EngineSession) -> Rows:
    for item in session.catalog.of_kind(*OBJECTS):
        for other in sorted(item.depends_on):
            yield item.id, other


def _names(session: EngineSession) -> Rows:
    for item in session.catalog.of_kind(*OBJECTS, "system table"):
        type = "table" if item.kind == "system table" else item.kind.replace(" ", "-")
        within = session.catalog.namespaces.database(item.name.database) if item.id.startswith("u") else None
        database = (None, None) if within is None else (within.id, within.name)
        place = (schema_id(session, item), item.name.schema, *database)
        yield item.id, item.name.item, type, *place, cluster_id(session, item)


def _comments(session: EngineSession) -> Rows:
    items = session.catalog.items
    others = {cluster.key: (cluster.id, "cluster") for cluster in session.engine.clusters.all()}
    others |= {f"role {role.id}": (role.id, "role") for role in session.engine.roles}
    others |= {each.key: (each.id, each.kind) for each in session.catalog.namespaces.all}
    for (id, place), comment in sorted(session.engine.storage.comments().items()):
        if id in items:
            yield id, items[id].kind.replace(" ", "-"), place or None, comment
        elif id in others:
            yield *others[id], None, comment


def _frontiers(session: EngineSession) -> Rows:
    cluster = session.engine.cluster
    for id, operator in list(cluster.inputs.items()):
        yield id, cluster.readable_since(operator), cluster.frontier
    for view in list(cluster.maintained.values()):
        yield view.id, cluster.readable_since(view.root), view.frontier
    for delivery in list(cluster.deliveries.values()):
        if delivery.id.startswith("u"):
            yield delivery.id, None, delivery.frontier


def _lag(session: EngineSession) -> Rows:
    cluster = session.engine.cluster
    now = datetime.now(UTC).timestamp() * 1000
    for id, _, frontier in _frontiers(session):
        at = cluster.frontier if frontier == cluster.done else frontier  # nothing has changed since
        yield id, (0, 0, max(int((now - at) * 1000), 0)) if at else None


def _hydration(session: EngineSession) -> Rows:
    for id, _, frontier in _frontiers(session):
        yield id, REPLICA_ID, frontier > 0


def _retention(session: EngineSession) -> Rows:
    for item in session.catalog.of_kind("table", "source", "materialized view"):
        retain = getattr(item.statement, "retain_history", None)
        yield item.id, "FOR", str(0 if retain is None else int(retain.length.total_seconds() * 1000))


def _kafka_source_tables(session: EngineSession) -> Rows:
    for item in session.catalog.of_kind("table"):
        topic = getattr(getattr(item.statement, "reference", None), "name", None)
        ingest = getattr(item.statement, "ingest", None)
        if topic is not None and ingest is not None:
            formats = ingest.formats
            names = (format_name(getattr(formats, "key", None)), format_name(getattr(formats, "value", None)))
            yield item.id, str(topic), "none", *names


def _aws_connections(session: EngineSession) -> Rows:
    for item in session.catalog.of_kind("connection"):
        details = item.statement.details
        if isinstance(details, AwsDetails):
            key, token, role = details.access_key_id, details.session_token, details.assume_role_arn
            yield (
                *(item.id, details.endpoint, details.region, _plain(key), _secret_id(session, key)),
                *(_secret_id(session, details.secret_access_key), _plain(token), _secret_id(session, token)),
                *(role, details.assume_role_session_name, None),
                *(None if role is None else f"mz_{session.engine.region}_{item.id}", None),
            )


def _plain(value: str | SecretRef | None) -> str | None:
    return value if isinstance(value, str) else None


def _secret_id(session: EngineSession, value: str | SecretRef | None) -> str | None:
    return session.resolve(value.name).id if isinstance(value, SecretRef) else None


def _sessions(session: EngineSession) -> Rows:
    for connected in session.engine.sessions.open():
        other = connected.session
        role = session.engine.role_store.find(other.user)
        yield connected.id, other.pid, "" if role is None else role.id, connected.address, moment(connected.since)


def _subscriptions(session: EngineSession) -> Rows:
    for each, connected in session.engine.sessions.following():
        cluster = session.engine.clusters.find(each.session.variables.get("cluster"))
        yield each.id, connected.id, "" if cluster is None else cluster.id, moment(each.since), list(each.relations)


def _lifetimes(session: EngineSession) -> Rows:
    for _, event, object_type, details, _, at in session.engine.storage.audit_events():
        id = json.loads(details).get("id")
        if event in ("create", "drop") and id is not None:
            yield id, None, object_type, event, moment(at)


def _ticks(session: EngineSession) -> Rows:
    for effort in list(session.engine.cluster.efforts):
        yield effort.tick, effort.jobs, effort.seconds


def _tick_costs(session: EngineSession) -> Rows:
    for cost in list(session.engine.cluster.costs):
        yield cost.tick, cost.object, cost.jobs, cost.rows, cost.planning, cost.seconds


def _traces(session: EngineSession) -> Rows:
    for view in list(session.engine.cluster.maintained.values()):
        for operator in reach(view.root):
            for trace in operator.traces() if not isinstance(operator, Arranged) else ():
                yield view.id, operator.rule, trace.id, len(trace.runs), trace.rows


def _event_time_windows(session: EngineSession) -> Rows:
    cluster, names = session.engine.cluster, session.catalog.items
    for view in list(cluster.maintained.values()):
        for operator in reach(view.root):
            if isinstance(operator, EventTimeWindows) and view.id in names:
                watermark = operator.watermark(cluster.done)
                shown = None if watermark is None else moment(watermark / 1000)
                yield view.id, names[view.id].name.item, shown, operator.late


_STATUS = (
    "id text, name text, type text, last_status_change_at timestamptz?, status text, error text?, details jsonb?,"
    " reason text?"
)
"""`reason` is what one page of the documentation calls `error`."""
_HISTORY = "status text, error text?, details jsonb?, replica_id text?"
_SINK_STATISTICS = (
    "id text, replica_id text?, messages_staged bigint, messages_committed bigint, bytes_staged bigint,"
    " bytes_committed bigint"
)
_SOURCE_STATISTICS = (
    "id text, replica_id text?, messages_received bigint, bytes_received bigint, updates_staged bigint,"
    " updates_committed bigint, records_indexed bigint, bytes_indexed bigint, rehydration_latency interval?,"
    " snapshot_records_known bigint?, snapshot_records_staged bigint?, snapshot_committed boolean,"
    " offset_known bigint?, offset_committed bigint?"
)

TABLES: tuple[SystemTable, ...] = (
    table("mz_internal.mz_sink_statuses", _STATUS, _statuses("sink")),
    table("mz_internal.mz_source_statuses", _STATUS, _statuses("source")),
    table("mz_internal.mz_materialized_view_statuses", _STATUS, _statuses("materialized view")),
    table(
        "mz_internal.mz_sink_status_history",
        f"occurred_at timestamptz, sink_id text, {_HISTORY}",
        _history("sink"),
    ),
    table(
        "mz_internal.mz_source_status_history",
        f"occurred_at timestamptz, source_id text, {_HISTORY}",
        _history("source"),
    ),
    table(
        "mz_internal.mz_status_history",
        f"occurred_at timestamptz, id text, {_HISTORY}",
        _history("sink", "source", "materialized view"),
    ),
    table("mz_internal.mz_sink_statistics", _SINK_STATISTICS, _sink_statistics),
    table("mz_internal.mz_sink_statistics_raw", _SINK_STATISTICS, _sink_statistics),
    table("mz_internal.mz_source_statistics", _SOURCE_STATISTICS, _source_statistics),
    table(
        "mz_internal.mz_aws_connections",
        "id text, endpoint text?, region text?, access_key_id text?, access_key_id_secret_id text?,"
        " secret_access_key_secret_id text?, session_token text?, session_token_secret_id text?,"
        " assume_role_arn text?, assume_role_session_name text?, principal text?, external_id text?,"
        " example_trust_policy jsonb?",
        _aws_connections,
    ),
    table("mz_internal.mz_comments", "id text, object_type text, object_sub_id integer?, comment text", _comments),
    table("mz_internal.mz_object_dependencies", "object_id text, referenced_object_id text", _dependencies),
    table(
        "mz_internal.mz_object_fully_qualified_names",
        "id text, name text, object_type text, schema_id text, schema_name text, database_id text?,"
        " database_name text?, cluster_id text?",
        _names,
    ),
    table(
        "mz_internal.mz_object_lifetimes",
        "id text, previous_id text?, object_type text, event_type text, occurred_at timestamptz",
        _lifetimes,
    ),
    table(
        "mz_internal.mz_frontiers",
        "object_id text, read_frontier mz_timestamp?, write_frontier mz_timestamp?",
        _frontiers,
    ),
    empty(
        "mz_internal.mz_materialization_lag",
        "object_id text, local_lag interval?, global_lag interval?, slowest_local_input_id text?,"
        " slowest_global_input_id text?",
    ),
    table("mz_internal.mz_wallclock_global_lag", "object_id text, lag interval?", _lag),
    table("mz_internal.mz_hydration_statuses", "object_id text, replica_id text, hydrated boolean", _hydration),
    table("mz_internal.mz_history_retention_strategies", "id text, strategy text, value jsonb", _retention),
    table(
        "mz_internal.mz_kafka_source_tables",
        "id text, topic text, envelope_type text, key_format text?, value_format text?",
        _kafka_source_tables,
    ),
    table(
        "mz_internal.mz_sessions",
        "id uuid, connection_id bigint, role_id text, client_ip text?, connected_at timestamptz",
        _sessions,
    ),
    table(
        "mz_internal.mz_subscriptions",
        "id text, session_id uuid, cluster_id text, created_at timestamptz, referenced_object_ids text list",
        _subscriptions,
    ),
    table(
        "mz_internal.mz_sink_transactions",
        "sink_id text, tick mz_timestamp, slots bigint, messages bigint, bytes bigint, seconds double precision,"
        " committed_at timestamptz",
        _sink_transactions,
    ),
    table(
        "mz_internal.mz_event_time_windows",
        "id text, name text, watermark timestamp?, late_rows bigint",
        _event_time_windows,
    ),
    table("mz_internal.mz_ticks", "tick mz_timestamp, jobs bigint, seconds double precision", _ticks),
    table(
        "mz_internal.mz_tick_costs",
        "tick mz_timestamp, object_id text, jobs bigint, rows bigint, planning_seconds double precision,"
        " seconds double precision",
        _tick_costs,
    ),
    table(
        "mz_internal.mz_traces",
        "object_id text, operator text, trace_id text, runs bigint, rows bigint",
        _traces,
    ),
)
"""Our own: `mz_ticks`, what each of the last thousand ticks cost; `mz_tick_costs`, what each object cost in them, for
the last ten thousand times that one had work; `mz_traces`, the state that each materialized view rests on;
`mz_sink_transactions`, each of the last thousand writes of a sink: one in `slots` is a transaction for each of them;
`mz_event_time_windows`, how far watermarks are, and how many rows came too late for their windows since the start."""
