"""ALTER SINK [IF EXISTS] name SET FROM relation | SET (COMMIT INTERVAL [=] 'i') | RESET (COMMIT INTERVAL)
| RENAME TO | OWNER TO"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tailrace.engine import sink_switch, sinks
from tailrace.engine.context import Arguments, Session
from tailrace.errors import InvalidOption, NotSupported
from tailrace.sql.names import Name, ObjectKind
from tailrace.sql.options import Given, Options, option_name, parse_options
from tailrace.sql.parser import Parser
from tailrace.statements import alter_object
from tailrace.statements.alter_object import Common
from tailrace.statements.contract import Result
from tailrace.statements.create_sink import COMMIT_INTERVAL, WITH_OPTIONS, CreateSink, check_interval, refuse

STARTS = (("ALTER", "SINK"),)


@dataclass(frozen=True, kw_only=True, slots=True)
class AlterSink:
    """One of: a new relation to read (`relation`), options to set, options to go back to their defaults."""

    name: Name
    relation: Name | None = None
    change: Options = field(default_factory=Options)
    reset: Options = field(default_factory=Options)
    if_exists: bool = False


def parse(p: Parser) -> AlterSink | Common:
    p.expect("ALTER", "SINK")
    target = alter_object.target(p, ObjectKind.SINK)
    if common := alter_object.common(p, target):
        return common
    relation, change, reset = None, Options(), Options()
    if p.accept("SET", "FROM"):
        relation = p.name("relation name")
    elif p.accept("SET"):
        change = parse_options(p, WITH_OPTIONS)
    elif p.accept("RESET"):
        reset = Options(p.items(lambda: _reset(p)))
    else:
        raise p.expected("one of SET or RESET or RENAME or OWNER")
    _check(change, "SET")
    _check(reset, "RESET")
    return AlterSink(
        name=target.name, relation=relation, change=change, reset=reset, if_exists=target.if_exists
    )


def _reset(p: Parser) -> Given:
    position = p.position
    return Given(option_name(p, WITH_OPTIONS), None, position)


def _check(options: Options, verb: str) -> None:
    for given in options.given:
        if given.option != COMMIT_INTERVAL:
            message = f"ALTER SINK ... {verb} ({given.option.name}) not yet supported"
            raise NotSupported(message, position=given.position)


def execute(statement: AlterSink, session: Session, arguments: Arguments) -> Result:
    tag = Result(tag="ALTER SINK")
    item = session.resolve_if_exists(statement.name, "sink", if_exists=statement.if_exists)
    if item is None:
        return tag
    if statement.relation is not None:
        sink_switch.switch(session, item, statement.relation)
        return tag
    sinks.alter(session, item, _altered(item.statement, statement))
    return tag


def _altered(sink: CreateSink, statement: AlterSink) -> CreateSink:
    for given in statement.reset.given:
        if not sink.options.has(given.option):
            raise InvalidOption(f"cannot RESET {given.option.name}: option is not set", position=given.position)
    refuse(statement.change, sink.target)
    kept = sink.options.without(given.option for given in statement.reset.given)
    options = kept.updated(statement.change)
    check_interval(options, sink.target)
    return replace(sink, options=options)
