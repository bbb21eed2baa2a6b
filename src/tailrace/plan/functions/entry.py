"""One function or operator: its signature, when it is NULL, and its Spark text.

A table writes `function("lower(text) -> text", "lower({0})")`.  In a signature `T` is any type, the same at
each place; `...` after the last argument lets it repeat.  The Spark text is a template with the arguments'
texts, or a Python function of the bound call for what depends on its types.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal as OneOf
from typing import TypeAlias

from tailrace.plan.expressions import Call, Expression
from tailrace.plan.functions.let import let
from tailrace.plan.parse import parse_type
from tailrace.plan.type_names import resolve_type
from tailrace.types.core import INTERVAL, ArrayOf, ListOf, MapOf, Scalar, SqlType
from tailrace.types.spark import spark_type

Render: TypeAlias = Callable[[Expression], str]
"""Turns an argument into Spark text."""

SparkText: TypeAlias = str | Callable[[Call, Render], str]
Nulls: TypeAlias = OneOf["strict", "never", "always"]
"""strict: NULL exactly when an argument is; never; always: NULL may come out of arguments that are not NULL.
"""

VARIABLE = Scalar("t")
"""The type variable `T` of a signature."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Function:
    """`id` is what a Call names: the bare name where all arguments are of any type, else the whole
    signature.
    """

    id: str
    name: str
    arguments: tuple[SqlType, ...]
    variadic: bool
    result: SqlType
    spark: SparkText
    nulls: Nulls
    volatile: bool

    def accepts(self, count: int) -> bool:
        least = len(self.arguments) - (1 if self.variadic else 0)
        return count >= least if self.variadic else count == len(self.arguments)

    def parameter(self, place: int) -> SqlType:
        return self.arguments[min(place, len(self.arguments) - 1)]

    def nullable(self, arguments: Sequence[Expression]) -> bool:
        return self.nulls == "always" or (self.nulls == "strict" and any(a.nullable for a in arguments))


def function(
    signature: str,
    spark: SparkText,
    *,
    nulls: Nulls = "strict",
    volatile: bool = False,
    id: str | None = None,
) -> Function:
    """An entry of a table.  The signature reads `name(type, …) -> type`."""
    name, arguments, result, variadic = parse_signature(signature)
    generic = bool(arguments) and all(argument == VARIABLE for argument in arguments)
    return Function(
        id=id or (name if generic else signature.split(" -> ")[0]),
        name=name,
        arguments=arguments,
        variadic=variadic,
        result=result,
        spark=spark,
        nulls=nulls,
        volatile=volatile,
    )


def parse_signature(signature: str) -> tuple[str, tuple[SqlType, ...], SqlType, bool]:
    head, result = signature.rsplit(" -> ", 1)
    name, _, body = head.partition("(")
    texts = [text for text in re.split(r",\s*(?![^(]*\))", body.rsplit(")", 1)[0]) if text.strip()]
    variadic = bool(texts) and texts[-1].endswith("...")
    types = tuple(_type(text.removesuffix("...").strip()) for text in texts)
    return name, types, _type(result), variadic


def _type(text: str) -> SqlType:
    return resolve_type(parse_type(text), lambda parts: VARIABLE if parts == ("t",) else None)


def is_generic(type: SqlType) -> bool:
    """Does the type variable occur in it?"""
    match type:
        case ListOf(element=inner) | ArrayOf(element=inner) | MapOf(value=inner):
            return is_generic(inner)
        case _:
            return type == VARIABLE


def substituted(type: SqlType, variable: SqlType) -> SqlType:
    """The type with the type variable replaced."""
    match type:
        case ListOf(element=inner):
            return ListOf(substituted(inner, variable))
        case ArrayOf(element=inner):
            return ArrayOf(substituted(inner, variable))
        case MapOf(value=inner):
            return MapOf(substituted(inner, variable))
        case _:
            return variable if type == VARIABLE else type


def _null_of_nulls(struct: str) -> str:
    """An interval; where Spark would make a struct of NULLs, NULL."""
    if not struct.startswith("named_struct("):
        return struct
    known = " AND ".join(f"{{i}}.{part} IS NOT NULL" for part in ("months", "days", "micros"))
    return let({"i": struct}, f"CASE WHEN {known} THEN {{i}} END")


def rendered(spark: SparkText, call: Call, render: Render) -> str:
    """The Spark text of a call."""
    text = spark.format(*map(render, call.arguments)) if isinstance(spark, str) else spark(call, render)
    if call.type == INTERVAL and call.nullable and "named_struct(" in text:
        return f"CAST({_null_of_nulls(text)} AS {spark_type(INTERVAL)})"  # each field of it may be NULL
    return text


def joined(template: str, separator: str) -> Callable[[Call, Render], str]:
    """For variadic functions: `template` with all arguments put between, e.g. `joined("concat({})", ",
    ")`.
    """
    return lambda call, render: template.format(separator.join(render(a) for a in call.arguments))
