"""Queries: WITH, SELECT, VALUES, TABLE, set operations, ORDER BY and LIMIT.  FROM is in tables.py."""

from __future__ import annotations

from sqlglot import exp

from tailrace.errors import NotSupported
from tailrace.plan.syntax.calls import parse_order, parse_window
from tailrace.plan.syntax.expressions import expression_list, located, parse_expression
from tailrace.plan.syntax.tables import parse_from, parse_table_name
from tailrace.plan.syntax.tokens import NOT_ALIAS, Cursor


def is_query(node: exp.Expr) -> bool:
    """sqlglot does not count VALUES as a query; we do."""
    return isinstance(node, exp.Query | exp.Values)


def begins_query(cursor: Cursor) -> bool:
    """Does a query start here, possibly after parentheses?"""
    count = 0
    while cursor.ahead(count).text == "(" and cursor.ahead(count).kind == "operator":
        count += 1
    token = cursor.ahead(count)
    return token.kind == "word" and token.text in ("select", "with", "values", "table")


def parse_query_expression(cursor: Cursor) -> exp.Expr:
    """A whole query: `[WITH …] body [ORDER BY …] [LIMIT …] [OFFSET …]`."""
    ctes = _with(cursor)
    query = _set_operation(cursor, 0)
    if ctes is not None or _has_tail(cursor):
        query = _unwrapped(query)
    if ctes is not None:
        query.set("with_", ctes)
    _tail(cursor, query)
    return query


def _unwrapped(query: exp.Expr) -> exp.Expr:
    """Something that ORDER BY can be hung on: a query in parentheses keeps its own."""
    if isinstance(query, exp.Subquery):
        return exp.Select(expressions=[exp.Star()], from_=exp.From(expressions=[query.copy()]), wrapped=True)
    return query


def _has_tail(cursor: Cursor) -> bool:
    return cursor.is_word("order", "by") or cursor.is_one_of("limit", "offset", "fetch", "for")


def _with(cursor: Cursor) -> exp.With | None:
    if not cursor.take_word("with"):
        return None
    if mutually := cursor.take_word("mutually", "recursive"):
        raise NotSupported(
            "WITH MUTUALLY RECURSIVE not yet supported",
            hint="WITH RECURSIVE takes one query that refers to itself.",
            position=mutually.position,
        )
    recursive = cursor.take_word("recursive") is not None
    ctes = [_cte(cursor)]
    while cursor.take_operator(","):
        ctes.append(_cte(cursor))
    return exp.With(expressions=ctes, recursive=recursive)


def _cte(cursor: Cursor) -> exp.CTE:
    name = cursor.expect_name()
    columns = []
    if cursor.take_operator("("):
        columns.append(cursor.expect_name())
        while cursor.take_operator(","):
            columns.append(cursor.expect_name())
        cursor.expect_operator(")")
    cursor.expect_word("as")
    cursor.take_word("not", "materialized") or cursor.take_word("materialized")
    cursor.expect_operator("(")
    query = parse_query_expression(cursor)
    cursor.expect_operator(")")
    if cursor.is_one_of("search", "cycle"):
        raise NotSupported(
            f"{cursor.token.text.upper()} of a recursive query not yet supported",
            hint="Keep the way to a row in a column of its own, e.g. path || ARRAY[id], and look at that.",
            position=cursor.token.position,
        )
    alias = exp.TableAlias(
        this=located(exp.Identifier(this=name.text, quoted=True), name),
        columns=[exp.Identifier(this=column.text, quoted=True) for column in columns],
    )
    return exp.CTE(this=query, alias=alias)


_SET_OPERATIONS = {"union": (1, exp.Union), "except": (1, exp.Except), "intersect": (2, exp.Intersect)}


def _set_operation(cursor: Cursor, minimum: int) -> exp.Expr:
    """INTERSECT binds more tightly than UNION and EXCEPT."""
    left = _body(cursor)
    while cursor.is_one_of(*_SET_OPERATIONS):
        binding, kind = _SET_OPERATIONS[cursor.token.text]
        if binding <= minimum:
            break
        token = cursor.next()
        every = cursor.take_word("all") is not None
        if not every:
            cursor.take_word("distinct")
        right = _set_operation(cursor, binding)
        left = kind(this=left, expression=right, distinct=not every)
        located(left, token)
    return left


def _body(cursor: Cursor) -> exp.Expr:
    token = cursor.token
    if cursor.take_operator("("):
        query = parse_query_expression(cursor)
        cursor.expect_operator(")")
        subquery = exp.Subquery(this=query)
        located(subquery, token)
        return subquery
    if cursor.take_word("values"):
        values = exp.Values(expressions=_rows(cursor))
        located(values, token)
        return values
    if cursor.take_word("table"):
        return exp.Select(expressions=[exp.Star()], from_=exp.From(expressions=[parse_table_name(cursor)]))
    cursor.expect_word("select")
    select = _select(cursor)
    located(select, token)
    return select


def _rows(cursor: Cursor) -> list[exp.Expr]:
    rows: list[exp.Expr] = []
    while True:
        token = cursor.expect_operator("(")
        rows.append(located(exp.Tuple(expressions=expression_list(cursor)), token))
        cursor.expect_operator(")")
        if not cursor.take_operator(","):
            return rows


def _select(cursor: Cursor) -> exp.Select:
    select = exp.Select(distinct=_distinct(cursor), expressions=_items(cursor))
    if cursor.take_word("from"):
        select.set("from_", parse_from(cursor))
    if cursor.take_word("where"):
        select.set("where", parse_expression(cursor))
    if token := cursor.take_word("group", "by"):
        distinct = cursor.take_word("distinct") is not None
        cursor.take_word("all")
        select.set("group", located(exp.Group(expressions=_group_items(cursor), distinct=distinct), token))
    if cursor.take_word("having"):
        select.set("having", parse_expression(cursor))
    if cursor.take_word("window"):
        select.set("windows", _windows(cursor))
    return select


def _distinct(cursor: Cursor) -> exp.Distinct | None:
    if not cursor.take_word("distinct"):
        cursor.take_word("all")
        return None
    if not cursor.take_word("on"):
        return exp.Distinct()
    cursor.expect_operator("(")
    on = expression_list(cursor)
    cursor.expect_operator(")")
    return exp.Distinct(on=exp.Tuple(expressions=on))


def _items(cursor: Cursor) -> list[exp.Expr]:
    if cursor.is_one_of("from", "where", "union") or cursor.token.kind == "end" or cursor.is_operator(")"):
        return []
    items = [_item(cursor)]
    while cursor.take_operator(","):
        items.append(_item(cursor))
    return items


def _item(cursor: Cursor) -> exp.Expr:
    token = cursor.token
    value = parse_expression(cursor)
    if cursor.take_word("as"):
        name = cursor.next() if cursor.token.kind in ("word", "identifier") else cursor.fail("identifier")
    elif cursor.token.kind == "identifier" or (
        cursor.token.kind == "word" and cursor.token.text not in NOT_ALIAS
    ):
        name = cursor.next()
    else:
        return value
    return located(exp.Alias(this=value, alias=exp.Identifier(this=name.text, quoted=True)), token)


def _group_items(cursor: Cursor) -> list[exp.Expr]:
    items = [_group_item(cursor)]
    while cursor.take_operator(","):
        items.append(_group_item(cursor))
    return items


def _group_item(cursor: Cursor) -> exp.Expr:
    """An expression, `()`, ROLLUP, CUBE or GROUPING SETS."""
    token = cursor.token
    if cursor.is_operator("(") and cursor.ahead().text == ")":
        cursor.next()
        cursor.next()
        return located(exp.Tuple(expressions=[]), token)
    for words, kind in (
        (("grouping", "sets"), exp.GroupingSets),
        (("rollup",), exp.Rollup),
        (("cube",), exp.Cube),
    ):
        if cursor.is_word(*words) and cursor.ahead(len(words)).text == "(":
            cursor.take_word(*words)
            cursor.expect_operator("(")
            members = _group_items(cursor)
            cursor.expect_operator(")")
            return located(kind(expressions=members), token)
    return parse_expression(cursor)


def _windows(cursor: Cursor) -> list[exp.Expr]:
    windows: list[exp.Expr] = []
    while True:
        name = cursor.expect_name("a window name")
        cursor.expect_word("as")
        window = parse_window(cursor, None)
        window.set("this", located(exp.Identifier(this=name.text, quoted=True), name))
        windows.append(window)
        if not cursor.take_operator(","):
            return windows


def _tail(cursor: Cursor, query: exp.Expr) -> None:
    if cursor.is_word("order", "by"):
        query.set("order", parse_order(cursor))
    while True:
        token = cursor.token
        if cursor.take_word("limit"):
            if not cursor.take_word("all"):
                query.set("limit", located(exp.Limit(expression=parse_expression(cursor)), token))
        elif cursor.take_word("offset"):
            query.set("offset", located(exp.Offset(expression=parse_expression(cursor)), token))
            cursor.take_one_of("row", "rows")
        elif cursor.take_word("fetch"):
            query.set("limit", located(_fetch(cursor), token))
        elif cursor.is_word("for") and cursor.ahead(1).text.lower() in ("update", "share", "no", "key"):
            raise NotSupported(
                "SELECT ... FOR UPDATE and FOR SHARE not supported",
                hint="A read sees one tick and a write is a tick of its own: there is nothing to lock.",
                position=token.position,
            )
        else:
            return


def _fetch(cursor: Cursor) -> exp.Expr:
    """`FETCH FIRST [n] ROWS { ONLY | WITH TIES }`."""
    if not cursor.take_one_of("first", "next"):
        cursor.fail("FIRST or NEXT")
    count = exp.Literal.number("1") if cursor.is_one_of("row", "rows") else parse_expression(cursor)
    if not cursor.take_one_of("row", "rows"):
        cursor.fail("ROW or ROWS")
    ties = cursor.take_word("with", "ties")
    if not ties and not cursor.take_word("only"):
        cursor.fail("ONLY or WITH TIES")
    return exp.Limit(expression=count, ties=bool(ties))
