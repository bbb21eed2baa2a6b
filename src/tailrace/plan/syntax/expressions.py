"""Scalar expressions by precedence climbing, with PostgreSQL's precedences.  The leaves are in primaries.py.

Every operator that is a symbol becomes one `exp.Operator`; what it means is a question of types, for the
binder.
"""

from __future__ import annotations

from contextlib import suppress

from sqlglot import exp

from tailrace.errors import NotSupported, SyntaxFailure
from tailrace.plan.syntax.tokens import Cursor, Token
from tailrace.plan.syntax.types import NamedType, parse_type_name

OR, AND, NOT, IS, COMPARISON, RANGE, OTHER, SUM, PRODUCT, POWER, ZONE, COLLATE, UNARY = range(1, 14)

_SYMBOLS = {
    **dict.fromkeys(("=", "<>", "!=", "<", ">", "<=", ">="), COMPARISON),
    **dict.fromkeys(("+", "-"), SUM),
    **dict.fromkeys(("*", "/", "%"), PRODUCT),
    "^": POWER,
    **dict.fromkeys(
        ("||", "->", "->>", "#>", "#>>", "@>", "<@", "@?", "@@", "?", "?|", "?&", "#-", "~", "~*", "!~", "!~*",
         "~~", "~~*", "!~~", "!~~*", "&", "|", "#", "<<", ">>", "&&", "&<", "&>", "-|-", "^@"),
        OTHER,
    ),
}  # fmt: skip


def located(node: exp.Expr, token: Token) -> exp.Expr:
    """The node, remembering where in the statement it was written."""
    node.meta["position"] = token.position
    return node


def position_of(node: exp.Expr) -> int | None:
    """Where a node was written: its own place, or else that of its first part that has one."""
    for part in node.walk(bfs=False):
        if "position" in part.meta:
            return int(part.meta["position"])
    return None


def parse_expression(cursor: Cursor, minimum: int = 0) -> exp.Expr:
    """An expression whose operators bind at least as tightly as `minimum`."""
    left = _prefixed(cursor)
    while True:
        following = _postfix(cursor, left, minimum) or _infix(cursor, left, minimum)
        if following is None:
            return left
        left = following


def _prefixed(cursor: Cursor) -> exp.Expr:
    token = cursor.token
    if cursor.take_word("not"):
        return located(exp.Not(this=parse_expression(cursor, NOT)), token)
    if cursor.take_operator("-"):
        return located(exp.Neg(this=parse_expression(cursor, UNARY)), token)
    if cursor.take_operator("+"):
        return parse_expression(cursor, UNARY)
    if cursor.take_operator("~"):
        return located(exp.BitwiseNot(this=parse_expression(cursor, UNARY)), token)
    if cursor.is_operator("|/", "||/", "@"):
        name = {"|/": "sqrt", "||/": "cbrt", "@": "abs"}[cursor.next().text]
        operand = parse_expression(cursor, UNARY)
        if name != "abs":  # the two roots are of double precision only
            double = NamedType(("double precision",), (), token.position)
            operand = exp.Cast(this=operand, to=exp.DataType(this=exp.DType.USERDEFINED, name=double))
        return located(exp.Anonymous(this=name, expressions=[operand]), token)
    from tailrace.plan.syntax.primaries import parse_primary  # the two files call each other

    return parse_primary(cursor)


def _infix(cursor: Cursor, left: exp.Expr, minimum: int) -> exp.Expr | None:
    token = cursor.token
    if token.kind == "word" and not _is_spelt_out(cursor):
        return _word_infix(cursor, left, minimum)
    if token.kind == "word":
        return _spelt_out(cursor, left) if minimum <= OTHER else None
    if token.kind != "operator" or _SYMBOLS.get(token.text, -1) < minimum or token.text not in _SYMBOLS:
        return None
    cursor.next()
    binding = _SYMBOLS[token.text]
    symbol = "<>" if token.text == "!=" else token.text
    if cursor.is_one_of("any", "all", "some") and cursor.ahead().text == "(":
        return located(_quantified(cursor, left, symbol), token)
    right = parse_expression(cursor, binding + 1)
    return located(exp.Operator(this=left, operator=symbol, expression=right), token)


def _is_spelt_out(cursor: Cursor) -> bool:
    return cursor.is_word("operator") and cursor.ahead().text == "("


def _spelt_out(cursor: Cursor, left: exp.Expr) -> exp.Expr:
    """`a OPERATOR(pg_catalog.~) b`: an operator with its schema; all of ours are in pg_catalog."""
    cursor.next()
    cursor.next()
    if cursor.is_name():
        cursor.expect_word("pg_catalog")
        cursor.expect_operator(".")
    token = cursor.next()
    if token.text not in _SYMBOLS:
        cursor.fail("an operator")
    cursor.expect_operator(")")
    if cursor.is_one_of("any", "all", "some") and cursor.ahead().text == "(":
        return located(_quantified(cursor, left, token.text), token)
    right = parse_expression(cursor, OTHER + 1)
    return located(exp.Operator(this=left, operator=token.text, expression=right), token)


def _quantified(cursor: Cursor, left: exp.Expr, symbol: str) -> exp.Expr:
    """`x = ANY (…)`: of a subquery, or of the elements of an array."""
    kind = exp.All if cursor.next().text == "all" else exp.Any
    cursor.expect_operator("(")
    right = query_or_expression(cursor)
    cursor.expect_operator(")")
    return kind(this=left, operator=symbol, expression=right)


def query_or_expression(cursor: Cursor) -> exp.Expr:
    """What stands in parentheses."""
    from tailrace.plan.syntax.queries import begins_query, parse_query_expression

    if not begins_query(cursor):
        return parse_expression(cursor)
    if not cursor.is_operator("("):
        return parse_query_expression(cursor)
    place = cursor.mark()
    with suppress(SyntaxFailure):
        query = parse_query_expression(cursor)
        if cursor.is_operator(")"):
            return query
    cursor.reset(place)  # an expression that begins with a subquery in parentheses
    return parse_expression(cursor)


def _word_infix(cursor: Cursor, left: exp.Expr, minimum: int) -> exp.Expr | None:
    token = cursor.token
    if token.text == "or" and minimum <= OR:
        cursor.next()
        return located(exp.Or(this=left, expression=parse_expression(cursor, OR + 1)), token)
    if token.text == "and" and minimum <= AND:
        cursor.next()
        return located(exp.And(this=left, expression=parse_expression(cursor, AND + 1)), token)
    if token.text == "is" and minimum <= IS:
        cursor.next()
        return located(_is(cursor, left), token)
    if token.text in ("isnull", "notnull") and minimum <= IS:
        cursor.next()
        return located(exp.Is(this=left, expression=exp.Null(), negate=token.text == "notnull"), token)
    if token.text == "at" and minimum <= ZONE and cursor.take_word("at", "time", "zone"):
        return located(exp.AtTimeZone(this=left, zone=parse_expression(cursor, ZONE + 1)), token)
    if token.text == "collate" and minimum <= COLLATE:
        cursor.next()
        return located(exp.Collate(this=left, expression=_collation(cursor)), token)
    return _range(cursor, left) if minimum <= RANGE else None


def _collation(cursor: Cursor) -> exp.Expr:
    name = cursor.expect_name("a collation")
    while cursor.take_operator("."):
        name = cursor.expect_name("a collation")
    return exp.Identifier(this=name.text, quoted=True)


def _is(cursor: Cursor, left: exp.Expr) -> exp.Expr:
    negate = cursor.take_word("not") is not None
    if cursor.take_word("distinct", "from"):
        kind = exp.NullSafeEQ if negate else exp.NullSafeNEQ
        return kind(this=left, expression=parse_expression(cursor, IS + 1))
    if cursor.take_word("null"):
        return exp.Is(this=left, expression=exp.Null(), negate=negate)
    if cursor.is_one_of("true", "false"):
        return exp.Is(this=left, expression=exp.Boolean(this=cursor.next().text == "true"), negate=negate)
    if cursor.take_word("unknown"):
        return exp.Is(this=left, expression=exp.Null(), negate=negate, boolean=True)
    if cursor.take_word("json"):
        return _is_json(cursor, left, negate)
    return cursor.fail("[NOT] NULL | TRUE | FALSE | UNKNOWN | JSON or [NOT] DISTINCT FROM after IS")


def _is_json(cursor: Cursor, left: exp.Expr, negate: bool) -> exp.Expr:
    """`IS JSON [VALUE | OBJECT | ARRAY | SCALAR]`."""
    kind = cursor.next().text if cursor.is_one_of("value", "object", "array", "scalar") else "value"
    if cursor.is_word("with", "unique"):
        raise NotSupported("IS JSON … WITH UNIQUE KEYS not yet supported", position=cursor.token.position)
    is_json: exp.Expr = exp.Anonymous(this="is json", expressions=[left, exp.Literal.string(kind)])
    return exp.Not(this=is_json) if negate else is_json


def _range(cursor: Cursor, left: exp.Expr) -> exp.Expr | None:
    """BETWEEN, IN, LIKE, ILIKE and SIMILAR TO, each possibly after NOT; and OVERLAPS."""
    token = cursor.token
    place = cursor.mark()
    negate = cursor.take_word("not") is not None
    if cursor.take_word("between"):
        symmetric = cursor.take_word("symmetric") is not None
        low = parse_expression(cursor, RANGE + 1)
        cursor.expect_word("and")
        high = parse_expression(cursor, RANGE + 1)
        return located(exp.Between(this=left, low=low, high=high, symmetric=symmetric, negate=negate), token)
    if isinstance(left, exp.Tuple) and not negate and cursor.take_word("overlaps"):
        return located(exp.Overlaps(this=left, expression=parse_expression(cursor, RANGE + 1)), token)
    if cursor.take_word("in"):
        return located(_in(cursor, left, negate), token)
    if cursor.is_one_of("like", "ilike"):
        kind = exp.Like if cursor.next().text == "like" else exp.ILike
        symbol = ("!" if negate else "") + ("~~" if kind is exp.Like else "~~*")
        if cursor.is_one_of("any", "all", "some") and cursor.ahead().text == "(":
            return located(_quantified(cursor, left, symbol), token)
        pattern = parse_expression(cursor, RANGE + 1)
        escape = parse_expression(cursor, RANGE + 1) if cursor.take_word("escape") else None
        return located(kind(this=left, expression=pattern, escape=escape, negate=negate), token)
    if cursor.take_word("similar", "to"):
        pattern = parse_expression(cursor, RANGE + 1)
        escape = parse_expression(cursor, RANGE + 1) if cursor.take_word("escape") else None
        return located(exp.SimilarTo(this=left, expression=pattern, escape=escape, negate=negate), token)
    cursor.reset(place)
    return None


def _in(cursor: Cursor, left: exp.Expr, negate: bool) -> exp.Expr:
    from tailrace.plan.syntax.queries import begins_query, parse_query_expression

    cursor.expect_operator("(")
    if begins_query(cursor):
        place = cursor.mark()
        query = parse_query_expression(cursor)
        if cursor.take_operator(")"):
            return exp.In(this=left, query=query, negate=negate)
        cursor.reset(place)  # a list whose first member begins with a subquery in parentheses
    members = expression_list(cursor)
    cursor.expect_operator(")")
    return exp.In(this=left, expressions=members, negate=negate)


def expression_list(cursor: Cursor) -> list[exp.Expr]:
    members = [parse_expression(cursor)]
    while cursor.take_operator(","):
        members.append(parse_expression(cursor))
    return members


def _postfix(cursor: Cursor, left: exp.Expr, minimum: int) -> exp.Expr | None:
    """`::type`, `[i]`, `.field`: they bind more tightly than every operator."""
    token = cursor.token
    if cursor.take_operator("::"):
        return located(cast(left, cursor), token)
    if cursor.take_operator("["):
        return located(_subscript(cursor, left), token)
    if cursor.is_operator(".") and not isinstance(left, exp.Column):
        cursor.next()
        if cursor.take_operator("*"):
            return located(exp.Dot(this=left, expression=exp.Star()), token)
        name = cursor.expect_name("a field name")
        return located(exp.Dot(this=left, expression=exp.Identifier(this=name.text, quoted=True)), token)
    return None


def cast(operand: exp.Expr, cursor: Cursor) -> exp.Expr:
    name = parse_type_name(cursor)
    return exp.Cast(this=operand, to=exp.DataType(this=exp.DType.USERDEFINED, name=name))


def _subscript(cursor: Cursor, left: exp.Expr) -> exp.Expr:
    lower = None if cursor.is_operator(":") else parse_expression(cursor)
    if cursor.take_operator(":"):
        upper = None if cursor.is_operator("]") else parse_expression(cursor)
        cursor.expect_operator("]")
        return exp.Bracket(this=left, expressions=[exp.Slice(this=lower, expression=upper)])
    cursor.expect_operator("]")
    return exp.Bracket(this=left, expressions=[lower])
