"""Databases and the schemas in them: where names are.  System schemas are in no database, and seen from each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tailrace.catalog.items import DEFAULT_DATABASE, DEFAULT_SCHEMA
from tailrace.catalog.roles import DATABASE, SCHEMA
from tailrace.errors import UnknownObject

SYSTEM_SCHEMAS = ("mz_catalog", "mz_internal", "pg_catalog", "information_schema")
DEFAULT_PATH = (DEFAULT_SCHEMA,)


@dataclass(frozen=True, kw_only=True, slots=True)
class Namespace:
    """A database, or a schema in the `database` of that name."""

    id: str
    name: str
    database: str | None = None

    @property
    def kind(self) -> str:
        return DATABASE if self.database is None else SCHEMA

    @property
    def key(self) -> str:
        """What its owner, grants and comment are kept under; the first one's is older than that there are others."""
        return self.kind if self.id == "u1" else f"{self.kind} {self.id}"

    @property
    def number(self) -> int:
        return int(self.id[1:])

    def __str__(self) -> str:
        return self.name if self.database is None else f"{self.database}.{self.name}"


FIRST = (Namespace(id="u1", name=DEFAULT_DATABASE), Namespace(id="u1", name=DEFAULT_SCHEMA, database=DEFAULT_DATABASE))
"""Those of a new data directory, and of one from before there were others."""


@dataclass(frozen=True, slots=True)
class Namespaces:
    """All of them, as a part of one picture of the catalog (catalog/catalog.py)."""

    all: tuple[Namespace, ...] = FIRST

    def databases(self) -> Iterator[Namespace]:
        """In order of creation."""
        yield from sorted((each for each in self.all if each.database is None), key=lambda each: each.number)

    def schemas(self, database: str | None = None) -> Iterator[Namespace]:
        """Of one database, or of all, in order of creation."""
        found = (each for each in self.all if each.database is not None and database in (None, each.database))
        yield from sorted(found, key=lambda each: each.number)

    def schema(self, database: str, name: str) -> Namespace | None:
        return next((each for each in self.all if (each.database, each.name) == (database, name)), None)

    def database(self, name: str) -> Namespace | None:
        return next((each for each in self.all if each.database is None and each.name == name), None)

    def expect(self, database: str, name: str, position: int | None = None) -> Namespace:
        """A schema that is there."""
        if self.database(database) is None:
            raise unknown_database(database, position)
        found = self.schema(database, name)
        if found is None:
            raise unknown_schema(name, position)
        return found

    def changed(self, after: Iterable[Namespace]) -> Namespaces:
        """With these, or these as they are now."""
        new = tuple(after)
        return Namespaces((*self.without(each.key for each in new).all, *new))

    def without(self, keys: Iterable[str]) -> Namespaces:
        gone = set(keys)
        return Namespaces(tuple(each for each in self.all if each.key not in gone))


def unknown_schema(name: str, position: int | None = None) -> UnknownObject:
    return UnknownObject(f"unknown schema '{name}'", sqlstate="3F000", position=position)


def unknown_database(name: str, position: int | None = None) -> UnknownObject:
    return UnknownObject(f"unknown database '{name}'", sqlstate="3D000", position=position)
