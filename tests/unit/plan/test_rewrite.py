"""Rewrites, seen in EXPLAIN: what ends up where."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

from tailrace.plan.bind import BoundQuery
from tailrace.plan.equalities import equalities
from tailrace.plan.explain import explain
from tailrace.plan.nodes import Join
from tailrace.plan.walk import has_own_subquery, nodes

Bind = Callable[[str], BoundQuery]


def plan(bind: Bind, query: str) -> str:
    return explain(bind(query).node, relation_name={"u1": "t", "u2": "o", "u3": "log"}.__getitem__)


PLANS = [
    (
        "select t.b, o.amount from t, o where t.a = o.a and t.b > 5 and o.id < 3",
        """
        Project b, amount
          Join inner on (a = a)
            Project a, b
              Filter (b > 5)
                Scan t (a, b, s, n, d, data, ts)
            Project a, amount
              Filter (id < 3)
                Scan o (id, a, amount)
        """,
    ),
    (
        "select t.b from t left join o on t.a = o.a where o.id < 3",
        """
        Project b
          Join inner on (a = a)
            Project a, b
              Scan t (a, b, s, n, d, data, ts)
            Project a
              Filter (id < 3)
                Scan o (id, a, amount)
        """,
    ),
    (
        "select x.f from (select data->>'f' as f, (data->>'g')::int as g from (select * from t"
        " where b > 1) v) x where g < 3",
        """
        Project (data ->> 'f') as f
          Filter ((b > 1) and ((data ->> 'g')::integer < 3))
            Scan t (a, b, s, n, d, data, ts)
        """,
    ),
    (
        "select a, count(*) from t group by a having a > 1 and count(*) > 2",
        """
        Filter (count > 2)
          Aggregate by a: count(*)
            Project a
              Filter (a > 1)
                Scan t (a, b, s, n, d, data, ts)
        """,
    ),
    (
        "select b from t where a in (select a from o where o.id > 1) and not exists (select 1 from"
        " log where log.id = t.b)",
        """
        Join anti on (id = b::bigint)
          Project b
            Join semi on (a = a)
              Project a, b
                Scan t (a, b, s, n, d, data, ts)
              Project a
                Filter (id > 1)
                  Scan o (id, a, amount)
          Project id
            Scan log (id, line)
        """,
    ),
    (
        "select g.a, l.id from (select distinct a from t) g, lateral"
        " (select id from o where o.a = g.a order by amount desc limit 3) l",
        """
        Project a, id
          Join inner on (a = a)
            Distinct
              Project a
                Scan t (a, b, s, n, d, data, ts)
            Project id, a
              TopK per a order by amount desc limit 3
                Project id, amount, a
                  Filter not a is null
                    Scan o (id, a, amount)
        """,
    ),
    (
        "select t.data->>'x', o.amount from t join o on o.id = (t.data->>'id')::bigint",
        """
        Project field1 as ?column?, amount
          Join inner on (id = field2::bigint)
            Project (data ->> 'x') as field1, (data ->> 'id') as field2
              Scan t (a, b, s, n, d, data, ts)
            Project id, amount
              Scan o (id, a, amount)
        """,
    ),
]


@pytest.mark.parametrize(("query", "expected"), PLANS, ids=[query[:40] for query, _ in PLANS])
def test_plan(bind: Bind, query: str, expected: str) -> None:
    assert plan(bind, query) == dedent(expected).strip()


def test_an_equality_in_every_branch_of_an_or_is_joined_by(bind: Bind) -> None:
    node = bind("select 1 from t, o where (t.a = o.a and t.b = 10) or (t.a = o.a and o.id = 2)").node
    (join,) = (each for each in nodes(node) if isinstance(each, Join))
    assert len(equalities(join)) == 1


def test_exists_with_an_inequality_needs_no_values_of_the_outer_rows(bind: Bind) -> None:
    text = plan(bind, "select b from t where exists (select 1 from o where o.a = t.a and o.id <> t.b)")
    assert text.splitlines()[1].strip() == "Join semi on ((a = a) and (id <> b::bigint))"


def test_comma_joins_are_put_in_an_order_that_has_equalities(bind: Bind) -> None:
    node = bind("select 1 from t x, log, o where x.a = o.a and log.id = o.id").node
    joins = [each for each in nodes(node) if isinstance(each, Join)]
    assert len(joins) == 2
    assert all(equalities(join) for join in joins)


@pytest.mark.parametrize(
    "query",
    [
        "select (select max(id) from o where o.a = t.a), exists (select 1 from o where o.id > t.b) from t",
        "select a from t where a not in (select a from o) or b in (select id from o where o.a <> t.a)",
        "select * from t, lateral (select sum(amount) from o where o.a = t.a and o.id < t.b) x",
    ],
)
def test_no_subquery_is_left_in_an_expression(bind: Bind, query: str) -> None:
    assert not any(has_own_subquery(each) for each in nodes(bind(query).node))


def test_volatile_calls_are_not_copied(bind: Bind) -> None:
    text = plan(bind, "select r, r from (select random() as r from t) x")
    assert text.count("random()") == 1
