"""Mathematical functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unit.plan.conftest import Meanings


def test_rounding(means: Meanings) -> None:
    means(
        {
            "round(2.5)": "3",
            "round(-2.5)": "-3",
            "round(2.5::float8)": "2",
            "round(3.5::float8)": "4",
            "round(1.2345, 2)": "1.23",
            "round(1234.5, -2)": "1200",
            "trunc(-1.7)": "-1",
            "trunc(1.29, 1)": "1.2",
            "ceil(1.2)": "2",
            "ceil(-1.2)": "-1",
            "floor(-1.2)": "-2",
            "floor(1.7::float8)": "1",
        }
    )


def test_functions(means: Meanings) -> None:
    means(
        {
            "abs(-5)": "5",
            "abs(-1.5)": "1.5",
            "sign(-3.2)": "-1",
            "mod(7, 3)": "1",
            "mod(-7, 3)": "-1",
            "mod(7.5, 2)": "1.5",
            "div(7, 2)": "3",
            "power(2, 10)": "1024",
            "sqrt(16)": "4",
            "cbrt(27::float8)": "3",
            "exp(0::float8)": "1",
            "ln(1::float8)": "0",
            "log(100)": "2",
            "pi()": "3.141592653589793",
            "degrees(pi())": "180",
            "sin(0::float8)": "0",
            "atan2(0::float8, 1::float8)": "0",
        }
    )
