"""`mz_catalog`: the objects and what they consist of."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tailrace.catalog.items import DEFAULT_CLUSTER, RELATIONS, Item
from tailrace.engine.system.contract import Rows, SystemTable, empty, table
from tailrace.engine.system.identity import (
    FIRST_FUNCTION,
    OWNER_ID,
    SYSTEM,
    item_oid,
    namespace_oid,
    schema_id,
    schemas,
)
from tailrace.engine.system.type_rows import BASE_TYPES
from tailrace.plan.functions.aggregates import AGGREGATES
from tailrace.plan.functions.registry import FAMILIES
from tailrace.sql.names import Name
from tailrace.statements.create_table import CreateTable
from tailrace.types.core import TEXT, ArrayOf, ListOf, MapOf, SqlType
from tailrace.types.postgres.oids import modifier_of, oid_of

if TYPE_CHECKING:
    from tailrace.engine.session import EngineSession

OBJECTS = ("table", "source", "view", "materialized view", "sink", "index", "connection", "secret", "type")
PRIVILEGES = ["u1=arwdUCRBNP/u1"]


def owner_id(session: EngineSession, item: Item) -> str:
    return "s1" if item.id.startswith("s") else session.engine.role_store.owner(item.id)


def cluster_id(session: EngineSession, item: Item) -> str | None:
    """An index has no work of its own: it is where its relation's is."""
    name = DEFAULT_CLUSTER if item.kind == "index" else item.cluster
    cluster = None if name is None else session.engine.clusters.find(name)
    return None if cluster is None else cluster.id


def redacted(session: EngineSession, item: Item) -> str | None:
    if item.statement is None or not hasattr(item.statement, "create_sql"):
        return item.create_sql or None
    return str(item.statement.create_sql(session.printer(redacted=True)))


def defaults(item: Item) -> dict[int, str]:
    """Of a table: the DEFAULT of columns that have one, by place from 1."""
    if not isinstance(item.statement, CreateTable):
        return {}
    columns = enumerate(item.statement.columns, start=1)
    return {place: column.default.text.strip() for place, column in columns if column.default is not None}


def definition(item: Item) -> str | None:
    """The query of a view, as it was written."""
    query = getattr(item.statement, "query", None)
    return None if query is None else f"{query.text.strip()};"


def connection_type(item: Item) -> str:
    return str(item.statement.type.name.lower().replace(" ", "-"))


def sink_type(item: Item) -> str:
    return _kind_of(getattr(item.statement, "target", None), "Target")


def source_type(item: Item) -> str:
    if item.part_of is not None:
        return "subsource"
    return _kind_of(getattr(item.statement, "origin", None), "Origin")


def _kind_of(part: object, suffix: str) -> str:
    """`KafkaTarget` → `kafka`, `LoadGeneratorOrigin` → `load-generator`."""
    name = type(part).__name__.removesuffix(suffix)
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower() if part is not None else "unknown"


def format_name(format: object) -> str | None:
    """`AvroRegistry` → `avro`."""
    found = re.match(r"[A-Z][a-z]+", type(format).__name__)
    return None if format is None or found is None else found.group().lower()


def connection_id(session: EngineSession, part: object) -> str | None:
    name = getattr(part, "connection", None)
    if not isinstance(name, Name):
        return None
    return session.resolve(name).id


def _objects(*kinds: str) -> Callable[[EngineSession], Rows]:
    def rows(session: EngineSession) -> Rows:
        for item in session.catalog.of_kind(*kinds):
            type = "table" if item.kind == "system table" else item.kind.replace(" ", "-")
            names = (item.id, item_oid(item), schema_id(session, item), item.name.item)
            yield *names, type, owner_id(session, item), cluster_id(session, item), PRIVILEGES

    return rows


def _columns(session: EngineSession) -> Rows:
    for item in session.catalog.of_kind(*RELATIONS):
        for place, column in enumerate(item.schema or (), start=1):
            type, default = column.type, defaults(item).get(place)
            yield item.id, column.name, place, column.nullable, str(type), default, oid_of(type), modifier_of(type)


def _tables(session: EngineSession) -> Rows:
    for item in session.catalog.of_kind("table", "system table"):
        sql = item.create_sql or None
        yield (
            *(item.id, item_oid(item), schema_id(session, item), item.name.item, owner_id(session, item), PRIVILEGES),
            *(sql, redacted(session, item), item.facts.get("source")),
        )


def _views(session: EngineSession) -> Rows:
    for item in session.catalog.of_kind("view"):
        yield (
            *(item.id, item_oid(item), schema_id(session, item), item.name.item, definition(item)),
            *(owner_id(session, item), PRIVILEGES, item.create_sql, redacted(session, item)),
        )


def _materialized_views(session: EngineSession) -> Rows:
    for item in session.catalog.of_kind("materialized view"):
        yield (
            *(item.id, item_oid(item), schema_id(session, item), item.name.item, cluster_id(session, item)),
            *(definition(item), owner_id(session, item), PRIVILEGES, item.create_sql, redacted(session, item)),
        )


def _indexes(session: EngineSession) -> Rows:
    for item in session.catalog.of_kind("index"):
        on = next(iter(sorted(item.depends_on)), None)
        names = (item.id, item_oid(item), item.name.item, on, cluster_id(session, item), owner_id(session, item))
        yield (*names, item.create_sql, redacted(session, item))


def index_keys(index: Item, relation: Item) -> list[tuple[int | None, str]]:
    """Place, from 1, and text of each; the place is None if it is no column.  A default index is on the key."""
    if index.broken is not None:
        return []
    names = [column.name for column in relation.schema or ()]
    keys = index.statement.keys
    if keys is None:
        least = min(relation.keys, key=lambda key: (len(key), sorted(key)), default=frozenset(range(len(names))))
        return [(place + 1, names[place]) for place in sorted(least)]
    return [(names.index(key.text) + 1 if key.text in names else None, key.text) for key in keys]


def _index_columns(session: EngineSession) -> Rows:
    items = session.catalog.items
    for item in session.catalog.of_kind("index"):
        for on in sorted(item.depends_on & items.keys()):
            schema = items[on].schema or ()
            for number, (place, text) in enumerate(index_keys(item, items[on]), start=1):
                nullable = place is None or schema[place - 1].nullable
                yield item.id, number, place, text if place is None else None, nullable


def _connections(session: EngineSession) -> Rows:
    for item in session.catalog.of_kind("connection"):
        yield (
            *(item.id, item_oid(item), schema_id(session, item), item.name.item, connection_type(item)),
            *(owner_id(session, item), PRIVILEGES, item.create_sql, redacted(session, item)),
        )


def _kafka_connections(session: EngineSession) -> Rows:
    for item in session.catalog.of_kind("connection"):
        if connection_type(item) == "kafka":
            details = item.statement.details
            topic = details.progress_topic or f"_materialize-progress-{session.engine.region}-{item.id}"
            yield item.id, [broker.address for broker in details.brokers], topic


def _secrets(session: EngineSession) -> Rows:
    for item in session.catalog.of_kind("secret"):
        yield item.id, item_oid(item), schema_id(session, item), item.name.item, owner_id(session, item), PRIVILEGES


def _sources(session: EngineSession) -> Rows:
    for item in session.catalog.of_kind("source"):
        ingest = getattr(item.statement, "ingest", None)
        formats = getattr(ingest, "formats", None)
        envelope = getattr(getattr(ingest, "envelope", None), "name", None)
        is_main = item.part_of is None
        yield (
            *(item.id, item_oid(item), schema_id(session, item), item.name.item, source_type(item)),
            *(connection_id(session, getattr(item.statement, "origin", None)), None),
            *((envelope or "none").lower().split()[0] if is_main else "none",),
            *(format_name(getattr(formats, "key", None)), format_name(getattr(formats, "value", None))),
            *(cluster_id(session, item), owner_id(session, item), PRIVILEGES),
            *(item.create_sql or None, redacted(session, item)),
        )


def _kafka_sources(session: EngineSession) -> Rows:
    for item in session.catalog.of_kind("source"):
        if source_type(item) == "kafka":
            origin = item.statement.origin
            yield item.id, origin.group_id_prefix or "", origin.topic


def _sinks(session: EngineSession) -> Rows:
    for item in session.catalog.of_kind("sink"):
        target = getattr(item.statement, "target", None)
        formats = getattr(target, "formats", None)
        key = format_name(getattr(formats, "of_key", None)) if getattr(target, "key", None) is not None else None
        value = format_name(getattr(formats, "value", None))
        envelope = getattr(getattr(target, "envelope", None), "name", None) or getattr(target, "mode", None)
        names = (item.id, item_oid(item), schema_id(session, item), item.name.item, sink_type(item))
        shown = None if envelope is None else str(envelope).lower()
        yield *names, connection_id(session, target), *_sink_formats(shown, key, value), *_sink_rest(session, item)
    for item in session.catalog.of_kind("job"):
        settings = session.engine.catalog.resolve(item.statement.table.parts).statement.settings
        key = None if settings.key_format is None else settings.key_format.name
        envelope = "upsert" if settings.is_upsert else "debezium" if settings.value_format.is_changelog else "append"
        names = (job_sink(item), 20_000 + int(job_sink(item)[1:]), schema_id(session, item), item.name.item, "kafka")
        yield *names, None, *_sink_formats(envelope, key, settings.value_format.name), *_sink_rest(session, item)


def job_sink(job: Item) -> str:
    """An INSERT into a Kafka table of Flink's runs for ever: the id of the sink in it."""
    return str(job.facts["sink"])


def _sink_formats(envelope: str | None, key: str | None, value: str | None) -> tuple[str | None, ...]:
    same = key is None or (key == value and key in ("avro", "json"))
    return None, envelope, value if same else f"key-{key}-value-{value}", key, value


def _sink_rest(session: EngineSession, item: Item) -> tuple[str | None, ...]:
    return cluster_id(session, item), owner_id(session, item), item.create_sql, redacted(session, item)


def _clusters(session: EngineSession) -> Rows:
    for cluster in session.engine.clusters.all():
        managed = cluster.named is None
        size, factor = (cluster.size, cluster.factor) if managed else (None, None)
        owner = session.engine.role_store.owner(cluster.key)
        yield cluster.id, cluster.name, owner, PRIVILEGES, managed, size, factor, True, None, False, None


def _cluster_replicas(session: EngineSession) -> Rows:
    for cluster in session.engine.clusters.all():
        owner = session.engine.role_store.owner(cluster.key)
        for number, (name, size) in enumerate(cluster.replicas, start=1):
            id = cluster.id if number == 1 else f"{cluster.id}-{number}"
            yield id, name, cluster.id, size, None, owner, True


def _kafka_sinks(session: EngineSession) -> Rows:
    for item in session.catalog.of_kind("sink"):
        if sink_type(item) == "kafka":
            yield item.id, item.statement.target.topic
    for item in session.catalog.of_kind("job"):
        yield job_sink(item), session.engine.catalog.resolve(item.statement.table.parts).statement.settings.topics[0]


def _iceberg_sinks(session: EngineSession) -> Rows:
    for item in session.catalog.of_kind("sink"):
        if sink_type(item) == "iceberg":
            target: Any = item.statement.target
            yield item.id, target.namespace, target.table


def _schemas(session: EngineSession) -> Rows:
    for each in schemas(session):
        owner = OWNER_ID if each.key is None else session.engine.role_store.owner(each.key)
        yield each.id, each.oid, None if each.database is None else each.database.id, each.name, owner, PRIVILEGES


def _databases(session: EngineSession) -> Rows:
    for each in session.catalog.namespaces.databases():
        yield each.id, namespace_oid(each), each.name, session.engine.role_store.owner(each.key), PRIVILEGES


def _roles(session: EngineSession) -> Rows:
    for role in session.engine.roles:
        yield role.id, role.oid, role.name, role.inherit, role.login, role.superuser


def _audit_events(session: EngineSession) -> Rows:
    for *event, at in session.engine.storage.audit_events():
        yield *event, datetime.fromtimestamp(at, UTC).replace(tzinfo=None)


def _role_members(session: EngineSession) -> list[tuple[str, str]]:
    return session.engine.role_store.members()


def function_rows() -> Iterator[tuple[int, str, tuple[SqlType, ...], SqlType, bool]]:
    """OID, name, arguments, result, whether it is an aggregate; operators and our own helpers are not shown."""
    for number, entry in enumerate([*(f for family in FAMILIES for f in family.FUNCTIONS), *AGGREGATES]):
        if re.fullmatch(r"[a-z_][a-z0-9_]*", entry.name) and entry.name not in ("single", "fits", "field"):
            yield FIRST_FUNCTION + number, entry.name, entry.arguments, entry.result, entry in AGGREGATES


def pg_oid(type: SqlType) -> int:
    """Of any type: anyelement."""
    return 2283 if "t" in str(type).removesuffix("[]").split() else oid_of(type)


def _functions(session: EngineSession) -> Rows:
    for oid, name, arguments, result, _ in function_rows():
        types = [f"s{pg_oid(argument)}" for argument in arguments]
        yield f"s{oid}", oid, SYSTEM["pg_catalog"][0], name, types, None, f"s{pg_oid(result)}", False, "s1"


def _types(session: EngineSession) -> Rows:
    for row in BASE_TYPES:
        schema = SYSTEM["mz_catalog" if row.oid >= 16384 else "pg_catalog"][0]
        names = {"N": "numeric", "S": "string", "B": "boolean", "D": "date-time", "T": "timespan", "P": "pseudo"}
        names["R"] = "range"
        category = names.get(row.category, "user-defined")
        yield f"s{row.oid}", row.oid, schema, row.name, category, "s1", PRIVILEGES, None, None
        if row.array:
            yield f"s{row.array}", row.array, schema, f"_{row.name}", "array", "s1", PRIVILEGES, None, None
    for item in session.catalog.of_kind("type"):
        names_of = (item.id, item_oid(item), schema_id(session, item), item.name.item)
        yield (*names_of, "user-defined", owner_id(session, item), PRIVILEGES, item.create_sql, redacted(session, item))


def _role_settings(session: EngineSession) -> Rows:
    for role in session.engine.roles:
        for name, value in session.engine.role_store.settings(role).items():
            yield role.id, name, value


def _made(session: EngineSession) -> list[tuple[Item, SqlType]]:
    """Types of CREATE TYPE, and what they are made of."""
    return [(item, item.statement.type) for item in session.catalog.of_kind("type")]


def _type_id(type: SqlType) -> str:
    named = None if isinstance(type, ArrayOf) else getattr(type, "named", None)
    return named.id if named is not None else f"s{oid_of(type)}"


_OBJECT = "id text, oid oid, schema_id text, name text"
_SQL = "create_sql text?, redacted_create_sql text?"
_OWNER = "owner_id text, privileges text[]"

TABLES: tuple[SystemTable, ...] = (
    table(
        "mz_catalog.mz_databases",
        f"id text, oid oid, name text, {_OWNER}",
        _databases,
    ),
    table("mz_catalog.mz_schemas", f"id text, oid oid, database_id text?, name text, {_OWNER}", _schemas),
    table(
        "mz_catalog.mz_objects",
        f"{_OBJECT}, type text, owner_id text, cluster_id text?, privileges text[]",
        _objects(*OBJECTS, "system table"),
    ),
    table(
        "mz_catalog.mz_relations",
        f"{_OBJECT}, type text, owner_id text, cluster_id text?, privileges text[]",
        _objects(*RELATIONS),
    ),
    table(
        "mz_catalog.mz_columns",
        "id text, name text, position bigint, nullable boolean, type text, default text?, type_oid oid,"
        " type_mod integer",
        _columns,
    ),
    table("mz_catalog.mz_tables", f"{_OBJECT}, {_OWNER}, {_SQL}, source_id text?", _tables),
    table("mz_catalog.mz_views", f"{_OBJECT}, definition text, {_OWNER}, {_SQL}", _views),
    table(
        "mz_catalog.mz_materialized_views",
        f"{_OBJECT}, cluster_id text, definition text, {_OWNER}, {_SQL}",
        _materialized_views,
    ),
    table(
        "mz_catalog.mz_indexes",
        f"id text, oid oid, name text, on_id text, cluster_id text, owner_id text, {_SQL}",
        _indexes,
    ),
    table(
        "mz_catalog.mz_index_columns",
        "index_id text, index_position bigint, on_position bigint?, on_expression text?, nullable boolean",
        _index_columns,
    ),
    table("mz_catalog.mz_connections", f"{_OBJECT}, type text, {_OWNER}, {_SQL}", _connections),
    table(
        "mz_catalog.mz_kafka_connections", "id text, brokers text[], sink_progress_topic text", _kafka_connections
    ),
    empty("mz_catalog.mz_ssh_tunnel_connections", "id text, public_key_1 text, public_key_2 text"),
    table("mz_catalog.mz_secrets", f"{_OBJECT}, {_OWNER}", _secrets),
    table(
        "mz_catalog.mz_sources",
        f"{_OBJECT}, type text, connection_id text?, size text?, envelope_type text?, key_format text?,"
        f" value_format text?, cluster_id text?, {_OWNER}, {_SQL}",
        _sources,
    ),
    *(
        table(f"{schema}.mz_kafka_sources", "id text, group_id_prefix text, topic text", _kafka_sources)
        for schema in ("mz_catalog", "mz_internal")
    ),
    table(
        "mz_catalog.mz_sinks",
        f"{_OBJECT}, type text, connection_id text?, size text?, envelope_type text?, format text?, key_format text?,"
        f" value_format text?, cluster_id text, owner_id text, {_SQL}",
        _sinks,
    ),
    table("mz_catalog.mz_kafka_sinks", "id text, topic text", _kafka_sinks),
    table("mz_catalog.mz_iceberg_sinks", "id text, namespace text, table text", _iceberg_sinks),
    table(
        "mz_catalog.mz_clusters",
        f"id text, name text, {_OWNER}, managed boolean, size text?, replication_factor integer?, disk boolean?,"
        " availability_zones text list?, introspection_debugging boolean?, introspection_interval interval?",
        _clusters,
    ),
    table(
        "mz_catalog.mz_cluster_replicas",
        "id text, name text, cluster_id text, size text?, availability_zone text?, owner_id text, disk boolean?",
        _cluster_replicas,
    ),
    empty(
        "mz_catalog.mz_cluster_replica_sizes",
        "size text, processes bigint, workers bigint, cpu_nano_cores bigint, memory_bytes bigint, disk_bytes bigint?,"
        " credits_per_hour numeric",
    ),
    table(
        "mz_catalog.mz_roles",
        "id text, oid oid, name text, inherit boolean, rolcanlogin boolean?, rolsuper boolean?",
        _roles,
    ),
    table(
        "mz_catalog.mz_role_members",
        "role_id text, member text, grantor text",
        lambda session: [(*pair, "s1") for pair in _role_members(session)],
    ),
    table(
        "mz_catalog.mz_role_parameters",
        "role_id text, parameter_name text, parameter_value text",
        _role_settings,
    ),
    table("mz_catalog.mz_types", f"{_OBJECT}, category text, {_OWNER}, {_SQL}", _types),
    table("mz_catalog.mz_base_types", "id text", lambda _: [(f"s{row.oid}",) for row in BASE_TYPES]),
    table(
        "mz_catalog.mz_array_types",
        "id text, element_id text",
        lambda _: [(f"s{row.array}", f"s{row.oid}") for row in BASE_TYPES if row.array],
    ),
    table(
        "mz_catalog.mz_list_types",
        "id text, element_id text",
        lambda session: [
            (item.id, _type_id(type.element)) for item, type in _made(session) if isinstance(type, ListOf)
        ],
    ),
    table(
        "mz_catalog.mz_map_types",
        "id text, key_id text, value_id text",
        lambda session: [
            (item.id, _type_id(TEXT), _type_id(type.value)) for item, type in _made(session) if isinstance(type, MapOf)
        ],
    ),
    empty("mz_catalog.mz_pseudo_types", "id text"),
    table(
        "mz_catalog.mz_functions",
        "id text, oid oid, schema_id text, name text, argument_type_ids text[], variadic_argument_type_id text?,"
        " return_type_id text?, returns_set boolean, owner_id text",
        _functions,
    ),
    table(
        "mz_catalog.mz_audit_events",
        "id bigint, event_type text, object_type text, details jsonb, user text?, occurred_at timestamptz",
        _audit_events,
    ),
)
