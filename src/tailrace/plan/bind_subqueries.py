"""Subqueries inside expressions.  The columns of the rows around them become OuterRefs."""

from __future__ import annotations

from sqlglot import exp

from tailrace.errors import SyntaxFailure
from tailrace.plan.bind_contract import Binder
from tailrace.plan.build import canonical
from tailrace.plan.coercion import common_type
from tailrace.plan.context import Place, refs
from tailrace.plan.expressions import Exists, Expression, ScalarSubquery
from tailrace.plan.nodes import Node, Project


class Subqueries(Binder):
    """The part of the expression binder for subqueries."""

    def subquery(self, query: exp.Expr) -> Node:
        from tailrace.plan.bind import bind_node  # queries hold expressions, expressions hold queries

        return bind_node(query, self.context, Place(self.place.ctes, self))

    def scalar_subquery(self, node: exp.Subquery) -> Expression:
        """The value of the only column, or of that one `of` so many that it says."""
        query = self.subquery(node.this)
        of = node.args.get("of")
        if of is not None:
            query = _column(query, *of)
        if len(query.schema) != 1:
            raise SyntaxFailure("subquery must return only one column")
        return ScalarSubquery(query=query, type=query.schema[0].type)

    def exists(self, node: exp.Exists) -> Expression:
        return Exists(query=self.subquery(node.this))

    def matched(self, arguments: list[Expression], query: Node) -> tuple[list[Expression], Node]:
        """The arguments and the query's columns in common types."""
        outputs: list[Expression] = list(refs(query))
        for i, (argument, output) in enumerate(zip(arguments, outputs, strict=True)):
            type = common_type((argument.type, output.type))
            if type is None:
                raise self.no_operator("=", [argument, output])
            arguments[i] = canonical(self.context.coerce(argument, type))
            outputs[i] = canonical(self.context.coerce(output, type))
        if tuple(outputs) != refs(query):
            query = Project(
                input=query, expressions=tuple(outputs), names=tuple(c.name for c in query.schema)
            )
        return arguments, query


def _column(query: Node, place: int, count: int) -> Node:
    if len(query.schema) != count:
        few = "few" if len(query.schema) < count else "many"
        raise SyntaxFailure(f"subquery has too {few} columns")
    return Project(input=query, expressions=(refs(query)[place],), names=(query.schema[place].name,))
