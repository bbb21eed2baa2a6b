"""ALTER SECRET [IF EXISTS] name AS expression.  (RENAME TO and OWNER TO are alter_object.py's.)"""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.engine.context import Arguments, Session
from tailrace.engine.evaluate import constant_text
from tailrace.engine.reopening import reopen_users
from tailrace.secret import Secret
from tailrace.sql.names import Name, ObjectKind
from tailrace.sql.parser import Parser
from tailrace.statements import alter_object
from tailrace.statements.alter_object import Common
from tailrace.statements.contract import Result
from tailrace.statements.create_secret import SecretExpression, secret_expression

STARTS = (("ALTER", "SECRET"),)


@dataclass(frozen=True, kw_only=True, slots=True)
class AlterSecret:
    name: Name
    value: SecretExpression
    if_exists: bool = False


def parse(p: Parser) -> AlterSecret | Common:
    p.discreet = True
    p.expect("ALTER", "SECRET")
    target = alter_object.target(p, ObjectKind.SECRET)
    if common := alter_object.common(p, target):
        return common
    if not p.accept("AS"):
        raise p.expected("one of AS or RENAME or OWNER")
    return AlterSecret(name=target.name, value=secret_expression(p), if_exists=target.if_exists)


def execute(statement: AlterSecret, session: Session, arguments: Arguments) -> Result:
    item = session.resolve(statement.name, "secret")
    secret = statement.value.literal or Secret(constant_text(session, statement.value.query()))
    session.engine.storage.set_secret(item.id, secret)
    reopen_users(session.engine, item.id)
    return Result(tag="ALTER SECRET")
