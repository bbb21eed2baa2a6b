"""`information_schema`: the same objects as the SQL standard has them, for tools that list tables and columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailrace.catalog.items import DEFAULT_DATABASE, RELATIONS, Item
from tailrace.engine.system.contract import Rows, SystemTable, empty, table
from tailrace.engine.system.identity import here, schemas_here
from tailrace.engine.system.mz_catalog import defaults, definition, function_rows
from tailrace.engine.system.pg_index import Index, indexes
from tailrace.engine.system.type_rows import BY_ARRAY, BY_OID, format_type
from tailrace.types.core import LETTER, ArrayOf, Numeric, Scalar, SqlType
from tailrace.types.postgres.oids import oid_of

if TYPE_CHECKING:
    from tailrace.engine.session import EngineSession

_TABLE_TYPES = {
    "table": "BASE TABLE", "system table": "BASE TABLE", "source": "SOURCE", "view": "VIEW",
    "materialized view": "MATERIALIZED VIEW",
}  # fmt: skip
_PRECISIONS = {"smallint": 16, "integer": 32, "bigint": 64, "real": 24, "double precision": 53}


def _where(session: EngineSession, item: Item) -> tuple[str, str, str]:
    """What is in no database is in each."""
    return session.catalog.database, item.name.schema, item.name.item


def _schemata(session: EngineSession) -> Rows:
    names = {role.id: role.name for role in session.engine.roles}
    for each in schemas_here(session).values():
        owner = "materialize" if each.key is None else names.get(session.engine.role_store.owner(each.key))
        yield session.catalog.database, each.name, owner


def _tables(session: EngineSession) -> Rows:
    for item in here(session, *RELATIONS):
        writable = "YES" if item.kind == "table" else "NO"
        yield *_where(session, item), _TABLE_TYPES[item.kind], writable


def _columns(session: EngineSession) -> Rows:
    for item in here(session, *RELATIONS):
        for place, column in enumerate(item.schema or (), start=1):
            oid = oid_of(column.type)
            plain = "USER-DEFINED" if oid not in BY_OID else format_type(oid, None)
            shown = "ARRAY" if isinstance(column.type, ArrayOf) else plain
            length = None if column.type == LETTER else getattr(column.type, "length", None)
            nullable = "YES" if column.nullable else "NO"
            default = defaults(item).get(place)
            names = (*_where(session, item), column.name, place, default, nullable, shown, length)
            type = (*_precision(column.type), session.catalog.database, "pg_catalog", _udt_name(column.type))
            yield *names, *type, str(place), "NO", "NEVER", "YES"


def _precision(type: SqlType) -> tuple[int | None, int | None]:
    match type:
        case Numeric(scale=scale):
            return 38, scale
        case Scalar(name=name) if name in _PRECISIONS:
            return _PRECISIONS[name], 0 if "int" in name else None
        case _:
            return None, None


def _udt_name(type: SqlType) -> str:
    oid = oid_of(type)
    if oid in BY_OID:
        return BY_OID[oid].name
    return f"_{BY_ARRAY[oid].name}" if oid in BY_ARRAY else str(type)


def _views(session: EngineSession) -> Rows:
    for item in here(session, "view", "materialized view"):
        yield *_where(session, item), definition(item)


def _constraint(session: EngineSession, key: Index) -> tuple[str, str, str]:
    return session.catalog.database, key.on.name.schema, key.name


def _constraints(session: EngineSession) -> Rows:
    for key in indexes(session):
        if key.declared:
            yield *_constraint(session, key), *_where(session, key.on), key.declared, "NO", "NO", "NO"


def _key_columns(session: EngineSession) -> Rows:
    for key in indexes(session):
        if key.declared:
            for place, (_, column) in enumerate(key.keys, start=1):
                yield *_constraint(session, key), *_where(session, key.on), column, place, None


def _roles(session: EngineSession) -> Rows:
    return [(role.name,) for role in session.engine.roles]


def _grants(session: EngineSession) -> Rows:
    for item in here(session, "table", "source", "view", "materialized view"):
        yield "materialize", "materialize", *_where(session, item), "SELECT", "NO", "YES"


_IN_PG = (DEFAULT_DATABASE, "pg_catalog")
_NAMES = "table_catalog text, table_schema text, table_name text"
_CONSTRAINT = "constraint_catalog text, constraint_schema text, constraint_name text"
_GRANT = f"grantor text, grantee text, {_NAMES}, privilege_type text, is_grantable text, with_hierarchy text"

TABLES: tuple[SystemTable, ...] = (
    table(
        "information_schema.schemata",
        "catalog_name text, schema_name text, schema_owner text",
        _schemata,
    ),
    table("information_schema.tables", f"{_NAMES}, table_type text, is_insertable_into text", _tables),
    table(
        "information_schema.columns",
        f"{_NAMES}, column_name text, ordinal_position bigint, column_default text?, is_nullable text, data_type text,"
        " character_maximum_length integer?, numeric_precision integer?, numeric_scale integer?, udt_catalog text,"
        " udt_schema text, udt_name text, dtd_identifier text, is_identity text, is_generated text, is_updatable text",
        _columns,
    ),
    table("information_schema.views", f"{_NAMES}, view_definition text?", _views),
    table(
        "information_schema.routines",
        "specific_catalog text, specific_schema text, specific_name text, routine_catalog text, routine_schema text,"
        " routine_name text, routine_type text, data_type text?, routine_definition text?",
        lambda _: [
            (*_IN_PG, f"{name}_{oid}", *_IN_PG, name, "FUNCTION", None, None)
            for oid, name, _, _, _ in function_rows()
        ],
    ),
    table(
        "information_schema.key_column_usage",
        f"{_CONSTRAINT}, {_NAMES}, column_name text, ordinal_position integer, position_in_unique_constraint integer?",
        _key_columns,
    ),
    table(
        "information_schema.table_constraints",
        f"{_CONSTRAINT}, {_NAMES}, constraint_type text, is_deferrable text, initially_deferred text, enforced text",
        _constraints,
    ),
    empty(
        "information_schema.referential_constraints",
        f"{_CONSTRAINT}, unique_constraint_catalog text?, unique_constraint_schema text?,"
        " unique_constraint_name text?, match_option text, update_rule text, delete_rule text",
    ),
    table(
        "information_schema.constraint_column_usage",
        f"{_NAMES}, column_name text, {_CONSTRAINT}",
        lambda session: [
            (*_where(session, key.on), column, *_constraint(session, key))
            for key in indexes(session)
            for _, column in key.keys
            if key.declared
        ],
    ),
    empty(
        "information_schema.triggers",
        "trigger_catalog text, trigger_schema text, trigger_name text, event_manipulation text,"
        " event_object_schema text, event_object_table text, action_timing text",
    ),
    table(
        "information_schema.character_sets",
        "character_set_catalog text?, character_set_schema text?, character_set_name text, character_repertoire text,"
        " form_of_use text, default_collate_catalog text",
        lambda session: [(None, None, "UTF8", "UCS", "UTF8", session.catalog.database)],
    ),
    empty(
        "information_schema.parameters",
        "specific_catalog text, specific_schema text, specific_name text, ordinal_position integer, "
        "parameter_mode text?, parameter_name text?, data_type text?",
    ),
    empty("information_schema.sequences", "sequence_catalog text, sequence_schema text, sequence_name text"),
    table(
        "information_schema.applicable_roles",
        "grantee text, role_name text, is_grantable text",
        lambda session: [(name, name, "NO") for (name,) in _roles(session)],
    ),
    table("information_schema.enabled_roles", "role_name text", _roles),
    table("information_schema.role_table_grants", _GRANT, _grants),
    table("information_schema.table_privileges", _GRANT, _grants),
)
