"""Spark's errors as PostgreSQL words them.  The texts are Spark's own, cut."""

from __future__ import annotations

import pytest

from tailrace.plan.data_errors import translate
from tailrace.plan.raising import raising

SPARK = [
    ("[DIVIDE_BY_ZERO] Division by zero. Use `try_divide` to tolerate…", "22012", "division by zero"),
    (
        """[CAST_INVALID_INPUT] The value 'x' of the type "STRING" cannot be cast to "INT" because"""
        """ it is malformed.""",
        "22P02",
        'invalid input syntax for type integer: "x"',
    ),
    (
        """[CAST_INVALID_INPUT] The value '1e' of the type "STRING" cannot be cast to"""
        """ "DECIMAL(38,18)" because…""",
        "22P02",
        'invalid input syntax for type numeric: "1e"',
    ),
    (
        """[CAST_OVERFLOW] The value 70000 of the type "INT" cannot be cast to "SMALLINT" due to an"""
        """ overflow.""",
        "22003",
        "smallint out of range",
    ),
    ("[ARITHMETIC_OVERFLOW] long overflow. Use 'try_multiply'…", "22003", "bigint out of range"),
    ("[NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION] The 1…", "22003", "numeric field overflow"),
    (
        "org.apache.spark.SparkException: Job aborted … [DIVIDE_BY_ZERO] Division by zero.",
        "22012",
        "division by zero",
    ),
    (
        '[USER_RAISED_EXCEPTION] TAILRACE<22P02:invalid input syntax for type uuid: "x">TAILRACE'
        " SQLSTATE: P0001",
        "22P02",
        'invalid input syntax for type uuid: "x"',
    ),
]


@pytest.mark.parametrize(("text", "sqlstate", "message"), SPARK)
def test_translation(text: str, sqlstate: str, message: str) -> None:
    error = translate(text)
    assert error is not None
    assert (error.sqlstate, error.message) == (sqlstate, message)


def test_what_no_row_caused_is_left_alone() -> None:
    assert translate("[TABLE_OR_VIEW_NOT_FOUND] The table or view `x` cannot be found.") is None
    assert translate("java.lang.OutOfMemoryError: Java heap space") is None


def test_our_own_errors_carry_the_value() -> None:
    text = raising("22P02", 'bad "{}"', "c0")
    assert text == """raise_error(concat('TAILRACE<22P02:bad "', coalesce(c0, 'NULL'), '">TAILRACE'))"""
