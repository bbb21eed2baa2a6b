"""jsonb: looking in, comparing, building."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import SparkSession

if TYPE_CHECKING:
    from unit.plan.conftest import Meanings, Rows


def test_looking_in(means: Meanings) -> None:
    means(
        {
            """'{"a":{"b":[10,20]}}'::jsonb->'a'->'b'->>1""": "20",
            """'{"a":"x"}'::jsonb->'a'""": '"x"',
            """'{"a":"x"}'::jsonb->>'a'""": "x",
            """'{"a":null}'::jsonb->'a'""": "null",
            """'{"a":null}'::jsonb->>'a'""": None,
            """'{"a":1}'::jsonb->>'z'""": None,
            """'{"a b":{"c.d":1}}'::jsonb->'a b'->>'c.d'""": "1",
            """'{"a":{"z" : 1}}'::jsonb->>'a'""": '{"z":1}',
            """'[1,2,3]'::jsonb->-1""": "3",
            """'[1,2,3]'::jsonb->>0""": "1",
            """'[1]'::jsonb->>'a'""": None,
            """'{"a":{"b":[1,{"c":"x"}]}}'::jsonb #>> '{a,b,1,c}'""": "x",
            """'{"a":{"b":1}}'::jsonb #> '{a}'""": '{"b":1}',
            """'{"k":5}'::jsonb->>('k' || '')""": "5",
            """'[7,8]'::jsonb->>(0 + 1)""": "8",
        }
    )


def test_canonical_form_and_comparison(means: Meanings) -> None:
    means(
        {
            """'{"b":1.10,"a":[1,null]}'::jsonb""": '{"a":[1,null],"b":1.1}',
            """'{"b":1, "a": 2}'::text::jsonb""": '{"a":2,"b":1}',
            """'{"a":1}'::text::jsonb = '{ "a" : 1.0 }'::text::jsonb""": "true",
            """('{"a":5}'::jsonb->'a')::int""": "5",
            """('{"a":true}'::jsonb->'a')::bool""": "true",
            """('{"a":null}'::jsonb->'a')::int""": None,
            """jsonb_typeof('[1]'::jsonb)""": "array",
            """jsonb_array_length('[1,2]'::jsonb)""": "2",
        }
    )


def test_operators(means: Meanings) -> None:
    means(
        {
            """'{"a":1}'::jsonb ? 'a'""": "true",
            """'["a"]'::jsonb ? 'b'""": "false",
            """'{"a":1}'::jsonb || '{"b":2,"a":3}'::jsonb""": '{"a":3,"b":2}',
            """'[1]'::jsonb || '2'::jsonb""": "[1,2]",
            """'{"a":1,"b":2}'::jsonb - 'a'""": '{"b":2}',
            """'["a","b"]'::jsonb - 'a'""": '["b"]',
            """'{"a":1,"b":{"c":[1,2]}}'::jsonb @> '{"b":{"c":[2]}}'""": "true",
            """'{"a":1}'::jsonb @> '{"a":2}'""": "false",
            """'[1,2]'::jsonb @> '1'""": "true",
            """'{"a":1}'::jsonb <@ '{"a":1}'::jsonb""": "true",
        }
    )


def test_building(means: Meanings) -> None:
    means(
        {
            "to_jsonb(1.50)": "1.5",
            "to_jsonb('it\"s'::text)": '"it\\"s"',
            "to_jsonb(row(1, 'x'))": '{"f1":1,"f2":"x"}',
            "to_jsonb(array[1, null])": "[1,null]",
            "to_jsonb(map['b' => 2, 'a' => 1])": '{"a":1,"b":2}',
            "to_jsonb(date '2024-07-03')": '"2024-07-03"',
            "jsonb_build_object('b', 1, 'a', null)": '{"a":null,"b":1}',
            "jsonb_build_array(1, 'a', null, true)": '[1,"a",null,true]',
        }
    )


def test_rows_from_documents(rows: Rows) -> None:
    assert rows("""select * from jsonb_each('{"b":[1],"a":null}')""") == [("a", "null"), ("b", "[1]")]
    assert rows("""select value from jsonb_array_elements_text('[1,"a",null]')""") == [
        ("1",),
        ("a",),
        (None,),
    ]
    assert rows("""select jsonb_array_elements('[1,{"z":"a"}]')""") == [("1",), ('{"z":"a"}',)]
    assert rows("""select jsonb_object_keys('{"b":1,"a":2}')""") == [("a",), ("b",)]


def test_accesses_have_the_meaning_of_the_arrow(rows: Rows) -> None:
    found = rows("select b, data->>'a', data->>'b', data->'n'->>'m', data->'l'->>1 from t")
    assert found == [
        (10, "1", "2", "deep", "z"),
        (20, None, '{"z":1}', None, None),
        (30, None, None, None, None),
        (40, None, None, None, None),
    ]


@pytest.mark.parametrize(
    "query",
    [
        "select (data->>'a')::bigint, (data->>'b')::bigint, data->>'c' from t where (data->>'d')::int < 5",
        "select data->>'c', sum((data->>'a')::int) from t where data->>'d' is not null group by 1",
        "select x.c from (select data->>'c' as c, data->>'d' as d from t) x where x.d::int < 5 and length(x.c) > 0",
        "select o.id, t.data->>'a' from t join o on o.id = (t.data->>'a')::bigint where t.data->>'d' = '4'",
    ],
)
def test_a_document_is_parsed_once(views: SparkSession, bind: object, query: str) -> None:
    from unit.plan.conftest import text_of

    text = text_of(bind(query))  # type: ignore[operator]
    plan = views.sql(text)._jdf.queryExecution().executedPlan().toString()
    parses = plan.count("tailrace_json_fields(") + plan.count("from_json(") + plan.count("get_json_object(")
    assert parses == 1, plan


def test_of_equal_keys_the_last_one_counts(views: SparkSession, bind: object) -> None:
    from tailrace.plan.to_spark import render

    text = render(bind("select data->>'a', data from t").node, lambda scan: "doubled")  # type: ignore[operator]
    views.sql("""SELECT 1 AS c0, 1 AS c1, '{"a":1, "a":2}' AS c5""").createOrReplaceTempView("doubled")
    found = [tuple(row) for row in views.sql(text).collect()]
    assert found == [("2", '{"a":2}')]
