"""The catalog: an immutable picture of all items.  A statement makes a new one; readers keep the one they have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from tailrace.catalog.items import DEFAULT_DATABASE, RELATIONS, FullName, Item, whole
from tailrace.catalog.namespaces import DEFAULT_PATH, SYSTEM_SCHEMAS, Namespaces, unknown_database, unknown_schema
from tailrace.errors import DependentObjects, DuplicateObject, SqlError, UnknownObject, WrongObjectType
from tailrace.plan.names import Relation


@dataclass(frozen=True, kw_only=True, slots=True)
class Catalog:
    """Items by id, and by name.  One namespace for all kinds, as in the reference system.

    As one session sees it: `database` and the schemas of `path` are where names that do not say more are looked for,
    and new items go to the first schema of the path that exists.  What the catalog keeps as text is read, in every
    session, as the first picture of it reads names.  `temporary`: the schema of what goes with the session.  It comes
    first in the search for a name, and is called `pg_temp` too.
    """

    items: dict[str, Item] = field(default_factory=dict)
    by_name: dict[FullName, str] = field(default_factory=dict)
    namespaces: Namespaces = field(default_factory=Namespaces)
    database: str = DEFAULT_DATABASE
    path: tuple[str, ...] = DEFAULT_PATH
    temporary: str | None = None

    def as_kept(self) -> Catalog:
        """As texts that the catalog keeps read names: whatever the session's database and path are."""
        return replace(self, database=DEFAULT_DATABASE, path=DEFAULT_PATH)

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

    def full_name(self, parts: tuple[str, ...], position: int | None = None) -> FullName:
        """What a possibly qualified name means for a new item."""
        if len(parts) > 3:
            raise SqlError(f"qualified name has more than three parts: {'.'.join(parts)}", sqlstate="42601")
        if len(parts) == 1:
            if self.schema is None:
                raise UnknownObject("no schema has been selected to create in", sqlstate="3F000", position=position)
            return self._placed(self.database, self.schema, parts[0])
        *database, schema, item = parts
        full = self._placed(database[0] if database else self.database, schema, item)
        if self.namespaces.database(full.database) is None and not self._is_everywhere(full.schema):
            raise unknown_database(full.database, position)
        if not self._is_there(full.database, full.schema):
            raise unknown_schema(full.schema, position)
        return full

    @property
    def schema(self) -> str | None:
        """The first schema of the path that exists: where new items go."""
        return next(iter(self.schemas), None)

    @property
    def schemas(self) -> tuple[str, ...]:
        """Those of the path that exist."""
        path = (self._placed(self.database, name, "").schema for name in self.path)
        return tuple(dict.fromkeys(name for name in path if self._is_there(self.database, name)))

    def _placed(self, database: str, schema: str, item: str) -> FullName:
        if schema == "pg_temp" and self.temporary is not None:
            schema = self.temporary
        return FullName(DEFAULT_DATABASE if self._is_everywhere(schema) else database, schema, item)

    def _is_everywhere(self, schema: str) -> bool:
        """It is in no database."""
        return schema in SYSTEM_SCHEMAS or schema == self.temporary

    def _is_there(self, database: str, schema: str) -> bool:
        return self._is_everywhere(schema) or self.namespaces.schema(database, schema) is not None

    def _places(self, parts: tuple[str, ...], position: int | None = None) -> list[FullName]:
        """Where the item of a possibly qualified name may be, in this order; system schemas are on everybody's path."""
        if len(parts) != 1:
            return [self.full_name(parts, position)]
        own = () if self.temporary is None else (self.temporary,)
        schemas = dict.fromkeys((*own, *self.schemas, "mz_catalog", "pg_catalog"))
        return [self._placed(self.database, schema, parts[0]) for schema in schemas]

    def resolve(self, parts: tuple[str, ...], position: int | None = None) -> Item:
        """The item of a possibly qualified name."""
        places = self._places(parts, position)
        for name in places:
            item = self.named(name)
            if item is not None:
                return item
        searched = [(n.database, n.schema) for n in places if len(parts) > 1 or n.schema not in SYSTEM_SCHEMAS]
        there = [name for name in self.by_name if (name.database, name.schema) in searched]
        # A name without quotes has lost its case; Flink's tables keep theirs.
        folded = [name for name in there if name.item.lower() == parts[-1]]
        if folded:
            first = min(folded, key=lambda name: searched.index((name.database, name.schema)))
            return self.items[self.by_name[first]]
        near = self._elsewhere(parts[-1]) or self.similar(parts[-1], tuple(name.item for name in there))
        raise UnknownObject(
            f"unknown catalog item '{'.'.join(parts)}'",
            hint=f'Did you mean "{near}"?' if near else None,
            position=position,
        )

    def _elsewhere(self, item: str) -> str | None:
        """How to call something of that name in another schema: of the session's database if there is one there."""
        found = [name for name in self.by_name if name.item == item and not self._is_everywhere(name.schema)]
        name = min(found, key=lambda name: name.database != self.database, default=None)
        if name is None:
            return None
        return f"{name.schema}.{name.item}" if name.database == self.database else str(name)

    def finds(self, item: Item) -> bool:
        """Whether its name alone means it."""
        first = next(filter(None, map(self.named, self._places((item.name.item,)))), None)
        return first is not None and first.id == item.id

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

    def with_dependants(self, ids: Iterable[str]) -> set[str]:
        """These, and all that could not be without one of them."""
        found = set(ids)
        return found | {each.id for id in found for each in self.dependants(id)}

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
        whole(item)
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
