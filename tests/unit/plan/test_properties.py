"""Nullability and append-only, as the catalog asks for them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tailrace.plan.append_only import is_append_only
from tailrace.plan.bind import BoundQuery
from tailrace.plan.nullability import schema_of

Bind = Callable[[str], BoundQuery]


@pytest.mark.parametrize(
    ("query", "nullable"),
    [
        (
            "select a, b, 1, null, a + b, b + 1, coalesce(a, 0), count(*) over () from t",
            [True, False, False, True, True, False, False, False],
        ),
        ("select a, a + 1 from t where a is not null", [False, False]),
        ("select a from t where a > 1 or (a < 0 and s = 'x')", [False]),
        ("select s from t where a > 1", [True]),
        ("select t.a, o.amount from t join o on t.a = o.a", [False, True]),
        ("select t.b, o.id from t left join o on t.a = o.a", [False, True]),
        ("select count(*), count(a), sum(b) from t", [False, False, True]),
        ("select a, count(*) from t where a = 1 group by a", [False, False]),
        ("select b from t union all select a from o", [True]),
        ("select data->>'x' from t where (data->>'x')::int > 3", [True]),
        ("select case when a > 1 then 1 else 2 end, case when a > 1 then 1 end from t", [False, True]),
    ],
)
def test_nullability(bind: Bind, query: str, nullable: list[bool]) -> None:
    assert [column.nullable for column in schema_of(bind(query).relation)] == nullable


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("select * from log where line like 'x%'", True),
        ("select id, line from log union all select id, 'x' from log", True),
        ("select distinct line from log", True),
        ("select x.id from log x join log y on x.id = y.id", True),
        ("select x.id from log x left join log y on x.id = y.id", False),
        ("select id from log where id in (select id from log)", True),
        ("select id from log where id not in (select id from log)", False),
        ("select count(*) from log", False),
        ("select * from log order by id limit 3", False),
        ("select id from log except select id from log", False),
        ("select * from o", False),
        ("values (1)", True),
    ],
)
def test_append_only(bind: Bind, query: str, expected: bool) -> None:
    assert is_append_only(bind(query).relation) is expected
