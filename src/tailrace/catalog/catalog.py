"""The catalog: an immutable picture of all items.  A statement makes a new one; readers keep the one they have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from tailrace.catalog.items import DEFAULT_DATABASE, DEFAULT_SCHEMA, RELATIONS, FullName, Item
from tailrace.errors import DependentObjects, DuplicateObject, SqlError, UnknownObject, WrongObjectType
from tailrace.plan.names import Relation

SYSTEM_SCHEMAS = ("mz_catalog", "mz_internal", "pg_catalog", "information_schema")


@dataclass(frozen=True, kw_only=True, slots=True)
class Catalog:
    """Items by id, and by name.  One namespace for all kinds, as in the reference system.

    `temporary`: as one session sees it, the schema of what goes with that session.  It comes first in the search for a
    name, and is called `pg_temp` too.
    """

    items: dict[str, Item] = field(default_factory=dict)
    by_name: dict[FullName, str] = field(default_factory=dict)
    temporary: str | None = None

    def with_item(self, item: Item) -> Catalog:
        if item.name in self.by_name:
            raise self._exists(item)
        by_name = {**self.by_name, item.name: item.id}
        return replace(self, items={**self.items, item.id: item}, by_name=by_name)

    def without(self, ids: Iterable[str]) -> Catalog:
        gone = set(ids)
        items = {id: item for id, item in self.items.items() if id not in gone}
        return replace(self, items=items, by_name={item.name: id for id, item in items.items()})

    def _exists(self, item: Item) -> SqlError:
        other = self.items[self.by_name[item.name]]
        return DuplicateObject(f'{other.kind} "{item.name}" already exists')

    def named(self, name: FullName) -> Item | None:
        id = self.by_name.get(name)
        return None if id is None else self.items[id]

    def full_name(self, parts: tuple[str, ...]) -> FullName:
        """What a possibly qualified name means for a new item."""
        if len(parts) > 3:
            raise SqlError(f"qualified name has more than three parts: {'.'.join(parts)}", sqlstate="42601")
        full = FullName(*(DEFAULT_DATABASE, DEFAULT_SCHEMA)[: 3 - len(parts)], *parts)
        if full.database != DEFAULT_DATABASE:
            raise UnknownObject(f"unknown database '{full.database}'", sqlstate="3D000")
        if full.schema == "pg_temp" and self.temporary is not None:
            full = replace(full, schema=self.temporary)
        if full.schema not in (DEFAULT_SCHEMA, self.temporary) and full.schema not in SYSTEM_SCHEMAS:
            raise UnknownObject(f"unknown schema '{full.schema}'", sqlstate="3F000")
        return full

    def resolve(self, parts: tuple[str, ...], position: int | None = None) -> Item:
        """The item of a possibly qualified name; system schemas are on everybody's path."""
        full = self.full_name(parts)
        candidates = [full]
        if len(parts) == 1:
            candidates = [replace(full, schema=self.temporary or full.schema), full]
            candidates += [FullName(DEFAULT_DATABASE, schema, parts[0]) for schema in ("mz_catalog", "pg_catalog")]
        for name in candidates:
            item = self.named(name)
            if item is not None:
                return item
        # A name without quotes has lost its case; Flink's tables keep theirs.
        for name in self.by_name:
            if (name.schema, name.item.lower()) == (full.schema, full.item):
                return self.items[self.by_name[name]]
        near = self.similar(full.item, tuple(name.item for name in self.by_name if name.schema == full.schema))
        raise UnknownObject(
            f"unknown catalog item '{'.'.join(parts)}'",
            hint=f'Did you mean "{near}"?' if near else None,
            position=position,
        )

    def expect(self, parts: tuple[str, ...], kinds: tuple[str, ...], position: int | None = None) -> Item:
        item = self.resolve(parts, position)
        if item.kind not in kinds:
            raise WrongObjectType(f"{item.name} is a {item.kind} not a {kinds[0]}", position=position)
        return item

    def dependants(self, id: str) -> list[Item]:
        """Items that could not be without this one, each after what it needs, also indirectly."""
        found: dict[str, Item] = {}
        for item in sorted(self.items.values(), key=lambda item: item.rank):
            if id in item.depends_on or item.depends_on & found.keys():
                found[item.id] = item
        return list(found.values())

    def refuse_if_needed(self, item: Item, going: set[str]) -> None:
        """DROP … RESTRICT: somebody else still needs it."""
        for other in self.dependants(item.id):
            if other.id not in going:
                needed_by = f'still depended upon by {other.kind} "{other.name.item}"'
                raise DependentObjects(
                    f'cannot drop {item.kind} "{item.name.item}": {needed_by}',
                    hint="Use DROP ... CASCADE to drop the dependent objects too.",
                )

    def of_kind(self, *kinds: str) -> Iterator[Item]:
        """In order of creation."""
        yield from sorted((i for i in self.items.values() if i.kind in kinds), key=lambda item: item.number)

    # ── what the binder asks (plan/names.py) ──

    def relation(self, parts: tuple[str, ...], position: int | None) -> Relation:
        item = self.resolve(parts, position)
        if item.kind not in RELATIONS or item.schema is None:
            verb = "cannot be depended upon" if item.kind == "sink" else "cannot be selected from"
            raise WrongObjectType(f"{item.kind} {item.name} {verb}", position=position)
        return Relation(
            id=item.id,
            kind=item.kind,
            name=str(item.name),
            schema=item.schema,
            keys=item.keys,
            append_only=item.append_only,
            watermark=item.watermark,
            plan=item.plan if item.kind == "view" else None,
        )

    def similar(self, name: str, candidates: tuple[str, ...]) -> str | None:
        return next(iter(get_close_matches(name, candidates, 1)), None)
