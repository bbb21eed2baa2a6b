"""Calls: ordinary functions, aggregates, window functions, and the forms that look like calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

from sqlglot import exp

from tailrace.errors import DataError, GroupingFailure, NotSupported, SyntaxFailure, UnknownFunction
from tailrace.plan.bind_contract import Binder
from tailrace.plan.bind_windows import frame_text, named_window, range_orders
from tailrace.plan.build import call, canonical, is_null, negation
from tailrace.plan.coercion import can_cast
from tailrace.plan.context import pending, refs
from tailrace.plan.expressions import (
    AggregateCall,
    Call,
    Case,
    Cast,
    Expression,
    Literal,
    Order,
    OuterRef,
    ScalarSubquery,
    WindowCall,
)
from tailrace.plan.functions.aggregates import (
    JSON_AGGREGATES,
    ORDERED_SETS,
    AggregateFunction,
    aggregate_candidates,
    aggregate_names,
)
from tailrace.plan.functions.catalog import SESSION
from tailrace.plan.functions.conditional import COALESCE
from tailrace.plan.functions.entry import substituted
from tailrace.plan.functions.json import CANONICAL
from tailrace.plan.functions.nested import FLATTEN, MAP
from tailrace.plan.functions.registry import candidates, names
from tailrace.plan.functions.regression import FORMULAS
from tailrace.plan.functions.resolve import resolve
from tailrace.plan.functions.strings import OUTPUT_BOOLEAN
from tailrace.plan.functions.tables import TableFunction, side_by_side, table_candidates, table_names
from tailrace.plan.functions.windows import IGNORE_NULLS, WindowFunction, window_candidates, window_names
from tailrace.plan.nodes import Aggregate
from tailrace.plan.outer import expression_outer_refs, nearest_level, not_computed, seen_from
from tailrace.plan.syntax.expressions import position_of
from tailrace.plan.type_names import type_of
from tailrace.plan.walk import aggregate_with
from tailrace.types.core import (
    BOOLEAN,
    INTEGER,
    JSONB,
    TEXT,
    UNKNOWN,
    ArrayOf,
    ListOf,
    MapOf,
    Numeric,
    SqlType,
    Varchar,
)


@dataclass(slots=True)
class SetCall:
    """A set-returning function in a select list."""

    function: str
    arguments: tuple[Expression, ...]
    columns: tuple[tuple[str, SqlType], ...]

    @staticmethod
    def together(sets: Sequence[SetCall]) -> SetCall:
        """Several sets of one column each, gone through together: the shorter ones are filled up with NULL."""
        return SetCall(
            side_by_side([each.function for each in sets]),
            tuple(argument for each in sets for argument in each.arguments),
            tuple(column for each in sets for column in each.columns),
        )


@dataclass(slots=True)
class Collected:
    """Aggregates, window functions and sets met in the clauses of one SELECT, each distinct one once."""

    aggregates: list[AggregateCall] = field(default_factory=list)
    windows: list[WindowCall] = field(default_factory=list)
    sets: list[SetCall] = field(default_factory=list)
    groupings: list[tuple[Expression, ...]] = field(default_factory=list)  # the arguments of each grouping(…)
    named_windows: dict[str, exp.Expr] = field(default_factory=dict)

    def number(self, kind: str, item: AggregateCall | WindowCall) -> Expression:
        return pending(kind, self.place(item), item.type, item.nullable)

    def place(self, item: AggregateCall | WindowCall) -> int:
        items: list[Any] = self.aggregates if isinstance(item, AggregateCall) else self.windows
        if item not in items:
            items.append(item)
        return items.index(item)


class Calls(Binder):
    """The part of the expression binder for calls."""

    def call(self, node: exp.Anonymous) -> Expression:
        name = known_name(node.name)
        special = getattr(self, "_call_" + name.replace("[]", "_brackets").replace("(query)", "_query"), None)
        if special is not None:
            return special(node)  # type: ignore[no-any-return]
        if aggregate_candidates(name):
            return self.aggregate(node)
        if window_candidates(name):
            raise SyntaxFailure(f"window function {name} requires an OVER clause", sqlstate="42809")
        if table_candidates(name) and not candidates(name):
            return self.set_returning(node)
        for extra in ("distinct", "order", "filter", "within", "star"):
            if node.args.get(extra) and not candidates(name):
                raise no_function(name, [self.bind(argument) for argument in node.expressions])
            if node.args.get(extra):
                raise SyntaxFailure(f"{name} is not an aggregate function", sqlstate="42809")
        return self.function(name, [self.bind(argument) for argument in node.expressions])

    def function(self, name: str, arguments: list[Expression]) -> Expression:
        """An ordinary function applied.  Raises `function f(integer) does not exist`."""
        found = resolve(candidates(name), [a.type for a in arguments])
        if found is None:
            other = self.session_constant(name, arguments) or self.converted(name, arguments)
            if other is None:
                raise no_function(name, arguments)
            return other
        entry, targets, result = found
        if entry.volatile:
            self.context.volatile[name] = None
        arguments = [self.context.coerce(a, t) for a, t in zip(arguments, targets, strict=True)]
        return call(entry.id, arguments, result)

    def converted(self, name: str, arguments: list[Expression]) -> Expression | None:
        """`date(x)`: a type's name as a function is a cast."""
        if len(arguments) != 1 or name not in _CASTS:
            return None
        target = type_of(name)
        return self.context.coerce(arguments[0], target) if can_cast(arguments[0].type, target, "explicit") else None

    def session_constant(self, name: str, arguments: list[Expression]) -> Expression | None:
        """`current_database()`, `version()`, …: constants that the session knows."""
        if arguments:
            return None
        answer = getattr(self.context.names, "session_value", None)
        value = SESSION.get(name) if answer is None else answer(name)
        return None if value is None and name not in SESSION else Literal(text=value, type=TEXT)

    def _call_pg_typeof(self, node: exp.Anonymous) -> Expression:
        (argument,) = node.expressions
        return Literal(text=str(self.bind(argument).type), type=TEXT)

    def _call_coalesce(self, node: exp.Anonymous) -> Expression:
        values = self.unified([self.bind(e) for e in node.expressions], "COALESCE")
        result = call(COALESCE, values, values[0].type)
        never_null = any(not v.nullable for v in values)
        return _not_null(result) if never_null else result

    def _call_greatest(self, node: exp.Anonymous) -> Expression:
        values = self.unified([self.bind(e) for e in node.expressions], node.name.upper())
        result = call(node.name, values, values[0].type)
        return _not_null(result) if any(not v.nullable for v in values) else result

    _call_least = _call_greatest

    def _call_concat(self, node: exp.Anonymous) -> Expression:
        """Takes anything, as it is printed."""
        values = [self.output(self.bind(e)) for e in node.expressions]
        if len(values) < (2 if node.name == "concat_ws" else 1):
            raise no_function(node.name, values)
        return self.function(node.name, values)

    _call_concat_ws = _call_format = _call_concat

    def output(self, value: Expression) -> Expression:
        """A value as a client would see it."""
        if value.type == BOOLEAN:
            return call(OUTPUT_BOOLEAN, (value,), TEXT)
        return self.context.coerce(value, TEXT)

    def _call_quote_literal(self, node: exp.Anonymous) -> Expression:
        return self.function(node.name, [self.output(self.bind(e)) for e in node.expressions])

    _call_quote_nullable = _call_quote_literal

    def _call_num_nulls(self, node: exp.Anonymous) -> Expression:
        """How many of the arguments are NULL, or are not."""
        if not node.expressions:
            raise no_function(node.name, [])
        nulls = [is_null(self.bind_typed(e)) for e in node.expressions]
        ones = [self.context.coerce(n if node.name == "num_nulls" else negation(n), INTEGER) for n in nulls]
        total = ones[0]
        for one in ones[1:]:
            total = self.function("+", [total, one])
        return total

    _call_num_nonnulls = _call_num_nulls

    def _call_grouping(self, node: exp.Anonymous) -> Expression:
        """Which of the arguments the row is *not* grouped by, as bits, the last argument the lowest."""
        if self.collected is None:
            raise GroupingFailure(f"grouping operations are not allowed in {self.clause}", position=position_of(node))
        arguments = tuple(canonical(self.bind_typed(argument)) for argument in node.expressions)
        if arguments not in self.collected.groupings:
            self.collected.groupings.append(arguments)
        return pending("grouping", self.collected.groupings.index(arguments), INTEGER, False)

    def _call_mz_now(self, node: exp.Anonymous) -> Expression:
        if self.context.now_at is None:
            self.context.now_at = position_of(node)
        return self.function(node.name, [self.bind(argument) for argument in node.expressions])

    def _call_array_brackets(self, node: exp.Anonymous) -> Expression:
        word = node.name.removesuffix("[]").upper()
        if not node.expressions:
            raise SyntaxFailure(
                f"cannot determine type of empty {word.lower()}",
                hint=f"Explicitly cast to the desired type, for example {word}[]::{_example(word)}.",
                sqlstate="42P18",
            )
        inner = {len(e.expressions) for e in node.expressions if isinstance(e, exp.Anonymous) and e.name == "array[]"}
        if node.name == "array[]" and len(inner) > 1:
            raise DataError(
                "multidimensional arrays must have array expressions with matching dimensions", sqlstate="2202E"
            )
        values = self.unified([self.bind(e) for e in node.expressions], word)
        return self.function(node.name, [self.context.settled(v) for v in values])

    _call_list_brackets = _call_array_brackets

    def _call_map_brackets(self, node: exp.Anonymous) -> Expression:
        if not node.expressions:
            raise SyntaxFailure("cannot determine type of empty map", sqlstate="42P18")
        keys = [self.context.coerce(self.bind(e), TEXT) for e in node.expressions[::2]]
        values = self.unified([self.bind(e) for e in node.expressions[1::2]], "MAP")
        values = [self.context.settled(v) for v in values]
        members = [part for pair in zip(keys, values, strict=True) for part in pair]
        return call(MAP, members, MapOf(values[0].type))

    def _call_array_query(self, node: exp.Anonymous) -> Expression:
        """`ARRAY(SELECT …)`: its rows in a fixed order; none: an empty array."""
        query = self.subquery(node.expressions[0].this)
        name = "list_agg" if node.name.startswith("list") else "array_agg"
        found = resolve(aggregate_candidates(name), [query.schema[0].type])
        if len(query.schema) != 1 or found is None:
            raise SyntaxFailure("subquery must return only one column")
        entry, _, result = found
        collected = AggregateCall(function=entry.id, arguments=refs(query)[:1], type=result, nullable=True)
        node_ = Aggregate(input=query, group_by=(), aggregates=(collected,), names=("array",))
        return _not_null(
            call(
                COALESCE, (ScalarSubquery(query=node_, type=result), Literal(text="{}", type=result)), result
            )
        )

    _call_list_query = _call_array_query

    def _call_to_jsonb(self, node: exp.Anonymous) -> Expression:
        (argument,) = node.expressions
        return self.as_jsonb(self.bind(argument))

    _call_to_json = _call_row_to_json = _call_array_to_json = _call_to_jsonb  # json is another name of jsonb

    def as_jsonb(self, value: Expression) -> Expression:
        value = self.context.settled(value)
        return value if value.type == JSONB else call("to_jsonb", (value,), JSONB)

    def _call_jsonb_build_object(self, node: exp.Anonymous) -> Expression:
        if len(node.expressions) % 2:
            raise SyntaxFailure("argument list must have even number of elements", sqlstate="22023")
        parts = [self.bind(e) for e in node.expressions]
        for i, part in enumerate(parts):
            parts[i] = self.as_jsonb(part) if i % 2 else self.context.coerce(part, TEXT)
        return call("jsonb_build_object", parts, JSONB)

    _call_json_build_object = _call_jsonb_build_object

    def _call_jsonb_build_array(self, node: exp.Anonymous) -> Expression:
        return call("jsonb_build_array", [self.as_jsonb(self.bind(e)) for e in node.expressions], JSONB)

    _call_json_build_array = _call_jsonb_build_array

    def aggregate(self, node: exp.Anonymous) -> Expression:
        """An aggregate belongs to the innermost query whose columns it names; if it names none, to its own."""
        item = self.aggregate_call(node)
        parts = _parts(item)
        level = nearest_level(parts)
        owner: Binder = self
        for _ in range(level):
            assert owner.place.around is not None
            owner = owner.place.around
        if owner.collected is None:
            raise GroupingFailure(f"aggregate functions are not allowed in {owner.clause}")
        if level == 0:
            return owner.collected.number("aggregate", item)
        if any(ref.index < 0 for part in parts for ref in expression_outer_refs(part, level)):
            raise GroupingFailure("aggregate function calls cannot be nested")
        number = owner.collected.place(aggregate_with(item, lambda e: seen_from(e, level)))
        return OuterRef(depth=level, index=not_computed(number), type=item.type, nullable=item.nullable)

    def aggregate_call(self, node: exp.Anonymous) -> AggregateCall:
        inner = self.without_collecting("aggregate function calls")
        within = node.args.get("within")
        if within is not None and node.name not in ORDERED_SETS:
            raise SyntaxFailure(f"{node.name} is not an ordered-set aggregate", sqlstate="42809")
        ranked = [part.this for part in within.expressions] if within is not None else []
        arguments = [inner.bind(argument) for argument in (*node.expressions, *ranked)]
        if within is None and node.name in ORDERED_SETS:
            raise no_function(node.name, arguments)
        if node.name in JSON_AGGREGATES and arguments:
            arguments[-1] = inner.as_jsonb(arguments[-1])
        if node.name in JSON_AGGREGATES and len(arguments) == 2:
            arguments[0] = self.context.coerce(arguments[0], TEXT)
        found = resolve(aggregate_candidates(node.name), [a.type for a in arguments])
        if found is None:
            raise no_function(node.name, arguments)
        entry, targets, result = found
        result = _extreme(node.name, result)
        order = within or node.args.get("order")
        condition = node.args.get("filter")
        distinct = bool(node.args.get("distinct"))
        order_by = () if order is None else tuple(inner.order(part) for part in order.expressions)
        if distinct and not {_bare(each.by) for each in order_by} <= {_bare(each) for each in arguments}:
            raise SyntaxFailure(
                "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list", sqlstate="42P10"
            )
        return AggregateCall(
            function=entry.id,
            arguments=tuple(self._aggregated(a, t) for a, t in zip(arguments, targets, strict=True)),
            type=result,
            nullable=entry.nullable,
            distinct=distinct and node.name not in ("min", "max", "bool_and", "bool_or", "every"),
            filter=None if condition is None else inner.bind_as(condition, BOOLEAN, "FILTER"),
            order_by=order_by,
        )

    def _aggregated(self, argument: Expression, target: SqlType) -> Expression:
        """An aggregate takes a numeric of any scale as it is: sums of few digits are cheaper."""
        if isinstance(argument.type, Numeric) and isinstance(target, Numeric):
            return argument
        return canonical(self.context.settled(self.context.coerce(argument, target)))

    def without_collecting(self, clause: str) -> Calls:
        """A binder of the same scope in which no aggregate may stand."""
        return type(self)(self.context, self.scope, self.place, clause)

    def order(self, node: exp.Ordered) -> Order:
        by = canonical(self.bind_typed(node.this))
        return Order(
            by=by, descending=bool(node.args.get("desc")), nulls_first=bool(node.args.get("nulls_first"))
        )

    def window(self, node: exp.Window) -> Expression:
        if self.collected is None:
            raise SyntaxFailure(f"window functions are not allowed in {self.clause}", sqlstate="42P20")
        window = named_window(node, self.collected.named_windows)
        function = node.this
        arguments = [self.bind(argument) for argument in function.expressions]
        if function.name == "ntile" and arguments:
            _check_tiles(arguments[0])
        if function.args.get("distinct"):
            raise NotSupported("DISTINCT is not implemented for window functions")
        if function.args.get("filter") is not None:
            arguments = self._filtered(function, arguments)
        partition = [canonical(self.bind_typed(e)) for e in window.args.get("partition_by") or ()]
        orders = [
            self.order(part)
            for part in (window.args["order"].expressions if window.args.get("order") else ())
        ]
        orders = range_orders(window.args.get("spec"), orders)
        entries: list[WindowFunction | AggregateFunction] = [*window_candidates(function.name)]
        entries = entries or [*aggregate_candidates(function.name)]
        found = resolve(entries, [a.type for a in arguments])
        if found is None:
            raise no_function(function.name, arguments)
        entry, targets, result = found
        result = _extreme(function.name, result)
        ignore = IGNORE_NULLS if function.args.get("ignore_nulls") else ""
        item = WindowCall(
            function=entry.id + ignore,
            arguments=tuple(self._aggregated(a, t) for a, t in zip(arguments, targets, strict=True)),
            partition_by=tuple(partition),
            order_by=tuple(orders),
            frame=frame_text(window.args.get("spec"), orders),
            type=result,
            nullable=entry.nullable,
        )
        return self.collected.number("window", item)

    def _filtered(self, function: exp.Anonymous, arguments: list[Expression]) -> list[Expression]:
        """FILTER of a window's aggregate: rows left out have NULL instead, which most aggregates pass over."""
        if window_candidates(function.name):
            raise NotSupported("FILTER is not implemented for non-aggregate window functions")
        if function.name not in _WITHOUT_NULLS:
            raise NotSupported(f"FILTER of {function.name} in a window not yet supported")
        condition = self.bind_as(function.args["filter"], BOOLEAN, "FILTER")
        first = self.context.settled(arguments[0]) if arguments else Literal(text="1", type=INTEGER)
        null = Literal(text=None, type=first.type)
        return [Case(branches=((condition, first),), otherwise=null, type=first.type), *arguments[1:]]

    def set_returning(self, node: exp.Anonymous) -> Expression:
        if self.collected is None or self.clause != "SELECT":
            raise NotSupported(
                f"set-returning functions are not allowed in {self.clause}", position=position_of(node)
            )
        item = self.set_call(known_name(node.name), [self.bind(e) for e in node.expressions])
        if len(item.columns) != 1:
            raise NotSupported(f"{node.name} with several columns in a select list not yet supported")
        if item not in self.collected.sets:
            self.collected.sets.append(item)
        return pending("set", self.collected.sets.index(item), item.columns[0][1], True)

    def set_call(self, name: str, arguments: list[Expression]) -> SetCall:
        if name == "unnest" and len(arguments) > 1:
            return SetCall.together([self.set_call(name, [argument]) for argument in arguments])
        if name == "unnest" and arguments and isinstance(arguments[0].type, ArrayOf):
            arguments = [self._flat(arguments[0])]
        entries = table_candidates(name)
        found = resolve([_AsOverload(entry) for entry in entries], [a.type for a in arguments])
        if found is None:
            raise no_function(name, arguments)
        overload, targets, _ = found
        arguments = [self.context.coerce(a, t) for a, t in zip(arguments, targets, strict=True)]
        variable = _element(targets)
        columns = tuple((n, substituted(t, variable) if variable else t) for n, t in overload.entry.columns)
        return SetCall(overload.entry.id, tuple(arguments), columns)


    def _flat(self, array: Expression) -> Expression:
        """All elements of an array of several dimensions as those of one."""
        while isinstance(array.type, ArrayOf) and isinstance(array.type.element, ArrayOf):
            array = call(FLATTEN, (array,), array.type.element)
        return array


class _AsOverload:
    """A set-returning function seen as something to resolve."""

    def __init__(self, entry: TableFunction) -> None:
        self.entry = entry
        self.arguments: tuple[SqlType, ...] = entry.arguments
        self.result: SqlType = INTEGER


def _element(targets: tuple[SqlType, ...]) -> SqlType | None:
    for target in targets:
        match target:
            case ArrayOf(element=element) | ListOf(element=element) | MapOf(value=element):
                return element
    return None


def _check_tiles(count: Expression) -> None:
    """Spark wants to know the number of groups beforehand."""
    if not isinstance(count, Literal):
        raise NotSupported("ntile of a number that is not a constant not yet supported")
    if count.text is not None and count.text.lstrip("-").isdigit() and int(count.text) <= 0:
        raise DataError("argument of ntile must be greater than zero", sqlstate="22014")


def _bare(value: Expression) -> Expression:
    """The value whatever type it is taken in."""
    while isinstance(value, Cast) or (isinstance(value, Call) and value.function == CANONICAL):
        value = value.input if isinstance(value, Cast) else value.arguments[0]
    return value


def _extreme(name: str, result: SqlType) -> SqlType:
    """PostgreSQL has min and max of text, and none of varchar."""
    return TEXT if name in ("min", "max") and isinstance(result, Varchar) else result


def _parts(item: AggregateCall) -> list[Expression]:
    """All that an aggregate looks at."""
    filters = [] if item.filter is None else [item.filter]
    return [*item.arguments, *filters, *(order.by for order in item.order_by)]


def _not_null(call: Call) -> Expression:
    return replace(call, nullable=False)


def _example(word: str) -> str:
    return "integer[]" if word == "ARRAY" else "integer list"


_CASTS = "bool bytea date float4 float8 int2 int4 int8 json jsonb oid text timestamptz uuid".split()  # noqa: SIM905
"""Types whose names are no keywords: what PostgreSQL reads as a call."""

_WITHOUT_NULLS = frozenset(
    """
        count sum avg min max bool_and bool_or every string_agg bit_and bit_or bit_xor
        stddev stddev_samp stddev_pop variance var_samp var_pop
    """.split()  # noqa: SIM905
) | {"regr_count", *FORMULAS}


def known_name(name: str) -> str:
    """json is another name of jsonb, and so it is with its functions."""
    other = "jsonb_" + name.removeprefix("json_")
    if not name.startswith("json_") or candidates(name) or table_candidates(name) or aggregate_candidates(name):
        return name
    return other if candidates(other) or table_candidates(other) else name


def no_function(name: str, arguments: list[Expression]) -> UnknownFunction:
    types = ", ".join("unknown" if a.type == UNKNOWN else str(a.type) for a in arguments)
    hint = "No function matches the given name and argument types. You might need to add explicit type casts."
    known = (*names(), *aggregate_names(), *window_names(), *table_names())
    if name not in known:
        near = get_close_matches(name, known, 1)
        hint = f'Did you mean "{near[0]}"?' if near else "There is no function of that name."
    return UnknownFunction(f"function {name}({types}) does not exist", hint=hint)
