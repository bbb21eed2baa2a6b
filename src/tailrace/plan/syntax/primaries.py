"""The leaves of expressions: names, literals, calls, CASE, subqueries and the functions with a grammar of
their own.
"""

from __future__ import annotations

from sqlglot import exp

from tailrace.errors import SyntaxFailure
from tailrace.plan.syntax.calls import parse_call
from tailrace.plan.syntax.expressions import (
    cast,
    expression_list,
    located,
    parse_expression,
    query_or_expression,
)
from tailrace.plan.syntax.tokens import FUNCTION_LIKE, RESERVED, Cursor, Token
from tailrace.plan.syntax.types import NamedType, parse_type_name

_WITHOUT_PARENTHESES = frozenset(
    """
        current_date current_time current_timestamp localtime localtimestamp current_user session_user
        user current_role current_catalog current_schema
    """.split()  # noqa: SIM905
)
_NOT_A_TYPE = RESERVED | frozenset(["true", "false"])


def parse_primary(cursor: Cursor) -> exp.Expr:
    token = cursor.token
    match token.kind:
        case "string":
            cursor.next()
            return located(exp.Literal.string(_continued(cursor, token)), token)
        case "number":
            cursor.next()
            return located(exp.Literal.number(token.text), token)
        case "parameter":
            cursor.next()
            return located(exp.Parameter(this=exp.Literal.number(token.text)), token)
        case "identifier":
            return _name_or_call(cursor)
        case "word":
            return _word(cursor)
        case "operator":
            return _punctuated(cursor)
        case _:
            return cursor.fail("an expression")


def _continued(cursor: Cursor, first: Token) -> str:
    """Strings that follow each other on separate lines are one string."""
    text = first.text
    while cursor.token.kind == "string":
        text += cursor.next().text
    return text


def _punctuated(cursor: Cursor) -> exp.Expr:
    token = cursor.token
    if cursor.take_operator("("):
        return located(_parenthesised(cursor), token)
    if token.text == "." and cursor.ahead().kind == "number":
        cursor.next()
        return located(exp.Literal.number("0." + cursor.next().text), token)
    if cursor.take_operator("*"):
        return located(exp.Star(), token)
    return cursor.fail("an expression")


def _parenthesised(cursor: Cursor) -> exp.Expr:
    from tailrace.plan.syntax.queries import is_query

    inner = query_or_expression(cursor)
    if is_query(inner) and not cursor.is_operator(","):
        cursor.expect_operator(")")
        return exp.Subquery(this=inner)
    if cursor.is_operator(","):
        members = [inner]
        while cursor.take_operator(","):
            members.append(parse_expression(cursor))
        cursor.expect_operator(")")
        return exp.Tuple(expressions=members)
    cursor.expect_operator(")")
    return exp.Paren(this=inner)


def _word(cursor: Cursor) -> exp.Expr:
    token = cursor.token
    if token.text in ("null", "true", "false"):
        cursor.next()
        return located(exp.Null() if token.text == "null" else exp.Boolean(this=token.text == "true"), token)
    if token.text == "case":
        return located(_case(cursor), token)
    following = cursor.ahead().text if cursor.ahead().kind == "operator" else ""
    if following == "(" and token.text == "cast":
        return located(_cast(cursor), token)
    if following == "(" and token.text == "exists":
        return located(_exists(cursor), token)
    if token.text in ("array", "list", "map", "row") and following in ("[", "("):
        special = _constructor(cursor, token.text, following)
        if special is not None:
            return located(special, token)
    if token.text in _WITHOUT_PARENTHESES and following != "(" and following != ".":
        cursor.next()
        return located(exp.Anonymous(this=token.text, expressions=[]), token)
    if token.text in RESERVED and not (token.text in FUNCTION_LIKE and following == "("):
        return cursor.fail("an expression")
    return _typed_literal(cursor) or _name_or_call(cursor)


def _typed_literal(cursor: Cursor) -> exp.Expr | None:
    """`date '2024-07-03'`, `interval '1' day`, `timestamp with time zone '…'`."""
    token = cursor.token
    if token.text in _NOT_A_TYPE or not _leads_to_string(cursor):
        return None
    name = parse_type_name(cursor)
    string = cursor.next()
    text = _continued(cursor, string)
    if name == NamedType(("interval",), (), token.position) and cursor.is_one_of(*_UNITS):
        text = _with_unit(text, cursor)
    literal = located(exp.Literal.string(text), string)
    return located(exp.Cast(this=literal, to=exp.DataType(this=exp.DType.USERDEFINED, name=name)), token)


def _with_unit(text: str, cursor: Cursor) -> str:
    """`'3' month`; of `'1-2' year to month` the text says all, but for `'1:30' minute to second`."""
    first = cursor.next().text
    _leading_precision(cursor, text, first)
    if not cursor.take_word("to"):
        return f"{text} {first}"
    if not cursor.is_one_of(*_UNITS):
        cursor.fail("a unit of time")
    last = cursor.next().text
    return f"0:{text}" if (first, last) == ("minute", "second") else text


_UNITS = (
    "year",
    "years",
    "month",
    "months",
    "day",
    "days",
    "hour",
    "hours",
    "minute",
    "minutes",
    "second",
    "seconds",
)


def _leading_precision(cursor: Cursor, text: str, unit: str) -> None:
    """`interval '90' day (3)`: how many digits the number may have.  Of seconds it would be those of the fraction."""
    token = cursor.token
    if not cursor.is_operator("(") or unit.startswith("second"):
        return
    cursor.next()
    precision = cursor.next()
    if precision.kind != "number" or not precision.text.isdigit():
        raise SyntaxFailure("the precision of an interval is a number of digits", position=precision.position)
    cursor.expect_operator(")")
    if len(text.strip().lstrip("+-").lstrip("0")) > int(precision.text):
        raise SyntaxFailure(
            f"interval field {unit} has more than {precision.text} digits", position=token.position, sqlstate="22015"
        )


def _leads_to_string(cursor: Cursor) -> bool:
    """Is this a type's name with a string behind it?  Looks ahead without moving."""
    if cursor.ahead().kind == "string":
        return True
    if cursor.token.text not in ("timestamp", "time", "double", "character", "numeric", "varchar", "char"):
        return False
    for count in range(1, 8):
        ahead = cursor.ahead(count)
        if ahead.kind == "string":
            return True
        if not (
            ahead.kind == "number"
            or ahead.text in ["(", ")", ",", "with", "without", "time", "zone", "precision", "varying"]
        ):
            return False
    return False


def _case(cursor: Cursor) -> exp.Expr:
    cursor.expect_word("case")
    operand = None if cursor.is_word("when") else parse_expression(cursor)
    branches = []
    while cursor.take_word("when"):
        condition = parse_expression(cursor)
        cursor.expect_word("then")
        branches.append(exp.If(this=condition, true=parse_expression(cursor)))
    if not branches:
        cursor.fail("WHEN")
    otherwise = parse_expression(cursor) if cursor.take_word("else") else None
    cursor.expect_word("end")
    return exp.Case(this=operand, ifs=branches, default=otherwise)


def _cast(cursor: Cursor) -> exp.Expr:
    cursor.expect_word("cast")
    cursor.expect_operator("(")
    operand = parse_expression(cursor)
    cursor.expect_word("as")
    result = cast(operand, cursor)
    cursor.expect_operator(")")
    return result


def _exists(cursor: Cursor) -> exp.Expr:
    from tailrace.plan.syntax.queries import parse_query_expression

    cursor.expect_word("exists")
    cursor.expect_operator("(")
    query = parse_query_expression(cursor)
    cursor.expect_operator(")")
    return exp.Exists(this=query)


def _constructor(cursor: Cursor, word: str, bracket: str) -> exp.Expr | None:
    """`ARRAY[…]`, `ARRAY(query)`, `LIST[…]`, `MAP['k' => v]`, `ROW(…)`."""
    if word == "row" and bracket == "(":
        cursor.next()
        cursor.next()
        members = [] if cursor.is_operator(")") else expression_list(cursor)
        cursor.expect_operator(")")
        return exp.Tuple(expressions=members)
    if bracket == "(" and word in ("array", "list"):
        return _collected_query(cursor, word)
    if bracket == "[" and word in ("array", "list"):
        cursor.next()
        return _bracketed(cursor, word)
    if bracket == "[" and word == "map":
        cursor.next()
        return _map(cursor)
    return None


def _collected_query(cursor: Cursor, word: str) -> exp.Expr | None:
    from tailrace.plan.syntax.queries import begins_query, parse_query_expression

    place = cursor.mark()
    cursor.next()
    cursor.next()
    if not begins_query(cursor):
        cursor.reset(place)
        return None
    query = parse_query_expression(cursor)
    cursor.expect_operator(")")
    return exp.Anonymous(this=f"{word}(query)", expressions=[exp.Subquery(this=query)])


def _bracketed(cursor: Cursor, word: str) -> exp.Expr:
    """The members of an ARRAY or LIST.  Inner brackets without a word are of the same kind."""
    opening = cursor.expect_operator("[")
    members: list[exp.Expr] = []
    while not cursor.is_operator("]"):
        members.append(_bracketed(cursor, word) if cursor.is_operator("[") else parse_expression(cursor))
        if not cursor.take_operator(","):
            break
    cursor.expect_operator("]")
    return located(exp.Anonymous(this=f"{word}[]", expressions=members), opening)


def _map(cursor: Cursor) -> exp.Expr:
    cursor.expect_operator("[")
    members: list[exp.Expr] = []
    while not cursor.is_operator("]"):
        members.append(parse_expression(cursor))
        cursor.expect_operator("=>")
        members.append(parse_expression(cursor))
        if not cursor.take_operator(","):
            break
    cursor.expect_operator("]")
    return exp.Anonymous(this="map[]", expressions=members)


def _name_or_call(cursor: Cursor) -> exp.Expr:
    """`a`, `t.a`, `s.t.a`, `t.*`, `f(…)`, `s.f(…)`."""
    first = cursor.next()
    parts = [first]
    while cursor.is_operator(".") and cursor.ahead().kind in ("word", "identifier"):
        cursor.next()
        parts.append(cursor.next())
    if cursor.is_operator(".") and cursor.ahead().text == "*":
        cursor.next()
        star = located(exp.Star(), cursor.next())
        return located(_column([*map(_identifier, parts), star]), first)
    if cursor.is_operator("("):
        return parse_call(cursor, [part.text for part in parts], first)
    return located(_column(list(map(_identifier, parts))), first)


def _identifier(token: Token) -> exp.Expr:
    return located(exp.Identifier(this=token.text, quoted=True), token)


def _column(parts: list[exp.Expr]) -> exp.Expr:
    places = ("this", "table", "db", "catalog")
    if len(parts) > len(places):
        column = _column(parts[: len(places)])
        for part in parts[len(places) :]:
            column = exp.Dot(this=column, expression=part)
        return column
    return exp.Column(**dict(zip(places, reversed(parts), strict=False)))
