"""CREATE TYPE name AS (field type,…) | LIST (ELEMENT TYPE = t) | MAP (KEY TYPE = text, VALUE TYPE = t)."""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.catalog.items import Item
from tailrace.engine import named_types
from tailrace.engine.context import Arguments, Session
from tailrace.engine.define import Identity
from tailrace.errors import DuplicateColumn, SqlError
from tailrace.sql.names import Name
from tailrace.sql.parser import Parser
from tailrace.sql.unparse import Printer, quote_ident
from tailrace.statements.contract import Result
from tailrace.types.core import TEXT, Column, ListOf, MapOf, Record, SqlType

STARTS = (("CREATE", "TYPE"),)


def define(statement: CreateType, session: Session, identity: Identity) -> Item:
    return named_types.item(session, statement, identity)


def execute(statement: CreateType, session: Session, arguments: Arguments) -> Result:
    return session.create("type", statement.name, lambda identity: define(statement, session, identity))


@dataclass(frozen=True, kw_only=True, slots=True)
class CreateType:
    """A name for a record, list or map type."""

    name: Name
    type: Record | ListOf | MapOf

    def create_sql(self, printer: Printer) -> str:
        return f"CREATE TYPE {printer.name(self.name)} AS {self._definition()};"

    def _definition(self) -> str:
        match self.type:
            case Record(fields=fields):
                return "(" + ", ".join(f"{quote_ident(each.name)} {each.type}" for each in fields) + ")"
            case ListOf(element=element):
                return f"LIST (ELEMENT TYPE = {element})"
            case MapOf(value=value):
                return f"MAP (KEY TYPE = text, VALUE TYPE = {value})"


def parse(p: Parser) -> CreateType:
    p.expect("CREATE", "TYPE")
    name = p.name("type name")
    p.expect("AS")
    if p.accept("LIST"):
        return CreateType(name=name, type=_list(p))
    if p.accept("MAP"):
        return CreateType(name=name, type=_map(p))
    if not p.at("("):
        raise p.expected('one of LIST or MAP or "("')
    return CreateType(name=name, type=_record(p))


def _record(p: Parser) -> Record:
    fields: dict[str, Column] = {}

    def field() -> None:
        position = p.position
        name = p.identifier("field name")
        if name in fields:
            raise DuplicateColumn(f'field "{name}" specified more than once', position=position)
        fields[name] = Column(name, p.type_())

    p.items(field)
    return Record(tuple(fields.values()))


def _list(p: Parser) -> ListOf:
    p.expect("(")
    element = _part(p, "ELEMENT")
    p.expect(")")
    return ListOf(element)


def _map(p: Parser) -> MapOf:
    parts: dict[str, SqlType] = {}
    position = p.position

    def part() -> None:
        which = "KEY" if p.at("KEY") else "VALUE"
        parts[which] = _part(p, which)

    p.items(part)
    if parts.get("KEY") != TEXT:
        raise SqlError("CREATE TYPE ... AS MAP needs KEY TYPE = text", position=position, sqlstate="42704")
    if "VALUE" not in parts:
        raise SqlError("CREATE TYPE ... AS MAP needs a VALUE TYPE", position=position, sqlstate="42704")
    return MapOf(parts["VALUE"])


def _part(p: Parser, which: str) -> SqlType:
    p.expect(which, "TYPE")
    p.accept("=")
    return p.type_()
