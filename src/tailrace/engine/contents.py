"""What a query answers: its batch meaning over the relations as they stood at the end of one tick."""

from __future__ import annotations

import time as time_
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tailrace.engine import flink_tables
from tailrace.engine.system.registry import view_of
from tailrace.errors import DataError, SqlError, Unavailable
from tailrace.ivm.rules.arrange import repeated
from tailrace.ivm.rules.keyed import nothing
from tailrace.ivm.views import keep_in
from tailrace.plan.fallible import plan_can_fail
from tailrace.plan.nodes import Node, Scan
from tailrace.plan.temporal import at
from tailrace.plan.to_spark import render
from tailrace.plan.walk import nodes, scans
from tailrace.types.core import BEGINNING, Tick

if TYPE_CHECKING:
    from tailrace.engine.engine import Engine

_WAIT_SECONDS = 600.0
_LOOK_SECONDS = 0.01


def text_of(engine: Engine, node: Node, t: Tick, time: int | None = None) -> str:
    """Spark text of a query's rows at `t`; all relations in it are seen at that one tick.

    Since then nothing has changed, so mz_now() is as late as that is known to be true, or the `time` asked for.
    """

    def leaf(scan: Scan) -> str:
        if scan.relation.startswith("s"):
            return view_of(engine.session(), scan)
        content = engine.cluster.reader(scan).delta(BEGINNING, t)
        if content.sql is None:
            return f"({nothing(scan)})"
        settled = content if content.positive else content.consolidated(scan.schema)
        return f"({repeated(str(settled.sql), settled.arity, sealed=sealed)})"

    node = at(node, engine.cluster.still(t) if time is None else Tick(time))
    sealed = plan_can_fail(node)
    return render(node, leaf, keep_in(engine.views))


def wait_until_filled(engine: Engine, node: Node, check: Callable[[], None] = lambda: None) -> None:
    """Until every relation of the query has content.  Raises its error if one stands still, or what `check` does."""
    wanted = [relation for relation in sorted(scans(node)) if not relation.startswith("s")]
    flink_tables.begin(engine, wanted)
    deadline = time_.monotonic() + _WAIT_SECONDS
    while time_.monotonic() < deadline and not engine.cluster.are_ready(wanted):
        check()
        time_.sleep(_LOOK_SECONDS)
    _refuse_still(engine, wanted)


def wait_until_at(engine: Engine, node: Node, t: Tick, check: Callable[[], None] = lambda: None) -> None:
    """Until every view of the query has come to `t`, which is pinned: a slow cluster may be behind.  Raises the same.

    In the loop's own thread nobody else could bring it there, so that is done here.
    """
    wanted, is_mine = scans(node), engine.loop.is_mine
    if engine.cluster.reach(wanted) < t and is_mine:
        engine.cluster.catch_up()
    while engine.cluster.reach(wanted) < t:
        check()
        _refuse_still(engine, wanted)
        if is_mine:
            raise Unavailable("a materialized view that the statement reads is behind", sqlstate="55000")
        if engine.loop.has_ended:
            raise Unavailable("the engine is stopping", sqlstate="57P01")
        time_.sleep(_LOOK_SECONDS)


def _refuse_still(engine: Engine, relations: Iterable[str]) -> None:
    for id in sorted(relations):
        status = engine.statuses.of(id)
        item = engine.catalog.items.get(id)
        if item is None or item.kind != "materialized view":
            continue
        if status.status == "paused":
            raise SqlError(
                f'materialized view "{item.name}" is paused',
                detail="Its cluster, or that of something it reads, has no replicas.",
                hint="ALTER CLUSTER ... SET (REPLICATION FACTOR 1).",
                sqlstate="55000",
            )
        if status.status == "stalled":
            kind = Unavailable if status.sqlstate is None else DataError
            raise kind(
                status.error or "stalled",
                detail=f'{item.kind} "{item.name}" stands still until this is gone.',
                hint=status.hint,
                sqlstate=status.sqlstate or "55000",
            )


def check_readable(engine: Engine, node: Node, time: int, t: Tick | None) -> Tick:
    """Raises if a relation of the query is not known as of `t`: it is younger, or single ticks are forgotten."""
    found = {each.relation: each for each in nodes(node) if isinstance(each, Scan)}
    for id, scan in sorted(found.items()):
        if id.startswith("s"):
            continue
        if t is None or not engine.cluster.knows(scan, t):
            root = engine.cluster.reader(scan)
            raise not_readable(time, engine.cluster.readable_since(root), str(engine.catalog.items[id].name))
    return BEGINNING if t is None else t


def not_readable(time: int, since: Tick, name: str) -> SqlError:
    return SqlError(
        f"Timestamp ({time}) is not valid for all inputs: [Antichain {{ elements: [{since}] }}]",
        detail=f'"{name}" can be read from {since} on.',
        hint="Take a later time.  WITH (RETAIN HISTORY FOR ...) keeps more of a relation's past.",
        sqlstate="22023",
    )


@contextmanager
def reading(
    engine: Engine, node: Node, time: int | None = None, check: Callable[[], None] = lambda: None
) -> Iterator[Tick]:
    """The tick to read a query at: the last one, once every relation in it is filled, or the one of an earlier time.

    Runs and views that texts mention inside stay until the end.  `check` raises if nobody wants to wait any more.
    """
    wait_until_filled(engine, node, check)
    at = None if time is None else engine.log.at(time)
    with engine.cluster.pinned(at, reads=scans(node)) as t, engine.views.scratch():
        wait_until_at(engine, node, t, check)
        if time is not None:
            check_readable(engine, node, time, at)
        yield t
