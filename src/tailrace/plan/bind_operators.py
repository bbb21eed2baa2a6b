"""Operators and predicates: which overload, which casts, and what the short forms are short for."""

from __future__ import annotations

import re

from sqlglot import exp

from tailrace.errors import DataError, NotSupported, SyntaxFailure, TypeMismatch, UnknownFunction
from tailrace.plan.bind_contract import Binder
from tailrace.plan.build import call, canonical, conjunction, disjunction, is_null, negation
from tailrace.plan.coercion import INTEGERS, common_type, family
from tailrace.plan.context import refs
from tailrace.plan.expressions import AggregateCall, Call, Case, Expression, InSubquery, Literal, ScalarSubquery
from tailrace.plan.functions.aggregates import aggregate_candidates
from tailrace.plan.functions.entry import is_generic
from tailrace.plan.functions.nested import FIELD
from tailrace.plan.functions.operators import IN, NOT_DISTINCT
from tailrace.plan.functions.registry import by_id, candidates
from tailrace.plan.functions.resolve import resolve
from tailrace.plan.nodes import Aggregate, Node
from tailrace.plan.syntax.queries import is_query
from tailrace.plan.values import parse_value
from tailrace.types.core import (
    BIGINT,
    BOOLEAN,
    DATE,
    INTEGER,
    INTERVAL,
    JSONB,
    MZ_TIMESTAMP,
    NUMERIC,
    OID,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    UNKNOWN,
    ArrayOf,
    ListOf,
    Record,
)

_COMPARISONS = frozenset(("=", "<>", "<", "<=", ">", ">="))
_TIMES = (*INTEGERS, NUMERIC, DATE, TIMESTAMP, TIMESTAMPTZ)
_ARITHMETIC = frozenset("+-*/%^")


def _unnamed(operand: Expression) -> Expression:
    """`oid::regtype`, which is a name to people, as the number that it is to an operator."""
    is_name = isinstance(operand, Call) and by_id(operand.function).name.startswith("name of ")
    return operand.arguments[0] if isinstance(operand, Call) and is_name else operand


def _is_open(operand: Expression) -> bool:
    """A constant whose type its surroundings decide."""
    return isinstance(operand, Literal) and operand.type == UNKNOWN and operand.text is not None


class Operators(Binder):
    """The part of the expression binder for operators."""

    def operator(self, node: exp.Operator) -> Expression:
        symbol, left, right = node.args["operator"], node.this, node.expression
        if symbol in _COMPARISONS and isinstance(left, exp.Tuple) and isinstance(right, exp.Tuple | exp.Subquery):
            return self.compare_rows(symbol, left, _as_row(right, len(left.expressions)))
        return self.operation(symbol, [self.bind(left), self.bind(right)])

    def operation(self, symbol: str, operands: list[Expression]) -> Expression:
        """The operator applied.  Raises `operator does not exist: integer + text`."""
        special = self.json_path(symbol, operands) if symbol in ("#>", "#>>") else None
        if special is not None:
            return special
        if symbol in _COMPARISONS and MZ_TIMESTAMP in (o.type for o in operands):
            operands = [self._as_tick(o) for o in operands]
        if symbol in _COMPARISONS and OID in (o.type for o in operands):
            operands = [_unnamed(o) for o in operands]
        if symbol in _ARITHMETIC and len(operands) == 2 and all(_is_open(o) for o in operands):
            raise UnknownFunction(
                f"operator is not unique: unknown {symbol} unknown",
                hint="Could not choose a best candidate operator. You might need to add explicit type casts.",
                sqlstate="42725",
            )
        entries = candidates(symbol)
        if symbol == "||" and not any(isinstance(o.type, ArrayOf | ListOf) for o in operands):
            entries = [entry for entry in entries if not any(map(is_generic, entry.arguments))]
        found = resolve(entries, [o.type for o in operands])
        if found is None and symbol == "||" and any(family(o.type) in (TEXT, UNKNOWN) for o in operands):
            return self.operation("||", [self.context.coerce(o, TEXT) for o in operands])
        if found is None:
            raise self.no_operator(symbol, operands)
        entry, targets, result = found
        operands = [self.context.coerce(o, t) for o, t in zip(operands, targets, strict=True)]
        if symbol in _COMPARISONS:
            operands = [canonical(o) for o in operands]
        return call(entry.id, operands, result)

    def _as_tick(self, operand: Expression) -> Expression:
        """What mz_now() is compared with, in its whole milliseconds."""
        is_time = family(operand.type) in _TIMES
        return self.context.coerce(operand, MZ_TIMESTAMP) if is_time else operand

    def no_operator(self, symbol: str, operands: list[Expression]) -> UnknownFunction:
        types = f" {symbol} ".join(str(o.type) for o in operands)
        text = types if len(operands) > 1 else f"{symbol} {types}"
        return UnknownFunction(
            f"operator does not exist: {text}",
            hint="No operator matches the given name and argument types. "
            "You might need to add explicit type casts.",
        )

    def json_path(self, symbol: str, operands: list[Expression]) -> Expression | None:
        """`data #>> '{a,b}'` is `data->'a'->>'b'`, which shares its parse with others.  A number may count in an array
        or be a name: such a path is looked up as a whole.
        """
        value, path = operands[0], operands[1]
        if value.type != JSONB or not isinstance(path, Literal) or path.text is None:
            return None
        keys = parse_value(path.text, ArrayOf(TEXT))
        if not keys or any(key is None or re.fullmatch(r"-?\d+", key) for key in keys):
            return None
        for i, key in enumerate(keys):
            part = Literal(text=key, type=TEXT)
            value = self.operation("->>" if symbol == "#>>" and i == len(keys) - 1 else "->", [value, part])
        return value

    def compare_rows(self, symbol: str, left: exp.Tuple, right: exp.Tuple) -> Expression:
        """(a, b) < (c, d): the first pair that differs decides."""
        if len(left.expressions) != len(right.expressions):
            raise SyntaxFailure("unequal number of entries in row expressions")
        lefts, rights = [[self.bind(e) for e in side.expressions] for side in (left, right)]
        pairs = list(zip(lefts, rights, strict=True))
        if symbol in ("=", "<>"):
            equal = conjunction(self.operation("=", list(pair)) for pair in pairs)
            return equal if symbol == "=" else negation(equal)
        branches = []
        for i, pair in enumerate(pairs):
            strict = symbol if i == len(pairs) - 1 else symbol.rstrip("=")
            before = [self.operation("=", list(p)) for p in pairs[:i]]
            branches.append(conjunction([*before, self.operation(strict, list(pair))]))
        return disjunction(branches)

    def is_(self, node: exp.Is) -> Expression:
        wanted, negate = node.expression, bool(node.args.get("negate"))
        if isinstance(wanted, exp.Null):
            value = self.context.settled(self.bind(node.this))
            if isinstance(value.type, Record):
                return self._is_row_of_nulls(value, value.type, negate)
            result = is_null(value)
        else:
            value = self.bind_as(node.this, BOOLEAN, "IS")
            result = call(f"is {'true' if wanted.this else 'false'}(boolean)", (value,), BOOLEAN)
        return negation(result) if negate else result

    def _is_row_of_nulls(self, row: Expression, type: Record, negate: bool) -> Expression:
        """A row is NULL if all of its fields are, and is not NULL if none is."""
        places = (Literal(text=str(i), type=INTEGER) for i in range(len(type.fields)))
        fields = [call(FIELD, (row, place), f.type) for place, f in zip(places, type.fields, strict=True)]
        return conjunction(negation(is_null(f)) if negate else is_null(f) for f in fields)

    def distinct_from(self, node: exp.NullSafeEQ | exp.NullSafeNEQ) -> Expression:
        same = self._not_distinct(node.this, node.expression)
        return same if isinstance(node, exp.NullSafeEQ) else negation(same)

    def _not_distinct(self, one: exp.Expr, other: exp.Expr) -> Expression:
        """Of rows that are written out, each pair."""
        if isinstance(one, exp.Tuple) and isinstance(other, exp.Tuple):
            if len(one.expressions) != len(other.expressions):
                raise SyntaxFailure("unequal number of entries in row expressions")
            pairs = zip(one.expressions, other.expressions, strict=True)
            return conjunction(self._not_distinct(*pair) for pair in pairs)
        left, right = self.bind(one), self.bind(other)
        type = common_type((left.type, right.type))
        if type is None:
            raise self.no_operator("=", [left, right])
        sides = [canonical(self.context.coerce(side, type)) for side in (left, right)]
        return call(NOT_DISTINCT, sides, BOOLEAN)

    def between(self, node: exp.Between) -> Expression:
        value, low, high = (self.bind(node.args[part]) for part in ("this", "low", "high"))
        result = conjunction((self.operation(">=", [value, low]), self.operation("<=", [value, high])))
        if node.args.get("symmetric"):
            other = conjunction((self.operation(">=", [value, high]), self.operation("<=", [value, low])))
            result = disjunction((result, other))
        return negation(result) if node.args.get("negate") else result

    def in_(self, node: exp.In) -> Expression:
        if node.args.get("query") is not None:
            result = self.in_query(node.this, node.args["query"])
        elif isinstance(node.this, exp.Tuple):
            rows = [m for m in node.expressions if isinstance(m, exp.Tuple)]
            if len(rows) != len(node.expressions):
                raise TypeMismatch("a row can only be IN a list of rows")
            result = disjunction([self.compare_rows("=", node.this, row) for row in rows])
        else:
            result = self._in_list([self.bind(node.this), *map(self.bind, node.expressions)])
        return negation(result) if node.args.get("negate") else result

    def _in_list(self, members: list[Expression]) -> Expression:
        type = common_type(m.type for m in members)
        if type is None:
            wrong = next(m for m in members[1:] if common_type((members[0].type, m.type)) is None)
            raise self.no_operator("=", [members[0], wrong])
        members = [canonical(self.context.coerce(m, type)) for m in members]
        return call(IN, members, BOOLEAN)

    def in_query(self, left: exp.Expr, query: exp.Query) -> Expression:
        arguments = [self.bind(e) for e in (left.expressions if isinstance(left, exp.Tuple) else [left])]
        node = self.subquery(query)
        if len(node.schema) != len(arguments):
            few = "few" if len(node.schema) < len(arguments) else "many"
            raise SyntaxFailure(f"subquery has too {few} columns")
        arguments, node = self.matched(arguments, node)
        return InSubquery(arguments=tuple(arguments), query=node)

    def like(self, node: exp.Like | exp.ILike) -> Expression:
        symbol = ("!" if node.args.get("negate") else "") + ("~~" if isinstance(node, exp.Like) else "~~*")
        pattern = self.bind(node.expression)
        escape = node.args.get("escape")
        if escape is not None:
            pattern = self._escaped(pattern, self.bind(escape))
        return self.operation(symbol, [self.bind(node.this), pattern])

    def _escaped(self, pattern: Expression, escape: Expression) -> Expression:
        """The pattern with a backslash for its escape character."""
        if not (isinstance(escape, Literal) and escape.text is not None):
            raise NotSupported("LIKE … ESCAPE with a character that is not a constant not yet supported")
        if len(escape.text) > 1:
            raise DataError(
                "invalid escape string", hint="Escape string must be empty or one character.", sqlstate="22025"
            )
        if escape.text == "\\":
            return pattern
        if not (isinstance(pattern, Literal) and pattern.text is not None):
            return self.function("escaped pattern", [pattern, self.context.coerce(escape, TEXT)])
        text = pattern.text.replace("\\", "\\\\")
        if escape.text:
            text = re.sub(re.escape(escape.text) + "(.)", r"\\\1", text)
        return Literal(text=text, type=TEXT)

    def similar(self, node: exp.SimilarTo) -> Expression:
        pattern = self.bind(node.expression)
        escape = node.args.get("escape")
        mark = self.bind(escape) if escape is not None else Literal(text="\\", type=TEXT)
        matches = self.function("similar to", [self.bind(node.this), pattern, mark])
        return negation(matches) if node.args.get("negate") else matches

    def overlaps(self, node: exp.Overlaps) -> Expression:
        """Of two spans, each from a start to an end or of a length, the later one begins within the other."""
        spans = [self._span(side) for side in (node.this, node.expression)]
        (start, end), (other_start, other_end) = spans

        def before(one: Expression, another: Expression, end: Expression) -> Expression:
            return disjunction((self.operation("<", [one, end]), self.operation("<", [another, end])))

        branches = (
            (self.operation(">", [start, other_start]), before(start, end, other_end)),
            (self.operation("<", [start, other_start]), before(other_start, other_end, end)),
        )
        both = disjunction((self.operation("<>", [end, other_end]), self.operation("=", [end, other_end])))
        together = conjunction((self.operation("=", [start, other_start]), both))
        return Case(branches=branches, otherwise=together, type=BOOLEAN)

    def _span(self, node: exp.Expr) -> tuple[Expression, Expression]:
        if not (isinstance(node, exp.Tuple) and len(node.expressions) == 2):
            raise SyntaxFailure("wrong number of parameters on a side of OVERLAPS expression")
        start, end = (self.bind(each) for each in node.expressions)
        if end.type == INTERVAL:
            end = self.operation("+", [start, end])
        low, high = self.unified([start, end], "OVERLAPS")
        last = call("greatest", (low, high), low.type)
        is_open = disjunction((is_null(low), is_null(high)))  # what is known is the start then
        end = Case(branches=((is_open, Literal(text=None, type=low.type)),), otherwise=last, type=low.type)
        return call("least", (low, high), low.type), end

    def quantified(self, node: exp.Any | exp.All) -> Expression:
        """`x = ANY (…)`, `x <> ALL (…)`: of a subquery or of an array's elements."""
        symbol, word = node.args["operator"], "all" if isinstance(node, exp.All) else "any"
        right = node.expression
        if is_query(right) and not isinstance(right, exp.Subquery):
            if (symbol, word) == ("=", "any"):
                return self.in_query(node.this, right)
            if (symbol, word) == ("<>", "all"):
                return negation(self.in_query(node.this, right))
            return self._against_query(self.bind(node.this), symbol, word, self.subquery(right))
        value, array = self.bind(node.this), self.bind(right)
        if array.type == UNKNOWN:
            array = self.context.coerce(array, ArrayOf(self.context.settled(value).type))
        found = resolve(candidates(f"{symbol} {word}"), [value.type, array.type])
        if found is None:
            raise self.no_operator(f"{symbol} {word.upper()}", [value, array])
        entry, targets, result = found
        operands = [self.context.coerce(o, t) for o, t in zip((value, array), targets, strict=True)]
        return call(entry.id, operands, result)

    def _against_query(self, value: Expression, symbol: str, word: str, query: Node) -> Expression:
        """`x < ALL (query)` compares with the least row alone, `x < ANY (query)` with the greatest.

        NULL among the rows leaves open what the others do not decide; of no rows ANY is false and ALL true.
        """
        if symbol not in _COMPARISONS or len(query.schema) != 1:
            raise NotSupported(f"{symbol} {word.upper()} of a subquery not yet supported")
        extremes = [self._over_query(name, query) for name in ("min", "max")]
        least, most = (self.operation(symbol, [value, extreme]) for extreme in extremes)
        if symbol in ("=", "<>"):
            hit = conjunction((least, most)) if word == "all" else disjunction((least, most))
        else:
            hit = most if (symbol[0] == "<") == (word == "any") else least
        rows, known = self._over_query("count", query, star=True), self._over_query("count", query)
        none = self.operation("=", [rows, Literal(text="0", type=BIGINT)])
        is_open = disjunction((is_null(self.context.settled(value)), self.operation("<", [known, rows])))
        decided = hit if word == "any" else negation(hit)
        yes, no = _constant(word == "any"), _constant(word == "all")
        branches = ((none, no), (decided, yes), (is_open, _constant(None)))
        return Case(branches=branches, otherwise=no, type=BOOLEAN)

    def _over_query(self, name: str, query: Node, *, star: bool = False) -> Expression:
        """An aggregate over all rows of a subquery."""
        arguments = () if star else refs(query)[:1]
        found = resolve(aggregate_candidates(name), [a.type for a in arguments])
        if found is None:
            raise self.no_operator(name, list(arguments))
        entry, _, type = found
        item = AggregateCall(function=entry.id, arguments=arguments, type=type, nullable=entry.nullable)
        return ScalarSubquery(query=Aggregate(input=query, group_by=(), aggregates=(item,), names=(name,)), type=type)


def _as_row(right: exp.Tuple | exp.Subquery, count: int) -> exp.Tuple:
    """A query's row as one that is written out: each column of it by itself."""
    if isinstance(right, exp.Tuple):
        return right
    columns = [right.copy() for _ in range(count)]
    for place, column in enumerate(columns):
        column.set("of", (place, count))
    return exp.Tuple(expressions=columns)


def _constant(value: bool | None) -> Literal:
    return Literal(text=None if value is None else str(value).lower(), type=BOOLEAN)
