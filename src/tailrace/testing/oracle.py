"""The oracle: a view holds exactly what the batch meaning of its query gives, recomputed from the inputs alone.

Two incremental paths that agree may share the bug, so nothing that a rule keeps is used: a materialized view inside
a query is replaced by its own query, down to tables and sources.

    with Engine(spark) as engine:
        engine.sql(...)
        assert_views_equal_recompute(engine)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from typing import TypeAlias, TypeVar

import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from tailrace.catalog.items import Item
from tailrace.engine.define import scan_of
from tailrace.engine.engine import Engine
from tailrace.ivm.rules.arrange import repeated
from tailrace.ivm.rules.keyed import nothing
from tailrace.ivm.views import keep_in
from tailrace.plan.nodes import Node, Scan
from tailrace.plan.temporal import at
from tailrace.plan.to_spark import Leaf, render
from tailrace.state.consolidate import can_consolidate
from tailrace.types.core import BEGINNING, Tick

Bag: TypeAlias = Counter[str]
"""Rows, as JSON without the NULLs, with their weights.  No weight is zero."""

Name = TypeVar("Name", bound=Hashable)


def assert_views_equal_recompute(engine: Engine) -> None:
    """Every materialized view that runs holds what its query gives now.  Runs one Spark job."""
    views = [v for v in engine.catalog.of_kind("materialized view") if engine.statuses.of(v.id).status == "running"]
    with engine.cluster.pinned() as t, engine.views.scratch():
        kept = {("kept", view.id): kept_text(engine, view, t) for view in views}
        fresh = {("fresh", view.id): recomputed_text(engine, view, t) for view in views}
        found = bags(engine, {**kept, **fresh})
    for view in views:
        assert_equal(str(view.name), found["kept", view.id], found["fresh", view.id])


def assert_equal(name: str, kept: Bag, fresh: Bag) -> None:
    """Names the rows that make the difference."""
    wrong = Counter(kept)
    wrong.subtract(fresh)
    if any(wrong.values()):
        shown = [f"{weight:+d} × {row}" for row, weight in sorted(wrong.items()) if weight]
        raise AssertionError(f"{name} differs from a recompute by " + ", ".join(shown))


def assert_runs_are_as_they_say(engine: Engine) -> None:
    """No run that is said to take nothing away does, and none that is said to have each row once repeats one.

    A reader who believes it saves a shuffle, and would be wrong without any error.
    """
    for trace in list(engine.store.traces.values()):
        keys = ["h", *(f"c{i}" for i in range(trace.layout.arity))]
        for run in trace.runs:
            rows = run.table if run.table is not None else pq.read_table(run.path)
            least = pc.min(rows["weight"]).as_py()
            assert not run.positive or least > 0, f"a run of {trace.id} takes rows away: {rows.to_pylist()}"
            if run.is_settled and can_consolidate(trace.layout):
                distinct = rows.group_by(keys).aggregate([]).num_rows
                assert distinct == rows.num_rows, f"a run of {trace.id} repeats rows: {rows.to_pylist()}"


def kept_text(engine: Engine, view: Item, t: Tick) -> str | None:
    """The rows that a relation holds at `t`, with weights; None if it has none."""
    return changed_text(engine, view, BEGINNING, t)


def changed_text(engine: Engine, view: Item, lo: Tick, hi: Tick) -> str | None:
    """What a subscriber who was given everything up to `lo` is given at `hi`; None if nothing."""
    return engine.cluster.reader(scan_of(view)).delta(lo, hi).sql


def recomputed_text(engine: Engine, view: Item, t: Tick) -> str:
    """What a view's query gives over the tables and sources at `t`, each row with the weight one."""

    def leaf(scan: Scan) -> str:
        content = engine.cluster.reader(scan).delta(BEGINNING, t).consolidated(scan.schema)
        return f"({nothing(scan) if content.sql is None else repeated(content.sql, content.arity)})"

    return batch_text(engine, view, leaf, t)


def batch_text(engine: Engine, view: Item, leaf: Leaf, t: Tick) -> str:
    """What a view's query gives at `t` over the tables and sources that `leaf` names, each row with the weight one."""

    def query(node: Node) -> str:
        return render(at(node, t), relation, keep_in(engine.views))

    def relation(scan: Scan) -> str:
        plan = engine.catalog.items[scan.relation].plan
        return leaf(scan) if plan is None else f"({query(plan)})"

    assert view.plan is not None
    names = "".join(f"c{i}, " for i in range(len(view.plan.schema)))
    return f"SELECT {names}CAST(1 AS bigint) AS weight FROM ({query(view.plan)})"


def bags(
    engine: Engine, texts: Mapping[Name, str | None], session: SparkSession | None = None
) -> dict[Name, Bag]:
    """Z-sets by name, consolidated.  Runs one Spark job for all, planned for few rows if no session is given."""
    found: dict[Name, Bag] = {name: Counter() for name in texts}
    asked = [(name, sql) for name, sql in texts.items() if sql is not None]
    parts = [
        f"SELECT {i} AS part, to_json(struct(* EXCEPT (weight))) AS row, weight FROM ({sql})"
        for i, (_, sql) in enumerate(asked)
    ]
    if parts:
        union = " UNION ALL ".join(f"({part})" for part in parts)
        text = f"SELECT part, row, sum(weight) AS weight FROM ({union}) GROUP BY part, row HAVING sum(weight) <> 0"
        for row in (session or engine.views.small).sql(text).toArrow().to_pylist():
            found[asked[row["part"]][0]][row["row"]] = row["weight"]
    return found
