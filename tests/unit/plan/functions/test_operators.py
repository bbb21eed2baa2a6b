"""Operators mean what they mean in PostgreSQL, computed by Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from unit.plan.conftest import Failure, Meanings


def test_arithmetic(means: Meanings) -> None:
    means(
        {
            "1 + 1": "2",
            "7 / 2": "3",
            "-7 / 2": "-3",
            "-7 % 3": "-1",
            "2 ^ 3": "8",
            "-(5)": "-5",
            "@ -5": "5",
            "0.1 + 0.2": "0.3",
            "1.5 * 1.5": "2.25",
            "10 / 4.0": "2.5",
            "1 / 3.0": "0.333333333333333333",
            "2 / 3.0": "0.666666666666666667",
            "1.23456789 * 9.87654321": "12.1932631112635269",
            "3.7 % 1.2": "0.1",
            "1000000.5 / 0.25": "4000002",
            "-1.5 / 0.3": "-5",
            "100 * 1.1": "110",
            "9223372036854775807::bigint::numeric * 2": "18446744073709551614",
            "99999999999999999999.9 * 1": "99999999999999999999.9",
            "5 & 3": "1",
            "5 | 3": "7",
            "5 # 3": "6",
            "~5": "-6",
            "1 << 4": "16",
            "16 >> 2": "4",
            "1::smallint + 1::smallint": "2",
            "5::uint8 - 3::uint8": "2",
            "7::uint2 / 2::uint2": "3",
        }
    )


def test_comparison_and_logic(means: Meanings) -> None:
    means(
        {
            "1 = 1": "true",
            "1 <> 2": "true",
            "null = 1": None,
            "1 is distinct from null": "true",
            "null is not distinct from null": "true",
            "null is null": "true",
            "1 in (1, 2)": "true",
            "3 in (1, null)": None,
            "3 not in (1, null)": None,
            "1 not in (1, null)": "false",
            "2 between 1 and 3": "true",
            "2 between symmetric 3 and 1": "true",
            "2 not between 1 and 3": "false",
            "true and null": None,
            "false and null": "false",
            "true or null": "true",
            "not null::bool": None,
            "(1 = 2) is false": "true",
            "null::bool is not true": "true",
            "null::bool is unknown": "true",
            "(1, 2) < (1, 3)": "true",
            "(1, 2) = (1, 2)": "true",
            "(1, 2) in ((1, 2), (3, 4))": "true",
            "'NaN'::float8 = 'NaN'::float8": "true",
            "1.10 = 1.1": "true",
            "1 = 1.0": "true",
            "interval '1 month' > interval '100 days'": "true",
            "'a' < 'b'": "true",
            "1 = any(array[1, 2])": "true",
            "3 <> all(array[1, 2])": "true",
            "2 > any(array[5, null])": None,
            "'b' like any(array['a%', 'b%'])": "true",
        }
    )


def test_conditionals(means: Meanings) -> None:
    means(
        {
            "case 2 when 1 then 'a' when 2 then 'b' end": "b",
            "case when false then 1 end": None,
            "coalesce(null, null, 3)": "3",
            "nullif(1, 1)": None,
            "nullif(2, 1)": "2",
            "greatest(1, null, 3)": "3",
            "least(2, 1)": "1",
        }
    )


@pytest.mark.parametrize(
    ("expression", "sqlstate", "message"),
    [
        ("b / (b - b)", "22012", "division by zero"),
        ("n / (b - b)", "22012", "division by zero"),
        ("d / (b - b)", "22012", "division by zero"),
        ("b % (b - b)", "22012", "division by zero"),
        ("b + 2147483647", "22003", "integer out of range"),
        ("b * 9223372036854775807", "22003", "bigint out of range"),
        ("n + 99999999999999999999", "22003", "numeric field overflow"),
        ("3::uint8 - b::uint8", "22003", "uint8 out of range"),
    ],
)
def test_a_row_that_cannot_be_computed_is_an_error(
    failure: Failure, expression: str, sqlstate: str, message: str
) -> None:
    assert failure(f"select {expression} from t where b < 40") == (sqlstate, message)
