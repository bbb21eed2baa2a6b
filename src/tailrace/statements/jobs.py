"""SHOW JOBS, and STOP JOB 'id' [WITH DRAIN]: what INSERT into Kafka tables has started."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tailrace.engine import flink_jobs
from tailrace.engine.context import Arguments, Session
from tailrace.errors import NotSupported
from tailrace.sql.parser import Parser
from tailrace.statements.contract import Result
from tailrace.types.core import Schema, SqlType

STARTS = (("SHOW", "JOBS"), ("STOP", "JOB"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Jobs:
    """`stopped` is the id of the job to stop; None for SHOW JOBS."""

    stopped: str | None = None


def parse(p: Parser) -> Jobs:
    if p.accept("SHOW", "JOBS"):
        return Jobs()
    p.expect("STOP", "JOB")
    job = p.string("job id in quotes")
    if p.at("WITH", "SAVEPOINT"):
        raise NotSupported("STOP JOB ... WITH SAVEPOINT not supported", position=p.position)
    p.accept("WITH", "DRAIN")  # a tick is always done to its end
    return Jobs(stopped=job)


def describe(
    statement: Jobs, session: Session, parameters: Sequence[SqlType | None]
) -> tuple[tuple[SqlType, ...], Schema | None]:
    return (), None if statement.stopped is not None else flink_jobs.JOBS


def execute(statement: Jobs, session: Session, arguments: Arguments) -> Result:
    return flink_jobs.show(session) if statement.stopped is None else flink_jobs.stop(session, statement.stopped)
