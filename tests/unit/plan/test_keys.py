"""Unique keys: sound and minimal."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tailrace.plan.bind import BoundQuery
from tailrace.plan.keys import infer_keys

Bind = Callable[[str], BoundQuery]

KEYS: list[tuple[str, list[set[int]]]] = [
    ("select * from t", []),
    ("select * from o", [{0}]),
    ("select a, amount from o", []),
    ("select amount, id, id from o", [{1}, {2}]),
    ("select id::text, id::numeric from o", [{0}, {1}]),
    ("select (id / 2) from o", []),
    ("select a, count(*) from t group by a", [{0}]),
    ("select count(*), a from t group by a", [{1}]),
    ("select count(*) from t group by a", []),
    ("select count(*) from t", [set()]),
    ("select id, count(*) from o group by id, a", [{0}]),
    ("select distinct a, s from t", [{0, 1}]),
    ("select distinct id, a from o", [{0}]),
    ("select distinct on (a) a, b from t", [{0}]),
    ("select * from o where id = 5", [set()]),
    ("select * from o where id = a", [{0}, {1}]),
    ("select * from o limit 1", [set()]),
    ("select * from o x join o y on x.a = y.a", [{0, 3}]),
    ("select * from o x join o y on x.a = y.id", [{0}]),
    ("select * from o x join o y on x.id = y.id", [{0}, {3}]),
    ("select * from t x join o y on x.a = y.id", []),
    ("select * from o x left join o y on x.a = y.id", [{0}]),
    ("select * from o x left join o y on x.a = y.a", [{0, 3}]),
    ("select * from o x full join o y on x.id = y.id", [{0, 3}]),
    ("select * from o where a in (select a from t)", [{0}]),
    ("select * from o where not exists (select 1 from t where t.a = o.a)", [{0}]),
    ("select a, (select max(amount) from o x where x.a = o.a), id from o", [{2}]),
    ("select id from o union all select id from o", []),
    ("select id from o union select id from o", [{0}]),
    ("select id from o except all select id from log", [{0}]),
    ("select id, g from o, generate_series(1, 2) g", []),
    ("select id, i from o, unnest(array[1, 1]) with ordinality as u(x, i)", [{0, 1}]),
    ("values (1, 'a'), (2, 'a')", [{0}]),
    ("values (1, 'a')", [set()]),
    ("select a, b, row_number() over (partition by a order by b) as n from t", [{0, 2}]),
    ("select id, a from (select id, a, amount from o where a = 3) x where amount > 1", [{0}]),
    (
        "select region, total from (select s as region, sum(b) as total from t group by s) x where"
        " region = 'x'",
        [set()],
    ),
]


@pytest.mark.parametrize(("query", "expected"), KEYS, ids=[query for query, _ in KEYS])
def test_keys(bind: Bind, query: str, expected: list[set[int]]) -> None:
    assert infer_keys(bind(query).relation) == {frozenset(key) for key in expected}
