"""CREATE SECRET [IF NOT EXISTS] name AS expression.

The value cannot be read back: neither `repr` nor SHOW CREATE nor an error shows it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tailrace.catalog.items import Item
from tailrace.engine.context import Arguments, Session
from tailrace.engine.define import Identity
from tailrace.engine.evaluate import constant_text
from tailrace.secret import Secret
from tailrace.sql.lexer import Kind
from tailrace.sql.names import Name, QueryText
from tailrace.sql.parser import Parser
from tailrace.sql.unparse import Printer
from tailrace.statements.contract import Result

STARTS = (("CREATE", "SECRET"),)


@dataclass(frozen=True, kw_only=True, slots=True)
class SecretExpression:
    """What a secret is set to: SQL text, and its value if that is a plain string."""

    text: Secret
    literal: Secret | None
    start: int = field(compare=False)

    def query(self) -> QueryText:
        """The expression in the open, for whoever evaluates it."""
        return QueryText(self.text.reveal(), self.start)


@dataclass(frozen=True, kw_only=True, slots=True)
class CreateSecret:
    name: Name
    value: SecretExpression
    if_not_exists: bool = False

    def create_sql(self, printer: Printer) -> str:
        return f"CREATE SECRET {printer.name(self.name)};"


def parse(p: Parser) -> CreateSecret:
    p.discreet = True
    p.expect("CREATE", "SECRET")
    if_not_exists = p.if_not_exists()
    name = p.name("secret name")
    p.expect("AS")
    return CreateSecret(name=name, value=secret_expression(p), if_not_exists=if_not_exists)


def secret_expression(p: Parser) -> SecretExpression:
    first = p.token
    query = p.rest_as_text()
    plain = first.kind is Kind.STRING and first.text == query.text
    literal = Secret(first.value) if plain else None
    return SecretExpression(text=Secret(query.text), literal=literal, start=query.start)


def execute(statement: CreateSecret, session: Session, arguments: Arguments) -> Result:
    def define(identity: Identity) -> Item:
        text = statement.create_sql(session.printer())
        return Item(id=identity.id, kind="secret", name=identity.name, statement=None, create_sql=text)

    secret = statement.value.literal or Secret(constant_text(session, statement.value.query()))
    return session.create("secret", statement.name, define, if_not_exists=statement.if_not_exists, secret=secret)
