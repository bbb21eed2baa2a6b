"""CREATE CONNECTION [IF NOT EXISTS] name TO type (option,…) [WITH (VALIDATE [= bool])]

and the older `… FOR type option,…` without parentheses.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from tailrace.catalog.items import Item
from tailrace.engine import connections
from tailrace.engine.context import Arguments, Session
from tailrace.engine.define import Identity
from tailrace.errors import NotSupported
from tailrace.sql.kinds import BOOLEAN
from tailrace.sql.names import Name
from tailrace.sql.options import Option, Options, parse_bare_options, parse_options
from tailrace.sql.parser import Parser, one_of
from tailrace.sql.unparse import Printer
from tailrace.statements.connections.contract import ConnectionDetails, ConnectionType
from tailrace.statements.connections.csr import CsrDetails
from tailrace.statements.connections.registry import NOT_YET, TYPES, known_to
from tailrace.statements.contract import Result

STARTS = (("CREATE", "CONNECTION"),)

VALIDATE = Option("VALIDATE", BOOLEAN, doc="Whether to connect before the connection is created.")
WITH_OPTIONS = (VALIDATE,)


@dataclass(frozen=True, kw_only=True, slots=True)
class CreateConnection:
    name: Name
    type: ConnectionType
    details: ConnectionDetails
    validate: bool
    if_not_exists: bool = False

    def create_sql(self, printer: Printer) -> str:
        options = self.details.options.show(printer)
        return f"CREATE CONNECTION {printer.name(self.name)}\nTO {self.type.name} {options};"


def parse(p: Parser) -> CreateConnection:
    p.expect("CREATE", "CONNECTION")
    if_not_exists = p.if_not_exists()
    name = p.name("connection name")
    older = p.keyword("TO", "FOR") == "FOR"
    type_ = _type(p)
    known = known_to(type_)
    options = parse_bare_options(p, known) if older and not p.at("(") else parse_options(p, known)
    type_.refuse_foreign(options)
    with_options = parse_options(p, WITH_OPTIONS) if p.accept("WITH") else Options()
    validate = with_options.get(VALIDATE)
    return CreateConnection(
        name=name,
        type=type_,
        details=type_.build(options),
        validate=type_.validated if validate is None else validate,
        if_not_exists=if_not_exists,
    )


def _type(p: Parser) -> ConnectionType:
    position = p.position
    by_name = {type_.name: type_ for type_ in TYPES}
    if not any(p.at(*name.split()) for name in (*by_name, *NOT_YET)):
        raise p.expected(one_of([name.split()[0] for name in (*by_name, *NOT_YET)]))
    name = p.phrase(*by_name, *NOT_YET)
    if name not in by_name:
        raise NotSupported(f"{name} connections not yet supported", position=position)
    return by_name[name]


def define(statement: CreateConnection, session: Session, identity: Identity) -> Item:
    return Item(
        id=identity.id,
        kind="connection",
        name=identity.name,
        statement=statement,
        create_sql=statement.create_sql(session.printer()),
        depends_on=connections.needs_of(session.engine, statement.details),
        facts=identity.facts,
    )


def execute(statement: CreateConnection, session: Session, arguments: Arguments) -> Result:
    def try_out(connection: Item) -> None:
        if statement.validate:
            connections.validate(session.engine, connection)

    if isinstance(statement.details, CsrDetails) and statement.details.scheme_assumed:
        session.notice(f"schema registry URL has no scheme; using {statement.details.url}")
    return session.create(
        "connection",
        statement.name,
        partial(define, statement, session),
        if_not_exists=statement.if_not_exists,
        try_out=try_out,
    )
