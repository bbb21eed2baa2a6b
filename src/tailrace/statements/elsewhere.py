"""Statements of other databases that have no place here: refused by name, with what to do instead.

VACUUM, ANALYZE and REFRESH MATERIALIZED VIEW are taken, since what they are for holds without them.
"""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.engine.context import Arguments, Session
from tailrace.errors import NotSupported
from tailrace.sql.names import Name
from tailrace.sql.parser import Parser, Words
from tailrace.statements.contract import Result

_NO_CODE = "Views and SQL functions are all there is to write; an application does the rest."
_REFUSED: dict[Words, str] = {
    ("CALL",): _NO_CODE,
    ("CHECKPOINT",): "Checkpoints are made by themselves, and after a crash nothing is lost without one.",
    ("CLUSTER",): "State is kept in order by itself.",
    ("CREATE", "DOMAIN"): "Use the type itself.",
    ("CREATE", "EXTENSION"): "What functions there are is in docs/reference/functions.md.",
    ("CREATE", "FUNCTION"): _NO_CODE,
    ("CREATE", "OR", "REPLACE", "FUNCTION"): _NO_CODE,
    ("CREATE", "POLICY"): "Grant SELECT on a view that shows the rows in question.",
    ("CREATE", "PROCEDURE"): _NO_CODE,
    ("CREATE", "PUBLICATION"): "CREATE SINK and SUBSCRIBE tell of every change.",
    ("CREATE", "RULE"): _NO_CODE,
    ("CREATE", "SEQUENCE"): "Let the application number its rows, or use gen_random_uuid().",
    ("CREATE", "TRIGGER"): "A materialized view follows its inputs; CREATE SINK and SUBSCRIBE tell of every change.",
    ("CREATE", "UNIQUE", "INDEX"): "Declare a key with PRIMARY KEY or UNIQUE in CREATE TABLE; it is not enforced.",
    ("DO",): _NO_CODE,
    ("LOCK",): "A read sees one tick and a write is a tick of its own: there is nothing to lock.",
    ("MERGE",): "Use UPDATE, DELETE and INSERT.",
    ("REINDEX",): "State is kept in order by itself.",
    ("TRUNCATE",): "DELETE FROM removes the rows of a table.",
    ("USE",): "SET database = name and SET search_path = name,… say where a session looks for names.",
}
_TAKEN: dict[Words, str] = {
    ("ANALYZE",): "there are no statistics to gather",
    ("REFRESH", "MATERIALIZED", "VIEW"): "materialized views are always up to date",
    ("VACUUM",): "state is compacted by itself",
}
STARTS = (*_REFUSED, *_TAKEN)


@dataclass(frozen=True, kw_only=True, slots=True)
class Needless:
    """`relation` is what is to be refreshed."""

    start: Words
    relation: Name | None = None


def parse(p: Parser) -> Needless:
    start = max((each for each in STARTS if p.at(*each)), key=len)
    if start in _REFUSED:
        raise NotSupported(f"{' '.join(start)} not supported", hint=_REFUSED[start], position=p.position)
    p.expect(*start)
    if start[0] == "REFRESH":
        p.accept("CONCURRENTLY")
        relation = p.name("view name")
        _ = p.accept("WITH", "DATA")
        return Needless(start=start, relation=relation)
    while not p.at_end():
        p.advance()
    return Needless(start=start)


def execute(statement: Needless, session: Session, arguments: Arguments) -> Result:
    if statement.relation is not None:
        session.resolve(statement.relation, "materialized view")
    tag = " ".join(statement.start)
    session.notice(f"{tag} does nothing: {_TAKEN[statement.start]}")
    return Result(tag=tag)
