"""LISTEN channel | UNLISTEN channel | UNLISTEN * | NOTIFY channel [, 'text'].

Nobody can listen, so there is never anything to end: pools of connections send UNLISTEN to make one like new.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tailrace.engine.context import Arguments, Session
from tailrace.errors import NotSupported
from tailrace.sql.parser import Parser
from tailrace.statements.contract import Result

STARTS = (("LISTEN",), ("UNLISTEN",), ("NOTIFY",))


@dataclass(frozen=True, kw_only=True, slots=True)
class Listen:
    """`verb` is LISTEN, UNLISTEN or NOTIFY; `channel` is None for `*`."""

    verb: str
    channel: str | None
    payload: str | None = None
    position: int | None = field(default=None, compare=False)


def parse(p: Parser) -> Listen:
    position = p.position
    verb = p.keyword("LISTEN", "UNLISTEN", "NOTIFY")
    channel = None if verb == "UNLISTEN" and p.accept("*") else p.identifier("channel")
    payload = p.string() if verb == "NOTIFY" and p.accept(",") else None
    return Listen(verb=verb, channel=channel, payload=payload, position=position)


def execute(statement: Listen, session: Session, arguments: Arguments) -> Result:
    if statement.verb != "UNLISTEN":
        hint = "SUBSCRIBE tells of every change of a relation."
        raise NotSupported(f"{statement.verb} not supported", hint=hint, position=statement.position)
    return Result(tag="UNLISTEN")
