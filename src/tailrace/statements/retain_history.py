"""ALTER kind name SET (RETAIN HISTORY = FOR 'i') | RESET (RETAIN HISTORY): how much of the past to keep.

Tables, sources, materialized views and indexes have it; sources have a TIMESTAMP INTERVAL beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tailrace.sql.names import Name, ObjectKind
from tailrace.sql.options import Given, Options, option_name, parse_options
from tailrace.sql.parser import Parser
from tailrace.statements import alter_object
from tailrace.statements.alter_object import AlterOwner, Rename, Target
from tailrace.statements.create_source import RETAIN_HISTORY, TIMESTAMP_INTERVAL

STARTS = (("ALTER", "SOURCE"), ("ALTER", "INDEX"))


@dataclass(frozen=True, kw_only=True, slots=True)
class AlterHistory:
    kind: ObjectKind
    name: Name
    change: Options = field(default_factory=Options)
    reset: Options = field(default_factory=Options)
    if_exists: bool = False


def parse(p: Parser) -> AlterHistory | Rename | AlterOwner:
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
