"""`pg_catalog`: the same objects as PostgreSQL's clients look for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tailrace.catalog.items import Item
from tailrace.catalog.roles import DATABASE, SCHEMA, Role
from tailrace.engine.system.acl import acl
from tailrace.engine.system.contract import Rows, SystemTable, table
from tailrace.engine.system.identity import (
    SYSTEM,
    array_oid,
    current_database,
    here,
    item_oid,
    key_oid,
    namespace_oid,
    schema_oid,
    schemas_here,
)
from tailrace.engine.system.mz_catalog import defaults, definition, function_rows, owner_id, pg_oid
from tailrace.engine.system.mz_internal import moment
from tailrace.engine.system.pg_index import BTREE, indexes
from tailrace.engine.system.type_rows import BASE_TYPES
from tailrace.sql.keywords import KEYWORDS, RESERVED
from tailrace.types.core import RANGES, VECTORS, ArrayOf, ListOf, Record, SqlType
from tailrace.types.postgres.oids import length_of, modifier_of, oid_of

if TYPE_CHECKING:
    from tailrace.engine.session import EngineSession

RELKINDS = {
    "table": "r", "source": "r", "view": "v", "materialized view": "m", "index": "i", "system table": "r",
}  # fmt: skip
CLASS_OIDS = {"pg_type": 1247, "pg_attribute": 1249, "pg_proc": 1255, "pg_class": 1259, "pg_database": 1262}
CLASS_OIDS |= {"pg_namespace": 2615, "pg_authid": 1260, "pg_attrdef": 2604, "pg_constraint": 2606}
"""Clients compare `classoid` with `'pg_class'::regclass`; these are PostgreSQL's numbers."""

_ARRAY_IN, _OTHER_IN = 750, 46
_TABLESPACE = 1663
_VECTOR_ELEMENTS = {oid_of(vector): oid_of(vector.element) for vector in VECTORS.values()}


def _keywords() -> Rows:
    for word in sorted(KEYWORDS):
        is_reserved = word in RESERVED
        yield word.lower(), "R" if is_reserved else "U", "reserved" if is_reserved else "unreserved"


def class_oid(item: Item) -> int:
    """A relation's OID as pg_class has it."""
    if item.kind == "system table" and item.name.schema == "pg_catalog":
        return CLASS_OIDS.get(item.name.item, item_oid(item))
    return item_oid(item)


def owner_oid(session: EngineSession) -> int:
    return next(role.oid for role in session.engine.roles if role.name == "materialize")


def relations(session: EngineSession) -> Iterator[Item]:
    return here(session, *RELKINDS)


def _namespaces(session: EngineSession) -> Rows:
    for each in schemas_here(session).values():
        owner, granted = owner_oid(session), None
        if each.key is not None:
            owner, granted = _key_owner_oid(session, each.key), acl(session, each.key, SCHEMA)
        yield each.oid, each.name, owner, granted


def _databases(session: EngineSession) -> Rows:
    for each in session.catalog.namespaces.databases():
        owner = _key_owner_oid(session, each.key)
        names = (namespace_oid(each), each.name, owner, 6, "c", False, True, -1, "C", "C", _TABLESPACE)
        yield *names, None, acl(session, each.key, DATABASE)


def _class(session: EngineSession) -> Rows:
    known = list(indexes(session))
    indexed = {index.on.id for index in known}
    for item in relations(session):
        if item.kind != "index":
            has_index, granted = item.id in indexed, acl(session, item.id, item.kind)
            numbers = (class_oid(item), RELKINDS[item.kind], len(item.schema or ()), 0)
            yield _class_row(session, item, item.name.item, *numbers, has_index, granted)
    for item in here(session, "type"):
        if item.schema is not None:
            yield _class_row(session, item, item.name.item, item_oid(item), "c", len(item.schema), 0, False, None)
    for index in known:
        yield _class_row(session, index.on, index.name, index.oid, "i", len(index.keys), BTREE, False, None)


def _owner_oid(session: EngineSession, item: Item) -> int:
    return _role_oid(session, owner_id(session, item))


def _key_owner_oid(session: EngineSession, key: str) -> int:
    return _role_oid(session, session.engine.role_store.owner(key))


def _role_oid(session: EngineSession, id: str) -> int:
    return next((role.oid for role in session.engine.roles if role.id == id), 0)


def _class_row(
    session: EngineSession,
    item: Item,
    name: str,
    oid: int,
    kind: str,
    columns: int,
    method: int,
    has_index: bool,
    granted: list[str] | None,
) -> tuple[Any, ...]:
    """`item` says where it is and whose it is."""
    persistence = "t" if item.is_temporary else "p"
    return (
        *(oid, name, schema_oid(session, item), oid if kind == "c" else 0, 0, _owner_oid(session, item), method),
        *(0, oid, 0, 0, -1.0, 0, has_index, False, persistence, kind, columns, 0, False, False, False),
        *(False, False, True, "d", False, False, granted, None, None),
    )


def _attributes(session: EngineSession) -> Rows:
    for item in (*relations(session), *here(session, "type")):
        for place, column in enumerate(item.schema or (), start=1):
            has_default = place in defaults(item)
            yield _attribute(class_oid(item), column.name, column.type, place, column.nullable, has_default)
    for index in indexes(session):
        for number, (column_place, text) in enumerate(index.keys):
            name, type = "expr" if column_place is None else text, index.key_type(session, number)
            yield _attribute(index.oid, name, type, number + 1, nullable=True)


def _defaults(session: EngineSession) -> Rows:
    for item in here(session, "table"):
        for place, text in defaults(item).items():
            yield key_oid(item, place), class_oid(item), place, text, text


def _attribute(
    oid: int, name: str, type: SqlType, place: int, nullable: bool, has_default: bool = False
) -> tuple[Any, ...]:
    return (
        *(oid, name, oid_of(type), -1, length_of(type), place, modifier_of(type)),
        *(_dimensions(type), not nullable, has_default, False, "", "", False, True, 0, 0),
        *("p" if length_of(type) > 0 else "x", "", None, None, None),
    )


def _dimensions(type: SqlType) -> int:
    return 1 if isinstance(type, ArrayOf | ListOf) else 0


def _types(session: EngineSession) -> Rows:
    owner = owner_oid(session)
    for row in BASE_TYPES:
        schema = SYSTEM["mz_catalog" if row.oid >= 16384 else "pg_catalog"][1]
        kind = {"P": "p", "R": "r"}.get(row.category, "b")
        rest = (False, 0, -1, 0, 0, None, None, None)
        align = {1: "c", 2: "s", 8: "d"}.get(row.length, "i")
        yield (
            *(row.oid, row.name, schema, owner, row.length, row.length in (1, 2, 4, 8), kind, row.category, False),
            *(True, ",", 0, 0, _VECTOR_ELEMENTS.get(row.oid, 0), row.array, *[_OTHER_IN] * 4, 0, 0, 0, align),
            *("x" if row.length == -1 else "p", *rest),
        )
        if row.array:
            yield (
                *(row.array, f"_{row.name}", schema, owner, -1, False, "b", "A", False, True, ",", 0, 0, row.oid),
                *(0, *[_ARRAY_IN] * 4, 0, 0, 0, "d" if align == "d" else "i", "x", *rest),
            )
    for item in here(session, "type"):
        oid, array, name, where = item_oid(item), array_oid(item), item.name.item, schema_oid(session, item)
        is_record = isinstance(item.statement.type, Record)
        kind, relation = ("c", oid) if is_record else ("b", 0)
        rest, read = (False, 0, -1, 0, 0, None, None, None), [_OTHER_IN] * 4
        yield (
            *(oid, name, where, _owner_oid(session, item), -1, False, kind, "C" if is_record else "U", False, True),
            *(",", relation, 0, 0, array, *read, 0, 0, 0, "d", "x", *rest),
        )
        yield (
            *(array, f"_{name}", where, _owner_oid(session, item), -1, False, "b", "A", False, True, ",", 0, 0, oid),
            *(0, *[_ARRAY_IN] * 4, 0, 0, 0, "d", "x", *rest),
        )


def _functions(session: EngineSession) -> Rows:
    owner = owner_oid(session)
    for oid, name, arguments, result, aggregate in function_rows():
        types = [pg_oid(argument) for argument in arguments]
        yield (
            *(oid, name, SYSTEM["pg_catalog"][1], owner, 12, 1.0, 0.0, 0, "a" if aggregate else "f", aggregate),
            *(False, False, False, True, False, "i", "u", len(types), 0, pg_oid(result)),
            *(types, None, None, None, None, "", None, None),
        )


def _descriptions(session: EngineSession) -> Rows:
    items = session.catalog.items
    for (id, place), comment in sorted(session.engine.storage.comments().items()):
        if id in items:
            about = "pg_type" if items[id].kind == "type" and place == 0 else "pg_class"
            yield class_oid(items[id]), CLASS_OIDS[about], place, comment


def _roles(session: EngineSession) -> Rows:
    for role in session.engine.roles:
        yield (
            *(role.oid, role.name, role.superuser, role.inherit, role.superuser, role.superuser, role.login, False),
            *(-1, "********", None, False, _config(session, role)),
        )


def _config(session: EngineSession, role: Role) -> list[str] | None:
    """What its sessions begin with."""
    settings = session.engine.role_store.settings(role)
    return [f"{name}={value}" for name, value in settings.items()] or None


def _configs(session: EngineSession) -> Rows:
    for role in session.engine.roles:
        if (config := _config(session, role)) is not None:
            yield 0, role.oid, config


def _users(session: EngineSession) -> Rows:
    for role in session.engine.roles:
        if role.login:
            is_super, config = role.superuser, _config(session, role)
            yield role.name, role.oid, is_super, is_super, False, False, "********", None, config


def _memberships(session: EngineSession) -> Rows:
    oids = {role.id: role.oid for role in session.engine.roles}
    inherits = {role.id: role.inherit for role in session.engine.roles}
    for number, (group, member) in enumerate(session.engine.role_store.members(), start=1):
        yield number, oids[group], oids[member], owner_oid(session), False, inherits[member], True


def _activity(session: EngineSession) -> Rows:
    """What others run is theirs and the superusers' to see."""
    following = {connected.session for _, connected in session.engine.sessions.following()}
    for connected in session.engine.sessions.open():
        other = connected.session
        role = session.engine.role_store.find(other.login)
        is_active = other is session or other in following or other.is_busy
        state = "active" if is_active else "idle" if other.transaction is None else "idle in transaction"
        is_mine = session.role.superuser or other.login in (session.login, session.user)
        query, began = (other.shown, moment(other.asked_at)) if is_mine else ("<insufficient privilege>", None)
        database = current_database(other)
        yield (
            *(namespace_oid(database), database.name, other.pid, None, None if role is None else role.oid, other.login),
            *(other.variables.get("application_name"), connected.address, None, None, moment(connected.since), None),
            *(began, began, None, None, state, None, None, query, "client backend"),
        )


def _database_activity(session: EngineSession) -> Rows:
    """How many sessions there are; the rest is of pages and locks, which there are not."""
    inside = [connected.session.catalog.database for connected in session.engine.sessions.open()]
    for each in session.catalog.namespaces.databases():
        yield namespace_oid(each), each.name, inside.count(each.name), *[0] * 12, None


def _prepared(session: EngineSession) -> Rows:
    for name, prepared in session.prepared.items():
        yield name, prepared.text, None, [str(type) for type in prepared.parameters], True


def _copying(session: EngineSession) -> Rows:
    """COPY … TO a bucket.  How much there will be, and how many rows there are by now, is known at its end alone."""
    for connected in session.engine.sessions.open():
        size = connected.session.exported_bytes
        if size is not None:
            database = current_database(connected.session)
            place = (namespace_oid(database), database.name)
            yield connected.session.pid, *place, 0, "COPY TO", "FILE", size, 0, None, None


def _settings(session: EngineSession) -> Rows:
    for name, value in session.variables.all():
        yield name, value, None, "Settings", "", None, "user", "string", "session", None, None, None, value, value


def _owner(session: EngineSession, item: Item) -> str:
    id = owner_id(session, item)
    return next((role.name for role in session.engine.roles if role.id == id), id)


def _tables(session: EngineSession) -> Rows:
    for item in here(session, "table", "source", "system table"):
        yield item.name.schema, item.name.item, _owner(session, item), None, False, False, False, False


def _views(session: EngineSession) -> Rows:
    for item in here(session, "view"):
        yield item.name.schema, item.name.item, _owner(session, item), definition(item)


def _matviews(session: EngineSession) -> Rows:
    for item in here(session, "materialized view"):
        yield item.name.schema, item.name.item, _owner(session, item), None, False, True, definition(item)


_ROLE_COLUMNS = (
    "oid oid, rolname text, rolsuper boolean, rolinherit boolean, rolcreaterole boolean, rolcreatedb boolean,"
    " rolcanlogin boolean, rolreplication boolean, rolconnlimit integer, rolpassword text?, rolvaliduntil timestamptz?,"
    " rolbypassrls boolean, rolconfig text[]?"
)
_TYPE_COLUMNS = (
    'oid oid, typname text, typnamespace oid, typowner oid, typlen smallint, typbyval boolean, typtype "char",'
    ' typcategory "char", typispreferred boolean, typisdefined boolean, typdelim "char", typrelid oid,'
    " typsubscript oid, typelem oid, typarray oid, typinput oid, typoutput oid, typreceive oid, typsend oid,"
    ' typmodin oid, typmodout oid, typanalyze oid, typalign "char", typstorage "char", typnotnull boolean,'
    " typbasetype oid, typtypmod integer, typndims integer, typcollation oid, typdefault text?, typacl text[]?,"
    " typdefaultbin text?"
)

TABLES: tuple[SystemTable, ...] = (
    table(
        "pg_catalog.pg_namespace",
        "oid oid, nspname text, nspowner oid, nspacl text[]?",
        _namespaces,
    ),
    table(
        "pg_catalog.pg_class",
        "oid oid, relname text, relnamespace oid, reltype oid, reloftype oid, relowner oid, relam oid,"
        " reltablespace oid, relfilenode oid, relpages integer, relallvisible integer, reltuples real,"
        ' reltoastrelid oid, relhasindex boolean, relisshared boolean, relpersistence "char", relkind "char",'
        " relnatts smallint, relchecks smallint, relhasrules boolean, relhastriggers boolean, relhassubclass boolean,"
        ' relrowsecurity boolean, relforcerowsecurity boolean, relispopulated boolean, relreplident "char",'
        " relispartition boolean, relhasoids boolean, relacl text[]?, reloptions text[]?, relpartbound text?",
        _class,
    ),
    table(
        "pg_catalog.pg_attribute",
        "attrelid oid, attname text, atttypid oid, attstattarget integer, attlen smallint, attnum smallint,"
        " atttypmod integer, attndims integer, attnotnull boolean, atthasdef boolean, atthasmissing boolean,"
        ' attidentity "char", attgenerated "char", attisdropped boolean, attislocal boolean, attinhcount integer,'
        ' attcollation oid, attstorage "char", attcompression "char", attacl text[]?, attoptions text[]?,'
        " attfdwoptions text[]?",
        _attributes,
    ),
    table("pg_catalog.pg_attrdef", "oid oid, adrelid oid, adnum smallint, adbin text, adsrc text", _defaults),
    table("pg_catalog.pg_type", _TYPE_COLUMNS, _types),
    table(
        "pg_catalog.pg_range",
        "rngtypid oid, rngsubtype oid, rngmultitypid oid, rngcollation oid, rngsubopc oid, rngcanonical oid,"
        " rngsubdiff oid",
        lambda _: [(oid_of(range), oid_of(range.element), 0, 0, 0, 0, 0) for range in RANGES.values()],
    ),
    table(
        "pg_catalog.pg_database",
        'oid oid, datname text, datdba oid, encoding integer, datlocprovider "char", datistemplate boolean,'
        " datallowconn boolean, datconnlimit integer, datcollate text, datctype text, dattablespace oid,"
        " daticulocale text?, datacl text[]?",
        _databases,
    ),
    table(
        "pg_catalog.pg_proc",
        "oid oid, proname text, pronamespace oid, proowner oid, prolang oid, procost real, prorows real,"
        ' provariadic oid, prokind "char", proisagg boolean, proiswindow boolean, prosecdef boolean,'
        ' proleakproof boolean, proisstrict boolean, proretset boolean, provolatile "char", proparallel "char",'
        " pronargs smallint, pronargdefaults smallint, prorettype oid, proargtypes oidvector, proallargtypes oid[]?,"
        ' proargmodes "char"[]?, proargnames text[]?, proargdefaults text?, prosrc text,'
        " proconfig text[]?, proacl text[]?",
        _functions,
    ),
    table("pg_catalog.pg_get_keywords", 'word text, catcode "char", catdesc text', lambda _: _keywords()),
    table(
        "pg_catalog.pg_description", "objoid oid, classoid oid, objsubid integer, description text", _descriptions
    ),
    table(
        "pg_catalog.pg_settings",
        "name text, setting text, unit text?, category text, short_desc text, extra_desc text?, context text,"
        " vartype text, source text, min_val text?, max_val text?, enumvals text[]?, boot_val text, reset_val text",
        _settings,
    ),
    table("pg_catalog.pg_roles", _ROLE_COLUMNS, _roles),
    table(
        "pg_catalog.pg_db_role_setting",
        "setdatabase oid, setrole oid, setconfig text[]",
        _configs,
    ),
    table(
        "pg_catalog.pg_auth_members",
        "oid oid, roleid oid, member oid, grantor oid, admin_option boolean, inherit_option boolean,"
        " set_option boolean",
        _memberships,
    ),
    table(
        "pg_catalog.pg_stat_activity",
        "datid oid, datname text, pid integer, leader_pid integer?, usesysid oid?, usename text, application_name text,"
        " client_addr text, client_hostname text?, client_port integer?, backend_start timestamptz,"
        " xact_start timestamptz?, query_start timestamptz?, state_change timestamptz?, wait_event_type text?,"
        " wait_event text?, state text, backend_xid bigint?, backend_xmin bigint?, query text, backend_type text",
        _activity,
    ),
    table(
        "pg_catalog.pg_stat_database",
        "datid oid, datname text, numbackends integer, xact_commit bigint, xact_rollback bigint, blks_read bigint,"
        " blks_hit bigint, tup_returned bigint, tup_fetched bigint, tup_inserted bigint, tup_updated bigint,"
        " tup_deleted bigint, conflicts bigint, temp_bytes bigint, deadlocks bigint, stats_reset timestamptz?",
        _database_activity,
    ),
    table(
        "pg_catalog.pg_prepared_statements",
        "name text, statement text, prepare_time timestamptz?, parameter_types text[], from_sql boolean",
        _prepared,
    ),
    table("pg_catalog.pg_authid", _ROLE_COLUMNS, _roles),
    table(
        "pg_catalog.pg_user",
        "usename text, usesysid oid, usecreatedb boolean, usesuper boolean, userepl boolean, usebypassrls boolean,"
        " passwd text?, valuntil timestamptz?, useconfig text[]?",
        _users,
    ),
    table(
        "pg_catalog.pg_tables",
        "schemaname text, tablename text, tableowner text, tablespace text?, hasindexes boolean, hasrules boolean,"
        " hastriggers boolean, rowsecurity boolean",
        _tables,
    ),
    table("pg_catalog.pg_views", "schemaname text, viewname text, viewowner text, definition text", _views),
    table(
        "pg_catalog.pg_matviews",
        "schemaname text, matviewname text, matviewowner text, tablespace text?, hasindexes boolean,"
        " ispopulated boolean, definition text",
        _matviews,
    ),
    table(
        "pg_catalog.pg_collation",
        'oid oid, collname text, collnamespace oid, collowner oid, collprovider "char", collisdeterministic boolean,'
        " collencoding integer, collcollate text, collctype text, colliculocale text?, collversion text?",
        lambda session: [
            (oid, name, SYSTEM["pg_catalog"][1], owner_oid(session), "c", True, -1, locale, locale, None, None)
            for oid, name, locale in ((100, "default", ""), (950, "C", "C"))
        ],
    ),
    table(
        "pg_catalog.pg_language",
        "oid oid, lanname text, lanowner oid, lanispl boolean, lanpltrusted boolean",
        lambda session: [(12, "internal", owner_oid(session), False, False)],
    ),
    table(
        "pg_catalog.pg_am",
        'oid oid, amname text, amhandler oid, amtype "char", amcanorder boolean',
        lambda _: [(BTREE, "btree", 0, "i", True)],
    ),
    table(
        "pg_catalog.pg_tablespace",
        "oid oid, spcname text, spcowner oid, spcacl text[]?, spcoptions text[]?",
        lambda session: [(_TABLESPACE, "pg_default", owner_oid(session), None, None)],
    ),
    table(
        "pg_catalog.pg_stat_progress_copy",
        "pid integer, datid oid, datname text, relid oid, command text, type text, bytes_processed bigint,"
        " bytes_total bigint, tuples_processed bigint?, tuples_excluded bigint?",
        _copying,
    ),
    table(
        "pg_catalog.pg_timezone_names",
        "name text, abbrev text, utc_offset interval, is_dst boolean",
        lambda _: [("UTC", "UTC", (0, 0, 0), False)],
    ),
    table(
        "pg_catalog.pg_timezone_abbrevs",
        "abbrev text, utc_offset interval, is_dst boolean",
        lambda _: [("UTC", (0, 0, 0), False)],
    ),
)
