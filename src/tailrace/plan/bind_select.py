"""One SELECT: FROM, WHERE, GROUP BY, HAVING, window functions, sets, the select list, DISTINCT and ORDER BY.

Expressions are bound once, over the rows of FROM, with placeholders for what comes later (aggregates,
windows, sets).  Each step then rewrites them to the columns that it makes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from tailrace.errors import AmbiguousColumn, SyntaxFailure, UnknownObject
from tailrace.plan.bind_body import Body, ordinal
from tailrace.plan.bind_calls import Collected, SetCall
from tailrace.plan.bind_expressions import ExpressionBinder
from tailrace.plan.bind_from import FromBinder
from tailrace.plan.bind_groups import Grouping, bind_groups
from tailrace.plan.bind_windows import window_definitions
from tailrace.plan.build import canonical
from tailrace.plan.context import Context, Place, as_pending
from tailrace.plan.expressions import Expression, Order, Ref
from tailrace.plan.functions.nested import FIELD
from tailrace.plan.nodes import Distinct, Filter, FlatMap, Node, Project, TopK, Window
from tailrace.plan.output_names import output_name
from tailrace.plan.scope import Scope
from tailrace.plan.syntax.expressions import position_of
from tailrace.plan.walk import order_with, window_with, with_children
from tailrace.types.core import BOOLEAN, INTEGER, Column, Record


@dataclass(slots=True)
class Items:
    """The bound clauses above WHERE.  Every step changes all of them alike."""

    outputs: list[Expression]
    names: list[str]
    having: Expression | None
    distinct_on: list[Expression]
    orders: list[Order | int]  # an int is a place in the select list

    def change(self, change: Callable[[Expression], Expression]) -> None:
        self.outputs = [change(e) for e in self.outputs]
        self.having = None if self.having is None else change(self.having)
        self.distinct_on = [change(e) for e in self.distinct_on]
        self.orders = [o if isinstance(o, int) else order_with(o, change) for o in self.orders]


class SelectBinder:
    def __init__(self, query: exp.Select, context: Context, place: Place) -> None:
        self.query = query
        self.context = context
        self.place = place
        self.targets = context.take_targets()
        source = FromBinder(context, place).bind(query.args.get("from_"))
        self.node: Node = source.node
        self.scope = Scope(source.fields, parent=place.outer, similar=context.names.similar)
        self.collected = Collected(named_windows=window_definitions(query.args.get("windows") or ()))

    def body(self) -> Body:
        self._where()
        items = self._items()
        self._aggregate(items)
        self._windows(items)
        self._sets(items)
        return self._result(items)

    def _binder(self, clause: str, *, collecting: bool = True) -> ExpressionBinder:
        binder = ExpressionBinder(self.context, self.scope, self.place, clause)
        binder.collected = self.collected if collecting else None
        return binder

    def _where(self) -> None:
        where = self.query.args.get("where")
        if where is not None:
            predicate = self._binder("WHERE", collecting=False).bind_as(where, BOOLEAN, "WHERE")
            self.node = Filter(input=self.node, predicate=predicate)

    def _items(self) -> Items:
        outputs, names = self._select_list()
        having = self.query.args.get("having")
        distinct = self.query.args.get("distinct")
        on = distinct.args.get("on") if distinct is not None else None
        items = Items(outputs, names, None, [], [])
        if having is not None:
            items.having = self._binder("HAVING").bind_as(having, BOOLEAN, "HAVING")
        for part in on.expressions if on is not None else ():
            items.distinct_on.append(self._by_place_or_name(part, items, "SELECT DISTINCT ON"))
        order = self.query.args.get("order")
        items.orders = [self._order(part, items) for part in (order.expressions if order is not None else ())]
        return items

    def _select_list(self) -> tuple[list[Expression], list[str]]:
        outputs: list[Expression] = []
        names: list[str] = []
        binder = self._binder("SELECT")
        for item in self.query.expressions:
            expanded = self._star(item, binder)
            if expanded is not None:
                outputs += [e for e, _ in expanded]
                names += [n for _, n in expanded]
                continue
            value = item.this if isinstance(item, exp.Alias) else item
            bound = self.context.aimed(binder.bind(value), len(outputs), self.targets, position_of(value))
            outputs.append(self.context.settled(bound))
            names.append(item.alias if isinstance(item, exp.Alias) else output_name(value))
        return outputs, names

    def _star(self, item: exp.Expr, binder: ExpressionBinder) -> list[tuple[Expression, str]] | None:
        """`*`, `t.*` or `(record).*` as its columns."""
        if isinstance(item, exp.Dot) and isinstance(item.expression, exp.Star):
            return self._fields(binder.bind(item.this))
        qualifier: tuple[str, ...] = ()
        if isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
            qualifier = tuple(part.name for part in item.parts[:-1])
        elif not isinstance(item, exp.Star):
            return None
        fields = self.scope.visible(qualifier)
        if not fields and qualifier:
            raise UnknownObject(
                f'missing FROM-clause entry for table "{".".join(qualifier)}"', position=position_of(item)
            )
        if not self.scope.fields:
            raise SyntaxFailure("SELECT * with no tables specified is not valid", position=position_of(item))
        return [(Ref(index=f.index, type=f.type, nullable=f.nullable), f.name) for f in fields]

    def _fields(self, value: Expression) -> list[tuple[Expression, str]]:
        from tailrace.plan.build import call
        from tailrace.plan.expressions import Literal

        if not isinstance(value.type, Record):
            raise SyntaxFailure(f"type {value.type} is not composite", sqlstate="42809")
        return [
            (call(FIELD, (value, Literal(text=str(i), type=INTEGER)), f.type), f.name)
            for i, f in enumerate(value.type.fields)
        ]

    def _by_place_or_name(self, node: exp.Expr, items: Items, clause: str) -> Expression:
        place = self._output_place(node, items, clause)
        if place is not None:
            return canonical(items.outputs[place])
        return canonical(self._binder(clause).bind_typed(node))

    def _output_place(self, node: exp.Expr, items: Items, clause: str) -> int | None:
        """A number, or the name of an output column, which must not be that of another one too."""
        place = ordinal(node, len(items.outputs), clause)
        if place is not None or not isinstance(node, exp.Column) or len(node.parts) > 1:
            return place
        places = [i for i, name in enumerate(items.names) if name == node.name]
        if any(items.outputs[other] != items.outputs[places[0]] for other in places):
            word = clause.removeprefix("SELECT ")
            raise AmbiguousColumn(f'{word} "{node.name}" is ambiguous', position=position_of(node))
        return places[0] if places else None

    def _order(self, part: exp.Ordered, items: Items) -> Order | int:
        by = self._by_place_or_name(part.this, items, "ORDER BY")
        return Order(by=by, descending=bool(part.args["desc"]), nulls_first=bool(part.args["nulls_first"]))

    def _aggregate(self, items: Items) -> None:
        group = self.query.args.get("group")
        collected = self.collected
        if group is None and not collected.aggregates and not collected.groupings and items.having is None:
            return
        grouping: Grouping = bind_groups(self, group, items.outputs, items.names)
        self.node = grouping.node(self.node, self.collected.aggregates)
        change = grouping.replaced(self.scope, len(collected.aggregates))
        items.change(change)
        self.collected.windows = [window_with(call, change) for call in self.collected.windows]
        for item in self.collected.sets:
            item.arguments = tuple(change(a) for a in item.arguments)
        if items.having is not None:
            self.node = Filter(input=self.node, predicate=items.having)

    def _windows(self, items: Items) -> None:
        if not self.collected.windows:
            return
        width = len(self.node.schema)
        names = tuple(f"window{i + 1}" for i in range(len(self.collected.windows)))
        self.node = Window(input=self.node, calls=tuple(self.collected.windows), names=names)
        items.change(lambda e: _settled(e, "window", width))
        for item in self.collected.sets:
            item.arguments = tuple(_settled(a, "window", width) for a in item.arguments)

    def _sets(self, items: Items) -> None:
        """A set in the select list multiplies the rows; several are gone through together."""
        if not self.collected.sets:
            return
        width = len(self.node.schema)
        item = SetCall.together(self.collected.sets)
        columns = tuple(Column(name, type) for name, type in item.columns)
        self.node = FlatMap(input=self.node, function=item.function, arguments=item.arguments, columns=columns)
        items.change(lambda e: _settled(e, "set", width))

    def _result(self, items: Items) -> Body:
        distinct = self.query.args.get("distinct")
        if distinct is not None:
            items.outputs = [canonical(e) for e in items.outputs]
        visible = len(items.outputs)
        outputs, names = list(items.outputs), list(items.names)
        hidden = [column.name for column in self.node.schema]
        on = [_placed(e, outputs, names, hidden) for e in items.distinct_on]
        orders = []
        for order in items.orders:
            assert isinstance(order, Order)
            place = _placed(order.by, outputs, names, hidden)
            by = Ref(index=place, type=outputs[place].type, nullable=outputs[place].nullable)
            orders.append(replace(order, by=by))
        node: Node = Project(input=self.node, expressions=tuple(outputs), names=tuple(names))
        if distinct is not None and not on:
            if len(outputs) > visible:
                raise SyntaxFailure(
                    "for SELECT DISTINCT, ORDER BY expressions must appear in select list", sqlstate="42P10"
                )
            node = Distinct(input=node)
        elif on:
            self._check_distinct_on(on, orders)
            node = TopK(input=node, partition_by=tuple(on), order_by=tuple(orders), limit=1)
        return Body(node=node, visible=visible, order_by=tuple(orders))

    def _check_distinct_on(self, on: Sequence[int], orders: Sequence[Order]) -> None:
        """The sort may begin only with what is distinct."""
        leading = {order.by.index for order in orders[: len(set(on))] if isinstance(order.by, Ref)}
        if orders and not leading <= set(on):
            raise SyntaxFailure(
                "SELECT DISTINCT ON expressions must match initial ORDER BY expressions", sqlstate="42P10"
            )


def _placed(
    expression: Expression, outputs: list[Expression], names: list[str], columns: Sequence[str]
) -> int:
    """The place of an expression among the outputs; what is not there yet is added."""
    for i, output in enumerate(outputs):
        if output == expression or canonical(output) == expression:
            return i
    outputs.append(expression)
    names.append(columns[expression.index] if isinstance(expression, Ref) else "?column?")
    return len(outputs) - 1


def _settled(expression: Expression, kind: str, width: int) -> Expression:
    """Placeholders of this kind as the columns behind the first `width`."""
    found = as_pending(expression)
    if found is not None and found.kind == kind:
        return Ref(index=width + found.number, type=found.type, nullable=found.nullable)
    return with_children(expression, lambda e: _settled(e, kind, width))
