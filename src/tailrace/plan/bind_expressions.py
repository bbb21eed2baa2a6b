"""Scalar expressions: from sqlglot's tree to typed expressions over the columns of a scope."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from tailrace.errors import NotSupported, SqlError, TypeMismatch, UnknownColumn
from tailrace.plan.bind_calls import Calls
from tailrace.plan.bind_operators import Operators
from tailrace.plan.bind_subqueries import Subqueries
from tailrace.plan.build import call, conjunction, is_null, negation
from tailrace.plan.coercion import INTEGERS, can_cast, family, merged_type
from tailrace.plan.expressions import Case, Expression, Literal
from tailrace.plan.functions.catalog import OID_ALIASES
from tailrace.plan.functions.nested import FIELD, ROW
from tailrace.plan.functions.operators import OR
from tailrace.plan.functions.times import TIME_TO_PRECISION
from tailrace.plan.syntax.expressions import position_of
from tailrace.plan.syntax.types import NamedType
from tailrace.plan.type_names import resolve_type
from tailrace.plan.values import RANGES
from tailrace.types.core import (
    BIGINT,
    BOOLEAN,
    DATE,
    INTEGER,
    JSONB,
    NUMERIC,
    OID,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UNKNOWN,
    ArrayOf,
    Char,
    Column,
    ListOf,
    MapOf,
    Record,
    SqlType,
    Varchar,
)


class ExpressionBinder(Operators, Calls, Subqueries):
    """Binds all kinds of expressions; the larger families are in the files of its bases."""

    def bind(self, node: exp.Expr) -> Expression:
        """The bound expression; its type may be unknown.  Errors say where in the statement they are."""
        try:
            return self._bind(node)
        except SqlError as error:
            if error.position is None:
                error.position = position_of(node)
            raise

    def _bind(self, node: exp.Expr) -> Expression:
        handler = _HANDLERS.get(type(node))
        if handler is None:
            raise NotSupported(f"{type(node).__name__.lower()} expressions not yet supported")
        return handler(self, node)

    def bind_typed(self, node: exp.Expr) -> Expression:
        """As `bind`, but never of unknown type."""
        return self.context.settled(self.bind(node))

    def bind_as(self, node: exp.Expr, type: SqlType, what: str) -> Expression:
        """An expression that must be of this type, e.g. the boolean of a WHERE."""
        bound = self.bind(node)
        if not can_cast(bound.type, type, "implicit"):
            raise TypeMismatch(
                f"argument of {what} must be type {type}, not type {bound.type}", position=position_of(node)
            )
        return self.context.coerce(bound, type)

    def column(self, node: exp.Column) -> Expression:
        parts = [part.name for part in node.parts]
        if isinstance(node.this, exp.Star):
            return self._row_of(parts[:-1])
        try:
            return self.scope.resolve(parts, position_of(node))
        except UnknownColumn:
            found = self._field_of_column(parts, node) or self._whole_row(parts)
            if found is None:
                raise
            return found

    def _field_of_column(self, parts: list[str], node: exp.Column) -> Expression | None:
        """`c.f` where c is a column that holds a record."""
        for split in range(len(parts) - 1, 0, -1):
            for scope in self.scope.chain():
                if scope.find(parts[:split], None) is not None:
                    value = self.scope.resolve(parts[:split], position_of(node))
                    if isinstance(value.type, Record):
                        for name in parts[split:]:
                            value = self.field(value, name)
                        return value
        return None

    def _row_of(self, parts: list[str]) -> Expression:
        """`t.*` where one value is wanted."""
        row = self._whole_row(parts)
        if row is None:
            raise UnknownColumn(f'missing FROM-clause entry for table "{".".join(parts)}"', sqlstate="42P01")
        return row

    def _whole_row(self, parts: list[str]) -> Expression | None:
        """`t` where t is a relation: its row as a record.  Where an outer join found none, NULL: there all its columns
        are.
        """
        fields = [f for f in self.scope.fields if f.answers_to(tuple(parts))]
        if not fields:
            return None
        values = tuple(self.scope.resolve([*parts, f.name], None) for f in fields)
        type = Record(tuple(Column(f.name, f.type, f.nullable) for f in fields))
        row = call(ROW, values, type)
        if not any(f.padded for f in fields):
            return row
        none = conjunction(is_null(value) for value in values)
        return Case(branches=((none, Literal(text=None, type=type)),), otherwise=row, type=type)

    def literal(self, node: exp.Literal) -> Expression:
        if node.is_string:
            return Literal(text=node.this, type=UNKNOWN)
        return number(node.this)

    def negated(self, node: exp.Neg) -> Expression:
        inner = node.this
        if isinstance(inner, exp.Literal) and not inner.is_string:
            return number("-" + inner.this)
        return self.operation("-", [self.bind(inner)])

    def parameter(self, node: exp.Parameter) -> Expression:
        return self.context.parameter(int(node.this.name))

    def cast(self, node: exp.Cast) -> Expression:
        inner = node.this
        alias = _oid_alias(node)
        if alias is not None:
            return self.looked_up(alias, self.bind(inner))
        target = resolve_type(node.args["to"].args["name"], getattr(self.context.names, "type", None))
        if isinstance(inner, exp.Cast) and (alias := _oid_alias(inner)) is not None:
            return self._through_alias(alias, inner, target)
        if isinstance(inner, exp.Anonymous) and inner.name in ("array[]", "list[]") and not inner.expressions:
            return Literal(text="{}", type=target)
        bound = self.bind(inner)
        if not can_cast(bound.type, target, "explicit"):
            raise TypeMismatch(f"cannot cast type {bound.type} to {target}", sqlstate="42846")
        moment = self._moment(bound, target)
        if moment is not None:
            return moment
        if isinstance(target, ArrayOf) and isinstance(bound, Literal) and bound.text is not None:
            target = _with_dimensions(target, bound.text)
        if isinstance(target, Varchar | Char):  # a cast that is asked for cuts off what is too long
            bound = self.context.settled(bound)
        value = self.context.coerce(bound, target)
        digits = getattr(node.args["to"].args["name"], "modifiers", ())
        if target == TIME and digits:  # the type itself knows of no precision
            return self.function(TIME_TO_PRECISION, [value, number(str(digits[0]))])
        return value

    def _moment(self, value: Expression, target: SqlType) -> Expression | None:
        """`'today'::date` and the like: constants that say when they were read."""
        word = (value.text or "").strip().lower() if isinstance(value, Literal) and value.type == UNKNOWN else ""
        if word not in ("now", *_DAYS) or family(target) not in (DATE, TIMESTAMP, TIMESTAMPTZ):
            return None
        if word == "now":
            return self.context.coerce(self.function("now", []), target)
        day = self.operation("+", [self.function("current_date", []), number(_DAYS[word])])
        return self.context.coerce(day, target)

    def looked_up(self, alias: str, value: Expression) -> Expression:
        """A cast to regclass and the like: of a name its number, of a number its name."""
        if value.type in (*INTEGERS, OID):
            return self.function(f"name of {alias}", [value])
        return self.function(alias, [self.context.coerce(value, TEXT)])

    def _through_alias(self, alias: str, inner: exp.Cast, target: SqlType) -> Expression:
        """`'t'::regclass::text` is a name, `'t'::regclass::oid` a number, whatever came in."""
        value = self.bind(inner.this)
        if value.type in (*INTEGERS, OID) and target in (*INTEGERS, OID):
            return self.context.coerce(value, target)
        found = self.looked_up(alias, value)
        if target == TEXT and found.type == OID:
            found = self.looked_up(alias, found)
        return self.context.coerce(found, target)

    def connective(self, node: exp.And | exp.Or) -> Expression:
        word = "AND" if isinstance(node, exp.And) else "OR"
        sides = [self.bind_as(side, BOOLEAN, word) for side in (node.this, node.expression)]
        return conjunction(sides) if word == "AND" else call(OR, sides, BOOLEAN)

    def negation(self, node: exp.Not) -> Expression:
        return negation(self.bind_as(node.this, BOOLEAN, "NOT"))

    def case(self, node: exp.Case) -> Expression:
        """`CASE x WHEN v` compares; `CASE WHEN c` tests."""
        conditions = []
        for branch in node.args["ifs"]:
            if node.this is None:
                conditions.append(self.bind_as(branch.this, BOOLEAN, "CASE/WHEN"))
            else:
                conditions.append(self.operation("=", [self.bind(node.this), self.bind(branch.this)]))
        default = node.args.get("default")
        values = [self.bind(branch.args["true"]) for branch in node.args["ifs"]]
        last = self.bind(default) if default is not None else Literal(text=None, type=UNKNOWN)
        otherwise, *results = self.unified([last, *values], "CASE")
        return Case(
            branches=tuple(zip(conditions, results, strict=True)), otherwise=otherwise, type=otherwise.type
        )

    def unified(self, values: list[Expression], what: str) -> list[Expression]:
        """The values in their common type."""
        type = merged_type([v.type for v in values])
        if type is None:
            names = " and ".join(dict.fromkeys(str(v.type) for v in values if v.type != UNKNOWN))
            raise TypeMismatch(f"{what} types {names} cannot be matched")
        return [self.context.coerce(value, type) for value in values]

    def row(self, node: exp.Tuple) -> Expression:
        values = [value for each in node.expressions for value in self._members(each)]
        columns = tuple(Column(f"f{i + 1}", v.type, v.nullable) for i, v in enumerate(values))
        return call(ROW, values, Record(columns))

    def _members(self, node: exp.Expr) -> list[Expression]:
        """Of `t.*` in a row each column."""
        if not (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
            return [self.bind_typed(node)]
        qualifier = [part.name for part in node.parts[:-1]]
        self._row_of(qualifier)
        return [self.scope.resolve([*qualifier, f.name], None) for f in self.scope.visible(tuple(qualifier))]

    def dot(self, node: exp.Dot) -> Expression:
        return self.field(self.bind(node.this), node.expression.name)

    def field(self, value: Expression, name: str) -> Expression:
        if not isinstance(value.type, Record):
            raise TypeMismatch(
                f"column notation .{name} applied to type {value.type}, which is not a composite type"
            )
        for i, column in enumerate(value.type.fields):
            if column.name == name:
                return call(FIELD, (value, Literal(text=str(i), type=INTEGER)), column.type)
        raise UnknownColumn(f'field "{name}" not found in data type {value.type}')

    def bracket(self, node: exp.Bracket) -> Expression:
        value, (index,) = self.bind(node.this), node.expressions
        if isinstance(index, exp.Slice):
            inner = node.this.expressions if isinstance(node.this, exp.Bracket) else ()
            if any(isinstance(each, exp.Slice) for each in inner):
                raise NotSupported("slices of several dimensions not yet supported")
            low = self.bind(index.this) if index.this else number("1")
            high = self.bind(index.expression) if index.expression else number(str(2**31 - 1))
            return self.function("slice", [value, low, high])
        if isinstance(value.type, MapOf) or value.type == JSONB:
            return self.operation("->", [value, self.bind(index)])
        if not isinstance(value.type, ArrayOf | ListOf):
            raise TypeMismatch(f"cannot subscript type {value.type}")
        return self.function("[]", [value, self.bind(index)])

    def at_time_zone(self, node: exp.AtTimeZone) -> Expression:
        return self.function("timezone", [self.bind(node.args["zone"]), self.bind(node.this)])

    def collate(self, node: exp.Collate) -> Expression:
        if node.expression.name not in _BY_CODE_POINT:
            raise NotSupported(f'COLLATE "{node.expression.name}" not yet supported')
        return self.bind(node.this)


_DAYS = {"today": "0", "tomorrow": "1", "yesterday": "-1"}

_BY_CODE_POINT = ("default", "C", "POSIX", "ucs_basic", "pg_c_utf8")
"""Collations that compare as we do."""


def _oid_alias(node: exp.Cast) -> str | None:
    name = node.args["to"].args["name"]
    alias = name.parts[-1] if isinstance(name, NamedType) else None
    return alias if alias in OID_ALIASES else None


def _with_dimensions(type: ArrayOf, text: str) -> ArrayOf:
    """PostgreSQL's integer[] has as many dimensions as its text has braces; ours is integer[][] then."""
    braces = len(text.strip()) - len(text.strip().lstrip("{"))
    inner: SqlType = type
    while isinstance(inner, ArrayOf):
        inner, braces = inner.element, braces - 1
    for _ in range(braces):
        type = ArrayOf(type)
    return type


def number(text: str) -> Literal:
    """A number's type: integer, else bigint, else numeric; with a point or exponent numeric."""
    if text.lstrip("-").isdigit():
        for type in (INTEGER, BIGINT):
            least, most = RANGES[type.name]
            if least <= int(text) <= most:
                return Literal(text=str(int(text)), type=type)
    return Literal(text=text, type=NUMERIC)


def _null(binder: ExpressionBinder, node: exp.Expr) -> Expression:
    return Literal(text=None, type=UNKNOWN)


def _boolean(binder: ExpressionBinder, node: exp.Expr) -> Expression:
    return Literal(text="true" if node.this else "false", type=BOOLEAN)


_HANDLERS: dict[type, Callable[[Any, Any], Expression]] = {
    exp.Column: ExpressionBinder.column,
    exp.Literal: ExpressionBinder.literal,
    exp.Null: _null,
    exp.Boolean: _boolean,
    exp.Parameter: ExpressionBinder.parameter,
    exp.Paren: lambda binder, node: binder.bind(node.this),
    exp.Neg: ExpressionBinder.negated,
    exp.Not: ExpressionBinder.negation,
    exp.And: ExpressionBinder.connective,
    exp.Or: ExpressionBinder.connective,
    exp.Cast: ExpressionBinder.cast,
    exp.Case: ExpressionBinder.case,
    exp.Tuple: ExpressionBinder.row,
    exp.Dot: ExpressionBinder.dot,
    exp.Bracket: ExpressionBinder.bracket,
    exp.AtTimeZone: ExpressionBinder.at_time_zone,
    exp.Collate: ExpressionBinder.collate,
    exp.Operator: ExpressionBinder.operator,
    exp.BitwiseNot: lambda binder, node: binder.operation("~", [binder.bind(node.this)]),
    exp.Is: ExpressionBinder.is_,
    exp.NullSafeEQ: ExpressionBinder.distinct_from,
    exp.NullSafeNEQ: ExpressionBinder.distinct_from,
    exp.Between: ExpressionBinder.between,
    exp.In: ExpressionBinder.in_,
    exp.Like: ExpressionBinder.like,
    exp.ILike: ExpressionBinder.like,
    exp.SimilarTo: ExpressionBinder.similar,
    exp.Overlaps: ExpressionBinder.overlaps,
    exp.Any: ExpressionBinder.quantified,
    exp.All: ExpressionBinder.quantified,
    exp.Anonymous: ExpressionBinder.call,
    exp.Window: ExpressionBinder.window,
    exp.Subquery: ExpressionBinder.scalar_subquery,
    exp.Exists: ExpressionBinder.exists,
}
