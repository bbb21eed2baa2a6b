"""WITH RECURSIVE name AS (seed UNION [ALL] step): a query whose second part looks at its own rows.

The step sees the rows of the step before, no older ones, and sees them once: PostgreSQL's rules, which make sure that
each step can be computed from the last one alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from tailrace.errors import NotSupported, SqlError, SyntaxFailure, TypeMismatch
from tailrace.plan.build import canonical
from tailrace.plan.coercion import common_type
from tailrace.plan.context import Context, Place, refs
from tailrace.plan.nodes import Aggregate, Except, Intersect, Join, Node, Project, Recursion, Working, inputs
from tailrace.plan.syntax.expressions import position_of
from tailrace.plan.walk import expressions, nodes, subexpressions, subquery

_INVALID = "42P19"


def is_recursive(cte: exp.CTE) -> bool:
    """The query names itself in a FROM."""
    return _names(cte.this, cte.args["alias"].this.name)


def _names(query: exp.Expr, name: str) -> bool:
    return any(len(table.parts) == 1 and table.name == name for table in query.find_all(exp.Table))


def bind_recursive(cte: exp.CTE, context: Context, place: Place) -> Node:
    from tailrace.plan.bind import bind_node
    from tailrace.plan.bind_body import renamed

    alias = cte.args["alias"]
    name, query = alias.this.name, cte.this
    seed_text, step_text = _parts(query, name)
    names = [column.name for column in alias.args.get("columns") or ()]
    seed = renamed(bind_node(seed_text, context, place), names, name)
    schema = tuple(replace(column, nullable=True) for column in seed.schema)
    working = Working(name=name, schema=schema)
    step = bind_node(step_text, context, Place({**place.ctes, name: working}, place.around))
    _check_references(step, name)
    if len(step.schema) != len(schema):
        raise SyntaxFailure("each UNION query must have the same number of columns", position=position_of(query))
    _check_types(seed, step, name)
    distinct = bool(query.args["distinct"])
    outputs = tuple(canonical(context.coerce(ref, c.type)) for ref, c in zip(refs(step), schema, strict=True))
    return Recursion(
        name=name,
        seed=Project(input=seed, expressions=tuple(map(canonical, refs(seed))), names=_of(schema)),
        step=Project(input=step, expressions=outputs, names=_of(schema)),
        all=not distinct,
        schema=schema,
    )


def _of(schema: Sequence[object]) -> tuple[str, ...]:
    return tuple(column.name for column in schema)  # type: ignore[attr-defined]


def _parts(query: exp.Expr, name: str) -> tuple[exp.Expr, exp.Expr]:
    if not isinstance(query, exp.Union):
        raise SqlError(
            f'recursive query "{name}" does not have the form non-recursive-term UNION [ALL] recursive-term',
            sqlstate=_INVALID,
            position=position_of(query),
        )
    for clause, word in (("order", "ORDER BY"), ("limit", "LIMIT"), ("offset", "OFFSET")):
        if query.args.get(clause) is not None:
            raise NotSupported(f"{word} in a recursive query is not implemented", position=position_of(query))
    if _names(query.this, name):
        raise SqlError(
            f'recursive reference to query "{name}" must not appear within its non-recursive term',
            sqlstate=_INVALID,
            position=position_of(query.this),
        )
    return query.this, query.expression


def _check_types(seed: Node, step: Node, name: str) -> None:
    for place, (one, other) in enumerate(zip(seed.schema, step.schema, strict=True), start=1):
        overall = common_type((one.type, other.type))
        if overall != one.type:
            raise TypeMismatch(
                f'recursive query "{name}" column {place} has type {one.type} in non-recursive term'
                f" but type {overall or other.type} overall",
                hint="Cast the output of the non-recursive term to the correct type.",
            )


def _check_references(step: Node, name: str) -> None:
    """The step looks at its working rows once, and at each for itself."""

    def refused(where: str) -> SqlError:
        return SqlError(f'recursive reference to query "{name}" must not appear {where}', sqlstate=_INVALID)

    if sum(_is_working(each, name) for each in nodes(step)) > 1:
        raise refused("more than once")
    node = step
    while not _is_working(node, name):
        below = [each for each in inputs(node) if any(_is_working(n, name) for n in nodes(each))]
        if not below:
            if any(_looks(each, name) for each in expressions(node)):
                raise refused("within a subquery")
            return
        match node:
            case Aggregate(aggregates=calls) if calls:
                raise SqlError(
                    "aggregate functions are not allowed in a recursive query's recursive term", sqlstate=_INVALID
                )
            case Except(right=right) if right is below[0]:
                raise refused("within EXCEPT")
            case Intersect():
                raise refused("within INTERSECT")
            case Join(kind=kind, left=left) if kind == "full" or kind == ("right" if below[0] is left else "left"):
                raise refused("within an outer join")
        node = below[0]


def _is_working(node: Node, name: str) -> bool:
    return isinstance(node, Working) and node.name == name


def _looks(expression: object, name: str) -> bool:
    queries = (subquery(part) for part in subexpressions(expression))  # type: ignore[arg-type]
    return any(_is_working(each, name) for query in queries if query is not None for each in nodes(query))
