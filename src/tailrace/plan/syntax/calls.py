"""Calls of functions: arguments, DISTINCT, ORDER BY, FILTER, OVER; and those whose arguments have
keywords.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from tailrace.plan.syntax.expressions import RANGE, expression_list, located, parse_expression
from tailrace.plan.syntax.tokens import Cursor, Token


def parse_call(cursor: Cursor, parts: list[str], first: Token) -> exp.Expr:
    """The cursor stands at the opening parenthesis."""
    name = parts[-1]
    cursor.expect_operator("(")
    special = _SPECIAL.get(name) if len(parts) == 1 and first.kind == "word" else None
    call = (special and special(cursor)) or _ordinary(cursor, name)
    cursor.expect_operator(")")
    call.set("schema", parts[-2] if len(parts) > 1 else None)
    return located(_windowed(cursor, located(call, first)), first)


def _ordinary(cursor: Cursor, name: str) -> exp.Expr:
    call = exp.Anonymous(this=name, expressions=[])
    if cursor.is_operator(")"):
        return call
    if cursor.is_operator("*") and cursor.ahead().text == ")":
        cursor.next()
        call.set("star", True)
        return call
    if cursor.take_word("distinct"):
        call.set("distinct", True)
        if cursor.is_operator("*"):
            cursor.fail("an expression")
    else:
        cursor.take_word("all")
    cursor.take_word("variadic")
    call.set("expressions", expression_list(cursor))
    if cursor.is_word("order", "by"):
        call.set("order", parse_order(cursor))
    return call


def _windowed(cursor: Cursor, call: exp.Expr) -> exp.Expr:
    """WITHIN GROUP, FILTER, IGNORE NULLS and OVER behind the parenthesis."""
    if cursor.take_word("within", "group"):
        cursor.expect_operator("(")
        call.set("within", parse_order(cursor))
        cursor.expect_operator(")")
    if cursor.is_word("filter") and cursor.ahead().text == "(":
        cursor.next()
        cursor.next()
        cursor.expect_word("where")
        call.set("filter", parse_expression(cursor))
        cursor.expect_operator(")")
    if cursor.take_word("ignore", "nulls"):
        call.set("ignore_nulls", True)
    else:
        cursor.take_word("respect", "nulls")
    if not cursor.take_word("over"):
        return call
    if cursor.is_operator("("):
        return parse_window(cursor, call)
    name = cursor.expect_name("a window name")
    return exp.Window(this=call, alias=exp.Identifier(this=name.text, quoted=True), itself=True)


def parse_window(cursor: Cursor, call: exp.Expr | None) -> exp.Expr:
    """`( [name] [PARTITION BY …] [ORDER BY …] [frame] )`."""
    cursor.expect_operator("(")
    window = exp.Window(this=call)
    if cursor.is_name() and not cursor.is_one_of("partition", "rows", "range", "groups"):
        window.set("alias", exp.Identifier(this=cursor.next().text, quoted=True))
    if cursor.take_word("partition", "by"):
        window.set("partition_by", expression_list(cursor))
    if cursor.is_word("order", "by"):
        window.set("order", parse_order(cursor))
    if cursor.is_one_of("rows", "range", "groups"):
        window.set("spec", _frame(cursor))
    cursor.expect_operator(")")
    return window


def _frame(cursor: Cursor) -> exp.Expr:
    kind = cursor.next()
    if cursor.take_word("between"):
        start, start_side = _bound(cursor)
        cursor.expect_word("and")
        end, end_side = _bound(cursor)
    else:
        start, start_side = _bound(cursor)
        end, end_side = "current row", None
    frame = exp.WindowSpec(kind=kind.text, start=start, start_side=start_side, end=end, end_side=end_side)
    frame.set("exclude", _excluded(cursor))
    return located(frame, kind)


def _excluded(cursor: Cursor) -> str | None:
    """`EXCLUDE { CURRENT ROW | GROUP | TIES | NO OTHERS }`."""
    if not cursor.take_word("exclude"):
        return None
    for words in (("current", "row"), ("group",), ("ties",)):
        if cursor.take_word(*words):
            return " ".join(words)
    if not cursor.take_word("no", "others"):
        cursor.fail("CURRENT ROW, GROUP, TIES or NO OTHERS")
    return None


def _bound(cursor: Cursor) -> tuple[str | exp.Expr, str | None]:
    if cursor.take_word("current", "row"):
        return "current row", None
    start: str | exp.Expr
    start = "unbounded" if cursor.take_word("unbounded") else parse_expression(cursor, RANGE + 1)
    if not cursor.is_one_of("preceding", "following"):
        cursor.fail("PRECEDING or FOLLOWING")
    return start, cursor.next().text


def parse_order(cursor: Cursor) -> exp.Order:
    """ORDER BY e [ASC|DESC] [NULLS FIRST|LAST], …; NULLs are largest unless told otherwise."""
    cursor.expect_word("order", "by")
    parts = [_ordered(cursor)]
    while cursor.take_operator(","):
        parts.append(_ordered(cursor))
    return exp.Order(expressions=parts)


def _ordered(cursor: Cursor) -> exp.Ordered:
    by = parse_expression(cursor)
    descending = cursor.take_word("desc") is not None or (cursor.take_word("asc") is not None and False)
    nulls_first = descending
    if cursor.take_word("nulls"):
        if not cursor.is_one_of("first", "last"):
            cursor.fail("FIRST or LAST")
        nulls_first = cursor.next().text == "first"
    return exp.Ordered(this=by, desc=descending, nulls_first=nulls_first)


def _extract(cursor: Cursor) -> exp.Expr | None:
    """`extract(epoch FROM t)`."""
    if cursor.token.kind not in ("word", "identifier", "string") or not (
        cursor.ahead().kind == "word" and cursor.ahead().text == "from"
    ):
        return None
    field = cursor.next()
    cursor.expect_word("from")
    return exp.Anonymous(
        this="extract", expressions=[located(exp.Literal.string(field.text), field), parse_expression(cursor)]
    )


def _position(cursor: Cursor) -> exp.Expr | None:
    """`position(part IN whole)`."""
    part = parse_expression(cursor, RANGE + 1)
    cursor.expect_word("in")
    return exp.Anonymous(this="strpos", expressions=[parse_expression(cursor), part])


def _substring(cursor: Cursor) -> exp.Expr | None:
    """`substring(s [FROM n] [FOR n])`, or with commas."""
    place = cursor.mark()
    text = parse_expression(cursor)
    if not cursor.is_one_of("from", "for"):
        cursor.reset(place)
        return None
    start: exp.Expr = exp.Literal.number("1")
    if cursor.take_word("from"):
        start = parse_expression(cursor)
    arguments = [text, start]
    if cursor.take_word("for"):
        arguments.append(parse_expression(cursor))
    return exp.Anonymous(this="substring", expressions=arguments)


def _trim(cursor: Cursor) -> exp.Expr | None:
    """`trim([BOTH|LEADING|TRAILING] [characters] FROM s)`, or with commas."""
    side = cursor.take_one_of("both", "leading", "trailing")
    name = {"leading": "ltrim", "trailing": "rtrim"}.get(side.text if side else "", "btrim")
    if cursor.take_word("from"):
        return exp.Anonymous(this=name, expressions=[parse_expression(cursor)])
    first = parse_expression(cursor)
    if cursor.take_word("from"):
        return exp.Anonymous(this=name, expressions=[parse_expression(cursor), first])
    rest = expression_list(cursor) if cursor.take_operator(",") else []
    return exp.Anonymous(this=name, expressions=[first, *rest])


def _overlay(cursor: Cursor) -> exp.Expr | None:
    """`overlay(s PLACING t FROM n [FOR n])`."""
    place = cursor.mark()
    arguments = [parse_expression(cursor)]
    if not cursor.take_word("placing"):
        cursor.reset(place)
        return None
    arguments.append(parse_expression(cursor))
    cursor.expect_word("from")
    arguments.append(parse_expression(cursor))
    if cursor.take_word("for"):
        arguments.append(parse_expression(cursor))
    return exp.Anonymous(this="overlay", expressions=arguments)


_INTERVAL_PARTS = ("years", "months", "weeks", "days", "hours", "mins", "secs")


def _make_interval(cursor: Cursor) -> exp.Expr | None:
    """`make_interval(1, days => 10)`: what is not named comes first, what is not given is 0."""
    given: dict[str, exp.Expr] = {}
    while not cursor.is_operator(")"):
        name = _INTERVAL_PARTS[min(len(given), len(_INTERVAL_PARTS) - 1)]
        if cursor.token.kind == "word" and cursor.ahead().text == "=>":
            name = cursor.next().text
            cursor.next()
        if name not in _INTERVAL_PARTS or name in given:
            cursor.fail(" or ".join(part for part in _INTERVAL_PARTS if part not in given))
        given[name] = parse_expression(cursor)
        if not cursor.take_operator(","):
            break
    zero = exp.Literal.number("0")
    values = [given.get(part, zero.copy()) for part in _INTERVAL_PARTS]
    return exp.Anonymous(this="make_interval", expressions=values)


def _normalize(cursor: Cursor) -> exp.Expr | None:
    """`normalize(text, NFD)`: the form is a word."""
    arguments = [parse_expression(cursor)]
    if cursor.take_operator(","):
        if not cursor.is_one_of("nfc", "nfd", "nfkc", "nfkd"):
            cursor.fail("NFC, NFD, NFKC or NFKD")
        arguments.append(exp.Literal.string(cursor.next().text.upper()))
    return exp.Anonymous(this="normalize", expressions=arguments)


_SPECIAL: dict[str, Callable[[Cursor], exp.Expr | None]] = {
    "extract": _extract,
    "position": _position,
    "substring": _substring,
    "trim": _trim,
    "overlay": _overlay,
    "make_interval": _make_interval,
    "normalize": _normalize,
}
