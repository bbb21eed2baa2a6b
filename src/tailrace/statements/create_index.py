"""CREATE [DEFAULT] INDEX [IF NOT EXISTS] [name] [IN CLUSTER c] ON relation [USING method] [(expression,…)]
[WITH (option,…)]"""

from __future__ import annotations

from dataclasses import dataclass, field

from tailrace.catalog.items import Item
from tailrace.engine import indexes
from tailrace.engine.context import Arguments, Session
from tailrace.engine.define import Identity
from tailrace.sql.kinds import FOR_INTERVAL
from tailrace.sql.names import Name, QueryText
from tailrace.sql.options import Option, Options, parse_options
from tailrace.sql.parser import Parser
from tailrace.sql.unparse import Printer, lines
from tailrace.statements.contract import Result

STARTS = (("CREATE", "INDEX"), ("CREATE", "DEFAULT", "INDEX"))

RETAIN_HISTORY = Option("RETAIN HISTORY", FOR_INTERVAL, doc="How far back AS OF can reach.")
WITH_OPTIONS = (RETAIN_HISTORY,)


@dataclass(frozen=True, kw_only=True, slots=True)
class CreateIndex:
    """Without `keys` it is a default index: the relation's own key.  Without a `name` we choose one."""

    relation: Name
    name: Name | None = None
    keys: tuple[QueryText, ...] | None = None
    cluster: str | None = None
    options: Options = field(default_factory=Options)
    if_not_exists: bool = False

    def create_sql(self, printer: Printer) -> str:
        name = "" if self.name is None else f" {printer.name(self.name)}"
        keys = "" if self.keys is None else f" ({', '.join(printer.query(key) for key in self.keys)})"
        return lines(
            f"CREATE {'DEFAULT ' if self.keys is None else ''}INDEX{name}",
            printer.in_cluster(self.cluster),
            f"ON {printer.name(self.relation)}{keys}",
            self.options.clause(printer, "WITH "),
        )


def parse(p: Parser) -> CreateIndex:
    p.expect("CREATE")
    default = p.accept("DEFAULT")
    p.expect("INDEX")
    if_not_exists = p.if_not_exists()
    name = p.name("index name") if p.at_identifier() else None
    cluster = p.in_cluster()
    p.expect("ON")
    relation = p.name("relation name")
    if p.accept("USING"):
        p.identifier("index method")
    keys = None if default else p.items(lambda: _key(p))
    options = parse_options(p, WITH_OPTIONS) if p.accept("WITH") else Options()
    return CreateIndex(
        relation=relation,
        name=name,
        keys=keys,
        cluster=cluster,
        options=options,
        if_not_exists=if_not_exists,
    )


def _key(p: Parser) -> QueryText:
    """`expression [ASC | DESC] [NULLS FIRST | LAST]`: nothing is kept in any order."""
    key = p.expression(("ASC",), ("DESC",), ("NULLS",))
    if not p.accept("ASC"):
        p.accept("DESC")
    if p.accept("NULLS"):
        p.keyword("FIRST", "LAST")
    return key


def define(statement: CreateIndex, session: Session, identity: Identity) -> Item:
    return indexes.item(session, statement, identity)


def execute(statement: CreateIndex, session: Session, arguments: Arguments) -> Result:
    return indexes.create(session, statement)
