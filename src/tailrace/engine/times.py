"""AS OF and UP TO: a point in logical time, written as a number of milliseconds, a timestamp, or either as text."""

from __future__ import annotations

import time
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from tailrace.engine import queries
from tailrace.errors import DataError, SqlError
from tailrace.plan.value_times import timestamp_value
from tailrace.plan.walk import scans
from tailrace.sql.names import QueryText

if TYPE_CHECKING:
    from tailrace.engine.session import EngineSession
    from tailrace.statements.select import AsOf

_POLL_SECONDS = 0.02


class BadTime(SqlError):
    sqlstate = "22023"

    def __init__(self, expression: QueryText) -> None:
        super().__init__(
            "AS OF or UP TO should be castable to a (non-null) mz_timestamp value", position=expression.start + 1
        )


def milliseconds(session: EngineSession, expression: QueryText) -> int:
    """The value of a constant expression as logical time."""
    select = "SELECT "
    bound = session.bind(QueryText(select + expression.text, expression.start - len(select)))
    if len(bound.schema) != 1 or scans(bound.node):
        raise BadTime(expression)
    [value] = queries.collect(session, bound, ()).column(0).to_pylist()
    found = _number(value)
    if found is None or found < 0:
        raise BadTime(expression)
    return found


def _number(value: object) -> int | None:
    match value:
        case bool() | None:
            return None
        case int():
            return value
        case Decimal() | float():
            return int(value) if value == int(value) else None
        case datetime():
            return round((value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp() * 1000)
        case date():
            return _number(datetime(value.year, value.month, value.day, tzinfo=UTC))
        case str() if value.strip().isdigit():
            return int(value)
        case str():
            try:
                return _number(timestamp_value(value, "mz_timestamp", None, zoned=True))
            except DataError:
                return None
        case _:
            return None


def chosen(session: EngineSession, as_of: AsOf | None) -> int | None:
    """The time to look at, once it has come.  None: now.  AT LEAST takes a later one if that is what there is."""
    if as_of is None:
        return None
    wanted = milliseconds(session, as_of.time)
    if as_of.at_least and wanted <= session.engine.cluster.settled:
        return None
    wait_for(session, wanted)
    return wanted


def wait_for(session: EngineSession, wanted: int) -> None:
    """Until everything up to that time is known; a client may give up before."""
    while session.engine.cluster.settled < wanted:
        session.check_cancelled()
        if session.engine.loop.has_ended:
            raise SqlError("the engine is stopping", sqlstate="57P01")
        time.sleep(_POLL_SECONDS)
