"""FROM: relations, subqueries, set-returning functions, and joins as a tree.

A join is `exp.Join(this=left, expression=right, kind=…, on=…, using=[…], natural=…)`; a list with commas is
the `expressions` of `exp.From`.
"""

from __future__ import annotations

from sqlglot import exp

from tailrace.errors import NotSupported
from tailrace.plan.syntax.calls import parse_call
from tailrace.plan.syntax.expressions import located, parse_expression
from tailrace.plan.syntax.records import check_records
from tailrace.plan.syntax.tokens import NOT_ALIAS, Cursor, Token, tokenize
from tailrace.plan.syntax.types import TypeName, parse_type_name
from tailrace.plan.syntax.windows import begins_window, parse_window_table


def parse_from(cursor: Cursor) -> exp.From:
    sources = [_joined(cursor)]
    while cursor.take_operator(","):
        sources.append(_joined(cursor))
    return exp.From(expressions=sources)


def _joined(cursor: Cursor) -> exp.Expr:
    left = _source(cursor)
    while True:
        token = cursor.token
        natural = cursor.take_word("natural") is not None
        kind = _join_kind(cursor)
        if kind is None:
            if natural:
                cursor.fail("JOIN")
            return left
        join = exp.Join(this=left, kind=kind, natural=natural)
        join.set("expression", _source(cursor))
        if kind != "cross" and not natural:
            _condition(cursor, join)
        left = located(join, token)


def _join_kind(cursor: Cursor) -> str | None:
    if cursor.take_word("cross", "join"):
        return "cross"
    if cursor.take_word("join") or cursor.take_word("inner", "join"):
        return "inner"
    for kind in ("left", "right", "full"):
        if cursor.take_word(kind, "join") or cursor.take_word(kind, "outer", "join"):
            return kind
    return None


def _condition(cursor: Cursor, join: exp.Join) -> None:
    if cursor.take_word("on"):
        join.set("on", parse_expression(cursor))
    elif cursor.take_word("using"):
        join.set("using", _names(cursor))
    else:
        cursor.fail("ON or USING")


def _names(cursor: Cursor) -> list[exp.Expr]:
    cursor.expect_operator("(")
    names = [_identifier(cursor)]
    while cursor.take_operator(","):
        names.append(_identifier(cursor))
    cursor.expect_operator(")")
    return names


def _identifier(cursor: Cursor) -> exp.Expr:
    token = cursor.expect_name()
    return located(exp.Identifier(this=token.text, quoted=True), token)


def _source(cursor: Cursor) -> exp.Expr:
    token = cursor.token
    lateral = cursor.take_word("lateral") is not None
    if begins_window(cursor):
        source = parse_window_table(cursor)
    elif cursor.is_word("rows", "from") and cursor.ahead(2).text == "(":
        source = _rows_from(cursor)
    elif _is_call(cursor):
        source = _numbered(cursor, _function(cursor))
    else:
        source = parse_relation(cursor)
    located(source, token)
    if cursor.token.kind == "hint":
        source.set("options", _options(cursor.next()))
    _refuse_others(cursor)
    if lateral:
        source.set("lateral", True)
    _alias(cursor, source)
    _refuse_others(cursor)
    return source


def _refuse_others(cursor: Cursor) -> None:
    """Flink's temporal and lookup joins, and samples."""
    if cursor.is_word("tablesample"):
        raise NotSupported(
            "TABLESAMPLE not supported",
            detail="Which rows it takes is a matter of chance, so a view with it would not follow from its tables.",
            hint="Choose rows by what is in them, e.g. WHERE mod(id, 100) = 0.",
            position=cursor.token.position,
        )
    if cursor.is_word("for", "system_time"):
        raise NotSupported(
            "FOR SYSTEM_TIME AS OF not yet supported",
            detail="A table of an 'upsert-kafka' topic or of changes has its present rows, not the ones before.",
            hint="For the present rows join the table itself: the result follows it.  For those of another time read"
            " the topic with 'connector' = 'kafka', so that every version is a row, and take the last one up to that"
            " time in a LATERAL subquery with ORDER BY … LIMIT 1.",
            position=cursor.token.position,
        )


def _options(hint: Token) -> dict[str, str]:
    """Of `OPTIONS('key' = 'value', …)`, what stands behind the word."""
    cursor = Cursor(tokenize(hint.text, hint.end - len(hint.text) - len("*/")))
    found: dict[str, str] = {}
    cursor.expect_operator("(")
    while True:
        if cursor.token.kind != "string":
            cursor.fail("an option's name in quotes")
        name = cursor.next().text
        cursor.expect_operator("=")
        if cursor.token.kind != "string":
            cursor.fail("an option's value in quotes")
        found[name] = cursor.next().text
        if not cursor.take_operator(","):
            break
    cursor.expect_operator(")")
    cursor.expect_end()
    return found


def parse_relation(cursor: Cursor) -> exp.Expr:
    """A relation's name, or a query or a join in parentheses."""
    return _parenthesised(cursor) if cursor.is_operator("(") else parse_table_name(cursor)


def _parenthesised(cursor: Cursor) -> exp.Expr:
    from tailrace.plan.syntax.queries import begins_query, parse_query_expression

    if cursor.ahead().kind == "word" and cursor.ahead().text == "show":
        return _shown(cursor)
    if begins_query(cursor):
        place = cursor.mark()
        cursor.expect_operator("(")
        query = parse_query_expression(cursor)
        if cursor.take_operator(")"):
            return exp.Subquery(this=query)
        cursor.reset(place)  # a join in parentheses whose first member is a subquery
    cursor.expect_operator("(")
    joined = _joined(cursor)
    cursor.expect_operator(")")
    return exp.Paren(this=joined)


def _shown(cursor: Cursor) -> exp.Expr:
    """`(SHOW MATERIALIZED VIEWS)`: the relation behind it."""
    cursor.expect_operator("(")
    first = cursor.expect_word("show")
    words = [cursor.expect_name("what to show").text]
    while not cursor.is_operator(")"):
        words.append(cursor.expect_name("right parenthesis").text)
    cursor.expect_operator(")")
    name = exp.Identifier(this=f"mz_show_{'_'.join(words)}", quoted=True)
    return located(exp.Table(this=name, db=exp.Identifier(this="mz_internal", quoted=True)), first)


def _is_call(cursor: Cursor) -> bool:
    if not (cursor.is_name()):
        return False
    count = 1
    while cursor.ahead(count).text == "." and cursor.ahead(count).kind == "operator":
        count += 2
    return cursor.ahead(count).text == "(" and cursor.ahead(count).kind == "operator"


def _function(cursor: Cursor) -> exp.Expr:
    first = cursor.next()
    parts = [first.text]
    while cursor.take_operator("."):
        parts.append(cursor.expect_name().text)
    return located(exp.Table(this=parse_call(cursor, parts, first)), first)


def _numbered(cursor: Cursor, table: exp.Expr) -> exp.Expr:
    if cursor.take_word("with", "ordinality"):
        table.set("ordinality", True)
    return table


def _rows_from(cursor: Cursor) -> exp.Expr:
    """`ROWS FROM (f(…), g(…))`: the first function, with the others beside it."""
    cursor.expect_word("rows")
    cursor.expect_word("from")
    cursor.expect_operator("(")
    functions = [_member(cursor)]
    while cursor.take_operator(","):
        functions.append(_member(cursor))
    cursor.expect_operator(")")
    first, *others = functions
    first.set("beside", [each.this for each in others])
    return _numbered(cursor, first)


def _member(cursor: Cursor) -> exp.Expr:
    if not _is_call(cursor):
        cursor.fail("a function")
    function = _function(cursor)
    if cursor.is_word("as"):
        raise NotSupported(
            "column definitions in ROWS FROM not yet supported",
            hint="Say FROM f(...) AS r(a int, b text) without ROWS FROM.",
            position=cursor.token.position,
        )
    return function


def parse_table_name(cursor: Cursor) -> exp.Table:
    """`[[database.]schema.]name`."""
    token = cursor.token
    parts = [_identifier(cursor)]
    while cursor.take_operator("."):
        parts.append(_identifier(cursor))
    if len(parts) > 3:
        cursor.fail("at most three parts in a relation's name")
    table = exp.Table(**dict(zip(("this", "db", "catalog"), reversed(parts), strict=False)))
    located(table, token)
    return table


def _alias(cursor: Cursor, source: exp.Expr) -> None:
    named = cursor.take_word("as") is not None
    if not named and not (
        cursor.token.kind == "identifier"
        or (cursor.token.kind == "word" and cursor.token.text not in NOT_ALIAS)
    ):
        return
    alias = exp.TableAlias(this=_identifier(cursor))
    if cursor.is_operator("(") and cursor.ahead(2).text not in (",", ")"):
        position = cursor.token.position
        columns = _typed_names(cursor)
        check_records(source, columns, position)
        source.set("records", columns)
    elif cursor.is_operator("("):
        alias.set("columns", _names(cursor))
    source.set("alias", alias)


def _typed_names(cursor: Cursor) -> list[tuple[str, TypeName]]:
    """`(a int, b text)`."""
    cursor.expect_operator("(")
    columns = [(cursor.expect_name().text, parse_type_name(cursor))]
    while cursor.take_operator(","):
        columns.append((cursor.expect_name().text, parse_type_name(cursor)))
    cursor.expect_operator(")")
    return columns
