"""FORMAT TEXT: the one column of a record in PostgreSQL's text form; NULL is a message part of no bytes.

Arrays are `{a,NULL,"x y"}`, records `(1,"a b",)`, maps `{k=>v}`.  What is empty, looks like NULL or holds a
delimiter, a quote, a backslash or a space stands in quotes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self, assert_never

from tailrace.errors import NotSupported
from tailrace.formats import encode_scalars as scalars
from tailrace.formats.encode_contract import ChangeFrame
from tailrace.formats.encode_scalars import literal
from tailrace.types.core import (
    ArrayOf,
    Char,
    ListOf,
    MapOf,
    Numeric,
    RangeOf,
    Record,
    Scalar,
    Schema,
    SqlType,
    Timestamp,
    TimestampTz,
    Varchar,
)
from tailrace.types.spark import UNSCALED_DIGITS

_ODD_ELEMENT = r'(?i)^$|^null$|[{},"\\\s\x0b]'
_ODD_ENTRY = r'(?i)^$|^null$|[{},"=>\\\s\x0b]'
_ODD_BOUND = r'[()\[\],"\\\s\x0b]'
_ODD_FIELD = r'^$|[(),"\\\s\x0b]'


@dataclass(frozen=True, slots=True)
class TextEncoder:
    """Encodes a relation, or a key, of one column."""

    name: ClassVar[str] = "text"
    framing: ClassVar[int] = 0
    prefix: ClassVar[bytes] = b""
    change: ClassVar[ChangeFrame] = ChangeFrame()

    def check(self, columns: Schema) -> None:
        if len(columns) != 1:
            raise NotSupported("BYTES or TEXT format with multiple columns not yet supported")

    def registered(self, columns: Schema, *, change: bool) -> Self:
        return self

    def record(self, columns: Schema, places: Sequence[str]) -> str:
        return f"CAST(coalesce({text_form(places[0], columns[0].type)}, '') AS binary)"

    def side(self, columns: Schema, places: Sequence[str]) -> str:
        """In a change the column stands as a record: `(x)`."""
        shown = text_form(places[0], columns[0].type)
        return f"CAST(concat('(', {_in_quotes(shown, _ODD_FIELD, doubled=True, null='')}, ')') AS binary)"


def text_form(x: str, type: SqlType, depth: int = 0) -> str:
    """The text of a value, NULL for NULL.  `depth` keeps the variables of nested lambdas apart."""
    match type:
        case Scalar(name=name):
            return _scalar(x, name)
        case Numeric(scale=scale):
            return scalars.decimal_text(x, UNSCALED_DIGITS if scale is None else scale)
        case Varchar():
            return x
        case Char(length=length):
            return f"rpad({x}, {length}, ' ')"
        case Timestamp():
            return scalars.timestamp_text(x)
        case TimestampTz():
            return scalars.timestamp_text(x, "+00")
        case ListOf(element=element) | ArrayOf(element=element):
            return _array(x, element, depth)
        case MapOf(value=value):
            return _map(x, value, depth)
        case Record(fields=fields):
            return _record(x, fields, depth)
        case RangeOf(element=element):
            return _range(x, element, depth)
        case _:
            assert_never(type)


def _scalar(x: str, name: str) -> str:
    match name:
        case "boolean":
            return scalars.boolean_text(x)
        case "real":
            return scalars.float_text(x, "float")
        case "double precision":
            return scalars.float_text(x, "double")
        case "bytea":
            return scalars.bytea_text(x)
        case "date":
            return scalars.date_text(x)
        case "time":
            return scalars.time_text(x)
        case "interval":
            return scalars.interval_text(x)
        case _:
            return scalars.text(x)


def _array(x: str, element: SqlType, depth: int) -> str:
    variable = f"e{depth}"
    shown = text_form(variable, element, depth + 1)
    nested = isinstance(element, ListOf | ArrayOf)  # its braces are its own quotes
    item = f"coalesce({shown}, 'NULL')" if nested else _in_quotes(shown, _ODD_ELEMENT)
    return f"concat('{{', array_join(transform({x}, {variable} -> {item}), ','), '}}')"


def _map(x: str, value: SqlType, depth: int) -> str:
    entry = f"m{depth}"
    found = f"transform(array_sort(map_keys({x})), k -> named_struct('k', k, 'v', element_at({x}, k)))"
    shown = text_form(f"{entry}.v", value, depth + 1)
    item = f"coalesce({shown}, 'NULL')" if isinstance(value, MapOf) else _in_quotes(shown, _ODD_ENTRY)
    member = f"concat({_in_quotes(f'{entry}.k', _ODD_ENTRY)}, '=>', {item})"
    return f"concat('{{', array_join(transform({found}, {entry} -> {member}), ','), '}}')"


def _record(x: str, fields: Schema, depth: int) -> str:
    shown = (text_form(f"{x}.f{i}", field.type, depth) for i, field in enumerate(fields))
    items = ", ',', ".join(_in_quotes(each, _ODD_FIELD, doubled=True, null="") for each in shown)
    return f"CASE WHEN {x} IS NOT NULL THEN concat('(', {items or literal('')}, ')') END"


def _range(x: str, element: SqlType, depth: int) -> str:
    """`[1,5)`, `(,"2024-07-03 18:43:05"]`, `empty`."""
    lower, upper = (
        _in_quotes(text_form(f"{x}.{bound}", element, depth), _ODD_BOUND, doubled=True, null="")
        for bound in ("lower", "upper")
    )
    opening = f"CASE WHEN {x}.after OR {x}.lower IS NULL THEN '(' ELSE '[' END"
    shown = f"concat({opening}, {lower}, ',', {upper}, CASE WHEN {x}.until THEN ']' ELSE ')' END)"
    return f"CASE WHEN {x}.holds THEN {shown} WHEN NOT {x}.holds THEN 'empty' END"


def _in_quotes(shown: str, odd: str, *, doubled: bool = False, null: str = "NULL") -> str:
    """`shown`, in quotes where it is `odd`; inside, quotes are escaped or, as in records, `doubled`."""
    quote = r'""' if doubled else r"\""
    escaped = f"replace(replace(t, {literal(chr(92))}, {literal(chr(92) * 2)}), '\"', {literal(quote)})"
    choice = (
        f"CASE WHEN t IS NULL THEN {literal(null)} WHEN t RLIKE {literal(odd)}"
        f" THEN concat('\"', {escaped}, '\"') ELSE t END"
    )
    # A list of one: Spark has no LET, and the text is named six times.
    return f"transform(array({shown}), t -> {choice})[0]"
