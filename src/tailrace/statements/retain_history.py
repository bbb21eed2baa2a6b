"""ALTER kind name SET (RETAIN HISTORY = FOR 'i') | RESET (RETAIN HISTORY): how much of the past to keep.

Tables, sources, materialized views and indexes have it; sources have a TIMESTAMP INTERVAL beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tailrace.engine.context import Arguments, Session
from tailrace.errors import NotSupported
from tailrace.sql.names import Name, ObjectKind
from tailrace.sql.options import Given, Options, option_name, parse_options
from tailrace.sql.parser import Parser
from tailrace.statements import alter_object
from tailrace.statements.alter_object import Common, Target
from tailrace.statements.contract import Result
from tailrace.statements.create_source import RETAIN_HISTORY, TIMESTAMP_INTERVAL

STARTS = (("ALTER", "SOURCE"), ("ALTER", "INDEX"))


@dataclass(frozen=True, kw_only=True, slots=True)
class AlterHistory:
    kind: ObjectKind
    name: Name
    change: Options = field(default_factory=Options)
    reset: Options = field(default_factory=Options)
    if_exists: bool = False


def parse(p: Parser) -> AlterHistory | Common:
    p.expect("ALTER")
    kind = ObjectKind(p.keyword("SOURCE", "INDEX").lower())
    target = alter_object.target(p, kind)
    change = alter_object.common(p, target) or parse_change(p, target)
    if change is None:
        raise p.expected("one of SET or RESET or RENAME or OWNER")
    return change


def parse_change(p: Parser, target: Target) -> AlterHistory | None:
    """SET (…) or RESET (…); None if something else follows."""
    source = target.kind is ObjectKind.SOURCE
    known = (RETAIN_HISTORY, TIMESTAMP_INTERVAL) if source else (RETAIN_HISTORY,)
    change, reset = Options(), Options()
    if p.accept("SET"):
        change = parse_options(p, known)
    elif p.accept("RESET"):
        reset = Options(p.items(lambda: Given(option_name(p, known), None)))
    else:
        return None
    return AlterHistory(
        kind=target.kind, name=target.name, change=change, reset=reset, if_exists=target.if_exists
    )


def execute(statement: AlterHistory, session: Session, arguments: Arguments) -> Result:
    """More is kept from now on; what was forgotten does not come back."""
    tag = Result(tag=f"ALTER {statement.kind.upper()}")
    item = session.resolve_if_exists(statement.name, str(statement.kind), if_exists=statement.if_exists)
    if item is None:
        return tag
    if not hasattr(item.statement, "retain_history"):
        raise NotSupported(f"RETAIN HISTORY of {item.kind} {item.name.item} not yet supported")
    if statement.change.has(TIMESTAMP_INTERVAL):
        session.notice("TIMESTAMP INTERVAL has no effect: all sources share the ticks of their cluster")
    reset = (given.option for given in statement.reset.given)
    options = item.statement.options.updated(statement.change).without(reset)
    changed = replace(item.statement, options=options, retain_history=options.get(RETAIN_HISTORY))
    engine = session.engine
    engine.swap(replace(item, statement=changed, create_sql=changed.create_sql(session.printer())))
    engine.loop.do(lambda: engine.running.retain(engine.catalog.items[item.id]))
    return tag
