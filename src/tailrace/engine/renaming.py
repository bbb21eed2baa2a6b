"""ALTER … RENAME TO: objects under other names, and every statement that mentions one rewritten with it.

Statements are kept as text and planned again at the next start, so each mention must be found: names by walking the
statement, relations inside queries by asking the binder which words of the text it took for which.  There the new
name is put with the old one as its alias, so that `old.column` still means something.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from tailrace.catalog.catalog import Catalog
from tailrace.catalog.items import FullName, Item
from tailrace.catalog.namespaces import Namespace
from tailrace.engine.naming import Mentions, replaced, rewritten
from tailrace.engine.widening import known_to
from tailrace.errors import (
    DependentObjects,
    DuplicateColumn,
    DuplicateObject,
    NotSupported,
    SqlError,
    SyntaxFailure,
    UnknownColumn,
)
from tailrace.plan.bind import bind_query
from tailrace.plan.parse import parse_query
from tailrace.plan.syntax.expressions import position_of
from tailrace.sql.names import Name, QueryText

if TYPE_CHECKING:
    from tailrace.engine.session import EngineSession


def rename(session: EngineSession, item: Item, to: str) -> None:
    """Takes effect for the object and all that mention it at once."""
    engine, name = session.engine, replace(item.name, item=to)
    with engine.lock:
        other = engine.catalog.named(name)
        if other is not None:
            raise DuplicateObject(f'{other.kind} "{name}" already exists')
        hidden = {
            each.id: replace(name, item=to + each.name.item.removeprefix(item.name.item))
            for each in engine.catalog.items.values()
            if each.facts.get("hinted") == item.id
        }
        engine.swap(*_renamed(session, f'{item.kind} "{item.name.item}"', {item.id: name, **hidden}))


def move(session: EngineSession, item: Item, to: Namespace) -> None:
    """To another schema, with what came with it."""
    engine = session.engine
    if item.is_temporary:
        raise NotSupported("cannot move objects into or out of temporary schemas")
    if item.part_of is not None:
        owner = engine.catalog.items[item.part_of].name.item
        raise NotSupported(f'{item.kind} "{item.name.item}" is where "{owner}" is, which it came with')
    with engine.lock:
        moving = {item.id}
        for other in sorted(engine.catalog.dependants(item.id), key=lambda other: other.number):
            if other.part_of in moving:
                moving.add(other.id)
        moving |= {each.id for each in engine.catalog.items.values() if each.facts.get("hinted") in moving}
        old = {id: engine.catalog.items[id].name for id in moving}
        names = {id: FullName(str(to.database), to.name, name.item) for id, name in old.items()}
        for id, name in names.items():
            other_of_name = engine.catalog.named(name)
            if other_of_name is not None and other_of_name.id != id:
                raise DuplicateObject(f'{other_of_name.kind} "{name}" already exists')
        engine.swap(*_renamed(session, f'{item.kind} "{item.name.item}"', names))


def rename_namespaces(session: EngineSession, before: Namespace, *after: Namespace) -> None:
    """A schema, or a database with its schemas, and with it the names of all that is inside."""
    engine = session.engine
    with engine.lock:
        old = {each.key: each for each in engine.catalog.namespaces.all}
        moved = {(old[each.key].database, old[each.key].name): each for each in after if each.database is not None}
        names = {
            item.id: FullName(str(new.database), new.name, item.name.item)
            for item in engine.catalog.items.values()
            if (new := moved.get((item.name.database, item.name.schema))) is not None
        }
        engine.swap(*_renamed(session, f'{before.kind} "{before.name}"', names, after), namespaces=after)


def _renamed(
    session: EngineSession, what: str, names: Mapping[str, FullName], namespaces: Sequence[Namespace] = ()
) -> list[Item]:
    """The items under their new names, and those that mention one."""
    items = session.engine.catalog.items.values()
    concerned = [item for item in items if item.id in names or item.depends_on & names.keys()]
    for item in concerned:
        for id in sorted(item.depends_on & names.keys()):
            if session.engine.catalog.items[id].kind == "type":
                raise DependentObjects(f'cannot rename {what}: {item.kind} "{item.name.item}" is made of it')
    renaming = _Renaming(session, what, names, namespaces)
    return [renaming.after(item) for item in concerned]


def rename_column(session: EngineSession, table: Item, column: str, to: str) -> None:
    """Of a table that nothing reads: who reads it has the column's name somewhere in a text."""
    engine, schema = session.engine, table.schema or ()
    names = [each.name for each in schema]
    if column not in names:
        raise UnknownColumn(f'column "{column}" does not exist')
    if to in names:
        raise DuplicateColumn(f'column "{to}" of relation "{table.name.item}" already exists')
    for other in engine.catalog.dependants(table.id):
        raise DependentObjects(
            f'cannot rename column "{column}" of table "{table.name.item}": {other.kind} "{other.name.item}" reads it',
            hint="A view can give the column another name.",
        )

    def renamed(name: str) -> str:
        return to if name == column else name

    statement = table.statement
    columns = tuple(replace(each, name=renamed(each.name)) for each in statement.columns)
    keys = tuple(replace(key, columns=tuple(map(renamed, key.columns))) for key in statement.keys)
    statement = replace(statement, columns=columns, keys=keys)
    fresh = tuple(replace(each, name=renamed(each.name)) for each in schema)
    text = statement.create_sql(session.printer())
    engine.swap(replace(table, statement=statement, create_sql=text, schema=fresh))


class _Renaming:
    def __init__(
        self, session: EngineSession, what: str, names: Mapping[str, FullName], namespaces: Sequence[Namespace]
    ) -> None:
        self._session = session
        self._what = what
        self._names = names
        self._catalog = session.catalog.as_kept()
        self._new = _with_names(self._catalog, names, namespaces)
        self._number = 0  # of the object whose statement is being rewritten

    def after(self, item: Item) -> Item:
        name = self._names.get(item.id, item.name)
        item = replace(item, name=name)
        if item.kind == "secret":
            return replace(item, create_sql=f"CREATE SECRET {self._session.printer().name(Name(name.parts))};")
        if item.statement is None:  # it came with another object
            return item
        if item.broken is not None:
            raise DependentObjects(f"cannot rename {self._what}: {item.broken.message}", hint=item.broken.hint)
        try:
            self._number = item.number
            statement = rewritten(item.statement, self._name, self._query)
        except UnknownColumn as error:
            raise DependentObjects(
                f'cannot rename {self._what}: {item.kind} "{item.name.item}" would break',
                detail=f"In its query: {error.message}.",
            ) from error
        if hasattr(statement, "name"):
            statement = replace(statement, name=Name(name.parts))
        return replace(item, statement=statement, create_sql=statement.create_sql(self._session.printer()))

    def _name(self, name: Name) -> Name:
        try:
            meant = self._catalog.resolve(name.parts).id
        except SqlError:
            return name
        return Name(self._names[meant].parts, name.position) if meant in self._names else name

    def _query(self, query: QueryText) -> QueryText:
        try:
            tree = parse_query(query.text)
        except SyntaxFailure:
            return query  # an expression over columns: it mentions no relation
        names = Mentions(known_to(self._catalog, self._number))
        bind_query(tree.copy(), names)
        found = {position: item for position, (_, item) in names.found.items() if item.id in self._names}
        aliased = {position_of(table): bool(table.args.get("alias")) for table in tree.find_all(exp.Table)}
        aliases = {
            position: item.name.item
            for position, item in found.items()
            if not aliased[position] and item.name.item != self._names[item.id].item
        }
        new = {position: self._names[item.id] for position, item in found.items()}
        text = replaced(QueryText(query.text), new, aliases)
        # `schema.old.column` has no meaning any more.
        bind_query(parse_query(text), Mentions(known_to(self._new, self._number)))
        return replace(query, text=text)


def _with_names(catalog: Catalog, names: Mapping[str, FullName], namespaces: Sequence[Namespace]) -> Catalog:
    """The picture in which these items are called so."""
    after = replace(catalog.without(names), namespaces=catalog.namespaces.changed(namespaces))
    for id, name in names.items():
        if id in catalog.items:
            after = after.with_item(replace(catalog.items[id], name=name))
    return after
