"""The ways in: text of a query, of an expression or of a type's name to its tree.

The grammar is our own, strict one over sqlglot's tokens and tree: sqlglot's parser is made to accept every
dialect, so it lets pass what no PostgreSQL accepts, renames functions and forgets where operators stood.
"""

from __future__ import annotations

from sqlglot import exp

from tailrace.plan.syntax.expressions import parse_expression as _expression
from tailrace.plan.syntax.queries import begins_query, parse_query_expression
from tailrace.plan.syntax.tokens import Cursor, tokenize
from tailrace.plan.syntax.types import TypeName, parse_type_name


def parse_query(text: str, offset: int = 0) -> exp.Expr:
    """The tree of a query that begins `offset` characters inside its statement.  Raises SyntaxFailure."""
    cursor = Cursor(tokenize(text, offset))
    if not begins_query(cursor):
        cursor.fail("SELECT, VALUES, WITH, TABLE or a subquery in parentheses")
    query = parse_query_expression(cursor)
    cursor.expect_end()
    return query


def parse_expression(text: str, offset: int = 0) -> exp.Expr:
    """The tree of a scalar expression: a DEFAULT, a WHERE, a PARTITION BY.  Raises SyntaxFailure."""
    cursor = Cursor(tokenize(text, offset))
    expression = _expression(cursor)
    cursor.expect_end()
    return expression


def parse_type(text: str, offset: int = 0) -> TypeName:
    """The name of a type, not yet looked up.  Raises SyntaxFailure."""
    cursor = Cursor(tokenize(text, offset))
    name = parse_type_name(cursor)
    cursor.expect_end()
    return name
