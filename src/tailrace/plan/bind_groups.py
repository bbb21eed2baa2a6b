"""GROUP BY: which expressions group, the nodes that group by them, and what may stand above them.

Below the Aggregate stands a Project with the grouped expressions first and the aggregates' arguments behind
them, so that groups are places, and one pass over a row computes all that is needed of it.  GROUPING SETS,
ROLLUP and CUBE are a UNION ALL of aggregates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING

from sqlglot import exp

from tailrace.errors import AmbiguousColumn, GroupingFailure, UnknownColumn
from tailrace.plan.bind_body import ordinal
from tailrace.plan.build import canonical
from tailrace.plan.context import as_pending, refs
from tailrace.plan.expressions import AggregateCall, Expression, Literal, OuterRef, Ref
from tailrace.plan.nodes import Aggregate, Node, Project, Union
from tailrace.plan.outer import expression_outer_refs, not_computed, with_outer_refs
from tailrace.plan.scope import Scope
from tailrace.plan.syntax.expressions import position_of
from tailrace.plan.walk import aggregate_with, subexpressions, with_children, with_subquery
from tailrace.types.core import INTEGER

if TYPE_CHECKING:
    from tailrace.plan.bind_select import SelectBinder

Set = tuple[int, ...]


@dataclass(slots=True)
class Grouping:
    """The grouped expressions, and the sets of them (by place) to group by: usually one, of all."""

    expressions: list[Expression]
    sets: list[Set]
    names: list[str]
    groupings: list[tuple[int, ...]] = field(default_factory=list)  # the places of each grouping(…)'s arguments

    def node(self, input: Node, calls: Sequence[AggregateCall]) -> Node:
        outputs: list[Expression] = list(self.expressions)
        aggregates = tuple(aggregate_with(call, lambda e: _projected(e, outputs)) for call in calls)
        names = [self.names[i] if i < len(self.names) else f"argument{i}" for i in range(len(outputs))]
        if tuple(outputs) != refs(input):
            input = Project(input=input, expressions=tuple(outputs), names=tuple(names))
        labels = tuple(call.function.partition("(")[0] for call in calls)
        if self.sets == [tuple(range(len(self.expressions)))]:
            return Aggregate(input=input, group_by=self.sets[0], aggregates=aggregates, names=labels)
        return Union(inputs=tuple(self._one_set(input, chosen, aggregates, labels) for chosen in self.sets))

    def _one_set(
        self, input: Node, chosen: Set, aggregates: tuple[AggregateCall, ...], labels: tuple[str, ...]
    ) -> Node:
        """Grouped by these alone; the other grouped columns are NULL."""
        node = Aggregate(input=input, group_by=chosen, aggregates=aggregates, names=labels)
        made = refs(node)
        groups: list[Expression] = [
            made[chosen.index(i)] if i in chosen else Literal(text=None, type=e.type)
            for i, e in enumerate(self.expressions)
        ]
        bits = [_bits(places, chosen) for places in self.groupings]
        names = (*self.names, *labels, *("grouping" for _ in bits))
        return Project(input=node, expressions=(*groups, *made[len(chosen) :], *bits), names=names)

    def replaced(self, scope: Scope, aggregates: int) -> Callable[[Expression], Expression]:
        """Rewrites what stands above: grouped expressions and aggregates (so many) become columns, others are
        refused.
        """
        always = set(self.sets[0]).intersection(*self.sets[1:]) if self.sets else set()

        def group(expression: Expression) -> Ref | None:
            for i, grouped in enumerate(self.expressions):
                if expression == grouped or canonical(expression) == grouped:
                    return Ref(index=i, type=grouped.type, nullable=grouped.nullable or i not in always)
            return None

        def change(expression: Expression) -> Expression:
            found = group(expression)
            if found is not None:
                return found
            waiting = as_pending(expression)
            if waiting is not None and waiting.kind == "aggregate":
                place = len(self.expressions) + waiting.number
                return Ref(index=place, type=waiting.type, nullable=waiting.nullable)
            if waiting is not None and waiting.kind == "grouping":
                if len(self.sets) == 1:
                    return _bits(self.groupings[waiting.number], self.sets[0])
                place = len(self.expressions) + aggregates + waiting.number
                return Ref(index=place, type=waiting.type, nullable=False)
            if isinstance(expression, Ref):
                raise _ungrouped(scope, expression.index)
            expression = with_subquery(expression, lambda query: with_outer_refs(query, outer))
            return with_children(expression, change)

        def outer(ref: OuterRef) -> Expression:
            if ref.index < 0:
                return replace(ref, index=len(self.expressions) + not_computed(ref.index))
            found = group(Ref(index=ref.index, type=ref.type, nullable=ref.nullable))
            if found is None:
                raise _ungrouped(scope, ref.index)
            return replace(ref, index=found.index, nullable=found.nullable)

        return change


def _bits(places: tuple[int, ...], chosen: Set) -> Literal:
    """What grouping(…) of these is for the rows that are grouped by `chosen`."""
    bits = sum(1 << i for i, place in enumerate(reversed(places)) if place not in chosen)
    return Literal(text=str(bits), type=INTEGER)


def _ungrouped(scope: Scope, index: int) -> GroupingFailure:
    return GroupingFailure(
        f'column "{scope.describe(index)}" must appear in the GROUP BY clause'
        " or be used in an aggregate function",
        position=scope.positions.get(index),
    )


def _projected(expression: Expression, outputs: list[Expression]) -> Expression:
    """The expression as a column of the projection below; constants stay where they are."""
    if isinstance(expression, Literal):
        return expression
    if expression not in outputs:
        outputs.append(expression)
    return Ref(index=outputs.index(expression), type=expression.type, nullable=expression.nullable)


def bind_groups(
    select: SelectBinder, clause: exp.Group | None, outputs: list[Expression], names: list[str]
) -> Grouping:
    grouping = Grouping([], [()], [])
    for item in clause.expressions if clause is not None else ():
        alternatives = _alternatives(item, _Binder(select, grouping, outputs, names))
        grouping.sets = [_merged(a, b) for a, b in product(grouping.sets, alternatives)]
    if clause is not None and clause.args.get("distinct"):
        grouping.sets = list({frozenset(chosen): chosen for chosen in reversed(grouping.sets)}.values())
    for arguments in select.collected.groupings:
        if not all(argument in grouping.expressions for argument in arguments):
            raise GroupingFailure("arguments to GROUPING must be grouping expressions of the associated query level")
        grouping.groupings.append(tuple(grouping.expressions.index(argument) for argument in arguments))
    return grouping


@dataclass(slots=True)
class _Binder:
    select: SelectBinder
    grouping: Grouping
    outputs: list[Expression]
    names: list[str]

    def place(self, node: exp.Expr) -> int:
        """The place of one grouped expression among all of them."""
        expression, name = self._expression(node)
        expression = canonical(expression)
        waiting = any(as_pending(part) is not None for part in subexpressions(expression))
        if waiting or any(ref.index < 0 for ref in expression_outer_refs(expression, 0)):
            raise GroupingFailure(
                "aggregate functions are not allowed in GROUP BY", position=position_of(node)
            )
        if expression not in self.grouping.expressions:
            self.grouping.expressions.append(expression)
            self.grouping.names.append(name)
        return self.grouping.expressions.index(expression)

    def _expression(self, node: exp.Expr) -> tuple[Expression, str]:
        """A number, a column of FROM, the name of an output column, or any expression over FROM."""
        from tailrace.plan.output_names import output_name

        place = ordinal(node, len(self.outputs), "GROUP BY")
        if place is not None:
            return self.outputs[place], self.names[place]
        binder = self.select._binder("GROUP BY", collecting=False)
        if isinstance(node, exp.Column) and len(node.parts) == 1:
            try:
                return binder.bind_typed(node), node.name
            except UnknownColumn:
                if node.name not in self.names:
                    raise
                return self._output(node), node.name
        return binder.bind_typed(node), output_name(node)

    def _output(self, node: exp.Column) -> Expression:
        found = [output for output, name in zip(self.outputs, self.names, strict=True) if name == node.name]
        if any(output != found[0] for output in found):
            raise AmbiguousColumn(f'GROUP BY "{node.name}" is ambiguous', position=position_of(node))
        return found[0]


def _alternatives(item: exp.Expr, binder: _Binder) -> list[Set]:
    """The sets that one item of GROUP BY stands for."""
    match item:
        case exp.GroupingSets(expressions=members):
            return [chosen for member in members for chosen in _alternatives(member, binder)]
        case exp.Rollup(expressions=members):
            parts = [_members(member, binder) for member in members]
            return [_flat(parts[:n]) for n in range(len(parts), -1, -1)]
        case exp.Cube(expressions=members):
            parts = [_members(member, binder) for member in members]
            choices = product((True, False), repeat=len(parts))
            return [_flat([p for p, c in zip(parts, chosen, strict=True) if c]) for chosen in choices]
        case _:
            return [_members(item, binder)]


def _members(item: exp.Expr, binder: _Binder) -> Set:
    if isinstance(item, exp.Paren):
        return _members(item.this, binder)
    if isinstance(item, exp.Tuple):
        return _flat([_members(member, binder) for member in item.expressions])
    return (binder.place(item),)


def _flat(parts: Sequence[Set]) -> Set:
    result: Set = ()
    for part in parts:
        result = _merged(result, part)
    return result


def _merged(one: Set, other: Set) -> Set:
    return (*one, *(i for i in other if i not in one))
