"""Text forms of constants: what is read, and what is refused.  Timestamps are held without a zone."""

# ruff: noqa: DTZ001

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest

from tailrace.errors import DataError
from tailrace.plan.spark_literals import spark_value
from tailrace.plan.type_names import type_of
from tailrace.plan.value_ranges import RangeValue
from tailrace.plan.values import parse_value

READ: list[tuple[str, str, Any]] = [
    ("integer", " 5 ", 5),
    ("bigint", "-9223372036854775808", -(2**63)),
    ("uint8", "18446744073709551615", 2**64 - 1),
    ("numeric", "1.50", Decimal("1.5")),
    ("numeric(10,2)", "1.005", Decimal("1.01")),
    ("numeric(10,2)", "-1.005", Decimal("-1.01")),
    ("numeric(10,0)", "2.5", Decimal(3)),
    ("double precision", "1e5", 100000.0),
    ("boolean", "on", True),
    ("boolean", " F ", False),
    ("bytea", r"\x0a0B", b"\n\x0b"),
    ("bytea", r"a\\b\001", b"a\\b\x01"),
    ("date", "2024-7-3", date(2024, 7, 3)),
    ("time", "18:43:05.3", 67_385_300_000),
    ("timestamp", "2024-07-03T18:43:05.1234567", datetime(2024, 7, 3, 18, 43, 5, 123457)),
    ("timestamp(0)", "2024-07-03 23:59:59.5", datetime(2024, 7, 4)),
    ("timestamp", "2024-07-03 01:00:00+02", datetime(2024, 7, 3, 1)),
    ("timestamptz", "2024-07-03 01:00:00+02", datetime(2024, 7, 2, 23)),
    ("interval", "1 year 2 mons 3 days 04:05:06.7", (14, 3, 14_706_700_000)),
    ("interval", "1.5 months", (1, 15, 0)),
    ("interval", "-1 day -02:00", (0, -1, -7_200_000_000)),
    ("interval", "2 hours ago", (0, 0, -7_200_000_000)),
    ("interval", "P1Y2M3DT4H", (14, 3, 14_400_000_000)),
    ("interval", "90", (0, 0, 90_000_000)),
    ("jsonb", '{"b": 1.10, "a": [1e2, null], "b": 2.0}', '{"a":[100,null],"b":2}'),
    ("uuid", "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    ("integer[]", "{1,NULL,3}", [1, None, 3]),
    ("integer[]", "{{1,2},{3,4}}", [[1, 2], [3, 4]]),
    ("text list", r'{a,"b c","q\"x",""}', ["a", "b c", 'q"x', ""]),
    ("map[text=>integer]", '{a=>1,"b c"=>NULL}', {"a": 1, "b c": None}),
    ("character(3)", "a", "a  "),
    ("int4range", " [1, 5] ", RangeValue(holds=True, lower=1, upper=6)),
    ("int4range", "(1,2)", RangeValue()),
    ("int8range", "(,)", RangeValue(holds=True, endless=True)),
    ("numrange", '("1.5",)', RangeValue(holds=True, lower=Decimal("1.5"), after=True, endless=True)),
    ("numrange", r'(,\2".5"]', RangeValue(holds=True, upper=Decimal("2.5"), until=True)),
    ("daterange", "(2024-12-30,2024-12-31]", RangeValue(holds=True, lower=date(2024, 12, 31), upper=date(2025, 1, 1))),
    ("tsrange", "Empty", RangeValue()),
]


@pytest.mark.parametrize(("type", "text", "value"), READ)
def test_a_text_form_is_read(type: str, text: str, value: Any) -> None:
    assert parse_value(text, type_of(type)) == value


@pytest.mark.parametrize(
    ("type", "text", "sqlstate", "message"),
    [
        ("integer", "x", "22P02", 'invalid input syntax for type integer: "x"'),
        ("integer", "1.5", "22P02", 'invalid input syntax for type integer: "1.5"'),
        ("integer", "2147483648", "22003", 'value "2147483648" is out of range for type integer'),
        ("uint4", "-1", "22003", 'value "-1" is out of range for type uint4'),
        ("numeric", "1e30", "22003", "numeric field overflow"),
        ("boolean", "maybe", "22P02", 'invalid input syntax for type boolean: "maybe"'),
        ("date", "2024-13-01", "22008", 'date/time field value out of range: "2024-13-01"'),
        ("timestamp", "yesterday-ish", "22007", 'invalid input syntax for type timestamp: "yesterday-ish"'),
        ("interval", "1 fortnight", "22007", 'invalid input syntax for type interval: "1 fortnight"'),
        ("uuid", "1234", "22P02", 'invalid input syntax for type uuid: "1234"'),
        ("int4range", "[1,x)", "22P02", 'invalid input syntax for type integer: "x"'),
        ("int4range", "[5,1)", "22000", "range lower bound must be less than or equal to range upper bound"),
        ("int4range", "[1,2147483647]", "22003", "integer out of range"),
        ("character varying(2)", "abc", "22001", "value too long for type character varying(2)"),
    ],
)
def test_what_is_no_text_form_is_refused(type: str, text: str, sqlstate: str, message: str) -> None:
    with pytest.raises(DataError) as raised:
        parse_value(text, type_of(type))
    assert (raised.value.sqlstate, raised.value.message) == (sqlstate, message)


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("empty 1", 'Junk after "empty" key word.'),
        ("1,5)", "Missing left parenthesis or bracket."),
        ("[1)", "Missing comma after lower bound."),
        ("[1,2,3)", "Too many commas."),
        ("[1,5", "Unexpected end of input."),
        ('["1,5)', "Unexpected end of input."),
        ("[1,5) x", "Junk after right parenthesis or bracket."),
    ],
)
def test_a_malformed_range_is_told_where(text: str, detail: str) -> None:
    with pytest.raises(DataError) as raised:
        parse_value(text, type_of("int4range"))
    told = (raised.value.sqlstate, raised.value.message, raised.value.detail)
    assert told == ("22P02", f'malformed range literal: "{text}"', detail)


def test_ranges_are_in_the_order_of_postgres() -> None:
    texts = ["empty", "(,1]", "(,)", "[1,1]", "[1,2)", "[1,2]", "[1,)", "(1,2)", "(1,)"]
    ranges = [parse_value(text, type_of("numrange")) for text in texts]
    assert sorted(reversed(ranges)) == ranges


def test_a_malformed_document_is_no_jsonb() -> None:
    with pytest.raises(DataError, match="invalid input syntax for type json"):
        parse_value('{"a":', type_of("jsonb"))


@pytest.mark.parametrize(
    ("type", "value", "text"),
    [
        ("integer", -(2**31), "(-2147483647 - 1)"),
        ("bigint", 5, "5L"),
        ("text", "it's \\ new\nline", r"'it\'s \\ new\nline'"),
        ("numeric", Decimal("1.5"), "CAST('1.5' AS decimal(38,18))"),
        ("timestamptz", datetime(2024, 7, 3), "TIMESTAMP'2024-07-03 00:00:00+00:00'"),
        ("interval", (1, 2, 3), "named_struct('months', 1, 'days', 2, 'micros', 3L)"),
        ("integer[]", [], "CAST(array() AS array<int>)"),
    ],
)
def test_constants_as_spark_text(type: str, value: Any, text: str) -> None:
    assert spark_value(value, type_of(type)) == text
