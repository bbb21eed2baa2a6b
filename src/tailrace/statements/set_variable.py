"""SET [SESSION | LOCAL] variable {= | TO} value,… | DEFAULT, and PostgreSQL's older spellings of some.

SET 'key' = 'value' is Flink's: its keys are kept as they are, and some mean something here (docs/flink.md).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tailrace.engine import flink_settings
from tailrace.engine.context import Arguments, Session
from tailrace.engine.variables import is_idle, joined
from tailrace.errors import NotSupported
from tailrace.sql.lexer import Kind
from tailrace.sql.parser import Parser
from tailrace.statements.contract import Result

STARTS = (("SET",),)

_ALIASES = {
    ("TIME", "ZONE"): "timezone",
    ("TRANSACTION", "ISOLATION", "LEVEL"): "transaction_isolation",
    ("NAMES",): "client_encoding",
    ("SCHEMA",): "search_path",
    ("ROLE",): "role",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class SetVariable:
    """`values` is None for DEFAULT.  Words and numbers are kept as text; a list has several."""

    variable: str
    values: tuple[str, ...] | None
    local: bool = False
    of_flink: bool = False
    position: int | None = field(default=None, compare=False)


def parse(p: Parser) -> SetVariable:
    p.expect("SET")
    if p.token.kind is Kind.STRING:
        position, key = p.position, p.string()
        p.expect("=")
        return SetVariable(variable=key, values=(p.string(),), of_flink=True, position=position)
    local = _scope(p)
    position = p.position
    aliased = any(p.at(*words) for words in _ALIASES)
    to_come = p.accept("CHARACTERISTICS", "AS")
    if to_come or p.at("TRANSACTION"):
        return _transaction(p, local, to_come)
    if p.at("AUTHORIZATION"):
        return _authorization(p)
    name = variable(p)
    if not (p.accept("=") or p.accept("TO")) and not aliased:
        raise p.expected('"=" or TO')
    given = values(p) if name != "role" else _role(p)
    return SetVariable(variable=name, values=given, local=local, position=position)


def _transaction(p: Parser, local: bool, to_come: bool) -> SetVariable:
    """`TRANSACTION ISOLATION LEVEL …`, or `TRANSACTION READ ONLY | READ WRITE`: of this one, or of all to come."""
    position = p.position
    p.expect("TRANSACTION")
    if p.accept("ISOLATION", "LEVEL"):
        level = isolation_level(p)
        return SetVariable(variable="transaction_isolation", values=(level,), local=local, position=position)
    p.expect("READ")
    value = "on" if p.keyword("ONLY", "WRITE") == "ONLY" else "off"
    name = "default_transaction_read_only" if to_come else "transaction_read_only"
    return SetVariable(variable=name, values=(value,), local=local, position=position)


def _role(p: Parser) -> tuple[str, ...] | None:
    if p.accept("DEFAULT") or p.accept("NONE"):
        return None
    return (p.string() if p.token.kind is Kind.STRING else p.identifier("role name"),)


def _authorization(p: Parser) -> SetVariable:
    position = p.position
    p.expect("AUTHORIZATION")
    if not p.accept("DEFAULT"):
        raise NotSupported(
            "SET SESSION AUTHORIZATION not supported",
            hint="SET ROLE gives a session the rights of another role.",
            position=position,
        )
    return SetVariable(variable="role", values=None, position=position)


def _scope(p: Parser) -> bool:
    if p.peek(1).word in ("=", "TO"):
        return False  # a variable called local or session
    local = p.accept("LOCAL")
    if not local:
        p.accept("SESSION")
    return local


def variable(p: Parser) -> str:
    """A variable's name, or one of its aliases."""
    for words, name in _ALIASES.items():
        if p.accept(*words):
            return name
    name = p.identifier("variable")
    while p.accept("."):
        name += "." + p.identifier("variable")
    return name


def values(p: Parser) -> tuple[str, ...] | None:
    """`value,…`, or None for DEFAULT."""
    return None if p.accept("DEFAULT") or p.accept("LOCAL") else p.several(lambda: _value(p))


def _value(p: Parser) -> str:
    sign = "-" if p.accept("-") else ""
    token = p.token
    numeric = token.kind is Kind.NUMBER
    if numeric or (not sign and token.kind in (Kind.STRING, Kind.WORD, Kind.QUOTED)):
        return sign + p.advance().value
    raise p.expected("value")


def isolation_level(p: Parser) -> str:
    return p.phrase(
        *("READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE", "STRICT SERIALIZABLE"),
    ).lower()


def execute(statement: SetVariable, session: Session, arguments: Arguments) -> Result:
    if statement.of_flink:
        flink_settings.put(session, statement.variable, ", ".join(statement.values or ()))
    elif statement.local and (session.transaction is None or session.transaction.is_implicit):
        session.notice("SET LOCAL can only be used in transaction blocks", sqlstate="25P01", severity="WARNING")
    elif statement.variable == "transaction_read_only" and statement.values == ("on",):
        if session.transaction is None or session.transaction.is_implicit:
            message = "SET TRANSACTION can only be used in transaction blocks"
            session.notice(message, sqlstate="25P01", severity="WARNING")
        else:
            session.transaction.admit("read")
    elif statement.values is None:
        session.reset_variable(statement.variable)
    else:
        value = joined(statement.variable, statement.values)
        session.set_variable(statement.variable, value, local=statement.local)
        if is_idle(statement.variable):
            session.notice(f'parameter "{statement.variable}" has no effect')
        if statement.variable == "cluster" and session.engine.clusters.find(statement.values[0]) is None:
            session.notice(f'cluster "{statement.values[0]}" does not exist')
        if statement.variable == "database" and session.catalog.namespaces.database(value) is None:
            session.notice(f'session database "{value}" does not exist')
        if statement.variable == "search_path" and session.catalog.schema is None and session.path:
            session.notice(f'schema "{session.path[0]}" does not exist', hint="CREATE SCHEMA makes one.")
    return Result(tag="SET")
