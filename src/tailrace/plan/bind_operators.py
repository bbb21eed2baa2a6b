"""Operators and predicates: which overload, which casts, and what the short forms are short for."""

from __future__ import annotations

import re

from sqlglot import exp

from tailrace.errors import NotSupported, SyntaxFailure, TypeMismatch, UnknownFunction
from tailrace.plan.bind_contract import Binder
from tailrace.plan.build import call, canonical, conjunction, disjunction, is_null, negation
from tailrace.plan.coercion import INTEGERS, common_type, family
from tailrace.plan.expressions import Expression, InSubquery, Literal
from tailrace.plan.functions.operators import IN, NOT_DISTINCT
from tailrace.plan.functions.registry import candidates
from tailrace.plan.functions.resolve import resolve
from tailrace.plan.syntax.queries import is_query
from tailrace.plan.values import parse_value
from tailrace.types.core import (
    BOOLEAN,
    DATE,
    INTEGER,
    JSONB,
    MZ_TIMESTAMP,
    NUMERIC,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    UNKNOWN,
    ArrayOf,
)

_COMPARISONS = frozenset(("=", "<>", "<", "<=", ">", ">="))
_TIMES = (*INTEGERS, NUMERIC, DATE, TIMESTAMP, TIMESTAMPTZ)


class Operators(Binder):
    """The part of the expression binder for operators."""

    def operator(self, node: exp.Operator) -> Expression:
        symbol, left, right = node.args["operator"], node.this, node.expression
        if symbol in _COMPARISONS and isinstance(left, exp.Tuple) and isinstance(right, exp.Tuple):
            return self.compare_rows(symbol, left, right)
        return self.operation(symbol, [self.bind(left), self.bind(right)])

    def operation(self, symbol: str, operands: list[Expression]) -> Expression:
        """The operator applied.  Raises `operator does not exist: integer + text`."""
        special = self.containment(symbol, operands) if symbol in ("@>", "<@") else None
        special = self.json_path(symbol, operands) if symbol in ("#>", "#>>") else special
        if special is not None:
            return special
        if symbol in _COMPARISONS and MZ_TIMESTAMP in (o.type for o in operands):
            operands = [self._as_tick(o) for o in operands]
        found = resolve(candidates(symbol), [o.type for o in operands])
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

    def containment(self, symbol: str, operands: list[Expression]) -> Expression | None:
        """jsonb @> constant: unrolled, as Spark has no such function."""
        if symbol == "<@":
            operands = operands[::-1]
        if operands[0].type != JSONB:
            return None
        from tailrace.plan.bind_containment import contains

        return contains(self.context, operands[0], self.context.coerce(operands[1], JSONB))

    def json_path(self, symbol: str, operands: list[Expression]) -> Expression | None:
        """`data #>> '{a,0,b}'` is `data->'a'->0->>'b'`: a part that is a number counts in an array."""
        value, path = operands[0], self.context.coerce(operands[1], ArrayOf(TEXT))
        if value.type != JSONB:
            return None
        if not (isinstance(path, Literal) and path.text is not None):
            raise NotSupported(f"{symbol} with a path that is not a constant not yet supported")
        keys = parse_value(path.text, path.type)
        for i, key in enumerate(keys):
            is_place = re.fullmatch(r"-?\d+", key) is not None
            part = Literal(text=key, type=INTEGER if is_place else TEXT)
            value = self.operation("->>" if symbol == "#>>" and i == len(keys) - 1 else "->", [value, part])
        return value if keys else None

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
            result = is_null(self.context.settled(self.bind(node.this)))
        else:
            value = self.bind_as(node.this, BOOLEAN, "IS")
            result = call(f"is {'true' if wanted.this else 'false'}(boolean)", (value,), BOOLEAN)
        return negation(result) if negate else result

    def distinct_from(self, node: exp.NullSafeEQ | exp.NullSafeNEQ) -> Expression:
        left, right = self.bind(node.this), self.bind(node.expression)
        type = common_type((left.type, right.type))
        if type is None:
            raise self.no_operator("=", [left, right])
        sides = [canonical(self.context.coerce(side, type)) for side in (left, right)]
        result = call(NOT_DISTINCT, sides, BOOLEAN)
        return result if isinstance(node, exp.NullSafeEQ) else negation(result)

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
        if not (isinstance(pattern, Literal) and pattern.text is not None):
            raise NotSupported("SIMILAR TO a pattern that is not a constant not yet supported")
        body = re.sub(r"([.^$\\])", r"\\\1", pattern.text).replace("%", ".*").replace("_", ".")
        matches = self.operation("~", [self.bind(node.this), Literal(text=f"^(?s:{body})$", type=TEXT)])
        return negation(matches) if node.args.get("negate") else matches

    def quantified(self, node: exp.Any | exp.All) -> Expression:
        """`x = ANY (…)`, `x <> ALL (…)`: of a subquery or of an array's elements."""
        symbol, word = node.args["operator"], "all" if isinstance(node, exp.All) else "any"
        right = node.expression
        if is_query(right) and not isinstance(right, exp.Subquery):
            if (symbol, word) == ("=", "any"):
                return self.in_query(node.this, right)
            if (symbol, word) == ("<>", "all"):
                return negation(self.in_query(node.this, right))
            raise NotSupported(f"{symbol} {word.upper()} of a subquery not yet supported")
        value, array = self.bind(node.this), self.bind(right)
        if array.type == UNKNOWN:
            array = self.context.coerce(array, ArrayOf(self.context.settled(value).type))
        found = resolve(candidates(f"{symbol} {word}"), [value.type, array.type])
        if found is None:
            raise self.no_operator(f"{symbol} {word.upper()}", [value, array])
        entry, targets, result = found
        operands = [self.context.coerce(o, t) for o, t in zip((value, array), targets, strict=True)]
        return call(entry.id, operands, result)
