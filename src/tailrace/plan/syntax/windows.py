"""Flink's window functions in FROM: `[TABLE(] TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' MINUTES) [)]`, and
`SESSION(TABLE t [PARTITION BY k, …], DESCRIPTOR(ts), INTERVAL '10' MINUTES)`.

Arguments go by their places or by names (`DATA => TABLE t, TIMECOL => …`).  The result is an `exp.Table` around a call
whose `window` holds them by name: the relation under `data`, the column under `timecol`, the columns of PARTITION BY as
a tuple under `partition_by`, expressions under the rest.
"""

from __future__ import annotations

from sqlglot import exp

from tailrace.errors import SyntaxFailure
from tailrace.plan.syntax.expressions import located, parse_expression
from tailrace.plan.syntax.tokens import Cursor

SESSION = "session"

PARAMETERS = {
    "tumble": ("data", "timecol", "size", "offset"),
    "hop": ("data", "timecol", "slide", "size", "offset"),
    "cumulate": ("data", "timecol", "step", "size", "offset"),
    SESSION: ("data", "timecol", "gap"),
}
_PARTITION_BY = "partition_by"


def begins_window(cursor: Cursor) -> bool:
    """Whether a window function comes next.  A function of one's own with such a name has no table inside."""
    if cursor.token.kind != "word":
        return False
    if cursor.token.text == "table" and cursor.ahead().text == "(":
        return True
    if cursor.token.text not in PARAMETERS or cursor.ahead().text != "(":
        return False
    inside = cursor.ahead(2)
    return (inside.kind == "word" and inside.text == "table") or cursor.ahead(3).text == "=>" or inside.text == "("


def parse_window_table(cursor: Cursor) -> exp.Expr:
    wrapped = cursor.take_word("table") is not None
    if wrapped:
        cursor.expect_operator("(")
    first = cursor.token
    if first.kind != "word" or first.text not in PARAMETERS:
        cursor.fail("TUMBLE, HOP, CUMULATE or SESSION")
    cursor.next()
    cursor.expect_operator("(")
    given = _arguments(cursor, first.text)
    cursor.expect_operator(")")
    if wrapped:
        cursor.expect_operator(")")
    call = exp.Anonymous(this=first.text, expressions=[])
    call.set("window", given)
    return located(exp.Table(this=located(call, first)), first)


def _arguments(cursor: Cursor, function: str) -> dict[str, exp.Expr]:
    parameters = PARAMETERS[function]
    given: dict[str, exp.Expr] = {}
    while True:
        token = cursor.token
        if cursor.ahead().text == "=>":
            name = cursor.next().text.lower()
            cursor.next()
        elif len(given.keys() - {_PARTITION_BY}) < len(parameters):
            name = parameters[len(given.keys() - {_PARTITION_BY})]
        else:
            cursor.fail("right parenthesis")
        if name not in parameters or name in given:
            left = ", ".join(each.upper() for each in parameters if each not in given)
            message = f"{function.upper()} takes no {name.upper()} here"
            raise SyntaxFailure(message, hint=f"It takes {left}.", position=token.position)
        given[name] = _argument(cursor, name)
        if name == "data" and function == SESSION and cursor.take_word("partition", "by"):
            given[_PARTITION_BY] = _keys(cursor)
        if not cursor.take_operator(","):
            break
    missing = [each.upper() for each in parameters if each not in given and each != "offset"]
    if missing:
        raise SyntaxFailure(f"{function.upper()} lacks {', '.join(missing)}", position=cursor.token.position)
    return given


def _keys(cursor: Cursor) -> exp.Expr:
    """Columns in parentheses, or without, up to an argument: `DESCRIPTOR`, or one by name."""
    wrapped = cursor.take_operator("(")
    keys = [_column(cursor)]
    while cursor.is_operator(",") and (wrapped or not _begins_argument(cursor)):
        cursor.next()
        keys.append(_column(cursor))
    if wrapped:
        cursor.expect_operator(")")
    return exp.Tuple(expressions=keys)


def _begins_argument(cursor: Cursor) -> bool:
    """Whether what stands behind a comma does."""
    after = cursor.ahead()
    return (after.kind == "word" and after.text == "descriptor") or cursor.ahead(2).text == "=>"


def _column(cursor: Cursor) -> exp.Expr:
    token = cursor.expect_name("a column")
    return located(exp.Identifier(this=token.text, quoted=token.kind != "word"), token)


def _argument(cursor: Cursor, name: str) -> exp.Expr:
    from tailrace.plan.syntax.tables import parse_relation

    if name == "data":
        cursor.take_word("table")
        return parse_relation(cursor)
    if name == "timecol":
        cursor.expect_word("descriptor")
        cursor.expect_operator("(")
        column = _column(cursor)
        cursor.expect_operator(")")
        return column
    return parse_expression(cursor)
