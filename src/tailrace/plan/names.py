"""What a query may refer to: the binder asks these questions, the catalog answers them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Protocol

from tailrace.errors import UnknownObject
from tailrace.plan.nodes import Key, Node
from tailrace.types.core import Schema, SqlType


@dataclass(frozen=True, kw_only=True, slots=True)
class Relation:
    """Something one can select from.  With a `plan` it is a view, and the plan stands in its place."""

    id: str  # catalog id, e.g. "u7"; system relations "s12"
    kind: str  # table, source, view, materialized view, system table
    name: str  # qualified, for messages: materialize.public.orders
    schema: Schema
    keys: frozenset[Key] = frozenset()
    append_only: bool = False
    watermark: int | None = None  # the place of the column that has one
    plan: Node | None = None


class Names(Protocol):
    """The catalog as one session sees it (database, search path)."""

    def relation(self, parts: tuple[str, ...], position: int | None) -> Relation:
        """The relation of a possibly qualified name, already case-folded.  Raises UnknownObject, with a hint
        of the nearest name, or WrongObjectType for something that cannot be selected from.
        """

    def similar(self, name: str, candidates: tuple[str, ...]) -> str | None:
        """The candidate that a person who typed `name` probably meant, or None."""


class SessionNames(Names, Protocol):
    """More questions that a catalog may answer; the binder asks them of those that have the methods."""

    def hinted(self, parts: tuple[str, ...], options: Mapping[str, str], position: int | None) -> Relation:
        """The relation of a name, with other options: `/*+ OPTIONS(…) */`."""

    def type(self, parts: tuple[str, ...]) -> SqlType | None:
        """A type made by CREATE TYPE, or None."""

    def session_value(self, name: str) -> str | None:
        """What `current_database()`, `version()`, `mz_environment_id()` … say in this session, or None."""


class FixedNames:
    """Names for tests and small tools: relations given once, found by their last part."""

    def __init__(self, *relations: Relation) -> None:
        self._relations = {relation.name.rsplit(".", 1)[-1]: relation for relation in relations}

    def relation(self, parts: tuple[str, ...], position: int | None) -> Relation:
        found = self._relations.get(parts[-1])
        if found is None or not f".{found.name}".endswith("." + ".".join(parts)):
            name = ".".join(parts)
            similar = self.similar(parts[-1], tuple(self._relations))
            hint = f'The similarly named relation "{similar}" does exist.' if similar else None
            raise UnknownObject(f"unknown catalog item '{name}'", hint=hint, position=position)
        return found

    def similar(self, name: str, candidates: tuple[str, ...]) -> str | None:
        return next(iter(get_close_matches(name, candidates, n=1)), None)
