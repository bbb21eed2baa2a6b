"""Whole queries mean what they mean in PostgreSQL, computed by Spark."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from unit.plan.conftest import Failure, Rows

QUERIES = [
    ("select b from t where a = 1", [(10,), (20,)]),
    ("select a, s from t order by a desc, s", [(None, ""), (2, None), (1, "x"), (1, "y")]),
    ("select a, s from t order by a nulls first limit 1", [(None, "")]),
    ("select b from t order by b limit 2 offset 1", [(20,), (30,)]),
    ("select b from t order by b fetch first row only", [(10,)]),
    ("select distinct a from t", [(1,), (2,), (None,)]),
    ("select distinct on (a) a, b from t order by a, b desc", [(1, 20), (2, 30), (None, 40)]),
    ("select t.b, o.id from t join o using (a)", [(10, 1), (10, 2), (20, 1), (20, 2), (30, 3)]),
    (
        "select a, b, id from t natural left join o",
        [(1, 10, 1), (1, 10, 2), (1, 20, 1), (1, 20, 2), (2, 30, 3), (None, 40, None)],
    ),
    (
        "select a, b, id from t full join o using (a) where b is null or id is null",
        [(None, 40, None), (None, None, 4)],
    ),
    (
        "select t.b, o.id from t left join o on t.a = o.a and o.amount > 15",
        [(10, 2), (20, 2), (30, None), (40, None)],
    ),
    ("select o.id from t right join o on t.a = o.a where t.b is null", [(4,)]),
    ("select t.b, o.id from t, o where t.a = o.a and o.amount < 1", [(30, 3)]),
    (
        "select x.b, y.b from t x, t y, o where x.a = o.a and y.b = o.id * 10 and o.id = 1",
        [(10, 10), (20, 10)],
    ),
    ("select a from t union select a from o", [(1,), (2,), (None,)]),
    ("select a from t union all select a from o where a = 2", [(1,), (1,), (2,), (2,), (None,)]),
    ("select a from t except all select a from o where id = 1", [(1,), (2,), (None,)]),
    ("select a from t except select a from o where id = 1", [(2,), (None,)]),
    ("select a from t intersect select a from o", [(1,), (2,), (None,)]),
    ("values (1, 'a'), (2, null) order by 2 desc limit 1", [(2, None)]),
    ("select column1 + 1 from (values (1), (2.5)) v", [(Decimal(2),), (Decimal("3.5"),)]),
    ("with x(q) as (select a from t), y as (select q from x where q = 1) select count(*) from y", [(2,)]),
    (
        "select c, sum(b) from (select case when a = 1 then 'one' else 'more' end as c, b from t) x"
        " group by c",
        [("more", 70), ("one", 30)],
    ),
    ("select a + 1 as x, count(*) from t group by x having count(*) > 1", [(2, 2)]),
    (
        "select date_trunc('month', ts) as m from t where ts is not null group by 1 having max(b) >"
        " 15 order by m desc",
        None,
    ),
    ("select count(*) from t, o", [(16,)]),
    ("select (select max(b) from t), 1 = (select 1 where false)", [(40, None)]),
    ("select s || '!' from t where s <> ''", [("x!",), ("y!",)]),
    ("table o limit 0", []),
    ("(select 1) union all (select 2 order by 1 limit 1)", [(1,), (2,)]),
    ("select t.s, (t).b from t where (t).b = 10", [("x", 10)]),
    ("select 1 where exists (select 1 from t where b > 35)", [(1,)]),
]


@pytest.mark.parametrize(("query", "expected"), QUERIES)
def test_query(rows: Rows, query: str, expected: list[tuple[object, ...]] | None) -> None:
    found = rows(query)
    if expected is not None:
        assert found == expected


SUBQUERIES = [
    (
        "select b, (select max(amount) from o where o.a = t.a) from t",
        [(10, Decimal("20.25")), (20, Decimal("20.25")), (30, Decimal("0.01")), (40, None)],
    ),
    ("select b, (select count(*) + 1 from o where o.a = t.a) from t", [(10, 3), (20, 3), (30, 2), (40, 1)]),
    (
        "select b from t where exists (select 1 from o where o.id * 10 = t.b and o.id > 1)",
        [(20,), (30,), (40,)],
    ),
    ("select b from t where not exists (select 1 from o where o.a = t.a)", [(40,)]),
    ("select b from t where a in (select a from o where id > 2)", [(30,)]),
    ("select id from o where id not in (select b / 10 from t where b < 25)", [(3,), (4,)]),
    ("select id from o where a not in (select a from t)", []),
    ("select id from o where a not in (select a from t where a = 1)", [(3,)]),
    (
        "select b, a in (select a from t where a is not null) from t",
        [(10, True), (20, True), (30, True), (40, None)],
    ),
    (
        "select b, a in (select o.a from o where o.id * 10 > t.b) from t",
        [(10, True), (20, None), (30, None), (40, False)],
    ),
    (
        "select b, exists (select 1 from o where o.a = t.a) or b > 35 from t",
        [(10, True), (20, True), (30, True), (40, True)],
    ),
    ("select b from t where b > (select avg(amount) from o where o.a = t.a and o.id <> t.b)", [(20,), (30,)]),
    (
        "select b from t where not exists (select 1 from o where o.a = t.a and exists"
        " (select 1 from t x where x.b = o.id * 10 and x.a = t.a))",
        [(40,)],
    ),
    (
        "select b, (select id from o where o.a = t.a order by amount desc limit 1) from t",
        [(10, 2), (20, 2), (30, 3), (40, None)],
    ),
    (
        "select g.a, l.id from (select distinct a from t) g, lateral"
        " (select id from o where o.a = g.a order by amount desc limit 1) l",
        [(1, 2), (2, 3)],
    ),
    (
        "select b, c from t, lateral (select count(*) as c from o where o.a = t.a) x",
        [(10, 2), (20, 2), (30, 1), (40, 0)],
    ),
    (
        "select b, l.id from t left join lateral (select id from o where o.a < t.a) l on true",
        [(10, None), (20, None), (30, 1), (30, 2), (40, None)],
    ),
    (
        "select b, array(select id from o where o.a = t.a) from t",
        [(10, [1, 2]), (20, [1, 2]), (30, [3]), (40, [])],
    ),
    ("select b = any (select id * 10 from o where id < 3) from t", [(False,), (False,), (True,), (True,)]),
    ("select b from t where b <> all (select id * 10 from o where id < 3)", [(30,), (40,)]),
    ("select (a, b) in (select a, id * 10 from o) from t where b <> 40", [(True,), (True,), (True,)]),
]


@pytest.mark.parametrize(("query", "expected"), SUBQUERIES)
def test_subquery(rows: Rows, query: str, expected: list[tuple[object, ...]]) -> None:
    assert rows(query) == sorted(expected, key=repr)


def test_a_scalar_subquery_with_two_rows_is_an_error(failure: Failure) -> None:
    message = "more than one row returned by a subquery used as an expression"
    assert failure("select (select id from o)") == ("21000", message)
    assert failure("select (select id from o where o.a = t.a) from t") == ("21000", message)
