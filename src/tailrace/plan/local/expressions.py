"""Expressions as Python functions of a row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tailrace.errors import DataError
from tailrace.plan.expressions import (
    Call,
    Case,
    Cast,
    Exists,
    Expression,
    InSubquery,
    Literal,
    OuterRef,
    Parameter,
    Ref,
    ScalarSubquery,
)
from tailrace.plan.functions.nested import FIELD
from tailrace.plan.local.casts import caster
from tailrace.plan.local.contract import Evaluate, Functions, NotLocal, Outer, Row, Rows
from tailrace.plan.local.functions import LENIENT, STRICT
from tailrace.plan.nodes import Node
from tailrace.plan.values import parse_value

Query = Callable[[Node, Outer], Rows]


class Compiler:
    """`query` runs a subquery; `functions` are those that only the session can answer."""

    def __init__(self, query: Query, functions: Functions) -> None:
        self._query = query
        self._functions = functions

    def compile(self, expression: Expression) -> Evaluate:
        """Raises NotLocal."""
        match expression:
            case Ref(index=index):
                return lambda row, outer: row[index]
            case OuterRef(depth=depth, index=index):
                return lambda row, outer: outer[depth - 1][index]
            case Literal(text=text, type=type):
                value = None if text is None else parse_value(text, type)
                return lambda row, outer: value
            case Cast(input=inner, type=type):
                return _on_value(self.compile(inner), caster(inner.type, type))
            case Case():
                return self._case(expression)
            case Call():
                return self._call(expression)
            case ScalarSubquery(query=query):
                return lambda row, outer: _only(self._query(query, (row, *outer)))
            case Exists(query=query):
                return lambda row, outer: bool(self._query(query, (row, *outer)))
            case InSubquery():
                return self._in(expression)
            case Parameter(number=number):
                raise DataError(f"there is no parameter ${number}", sqlstate="42P02")

    def _case(self, case: Case) -> Evaluate:
        branches = [(self.compile(condition), self.compile(value)) for condition, value in case.branches]
        otherwise = self.compile(case.otherwise)

        def evaluate(row: Row, outer: Outer) -> Any:
            for condition, value in branches:
                if condition(row, outer) is True:
                    return value(row, outer)
            return otherwise(row, outer)

        return evaluate

    def _call(self, call: Call) -> Evaluate:
        if call.function == FIELD and isinstance(call.arguments[1], Literal):
            place = int(call.arguments[1].text or 0)
            return _on_value(self.compile(call.arguments[0]), lambda record: record[place])
        arguments = [self.compile(argument) for argument in call.arguments]
        lenient = LENIENT.get(call.function) or self._functions.get(call.function)
        if lenient is not None:
            return lambda row, outer: lenient(*[argument(row, outer) for argument in arguments])
        strict = STRICT.get(call.function)
        if strict is None:
            raise NotLocal(call.function)

        def evaluate(row: Row, outer: Outer) -> Any:
            values = [argument(row, outer) for argument in arguments]
            return None if None in values else strict(*values)

        return evaluate

    def _in(self, expression: InSubquery) -> Evaluate:
        arguments = [self.compile(argument) for argument in expression.arguments]

        def evaluate(row: Row, outer: Outer) -> Any:
            wanted = tuple(argument(row, outer) for argument in arguments)
            rows = self._query(expression.query, (row, *outer))
            if None not in wanted and wanted in rows:
                return True
            doubtful = any(
                all(a is None or b is None or a == b for a, b in zip(wanted, found, strict=True)) for found in rows
            )
            return None if doubtful else False

        return evaluate


def _on_value(inner: Evaluate, change: Callable[[Any], Any]) -> Evaluate:
    def evaluate(row: Row, outer: Outer) -> Any:
        value = inner(row, outer)
        return None if value is None else change(value)

    return evaluate


def _only(rows: Rows) -> Any:
    if len(rows) > 1:
        raise DataError("more than one row returned by a subquery used as an expression", sqlstate="21000")
    return rows[0][0] if rows else None
