"""The grammar: what binds how tightly, and what an error says."""

from __future__ import annotations

import pytest
from sqlglot import exp

from tailrace.errors import NotSupported, SyntaxFailure
from tailrace.plan.parse import parse_expression, parse_query, parse_type
from tailrace.plan.syntax.expressions import position_of
from tailrace.plan.syntax.tokens import tokenize
from tailrace.plan.syntax.types import MapType, NamedType, SuffixedType


def shape(text: str) -> str:
    return _shape(parse_expression(text))


def _shape(node: exp.Expr) -> str:
    match node:
        case exp.Operator():
            return f"({_shape(node.this)} {node.args['operator']} {_shape(node.expression)})"
        case exp.And() | exp.Or():
            return f"({_shape(node.this)} {type(node).__name__.lower()} {_shape(node.expression)})"
        case exp.Not() | exp.Neg():
            return f"({type(node).__name__.lower()} {_shape(node.this)})"
        case exp.Paren():
            return _shape(node.this)
        case exp.Is():
            return f"({_shape(node.this)} is {_shape(node.expression)})"
        case exp.Cast():
            return f"{_shape(node.this)}::{'.'.join(node.args['to'].args['name'].parts)}"
        case exp.Literal():
            return f"'{node.this}'" if node.is_string else str(node.this)
        case exp.Null():
            return "null"
        case _:
            return str(node.name)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + b * c", "(a + (b * c))"),
        ("a - b - c", "((a - b) - c)"),
        ("a or b and not c", "(a or (b and (not c)))"),
        ("not a = b", "(not (a = b))"),
        ("-2 ^ 2", "((neg 2) ^ 2)"),
        ("a->'b'->>'c' = 'd'", "(((a -> 'b') ->> 'c') = 'd')"),
        ("a || b + c", "(a || (b + c))"),
        ("a->>'b'::text", "(a ->> 'b'::text)"),
        ("a = b is null", "((a = b) is null)"),
        ("a < b + 1 and c", "((a < (b + 1)) and c)"),
        ("(a + b) * c", "((a + b) * c)"),
        ("a !~ 'x'", "(a !~ 'x')"),
        ("a << 2", "(a << 2)"),
    ],
)
def test_operators_bind_as_in_postgresql(text: str, expected: str) -> None:
    assert shape(text) == expected


@pytest.mark.parametrize(
    ("text", "message", "position"),
    [
        ("select 1 +", "Expected an expression, found EOF", 11),
        ("select a b c", 'Expected end of statement, found identifier "c"', 12),
        ("select (a", "Expected right parenthesis, found EOF", 10),
        ("select a from", "Expected identifier, found EOF", 14),
        ("select a from t where", "Expected an expression, found EOF", 22),
        ("select a, from t", "Expected an expression, found FROM", 11),
        ("select a from t join u", "Expected ON or USING, found EOF", 23),
        ("select a between 1 or 2", "Expected AND, found OR", 20),
        ("select case 1 end", "Expected WHEN, found END", 15),
        ("show tables", "Expected SELECT, VALUES, WITH, TABLE or a subquery in parentheses, found SHOW", 1),
        ("select 'abc", "unterminated string literal", 8),
        (
            "select a is 3",
            'Expected [NOT] NULL | TRUE | FALSE | UNKNOWN | JSON or [NOT] DISTINCT FROM after IS, found number "3"',
            13,
        ),
    ],
)
def test_an_error_says_what_was_expected_and_where(text: str, message: str, position: int) -> None:
    with pytest.raises(SyntaxFailure) as raised:
        parse_query(text)
    assert (raised.value.message, raised.value.position) == (message, position)


def test_positions_count_from_the_start_of_the_whole_statement() -> None:
    query = parse_query("select a, b", offset=100)
    assert [position_of(item) for item in query.expressions] == [108, 111]


def test_what_comes_before_a_subquery_may_be_any_depth_of_parentheses() -> None:
    assert isinstance(parse_query("((select 1))"), exp.Subquery)
    assert isinstance(parse_query("(select 1) union (select 2) order by 1"), exp.Union)


def test_intersect_binds_more_tightly_than_union() -> None:
    union = parse_query("select 1 union select 2 intersect select 3")
    assert isinstance(union, exp.Union)
    assert isinstance(union.expression, exp.Intersect)


def test_mutual_recursion_is_refused_by_name() -> None:
    with pytest.raises(NotSupported, match="WITH MUTUALLY RECURSIVE not yet supported"):
        parse_query("with mutually recursive a (i int) as (select 1) select * from a")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("int", NamedType(("int",), (), 1)),
        ("numeric(10, 2)", NamedType(("numeric",), (10, 2), 1)),
        ("timestamp(3) with time zone", NamedType(("timestamptz",), (3,), 1)),
        ("double precision", NamedType(("double precision",), (), 1)),
        ("int list", SuffixedType(NamedType(("int",), (), 1), "list")),
        ("int[][]", SuffixedType(NamedType(("int",), (), 1), "array")),
        ("map[text=>int]", MapType(NamedType(("int",), (), 11))),
        ("my.point", NamedType(("my", "point"), (), 1)),
    ],
)
def test_names_of_types(text: str, expected: object) -> None:
    assert parse_type(text) == expected


def test_identifiers_fold_to_lower_case_unless_quoted() -> None:
    query = parse_query('select Abc, "Abc" from T')
    assert [item.name for item in query.expressions] == ["abc", "Abc"]


def test_strings_escapes_and_continuation() -> None:
    texts = [
        parse_expression(t).this
        for t in ("'it''s'", r"E'a\nb'", "'a'\n'b'", "$$x'y$$", r"U&'d\0061t'", r"'a\nb'")
    ]
    assert texts == ["it's", "a\nb", "ab", "x'y", "dat", r"a\nb"]


def test_parameters_may_stand_close_together() -> None:
    text = "SELECT $1+$2,$3, 'a $1,$2', $$b $1,$2$$, e'\\'$1,$2', $4 /* $1,$2 */"
    found = [token.text for token in tokenize(text) if token.kind in ("parameter", "string")]
    assert found == ["1", "2", "3", "a $1,$2", "b $1,$2", "'$1,$2", "4"]
