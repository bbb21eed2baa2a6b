"""What a query answers: its batch meaning over the relations as they stood at the end of one tick."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tailrace.errors import Unavailable
from tailrace.ivm.rules.arrange import repeated
from tailrace.ivm.rules.keyed import nothing
from tailrace.plan.fallible import plan_can_fail
from tailrace.plan.nodes import Node, Scan
from tailrace.plan.to_spark import render
from tailrace.plan.walk import scans
from tailrace.types.core import BEGINNING, Tick

if TYPE_CHECKING:
    from tailrace.engine.engine import Engine

_WAIT_SECONDS = 600.0


def text_of(engine: Engine, node: Node, t: Tick) -> str:
    """Spark text of a query's rows at `t`; all relations in it are seen at that one tick."""

    def leaf(scan: Scan) -> str:
        if scan.relation.startswith("s"):
            return engine.running.system_view(scan)
        content = engine.cluster.reader(scan).delta(BEGINNING, t)
        if content.sql is None:
            return f"({nothing(scan)})"
        settled = content if content.positive else content.consolidated()
        return f"({repeated(str(settled.sql), settled.arity, sealed=sealed)})"

    sealed = plan_can_fail(node)
    return render(node, leaf)


def wait_until_filled(engine: Engine, node: Node) -> None:
    """Until every relation of the query has content.  Raises its error if one stands still."""
    wanted = [relation for relation in sorted(scans(node)) if not relation.startswith("s")]
    engine.cluster.wait_until_ready(wanted, _WAIT_SECONDS)
    for id in wanted:
        status = engine.statuses.of(id)
        item = engine.catalog.items.get(id)
        if status.status == "stalled" and item is not None and item.kind == "materialized view":
            raise Unavailable(
                status.error or "stalled",
                detail=f'{item.kind} "{item.name}" stands still until this is gone.',
                hint=status.hint,
                sqlstate="55000",
            )


@contextmanager
def reading(engine: Engine, node: Node) -> Iterator[Tick]:
    """The tick to read a query at: the last one, once every relation in it is filled.

    Runs and views that texts mention inside stay until the end.
    """
    wait_until_filled(engine, node)
    with engine.cluster.pinned() as t, engine.views.scratch():
        yield t
