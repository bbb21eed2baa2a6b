"""Names in full: what the catalog keeps as text means the same in every session, whatever its database and path.

Names of a statement are always kept so.  In the text of a query only those are put in full that would mean something
else without the session's path: the text of a session that has none of its own is kept as it was written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from tailrace.catalog.catalog import Catalog
from tailrace.catalog.items import FullName, Item
from tailrace.engine.named_types import named_type
from tailrace.errors import NotSupported, SqlError, SyntaxFailure
from tailrace.plan.bind import bind_query
from tailrace.plan.names import Relation
from tailrace.plan.parse import parse_expression, parse_query
from tailrace.plan.syntax.types import MapType, NamedType, SuffixedType
from tailrace.sql.lexer import Token, scan
from tailrace.sql.names import Name, QueryText
from tailrace.sql.unparse import quote_ident
from tailrace.types.core import SqlType

if TYPE_CHECKING:
    from tailrace.engine.session import EngineSession

_NEW = ("name", "progress")
"""Fields with the names of what a CREATE statement makes."""
_OUTSIDE = ("reference",)
"""Fields with names that mean nothing here."""


def in_full(session: EngineSession, statement: Any) -> Any:
    """A statement that is kept as text, or whose parts are: as a session says it that has no path of its own."""
    match type(statement).__name__:
        case "AlterConnection" | "AlterSink":
            return rewritten(statement, partial(_known, session.catalog), lambda query: query)
        case kind if not kind.startswith("Create") or not hasattr(statement, "create_sql") or kind == "CreateCluster":
            return statement
    return _portable(session, statement)


def of_job(session: EngineSession, statement: Any) -> Any:
    """The same for an INSERT that goes on for ever."""
    return rewritten(_portable(session, statement), partial(_known, session.catalog), lambda query: query)


def _portable(session: EngineSession, statement: Any) -> Any:
    catalog = session.catalog
    kept = catalog.as_kept()
    if (catalog.database, catalog.path) == (kept.database, kept.path):
        return statement
    named = with_names(session, statement)
    return rewritten(named, lambda name: name, lambda query: _query(catalog, kept, query))


def with_names(session: EngineSession, statement: Any, called: FullName | None = None) -> Any:
    """The statement with names in full, but for those inside of queries.  `called`: what it makes is."""
    made = {field: name for field in _NEW if isinstance(name := getattr(statement, field, None), Name)}
    after = rewritten(statement, partial(_known, session.catalog), lambda query: query)
    if not made:
        return after
    if called is None and type(statement).__name__ == "CreateIndex":
        return replace(after, **made)  # it goes where its relation is
    if called is None:
        name = made["name"]
        temporary = getattr(statement, "temporary", False) and len(name.parts) == 1
        called = session.catalog.full_name(("pg_temp", *name.parts) if temporary else name.parts, name.position)
    placed = {field: Name(_placed(name, called, is_own=field == "name"), name.position) for field, name in made.items()}
    return replace(after, **placed)


def _known(catalog: Catalog, name: Name) -> Name:
    try:
        return Name(catalog.resolve(name.parts).name.parts, name.position)
    except SqlError:
        return name  # the statement itself says what is wrong with it


def _placed(name: Name, called: FullName, *, is_own: bool) -> tuple[str, ...]:
    if is_own:
        return called.parts
    return replace(called, item=name.item).parts if len(name.parts) == 1 else name.parts


def rewritten(part: Any, of_name: Callable[[Name], Name], of_query: Callable[[QueryText], QueryText]) -> Any:
    """A statement, or a part of one, with each name and each query replaced."""
    match part:
        case Name():
            return of_name(part)
        case QueryText():
            return of_query(part)
        case tuple() if not hasattr(part, "_fields"):
            after = tuple(rewritten(each, of_name, of_query) for each in part)
            return part if all(new is old for new, old in zip(after, part, strict=True)) else after
    if not is_dataclass(part) or isinstance(part, type):
        return part
    changed = {
        field.name: after
        for field in fields(part)
        if field.init
        and field.name not in _OUTSIDE
        and (after := rewritten(before := getattr(part, field.name), of_name, of_query)) is not before
    }
    return replace(part, **changed) if changed else part


def _query(catalog: Catalog, kept: Catalog, query: QueryText) -> QueryText:
    """The same query for a session without a path of its own."""

    def means_the_same(parts: tuple[str, ...], item: Item) -> bool:
        try:
            return kept.resolve(parts).id == item.id
        except SqlError:
            return False

    found = mentions(catalog, query)
    if found is None:
        return query  # what is wrong with it is said where it is planned
    elsewhere = {
        position: item.name for position, (parts, item) in found.items() if not means_the_same(parts, item)
    }
    text = replaced(query, elsewhere)
    again = mentions(kept, QueryText(text))
    if again is None or [item.id for _, item in found.values()] != [item.id for _, item in again.values()]:
        raise NotSupported(
            "a query whose names could not be put in full",
            hint="Write the names of relations and types with their schemas.",
            position=query.start + 1,
        )
    return replace(query, text=text)


Found = dict[int, tuple[tuple[str, ...], Item]]
"""Where the text of a statement mentions something, by its parts, and what that is."""


def mentions(catalog: Catalog, query: QueryText) -> Found | None:
    """What a query or an expression mentions, in the order of its text.  None: it cannot be planned."""
    names = Mentions(catalog)
    try:
        tree = parse_query(query.text, query.start)
        bind_query(tree.copy(), names)
    except SyntaxFailure:
        try:
            tree = parse_expression(query.text, query.start)  # over columns: it mentions no relation
        except SyntaxFailure:
            return None
    except SqlError:
        return None
    for name in _types(tree):
        if name.position is not None and (type := names.type_item(name.parts)) is not None:
            names.found[name.position] = name.parts, type
    return dict(sorted(names.found.items()))


class Mentions:
    """Answers the binder, and notes which words of the text it took for what."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self.found: Found = {}

    def relation(self, parts: tuple[str, ...], position: int | None) -> Relation:
        found = self._catalog.relation(parts, position)
        if position is not None:
            self.found[position] = parts, self._catalog.items[found.id]
        return found

    def hinted(self, parts: tuple[str, ...], options: Mapping[str, str], position: int | None) -> Relation:
        return self.relation(parts, position)  # other options, the same columns

    def type(self, parts: tuple[str, ...]) -> SqlType | None:
        item = self.type_item(parts)
        return None if item is None else named_type(item)

    def type_item(self, parts: tuple[str, ...]) -> Item | None:
        try:
            item = self._catalog.resolve(parts)
        except SqlError:
            return None
        return item if item.kind == "type" else None

    def similar(self, name: str, candidates: tuple[str, ...]) -> str | None:
        return self._catalog.similar(name, candidates)


def _types(tree: exp.Expr) -> Iterator[NamedType]:
    for node in tree.walk():
        for value in node.args.values():
            yield from _named_types(value)


def _named_types(value: Any) -> Iterator[NamedType]:
    match value:
        case NamedType():
            yield value
        case SuffixedType(element=inner) | MapType(value=inner):
            yield from _named_types(inner)
        case list() | tuple():
            for each in value:
                yield from _named_types(each)


def replaced(query: QueryText, names: Mapping[int, FullName], aliases: Mapping[int, str] | None = None) -> str:
    """The query's text with other names at these positions, each with an alias if it has one here."""
    text, tokens = query.text, list(scan(query.text))
    for position in sorted(names, reverse=True):
        start, end = _extent(tokens, position - 1 - query.start)
        alias = (aliases or {}).get(position)
        name = ".".join(map(quote_ident, names[position].parts))
        text = text[:start] + name + ("" if alias is None else f" AS {quote_ident(alias)}") + text[end:]
    return text


def _extent(tokens: list[Token], start: int) -> tuple[int, int]:
    """From where to where a possibly qualified name stands that begins at `start`."""
    place = next(i for i, token in enumerate(tokens) if token.start == start)
    while place + 2 < len(tokens) and tokens[place + 1].text == ".":
        place += 2
    return start, tokens[place].end
