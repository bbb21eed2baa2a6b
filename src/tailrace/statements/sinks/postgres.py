"""CREATE SINK … INTO POSTGRES CONNECTION name (TABLE 'schema.t') KEY (…) [NOT ENFORCED] MODE UPSERT."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from tailrace.errors import InvalidOption, SyntaxFailure
from tailrace.sql.kinds import TEXT
from tailrace.sql.names import Name
from tailrace.sql.options import Option, Options, Texts, parse_options
from tailrace.sql.parser import Parser
from tailrace.sql.unparse import Printer
from tailrace.statements.sinks.contract import (
    SinkEnvelope,
    SinkKey,
    expect_upsert,
    parse_required_key,
    refuse_repeated,
)

TABLE = Option(
    "TABLE", TEXT, required=True, doc="The table to write to, '[schema.]table'; created if it does not exist."
)
OPTIONS: tuple[Option[Any], ...] = (TABLE,)
_TEXTS = Texts(missing="POSTGRES CONNECTION must specify TABLE")


@dataclass(frozen=True, kw_only=True, slots=True)
class PostgresTarget:
    """`table`: schema and name as PostgreSQL would read them; without a schema it is in `public`."""

    type: ClassVar[str] = "postgres"
    envelope: ClassVar[SinkEnvelope] = SinkEnvelope.UPSERT

    connection: Name
    options: Options
    table: tuple[str, str]
    key: SinkKey

    @property
    def connections(self) -> list[Name]:
        return [self.connection]

    def clauses(self, printer: Printer) -> list[str | None]:
        return [
            f"INTO POSTGRES CONNECTION {printer.name(self.connection)} {self.options.show(printer)}",
            self.key.clause(printer),
            "MODE UPSERT",
        ]

    def check(self) -> None:
        refuse_repeated(self.key)


def parse(p: Parser) -> PostgresTarget:
    """After INTO."""
    p.expect("POSTGRES", "CONNECTION")
    connection = p.name("connection name")
    options = parse_options(p, OPTIONS, _TEXTS)
    key = parse_required_key(p, "Postgres")
    expect_upsert(p, "Postgres")
    return PostgresTarget(connection=connection, options=options, table=_table(options), key=key)


def _table(options: Options) -> tuple[str, str]:
    given = options.value(TABLE)
    try:
        inner = Parser(given)
        parts = inner.name("table name").parts
        inner.end()
    except SyntaxFailure:
        parts = ()
    if len(parts) not in (1, 2):
        raise InvalidOption(
            f"invalid TABLE: {given}",
            hint="Write 'table' or 'schema.table', in double quotes what is not lower case.",
            position=options.position(TABLE),
        )
    return ("public", *parts)[-2:]  # type: ignore[return-value]
