"""Flink's window functions in FROM: `[TABLE(] TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' MINUTES) [)]`.

Arguments go by their places or by names (`DATA => TABLE t, TIMECOL => …`).  The result is an `exp.Table` around a call
whose `window` holds them by name: the relation under `data`, the column under `timecol`, expressions under the rest.
"""

from __future__ import annotations

from sqlglot import exp

from tailrace.errors import NotSupported, SyntaxFailure
from tailrace.plan.syntax.expressions import located, parse_expression
from tailrace.plan.syntax.tokens import Cursor

PARAMETERS = {
    "tumble": ("data", "timecol", "size", "offset"),
    "hop": ("data", "timecol", "slide", "size", "offset"),
    "cumulate": ("data", "timecol", "step", "size", "offset"),
}
_SESSION = "session"


def begins_window(cursor: Cursor) -> bool:
    """Whether a window function comes next.  A function of one's own with such a name has no table inside."""
    if cursor.token.kind != "word":
        return False
    if cursor.token.text == "table" and cursor.ahead().text == "(":
        return True
    if cursor.token.text not in (*PARAMETERS, _SESSION) or cursor.ahead().text != "(":
        return False
    inside = cursor.ahead(2)
    return (inside.kind == "word" and inside.text == "table") or cursor.ahead(3).text == "=>" or inside.text == "("


def parse_window_table(cursor: Cursor) -> exp.Expr:
    wrapped = cursor.take_word("table") is not None
    if wrapped:
        cursor.expect_operator("(")
    first = cursor.token
    if first.kind != "word" or first.text not in (*PARAMETERS, _SESSION):
        cursor.fail("TUMBLE, HOP or CUMULATE")
    if first.text == _SESSION:
        raise NotSupported(
            "SESSION windows not yet supported",
            detail="Where such a window ends depends on the rows that come later.",
            hint="Number the sessions with window functions: a row begins one if lag(ts) OVER (PARTITION BY k ORDER BY"
            " ts) is too long ago or NULL, and the running sum of those is the session's number.",
            position=first.position,
        )
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
        elif len(given) < len(parameters):
            name = parameters[len(given)]
        else:
            cursor.fail("right parenthesis")
        if name not in parameters or name in given:
            left = ", ".join(each.upper() for each in parameters if each not in given)
            message = f"{function.upper()} takes no {name.upper()} here"
            raise SyntaxFailure(message, hint=f"It takes {left}.", position=token.position)
        given[name] = _argument(cursor, name)
        if not cursor.take_operator(","):
            break
    missing = [each.upper() for each in parameters if each not in given and each != "offset"]
    if missing:
        raise SyntaxFailure(f"{function.upper()} lacks {', '.join(missing)}", position=cursor.token.position)
    return given


def _argument(cursor: Cursor, name: str) -> exp.Expr:
    from tailrace.plan.syntax.tables import parse_relation

    if name == "data":
        cursor.take_word("table")
        return parse_relation(cursor)
    if name == "timecol":
        cursor.expect_word("descriptor")
        cursor.expect_operator("(")
        token = cursor.expect_name("a column")
        cursor.expect_operator(")")
        return located(exp.Identifier(this=token.text, quoted=token.kind != "word"), token)
    return parse_expression(cursor)
