"""ALTER CONNECTION [IF EXISTS] name { SET (option [=] value) | DROP (option) | RESET (option) },…
[WITH (VALIDATE [= bool])]  |  ROTATE KEYS  |  RENAME TO  |  OWNER TO

Several changes take effect together.  `ConnectionType.altered` applies them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tailrace.engine import connections, privileges, reopening
from tailrace.engine.context import Arguments, Session
from tailrace.engine.define import Identity
from tailrace.errors import InvalidOption, NotSupported
from tailrace.sql.names import Name, ObjectKind
from tailrace.sql.options import PLAIN, Given, Options, option_name, parse_option, parse_options
from tailrace.sql.parser import Parser
from tailrace.statements import alter_object
from tailrace.statements.alter_object import Common
from tailrace.statements.connections.registry import EVERY_OPTION
from tailrace.statements.contract import Result
from tailrace.statements.create_connection import VALIDATE, WITH_OPTIONS, CreateConnection, define

STARTS = (("ALTER", "CONNECTION"),)


@dataclass(frozen=True, kw_only=True, slots=True)
class AlterConnection:
    """`change` holds what is SET, `reset` what is DROPped or RESET (to no value)."""

    name: Name
    change: Options
    reset: Options
    validate: bool | None
    if_exists: bool = False


def parse(p: Parser) -> AlterConnection | Common:
    p.expect("ALTER", "CONNECTION")
    target = alter_object.target(p, ObjectKind.CONNECTION)
    if common := alter_object.common(p, target):
        return common
    if p.accept("ROTATE", "KEYS"):
        raise NotSupported("ALTER CONNECTION ... ROTATE KEYS not yet supported")
    change: list[Given] = []
    reset: list[Given] = []
    p.several(lambda: _change(p, change, reset))
    with_options = parse_options(p, WITH_OPTIONS) if p.accept("WITH") else Options()
    return AlterConnection(
        name=target.name,
        change=Options(tuple(change)),
        reset=Options(tuple(reset)),
        validate=with_options.get(VALIDATE),
        if_exists=target.if_exists,
    )


def _change(p: Parser, change: list[Given], reset: list[Given]) -> None:
    verb = p.keyword("SET", "DROP", "RESET")

    def item() -> None:
        if verb == "SET":
            change.append(parse_option(p, EVERY_OPTION, change, PLAIN))
        else:
            _reset(p, reset)

    if p.at("("):
        p.items(item, trailing_comma=True)
    else:
        item()


def _reset(p: Parser, reset: list[Given]) -> None:
    position = p.position
    option = option_name(p, EVERY_OPTION)
    if any(given.option == option for given in reset):
        raise InvalidOption(f"{option.name} specified more than once", position=position)
    reset.append(Given(option, None, position))


def execute(statement: AlterConnection, session: Session, arguments: Arguments) -> Result:
    """What runs with the connection goes on with the new settings; if they are refused, with the old ones."""
    item = session.resolve_if_exists(statement.name, "connection", if_exists=statement.if_exists)
    if item is None:
        return Result(tag="ALTER CONNECTION")
    old: CreateConnection = item.statement
    new = replace(old, details=old.type.altered(old.details, statement.change, statement.reset))
    identity = Identity(id=item.id, name=item.name, facts=item.facts)
    changed = define(new, session, identity)
    privileges.check_needs(session, changed)
    if old.type.validated if statement.validate is None else statement.validate:
        connections.validate(session.engine, changed)
    reopening.altered(session.engine, changed)
    return Result(tag="ALTER CONNECTION")
