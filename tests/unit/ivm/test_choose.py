"""Which rule keeps which query up to date: the first that covers it, from cheap to general."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailrace.ivm.dataflow import Dataflow, reach, traces
from tailrace.ivm.operator import Operator, Stateless
from tailrace.ivm.zset import ZSet
from tailrace.plan.bind import bind_query
from tailrace.plan.names import FixedNames, Relation
from tailrace.plan.nodes import Scan
from tailrace.state.store import Store
from tailrace.types.core import INTEGER, TEXT, Column, Tick


class Leaf(Stateless):
    """A relation of the catalog, without rows."""

    def delta(self, lo: Tick, hi: Tick) -> ZSet:
        return ZSet.empty(len(self.node.schema))


def relation(id: str, name: str, *, append_only: bool = False) -> Relation:
    schema = (Column("k", INTEGER), Column("v", INTEGER), Column("s", TEXT))
    return Relation(id=id, kind="table", name=f"materialize.public.{name}", schema=schema, append_only=append_only)


NAMES = FixedNames(relation("u1", "t"), relation("u2", "u"), relation("u3", "log", append_only=True))


@pytest.fixture
def dataflow(tmp_path: Path) -> Dataflow:
    store = Store(views=None, directory=tmp_path)  # type: ignore[arg-type]  # choosing asks Spark nothing
    return Dataflow(store, lambda scan: Leaf(node=scan, rule="leaf", below=()))


def operator(dataflow: Dataflow, query: str) -> Operator:
    return dataflow.operator(bind_query(query, NAMES).node)


def rules(root: Operator) -> list[str]:
    """The rules of a query that are more than linear, from the top."""
    return [each.rule for each in reach(root) if each.rule not in ("linear", "leaf", "arrangement")]


SUMS, PAIRS = "sums per group", "sums per group, counts per distinct value"
KEYS, GROUPS = "recompute the touched keys of both sides", "recompute the touched groups"
PARTITIONS, ROWS = "recompute the touched partitions", "recompute the touched rows"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT k + 1 AS k FROM t WHERE v > 1", []),
        ("SELECT k FROM t UNION ALL SELECT v FROM u", []),
        ("SELECT t.k FROM t JOIN u ON t.k = u.k", ["inner join"]),
        ("SELECT t.k FROM t, u", ["inner join"]),
        ("SELECT t.k, t.v FROM t LEFT JOIN u ON t.k = u.k", [KEYS]),
        ("SELECT t.k, u.k AS x FROM t FULL JOIN u ON t.k = u.k", [KEYS]),
        ("SELECT k FROM t WHERE k IN (SELECT k FROM u)", [KEYS]),
        ("SELECT k FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k)", [KEYS]),
        ("SELECT k FROM t GROUP BY k HAVING EXISTS (SELECT 1 FROM u WHERE u.v = count(t.v))", [KEYS, SUMS]),
        ("SELECT k, rank() OVER (ORDER BY (SELECT max(u.v) FROM u)) AS r FROM t", [PARTITIONS, KEYS, GROUPS]),
        ("SELECT DISTINCT k FROM t", [SUMS]),
        ("SELECT k, count(*) AS n, avg(v) AS a, bool_or(v > 1) AS b FROM t GROUP BY k", [SUMS]),
        ("SELECT sum(v) FILTER (WHERE k = 1) AS x FROM t", [SUMS]),
        ("SELECT k, corr(v, k) AS c, regr_count(v, k) AS n FROM t GROUP BY k", [SUMS]),
        ("SELECT k, corr(v::double precision, k) AS c FROM t GROUP BY k", [GROUPS]),
        ("SELECT k, corr(DISTINCT v, k) AS c FROM t GROUP BY k", [GROUPS]),
        ("SELECT k, count(DISTINCT v) AS d, sum(v) AS x FROM t GROUP BY k", [PAIRS]),
        ("SELECT k, count(DISTINCT v) AS d, count(DISTINCT s) AS e FROM t GROUP BY k", [GROUPS]),
        ("SELECT k, count(DISTINCT v) FILTER (WHERE s = 'a') AS d FROM t GROUP BY k", [GROUPS]),
        ("SELECT k, count(*) AS n, min(v) AS x FROM t GROUP BY k", [GROUPS]),
        ("SELECT string_agg(s, ',') AS x FROM t", [GROUPS]),
        ("SELECT sum(v::double precision) AS x FROM t", [GROUPS]),
        ("SELECT k, v FROM t ORDER BY v LIMIT 3", [PARTITIONS]),
        ("SELECT k FROM t WHERE mz_now() < v AND k > 1", ["rows while their time lasts"]),
        ("SELECT k, v FROM log ORDER BY v LIMIT 3", ["top k of append-only rows"]),
        ("SELECT k, v FROM log ORDER BY v LIMIT 3 OFFSET 1", [PARTITIONS]),
        ("SELECT DISTINCT ON (k) k, v FROM t ORDER BY k, v", [PARTITIONS]),
        ("SELECT k, rank() OVER (PARTITION BY k ORDER BY v) AS r FROM t", [PARTITIONS]),
        ("SELECT k FROM t EXCEPT SELECT k FROM u", [ROWS]),
        ("SELECT k FROM t INTERSECT ALL SELECT k FROM u", [ROWS]),
        (
            "WITH RECURSIVE r AS (SELECT k FROM t UNION SELECT v FROM u JOIN r ON u.k = r.k) SELECT * FROM r",
            ["recompute to a fixpoint"],
        ),
        ("SELECT n FROM (SELECT k, count(*) AS n FROM t GROUP BY k) AS x ORDER BY n LIMIT 1", [PARTITIONS, SUMS]),
    ],
)
def test_the_rule_of_a_query_is(dataflow: Dataflow, query: str, expected: list[str]) -> None:
    assert rules(operator(dataflow, query)) == expected


def test_equal_parts_of_two_queries_are_one_operator(dataflow: Dataflow) -> None:
    one = operator(dataflow, "SELECT t.k, t.v FROM t LEFT JOIN u ON t.k = u.k")
    other = operator(dataflow, "SELECT t.v, t.k FROM t LEFT JOIN u ON t.k = u.k")
    assert one is not other
    assert {trace.id for trace in traces(one)} == {trace.id for trace in traces(other)}
    assert operator(dataflow, "SELECT t.k, t.v FROM t LEFT JOIN u ON t.k = u.k") is one


def test_a_relation_under_two_keys_has_two_traces(dataflow: Dataflow) -> None:
    by_k = operator(dataflow, "SELECT t.s FROM t JOIN u ON t.k = u.k")
    by_v = operator(dataflow, "SELECT t.s FROM t JOIN u ON t.v = u.k")
    shared = {trace.id for trace in traces(by_k)} & {trace.id for trace in traces(by_v)}
    assert len(shared) == 1  # u by k


def test_what_no_query_needs_any_more_gives_its_traces_back(tmp_path: Path) -> None:
    store = Store(views=None, directory=tmp_path)  # type: ignore[arg-type]
    flow = Dataflow(store, lambda scan: Leaf(node=scan, rule="leaf", below=()))
    kept = operator(flow, "SELECT k, sum(v) AS s FROM t GROUP BY k")
    operator(flow, "SELECT t.k FROM t JOIN u ON t.k = u.k")
    assert len(store.traces) == 3
    flow.keep_only([kept])
    assert list(store.traces) == [trace.id for trace in traces(kept)]
    assert operator(flow, "SELECT k, sum(v) AS s FROM t GROUP BY k") is kept


def test_shared_parts_are_reached_once(dataflow: Dataflow) -> None:
    """A ladder of self joins has as many paths as 2 to its height, but few operators."""
    query = "SELECT k, v, s FROM t"
    for _ in range(8):
        query = f"SELECT x.k, y.v, x.s FROM ({query}) AS x JOIN ({query}) AS y ON x.k = y.k"
    found = list(reach(operator(dataflow, query)))
    assert len(found) == len({id(each) for each in found}) < 100


def test_a_scan_is_what_the_catalog_says(dataflow: Dataflow) -> None:
    [leaf] = [each for each in reach(operator(dataflow, "SELECT k FROM t WHERE k > 0")) if each.rule == "leaf"]
    assert isinstance(leaf.node, Scan)
    assert leaf.node.relation == "u1"
