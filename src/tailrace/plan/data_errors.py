"""Errors of the data, as PostgreSQL words them: `1/0`, a bad cast, a number out of range.

Spark reports them as exceptions with a condition in brackets; ours come through raise_error with a mark
(raising.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable

from tailrace.errors import DataError, InternalError, InvalidText, TailraceError
from tailrace.plan.raising import BEGIN, END
from tailrace.plan.values import RANGES

_OURS = re.compile(re.escape(BEGIN) + r"(\w{5}):(.*?)" + re.escape(END), re.DOTALL)
_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\]\s*(.*)", re.DOTALL)
_CAST = re.compile(r"The value (.+?) of the type \"([^\"]+)\" cannot be cast to \"([^\"]+)\"", re.DOTALL)

_NAMES = {
    "TINYINT": "smallint", "SMALLINT": "smallint", "INT": "integer", "BIGINT": "bigint", "FLOAT": "real",
    "DOUBLE": "double precision", "BOOLEAN": "boolean", "DATE": "date", "STRING": "text", "BINARY": "bytea",
    "TIMESTAMP": "timestamp with time zone", "TIMESTAMP_NTZ": "timestamp", "INTERVAL": "interval",
}  # fmt: skip


def translate(exception_text: str) -> DataError | None:
    """The error that a row caused, from the text of a Spark exception; None if no row is at fault."""
    ours = _OURS.search(exception_text)
    if ours:
        kind = InvalidText if ours[1] == "22P02" else DataError
        return kind(ours[2], sqlstate=ours[1])
    for found in _CONDITION.finditer(exception_text):
        rule = _RULES.get(found[1]) or _RULES.get(found[1].split(".")[0])
        if rule is not None:
            return rule(found[2])
    return None


def explain(error: BaseException) -> TailraceError:
    """Any exception as an error one can act on, or as our own bug."""
    if isinstance(error, TailraceError):
        return error
    known = translate(str(error))
    if known is not None:
        return known
    first = str(error).splitlines()[0] if str(error) else ""
    return InternalError(f"{type(error).__name__}: {first}"[:500])


def _name(spark: str) -> str:
    return "numeric" if spark.startswith("DECIMAL") else _NAMES.get(spark, spark.lower())


def _value(text: str) -> str:
    """A value as Spark quotes it: 'x', 5L, 1.5D."""
    if text.startswith("'") and text.endswith("'"):
        return text[1:-1]
    return re.sub(r"(?<=\d)(L|S|D|BD|F)$", "", text)


def _bad_cast(message: str) -> DataError:
    found = _CAST.search(message)
    if not found:
        return InvalidText("invalid input syntax")
    name, value = _name(found[3]), _value(found[1])
    if name in RANGES and re.fullmatch(r"\s*[+-]?\d+\s*", value):
        return DataError(f'value "{value}" is out of range for type {name}', sqlstate="22003")
    return InvalidText(f'invalid input syntax for type {name}: "{value}"')


def _cast_overflow(message: str) -> DataError:
    found = _CAST.search(message)
    name = _name(found[3]) if found else "integer"
    return _out_of_range(name)


def _out_of_range(name: str) -> DataError:
    text = "numeric field overflow" if name == "numeric" else f"{name} out of range"
    return DataError(text, sqlstate="22003")


def _overflow(message: str) -> DataError:
    word = re.match(r"(?:(long|integer|int|byte|short) )?overflow", message)
    names = {"long": "bigint", "short": "smallint", "byte": "smallint"}
    return _out_of_range(names.get(word[1], "integer") if word and word[1] else "integer")


def _constant(sqlstate: str, text: str) -> Callable[[str], DataError]:
    return lambda message: DataError(text, sqlstate=sqlstate)


def _bad_json(message: str) -> DataError:
    return InvalidText("invalid input syntax for type json")


_RULES: dict[str, Callable[[str], DataError]] = {
    "DIVIDE_BY_ZERO": _constant("22012", "division by zero"),
    "INTERVAL_DIVIDED_BY_ZERO": _constant("22012", "division by zero"),
    "REMAINDER_BY_ZERO": _constant("22012", "division by zero"),
    "CAST_INVALID_INPUT": _bad_cast,
    "CAST_OVERFLOW": _cast_overflow,
    "ARITHMETIC_OVERFLOW": _overflow,
    "BINARY_ARITHMETIC_OVERFLOW": _overflow,
    "NUMERIC_VALUE_OUT_OF_RANGE": _constant("22003", "numeric field overflow"),
    "NUMERIC_OUT_OF_SUPPORTED_RANGE": _constant("22003", "numeric field overflow"),
    "INTERVAL_ARITHMETIC_OVERFLOW": _constant("22008", "interval out of range"),
    "DATETIME_OVERFLOW": _constant("22008", "timestamp out of range"),
    "DATETIME_FIELD_OUT_OF_BOUNDS": _constant("22008", "date/time field value out of range"),
    "MALFORMED_RECORD_IN_PARSING": _bad_json,
    "INVALID_JSON_RECORD_TYPE": _bad_json,
    "VARIANT_DUPLICATE_KEY": _constant("22030", "duplicate key in a JSON object"),
    "SCALAR_SUBQUERY_TOO_MANY_ROWS": _constant(
        "21000", "more than one row returned by a subquery used as an expression"
    ),
    "INVALID_REGEXP_REPLACE": _constant("2201B", "invalid regular expression"),
    "INVALID_PARAMETER_VALUE": _constant("22023", "invalid parameter value"),
    "INVALID_INDEX_OF_ZERO": _constant("2202E", "index 0 is out of range"),
    "CONVERSION_INVALID_INPUT": _constant("22P02", "invalid input syntax"),
    "INVALID_FORMAT": _constant("22025", "LIKE pattern must not end with escape character"),
    "UNKNOWN_TIME_ZONE": _constant("22023", "time zone not recognized"),
}
