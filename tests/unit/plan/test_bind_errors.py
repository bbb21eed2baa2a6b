"""What a wrong query is told: SQLSTATE, message, hint and place."""

from __future__ import annotations

import pytest

from tailrace.errors import SqlError
from tailrace.plan.bind import bind_query
from tailrace.plan.names import FixedNames

ERRORS = [
    ("select aa from t", "42703", 'column "aa" does not exist', 8),
    ("select t.zz from t", "42703", 'column "t.zz" does not exist', 8),
    ("select x.a from t", "42P01", 'missing FROM-clause entry for table "x"', 8),
    ("select * from tt", "42P01", "unknown catalog item 'tt'", 15),
    ("select a from t, o", "42702", 'column reference "a" is ambiguous', 8),
    ("select foo(a) from t", "42883", "function foo(integer) does not exist", 8),
    ("select lower(a) from t", "42883", "function lower(integer) does not exist", 8),
    ("select a + s from t", "42883", "operator does not exist: integer + text", 10),
    ("select a from t where s = 1", "42883", "operator does not exist: text = integer", 25),
    ("select a from t where a", "42804", "argument of WHERE must be type boolean, not type integer", 23),
    (
        "select a, sum(b) from t",
        "42803",
        'column "t.a" must appear in the GROUP BY clause or be used in an aggregate function',
        8,
    ),
    (
        "select a from t group by a having b > 1",
        "42803",
        'column "t.b" must appear in the GROUP BY clause or be used in an aggregate function',
        35,
    ),
    ("select a from t where sum(b) > 1", "42803", "aggregate functions are not allowed in WHERE", 23),
    (
        "select sum(sum(b)) from t",
        "42803",
        "aggregate functions are not allowed in aggregate function calls",
        12,
    ),
    ("select a from t where (select sum(t.b)) > 1", "42803", "aggregate functions are not allowed in WHERE", 31),
    ("select (select sum(t.b)) from t group by 1", "42803", "aggregate functions are not allowed in GROUP BY", 42),
    ("select (select sum(count(t.b)) from o) from t", "42803", "aggregate function calls cannot be nested", 16),
    (
        "select x.* from t, lateral (select sum(t.b)) x",
        "42803",
        "aggregate functions are not allowed in FROM clause of their own query level",
        36,
    ),
    ("select a as x, b as x from t order by x", "42702", 'ORDER BY "x" is ambiguous', 39),
    ("select a as x, b as x from t group by x", "42702", 'GROUP BY "x" is ambiguous', 39),
    ("select * from t tablesample system (10)", "0A000", "TABLESAMPLE not supported", 17),
    (
        "select * from rows from (generate_series(1, 2), generate_series(1, 'a'::text))",
        "42883",
        "function generate_series(integer, text) does not exist",
        49,
    ),
    ("select a from t group by 3", "42P10", "GROUP BY position 3 is not in select list", 26),
    ("select a from t union select s from t", "42804", "UNION types integer and text cannot be matched", 17),
    (
        "select a from t union select a, b from t",
        "42601",
        "each UNION query must have the same number of columns",
        17,
    ),
    (
        "select case when true then 1 else s end from t",
        "42804",
        "CASE types text and integer cannot be matched",
        8,
    ),
    ("select 'x'::int", "22P02", 'invalid input syntax for type integer: "x"', 11),
    ("select a = 'x' from t", "22P02", 'invalid input syntax for type integer: "x"', 10),
    ("select data::date from t", "42846", "cannot cast type jsonb to date", 12),
    ("select 1::nosuch", "42704", 'type "nosuch" does not exist', 11),
    ("select * from t join t on true", "42712", 'table name "t" specified more than once', 22),
    ("select (select a, b from t)", "42601", "subquery must return only one column", 8),
    ("select a in (select a, b from t) from t", "42601", "subquery has too many columns", 10),
    ("select row_number() from t", "42809", "window function row_number requires an OVER clause", 8),
    (
        "select count(*) over (w partition by b) from t window w as (order by a)",
        "42P20",
        'cannot override PARTITION BY clause of window "w"',
        8,
    ),
    (
        "select count(*) over v from t window w as (order by a), v as (w order by b)",
        "42P20",
        'cannot override ORDER BY clause of window "w"',
        57,
    ),
    (
        "select count(*) over (w) from t window w as (order by a rows current row)",
        "42P20",
        'cannot copy window "w" because it has a frame clause',
        8,
    ),
    ("select count(*) over w from t window w as (), w as ()", "42P20", 'window "w" is already defined', 47),
    ("select count(*) over v from t window v as (w), w as ()", "42704", 'window "w" does not exist', 38),
    (
        "select distinct '{a=>1}'::map[text=>int] from t",
        "0A000",
        "comparing values of type map[text=>integer] not yet supported",
        None,
    ),
    (
        "select m, count(*) from (select '{a=>1}'::map[text=>int] as m from t) x group by m",
        "0A000",
        "comparing values of type map[text=>integer] not yet supported",
        None,
    ),
    (
        "select count(distinct '{a=>1}'::map[text=>int]) from t",
        "0A000",
        "comparing values of type map[text=>integer] not yet supported",
        None,
    ),
    (
        "select '{a=>1}'::map[text=>int] from t union select '{a=>1}'::map[text=>int] from t",
        "0A000",
        "comparing values of type map[text=>integer] not yet supported",
        None,
    ),
    (
        "select '{a=>1}'::map[text=>int] from t except all select '{a=>1}'::map[text=>int] from t",
        "0A000",
        "comparing values of type map[text=>integer] not yet supported",
        None,
    ),
    (
        "select distinct on (m) m from (select '{a=>1}'::map[text=>int] as m from t) x",
        "0A000",
        "comparing values of type map[text=>integer] not yet supported",
        None,
    ),
    (
        "select m from (select '{a=>1}'::map[text=>int] as m from t) x order by m",
        "0A000",
        "comparing values of type map[text=>integer] not yet supported",
        None,
    ),
    (
        "select list[m], count(*) from (select '{a=>1}'::map[text=>int] as m from t) x group by list[m]",
        "0A000",
        "comparing values of type map[text=>integer] list not yet supported",
        None,
    ),
    (
        "select count(*) over (partition by m) from (select '{a=>1}'::map[text=>int] as m from t) x",
        "0A000",
        "comparing values of type map[text=>integer] not yet supported",
        None,
    ),
    (
        "select row_number() over (order by row(m)) from (select '{a=>1}'::map[text=>int] as m from t) x",
        "0A000",
        "comparing values of type record(f1: map[text=>integer]) not yet supported",
        None,
    ),
    (
        "select array_agg(a order by '{a=>1}'::map[text=>int]) from t",
        "0A000",
        "comparing values of type map[text=>integer] not yet supported",
        None,
    ),
    (
        "with recursive r as (select '{a=>1}'::map[text=>int] as m from t union select m from r) select * from r",
        "0A000",
        "comparing values of type map[text=>integer] not yet supported",
        None,
    ),
    ("select a from t limit -1", "2201W", "LIMIT must not be negative", 17),
    ("select array[]", "42P18", "cannot determine type of empty array", 8),
    ("values (1), (1, 2)", "42601", "VALUES lists must all be the same length", 1),
    (
        "select distinct a from t order by b",
        "42P10",
        "for SELECT DISTINCT, ORDER BY expressions must appear in select list",
        None,
    ),
    (
        "select distinct on (a) a, b from t order by b",
        "42P10",
        "SELECT DISTINCT ON expressions must match initial ORDER BY expressions",
        None,
    ),
    ("select interval '9000' day (3)", "22015", "interval field day has more than 3 digits", 28),
    ("select *", "42601", "SELECT * with no tables specified is not valid", 8),
    (
        "select * from jsonb_to_recorset('[]') as r(a int)",
        "42601",
        'a column definition list is only allowed for functions returning "record"',
        43,
    ),
    (
        "select * from t, jsonb_to_record(t.data)",
        "42601",
        'a column definition list is required for functions returning "record"',
        18,
    ),
    (
        "select * from t as x(p, q, r, s, u, v, w, z)",
        "42P10",
        '"x" has 7 columns available but 8 columns specified',
        None,
    ),
]


# Flink's, with the words that stand in the way.
NOT_YET = [
    ("select * from t join o for system_time as of t.ts as x on t.a = x.a", "FOR SYSTEM_TIME AS OF", "for"),
    ("select * from t left join o for system_time as of proctime() on t.a = o.a", "FOR SYSTEM_TIME AS OF", "for"),
    ("select * from t join o as x for system_time as of t.ts on t.a = x.a", "FOR SYSTEM_TIME AS OF", "for"),
    ("select * from o for system_time as of timestamp '2024-07-03 12:00:00'", "FOR SYSTEM_TIME AS OF", "for"),
]


@pytest.mark.parametrize(("query", "feature", "word"), NOT_YET)
def test_what_is_not_there_says_why_and_what_to_write_instead(
    names: FixedNames, query: str, feature: str, word: str
) -> None:
    with pytest.raises(SqlError) as raised:
        bind_query(query, names)
    error = raised.value
    assert (error.sqlstate, error.message) == ("0A000", f"{feature} not yet supported")
    assert error.position == query.index(word) + 1
    assert error.detail
    assert error.hint


@pytest.mark.parametrize(("query", "sqlstate", "message", "position"), ERRORS)
def test_a_wrong_query_is_told(
    names: FixedNames, query: str, sqlstate: str, message: str, position: int | None
) -> None:
    with pytest.raises(SqlError) as raised:
        bind_query(query, names)
    error = raised.value
    assert (error.sqlstate, error.message, error.position) == (sqlstate, message, position)


def test_an_unknown_column_hints_at_the_nearest_name(names: FixedNames) -> None:
    with pytest.raises(SqlError) as raised:
        bind_query("select dat from t", names)
    assert raised.value.hint == 'The similarly named column "data" does exist.'


@pytest.mark.parametrize(
    ("query", "nearest"),
    [
        ("select uper(s) from t", "upper"),
        ("select jsonb_path_exist(data, '$.a') from t", "jsonb_path_exists"),
        ("select jsonb_path_qury(data, '$.a') from t", "jsonb_path_query"),
        ("select x.* from t, jsonb_path_qury(t.data, '$.a') as x", "jsonb_path_query"),
    ],
)
def test_an_unknown_function_hints_at_the_nearest_name(names: FixedNames, query: str, nearest: str) -> None:
    with pytest.raises(SqlError) as raised:
        bind_query(query, names)
    assert (raised.value.sqlstate, raised.value.hint) == ("42883", f'Did you mean "{nearest}"?')
    assert raised.value.position is not None
