"""ALTER … RENAME TO: an object under another name, and every statement that mentions it rewritten with it.

Statements are kept as text and planned again at the next start, so each mention must be found: names by walking the
statement, relations inside queries by asking the binder which words of the text it took for this one.  There the new
name is put with the old one as its alias, so that `old.column` still means something.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from tailrace.catalog.catalog import Catalog
from tailrace.catalog.items import FullName, Item
from tailrace.engine.widening import known_to
from tailrace.errors import DependentObjects, DuplicateColumn, DuplicateObject, SqlError, SyntaxFailure, UnknownColumn
from tailrace.plan.bind import bind_query
from tailrace.plan.names import Relation
from tailrace.plan.parse import parse_query
from tailrace.plan.syntax.expressions import position_of
from tailrace.sql.lexer import Token, scan
from tailrace.sql.names import Name, QueryText
from tailrace.sql.unparse import quote_ident

if TYPE_CHECKING:
    from tailrace.engine.session import EngineSession


def rename(session: EngineSession, item: Item, to: str) -> None:
    """Takes effect for the object and all that mention it at once."""
    engine, name = session.engine, replace(item.name, item=to)
    with engine.lock:
        other = engine.catalog.named(name)
        if other is not None:
            raise DuplicateObject(f'{other.kind} "{name}" already exists')
        renaming = _Renaming(session, session.catalog, item, name)
        mentioning = [each for each in engine.catalog.items.values() if item.id in each.depends_on]
        if item.kind == "type" and mentioning:
            raise DependentObjects(
                f'cannot rename type "{item.name.item}": {mentioning[0].kind} "{mentioning[0].name.item}" is made of it'
            )
        engine.swap(renaming.renamed(), *map(renaming.mentioning, mentioning))


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
    def __init__(self, session: EngineSession, catalog: Catalog, item: Item, name: FullName) -> None:
        self._session = session
        self._catalog = catalog
        self._item = item
        self._name = Name((name.database, name.schema, name.item))
        self._full = name
        self._number = item.number  # of the object whose statement is being rewritten
        self._after = catalog.without({item.id}).with_item(replace(item, name=name))

    def renamed(self) -> Item:
        item = replace(self._item, name=self._full)
        if item.kind == "secret":
            return replace(item, create_sql=f"CREATE SECRET {self._session.printer().name(self._name)};")
        return item if item.statement is None else self._restated(item, replace(item.statement, name=self._name))

    def mentioning(self, item: Item) -> Item:
        if item.statement is None:  # it came with another object
            return item
        try:
            self._number = item.number
            return self._restated(item, self._rewritten(item.statement))
        except UnknownColumn as error:
            raise DependentObjects(
                f'cannot rename {self._item.kind} "{self._item.name.item}": {item.kind} "{item.name.item}" would break',
                detail=f"In its query: {error.message}.",
            ) from error

    def _restated(self, item: Item, statement: Any) -> Item:
        return replace(item, statement=statement, create_sql=statement.create_sql(self._session.printer()))

    def _rewritten(self, part: Any) -> Any:
        match part:
            case Name():
                return self._name if self._means_it(part.parts) else part
            case QueryText():
                return replace(part, text=self._rewritten_query(part.text))
            case tuple():
                return tuple(map(self._rewritten, part))
        if not is_dataclass(part) or isinstance(part, type):
            return part
        changed = {
            field.name: after
            for field in fields(part)
            if field.init and (after := self._rewritten(before := getattr(part, field.name))) is not before
        }
        return replace(part, **changed) if changed else part

    def _means_it(self, parts: tuple[str, ...]) -> bool:
        try:
            return self._catalog.resolve(parts).id == self._item.id
        except SqlError:
            return False

    def _rewritten_query(self, text: str) -> str:
        try:
            tree = parse_query(text)
        except SyntaxFailure:
            return text  # an expression over columns: it mentions no relation
        mentions = _Mentions(known_to(self._catalog, self._number), self._item.id)
        bind_query(tree.copy(), mentions)
        aliased = {position_of(table): bool(table.args.get("alias")) for table in tree.find_all(exp.Table)}
        tokens = list(scan(text))
        for position in sorted(mentions.positions, reverse=True):
            start, end = _extent(tokens, position - 1)
            alias = "" if aliased[position] else f" AS {quote_ident(self._item.name.item)}"
            text = text[:start] + ".".join(map(quote_ident, self._name.parts)) + alias + text[end:]
        after = known_to(self._after, self._number)
        bind_query(parse_query(text), after)  # `schema.old.column` has no meaning any more
        return text


class _Mentions:
    """Notes where a query mentions a relation."""

    def __init__(self, catalog: Catalog, id: str) -> None:
        self._catalog = catalog
        self._id = id
        self.positions: set[int] = set()

    def relation(self, parts: tuple[str, ...], position: int | None) -> Relation:
        found = self._catalog.relation(parts, position)
        if found.id == self._id and position is not None:
            self.positions.add(position)
        return found

    def similar(self, name: str, candidates: tuple[str, ...]) -> str | None:
        return self._catalog.similar(name, candidates)


def _extent(tokens: list[Token], start: int) -> tuple[int, int]:
    """From where to where a possibly qualified name stands that begins at `start`."""
    place = next(i for i, token in enumerate(tokens) if token.start == start)
    while place + 2 < len(tokens) and tokens[place + 1].text == ".":
        place += 2
    return start, tokens[place].end
