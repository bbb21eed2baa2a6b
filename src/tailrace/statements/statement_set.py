"""EXECUTE STATEMENT SET BEGIN insert; … END, or BEGIN STATEMENT SET; insert; … END: INSERTs that are one job.

Their sinks read the same ticks, so they tell of the same inputs, and stop together.
"""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.engine import flink_jobs
from tailrace.engine.context import Arguments, Session
from tailrace.errors import SqlError
from tailrace.sql.parser import Parser
from tailrace.statements import insert
from tailrace.statements.contract import Result
from tailrace.statements.insert import Insert

STARTS = (("EXECUTE", "STATEMENT", "SET"), ("BEGIN", "STATEMENT", "SET"))


@dataclass(frozen=True, kw_only=True, slots=True)
class StatementSet:
    inserts: tuple[Insert, ...]


def parse(p: Parser) -> StatementSet:
    if p.accept("EXECUTE", "STATEMENT", "SET"):
        p.expect("BEGIN")
    else:
        p.expect("BEGIN", "STATEMENT", "SET")
        p.expect(";")
    inserts = []
    while not p.accept("END"):
        inserts.append(insert.parse(p))
        p.expect(";")
    if not inserts:
        raise p.expected("INSERT")
    return StatementSet(inserts=tuple(inserts))


def execute(statement: StatementSet, session: Session, arguments: Arguments) -> Result:
    for each in statement.inserts:
        if not flink_jobs.is_job(session, each):
            raise SqlError(
                f'"{each.table}" is no Kafka table',
                detail="A STATEMENT SET consists of INSERTs that are jobs.",
                position=each.table.position,
                sqlstate="42809",
            )
    return flink_jobs.start(session, statement.inserts)
