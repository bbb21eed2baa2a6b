"""Every spelling of a type becomes one value, and that value prints as a spelling of itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.errors import SqlError, UnknownType
from tailrace.sql.parser import Parser
from tailrace.types import core
from tailrace.types.core import ArrayOf, Char, ListOf, MapOf, Numeric, RangeOf, SqlType, Varchar
from tailrace.types.core import Timestamp as Ts
from tailrace.types.core import TimestampTz as Tz


def parse(text: str) -> SqlType:
    p = Parser(text)
    type_ = p.type_()
    p.end()
    return type_


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("bool", core.BOOLEAN),
        ("INT", core.INTEGER),
        ("int8", core.BIGINT),
        ("float", core.DOUBLE),
        ("float(24)", core.REAL),
        ("double precision", core.DOUBLE),
        ("double", core.DOUBLE),
        ("numeric", Numeric()),
        ("decimal(10)", Numeric(0)),
        ("dec(10, 2)", Numeric(2)),
        ("string", core.TEXT),
        ("character varying(5)", Varchar(5)),
        ("varchar", Varchar()),
        ("char", Char(1)),
        ("character(3)", Char(3)),
        ('"char"', core.LETTER),
        ("bytes", core.BYTEA),
        ("time without time zone", core.TIME),
        ("timestamp", Ts()),
        ("timestamp(3)", Ts(3)),
        ("timestamp(3) without time zone", Ts(3)),
        ("timestamp with time zone", Tz()),
        ("timestamptz(0)", Tz(0)),
        ("pg_catalog.int4", core.INTEGER),
        ("int[]", ArrayOf(core.INTEGER)),
        ("int[][]", ArrayOf(ArrayOf(core.INTEGER))),
        ("int list list", ListOf(ListOf(core.INTEGER))),
        ("map[text=>int]", MapOf(core.INTEGER)),
        ("map[text => map[text => int list]] list", ListOf(MapOf(MapOf(ListOf(core.INTEGER))))),
        ("json", core.JSONB),
        ("mz_timestamp", core.MZ_TIMESTAMP),
        ("int4range", RangeOf(core.INTEGER)),
    ],
)
def test_a_spelling_means_a_type(text: str, type_: SqlType) -> None:
    assert parse(text) == type_


@pytest.mark.parametrize(
    ("text", "message", "position"),
    [
        ("no_such_type", 'type "no_such_type" does not exist', 1),
        ("other.int", 'type "other.int" does not exist', 1),
        ("numeric(40)", "precision for type numeric must be between 1 and 39", 9),
        ("numeric(5,6)", "scale for type numeric must be between 0 and 5", 11),
        ("timestamp(7)", "precision for type timestamp must be between 0 and 6", 11),
        ("varchar(0)", "length for type character varying must be between 1 and 10485760", 9),
        ("map[int=>text]", "map keys must be of type text", 5),
        ("map[text, int]", 'Expected "=>", found ","', 9),
        ("5", "Expected data type, found number 5", 1),
    ],
)
def test_what_is_no_type_is_pointed_at(text: str, message: str, position: int) -> None:
    with pytest.raises(SqlError) as error:
        parse(text)
    assert (error.value.message, error.value.position) == (message, position)


def test_an_unknown_type_has_postgres_code() -> None:
    assert UnknownType.sqlstate == "42704"


def test_nesting_has_an_end() -> None:
    with pytest.raises(SqlError, match="nested more than"):
        parse("map[text=>" * 5000 + "int")


_LEAVES = st.sampled_from(
    [
        *(core.BOOLEAN, core.BIGINT, core.DOUBLE, Numeric(), Numeric(2), Varchar(), Varchar(7), Char(3)),
        *(Ts(), Ts(3), Tz(), Tz(6), core.INTERVAL, core.JSONB, core.UUID, core.UINT8, core.TIME),
        *core.RANGES.values(),
    ]
)


@given(st.recursive(_LEAVES, lambda t: t.map(ArrayOf) | t.map(ListOf) | t.map(MapOf), max_leaves=4))
def test_a_type_prints_as_it_parses(type_: SqlType) -> None:
    assert parse(str(type_)) == type_
