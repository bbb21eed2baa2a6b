"""CREATE, ALTER, DROP SCHEMA and DATABASE: who may, and what that means for the objects inside."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from tailrace.catalog.items import DEFAULT_SCHEMA, Item
from tailrace.catalog.namespaces import SYSTEM_SCHEMAS, Namespace, unknown_database
from tailrace.catalog.roles import DATABASE, SCHEMA
from tailrace.engine import renaming
from tailrace.engine.privileges import PermissionDenied, require_on, require_superuser
from tailrace.errors import DependentObjects, DuplicateObject, SqlError, UnknownObject
from tailrace.sql.names import Name

if TYPE_CHECKING:
    from tailrace.engine.engine import Engine
    from tailrace.engine.session import EngineSession

_DUPLICATE = {SCHEMA: "42P06", DATABASE: "42P04"}


def create(session: EngineSession, kind: str, name: Name, *, if_not_exists: bool) -> None:
    """On return it exists, and is the role's; a database has a schema `public` from the start."""
    engine = session.engine
    with engine.lock:
        if kind == SCHEMA:
            within = database(session, name)
            require_on(session, "CREATE", within)
            _check_name(name)
            wanted = Namespace(id="", name=name.item, database=within.name)
        else:
            require_superuser(session, "create database", "CREATEDB")
            wanted = Namespace(id="", name=name.item)
        if _find(engine, wanted) is not None:
            if not if_not_exists:
                raise DuplicateObject(
                    f'{kind} "{name.item}" already exists', position=name.position, sqlstate=_DUPLICATE[kind]
                )
            session.notice(f'{kind} "{name.item}" already exists, skipping', sqlstate=_DUPLICATE[kind])
            return
        made = [wanted]
        if kind == DATABASE:
            made.append(Namespace(id="", name=DEFAULT_SCHEMA, database=name.item))
        made = [replace(each, id=engine.storage.next_namespace_id(each.kind)) for each in made]
        for each in made:  # before they are there, so that they are never anybody else's
            engine.role_store.own(each.key, session.role)
        engine.add_namespaces(*made)


def drop(session: EngineSession, kind: str, names: Iterable[Name], *, if_exists: bool, cascade: bool) -> None:
    """All of them or none, with what is inside and what needs that."""
    engine = session.engine
    going = [each for name in names if (each := owned(session, kind, name, if_exists=if_exists)) is not None]
    if kind == DATABASE:
        for each in going:
            _refuse_open(session, each)
        schemas = [schema for each in going for schema in engine.catalog.namespaces.schemas(each.name)]
        if schemas and not cascade:
            raise DependentObjects(
                f"database '{schemas[0].database}' cannot be dropped with RESTRICT while it contains schemas"
            )
        going += schemas
    inside = [item for each in going for item in objects_in(engine, each)]
    if inside and not cascade:
        raise DependentObjects(
            f"schema '{inside[0].name.schema}' cannot be dropped without CASCADE while it contains objects",
            hint="Use DROP SCHEMA ... CASCADE to drop them too.",
        )
    if going:
        engine.drop(engine.catalog.with_dependants(item.id for item in inside), going)


def rename(session: EngineSession, namespace: Namespace, to: str, position: int | None) -> None:
    engine = session.engine
    with engine.lock:
        after = replace(namespace, name=to)
        if namespace.kind == SCHEMA:
            _check_name(Name((to,), position))
        if _find(engine, after) is not None:
            raise DuplicateObject(f'{namespace.kind} "{to}" already exists', sqlstate=_DUPLICATE[namespace.kind])
        inside = () if namespace.kind == SCHEMA else engine.catalog.namespaces.schemas(namespace.name)
        renaming.rename_namespaces(session, namespace, after, *(replace(each, database=to) for each in inside))


def swap(session: EngineSession, name: Name, other: Name) -> None:
    """Each schema takes the other's name; whatever was made of what is inside goes on with the same objects."""
    one, two = owned(session, SCHEMA, name), owned(session, SCHEMA, other)
    assert one is not None
    assert two is not None
    if one.database != two.database:
        raise SqlError("cannot swap schemas of two databases", sqlstate="0A000", position=other.position)
    if one != two:
        renaming.rename_namespaces(session, one, replace(one, name=two.name), replace(two, name=one.name))


def find(session: EngineSession, kind: str, name: Name) -> Namespace:
    """The one of a name in a statement.  Raises if there is none."""
    if kind == DATABASE:
        found = None if len(name.parts) > 1 else session.catalog.namespaces.database(name.item)
        if found is None:
            raise unknown_database(str(name), name.position)
        return found
    return session.catalog.namespaces.expect(database(session, name).name, name.item, name.position)


def database(session: EngineSession, schema: Name) -> Namespace:
    """That of a schema's name: `[database.]schema`."""
    if len(schema.parts) > 2:
        raise SqlError(f"schema name has more than two parts: {schema}", sqlstate="42601", position=schema.position)
    name = schema.parts[0] if len(schema.parts) == 2 else session.catalog.database
    found = session.catalog.namespaces.database(name)
    if found is None:
        raise unknown_database(name, schema.position)
    return found


def owned(session: EngineSession, kind: str, name: Name, *, if_exists: bool = False) -> Namespace | None:
    """The one of a name, to be changed.  None: there is none, and that is fine."""
    try:
        if kind == SCHEMA and name.item in SYSTEM_SCHEMAS:
            message = f"system schema '{name.item}' cannot be modified"
            raise SqlError(message, sqlstate="42501", position=name.position)
        found = find(session, kind, name)
    except UnknownObject:
        if not if_exists:
            raise
        session.notice(f'{kind} "{name}" does not exist, skipping')
        return None
    if not session.engine.role_store.owns(session.role, found.key):
        raise PermissionDenied(f"must be owner of {kind.upper()} {found}")
    return found


def objects_in(engine: Engine, schema: Namespace) -> list[Item]:
    place = (schema.database, schema.name)
    return [item for item in engine.catalog.items.values() if (item.name.database, item.name.schema) == place]


def _find(engine: Engine, like: Namespace) -> Namespace | None:
    known = engine.catalog.namespaces
    return known.database(like.name) if like.database is None else known.schema(like.database, like.name)


def _check_name(name: Name) -> None:
    if name.item in SYSTEM_SCHEMAS:
        raise DuplicateObject(f'schema "{name.item}" already exists', sqlstate="42P06", position=name.position)
    if name.item.startswith(("mz_", "pg_")):
        raise SqlError(
            f"unacceptable schema name '{name.item}'",
            detail='The prefixes "mz_" and "pg_" are reserved for system schemas.',
            sqlstate="42939",
            position=name.position,
        )


def _refuse_open(session: EngineSession, database: Namespace) -> None:
    if database.name == session.catalog.database:
        raise SqlError(
            "cannot drop the currently open database", hint="SET database to another one first.", sqlstate="55006"
        )
