"""Queries as plans: shapes, names, types, parameters."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tailrace.errors import TypeMismatch
from tailrace.plan.bind import BoundQuery, assign, bind_query, bind_scalar, substitute
from tailrace.plan.expressions import Call, Literal, Ref
from tailrace.plan.names import FixedNames
from tailrace.plan.nodes import Scan
from tailrace.plan.to_spark import render, render_expression
from tailrace.plan.type_names import type_of
from tailrace.plan.walk import scans
from tailrace.types.core import BIGINT, DATE, INTEGER, NUMERIC, TEXT, Column, Varchar

Bind = Callable[[str], BoundQuery]


def types(bound: BoundQuery) -> list[str]:
    return [str(column.type) for column in bound.schema]


def test_output_names_are_those_of_postgresql(bind: Bind) -> None:
    bound = bind(
        "select a, a + 1, lower(s), a::text, 1::bigint, count(*) over (), case when true then 1"
        " end, (select b from t"
        " limit 1), data->>'x', exists (select 1), array[1], s as named from t"
    )
    assert [column.name for column in bound.schema] == [
        "a",
        "?column?",
        "lower",
        "a",
        "int8",
        "count",
        "case",
        "b",
        "?column?",
        "exists",
        "array",
        "named",
    ]


def test_literals_have_the_narrowest_type_that_holds_them(bind: Bind) -> None:
    bound = bind("select 1, 2147483648, 9223372036854775808, 1.0, 1e3, 'x', null, true, -2147483648")
    assert types(bound) == [
        "integer",
        "bigint",
        "numeric",
        "numeric",
        "numeric",
        "text",
        "text",
        "boolean",
        "integer",
    ]


def test_results_of_aggregates_have_postgresqls_types(bind: Bind) -> None:
    bound = bind(
        "select count(*), sum(a), sum(id), sum(n), sum(d), avg(t.b), avg(d), min(s), stddev(b) from"
        " t join o using (a)"
    )
    assert types(bound) == [
        "bigint",
        "bigint",
        "numeric",
        "numeric",
        "double precision",
        "numeric",
        "double precision",
        "text",
        "numeric",
    ]
    assert [column.nullable for column in bound.schema] == [False] + [True] * 8


def test_unknown_literals_take_the_type_of_their_surroundings(bind: Bind) -> None:
    bound = bind("select coalesce(a, '5'), ts > '2024-01-01', case when true then '1' else n end from t")
    assert types(bound) == ["integer", "boolean", "numeric"]


def test_parameters_take_the_type_of_their_surroundings(names: FixedNames) -> None:
    bound = bind_query("select a + $1, $2, s = $3, $1 from t where ts < $4 limit 1", names)
    assert [str(t) for t in bound.parameters] == ["integer", "text", "text", "timestamp without time zone"]


def test_given_parameter_types_win(names: FixedNames) -> None:
    bound = bind_query("select $1", names, [BIGINT])
    assert bound.parameters == (BIGINT,)


def test_parameters_are_replaced_by_values(names: FixedNames) -> None:
    bound = bind_query("select a from t where a = $1 and s = $2", names)
    text = render(substitute(bound.node, ["5", None]), lambda scan: scan.relation)
    assert text == "SELECT t1.c0 AS c0 FROM u1 AS t1 WHERE ((t1.c0 = 5) AND (t1.c2 = CAST(NULL AS string)))"


def test_volatile_functions_are_named(bind: Bind) -> None:
    assert bind("select now(), random(), current_date, a from t").volatile == (
        "now",
        "random",
        "current_date",
    )


def test_columns_that_only_serve_the_order_are_hidden(bind: Bind) -> None:
    bound = bind("select a from t order by s desc, 1")
    assert bound.visible == 1
    assert [(o.by.index, o.descending, o.nulls_first) for o in bound.order_by] == [
        (1, True, True),
        (0, False, False),
    ]  # type: ignore[union-attr]
    assert len(bound.relation.schema) == 1


def test_jsonb_leaves_a_query_in_canonical_form_and_only_then(bind: Bind) -> None:
    text = render(bind("select data, data->>'a' from t").node, lambda scan: scan.relation)
    assert text.count("tailrace_jsonb(") == 1


def test_the_same_plan_gives_the_same_text(bind: Bind) -> None:
    query = (
        "select a, count(*) from t join o using (a) where exists (select 1 from log where"
        " log.id = o.id) group by a"
    )
    texts = {render(bind(query).node, lambda scan: scan.relation) for _ in range(3)}
    assert len(texts) == 1
    assert bind(query).node == bind(query).node


def test_scans_finds_every_relation(bind: Bind) -> None:
    bound = bind("select a from t where a in (select a from o) union all select id from log")
    assert scans(bound.node) == {"u1", "u2", "u3"}


def test_a_scalar_is_bound_over_the_columns_given(names: FixedNames) -> None:
    schema = (Column("x", INTEGER, False), Column("y", TEXT))
    bound = bind_scalar("o.x + 1", schema, names, relation=("o",))
    assert isinstance(bound, Call)
    assert bound.arguments == (Ref(index=0, type=INTEGER, nullable=False), Literal(text="1", type=INTEGER))
    assert render_expression(bound, ["r.c7", "r.c8"]) == "(r.c7 + 1)"


def test_assignment_casts_what_it_may_and_refuses_the_rest() -> None:
    number = Ref(index=0, type=NUMERIC, nullable=True)
    assert assign(number, INTEGER).type == INTEGER
    assert assign(Literal(text="2024-07-03", type=type_of("text")), Varchar(10)).type == Varchar(10)
    with pytest.raises(TypeMismatch, match='column "c" is of type date but expression is of type numeric'):
        assign(number, DATE, "c")


def test_columns_of_an_insert_decide_the_types_of_constants(names: FixedNames) -> None:
    bound = bind_query("values ('1', '2024-07-03', $1)", names, targets=[INTEGER, DATE, BIGINT])
    assert types(bound) == ["integer", "date", "bigint"]
    assert bound.parameters == (BIGINT,)
    bound = bind_query("select '1', a from t", names, targets=[NUMERIC, TEXT])
    assert types(bound) == ["numeric", "integer"]


def test_a_view_stands_in_its_place(names: FixedNames) -> None:
    from dataclasses import replace

    inner = bind_query("select data->>'a' as a, (data->>'b')::int as b from t", names)
    view = replace(
        names.relation(("o",), None),
        name="materialize.public.v",
        plan=inner.relation,
        schema=inner.schema,
        id="u9",
    )
    outer = bind_query("select a from v where b > 1", FixedNames(view))
    assert scans(outer.node) == {"u1"}
    text = render(outer.node, lambda scan: scan.relation)
    assert text.count("tailrace_json_fields") == 1
    assert text.count("SELECT") == 1


def test_a_scan_carries_what_the_catalog_knows(bind: Bind) -> None:
    node = bind("select * from o").node
    assert isinstance(node, Scan)
    assert node.keys == {frozenset({0})}
