"""What clients read: every value below was checked against PostgreSQL 15, in text and in binary."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.errors import DataError, NotSupported, TailraceError, UnknownType
from tailrace.types import core
from tailrace.types.arrow import arrow_type
from tailrace.types.core import ArrayOf, Char, Column, ListOf, MapOf, Numeric, Record, SqlType, Varchar
from tailrace.types.postgres import (
    binary_form,
    binary_parameter,
    from_oid,
    length_of,
    modifier_of,
    oid_of,
    text_form,
    text_parameter,
)

INTERVAL = pa.struct([("months", pa.int32()), ("days", pa.int32()), ("micros", pa.int64())])
PAIR = Record((Column("f1", core.INTEGER), Column("f2", core.TEXT)))
PAIR_HELD = pa.struct([("f0", pa.int32()), ("f1", pa.string())])
NUMBERS, MOMENTS = core.RANGES["int4range"], core.RANGES["tsrange"]
NUMBERS_HELD, MOMENTS_HELD = arrow_type(NUMBERS), arrow_type(MOMENTS)
MOMENT = (True, 0, True, True, None, False)
NOTHING_UP_TO_5 = (True, None, False, False, 5, False)
RANGES_UP_TO_5 = "000000010000000000000f40" + "0000000100000001" + "00000009" + "080000000400000005"

TABLE_HELD = pa.list_(pa.list_(pa.int32()))
SOME_UUID = "01234567-89ab-cdef-0123-456789abcdef"
SIGNED_TEXT = "-1 years -1 mons +2 days -00:00:00.000001"
LONG_INTERVAL = "000000036c966ee0000000030000000e"
FOUR_TEXTS = "00000001000000010000001900000004000000010000000161ffffffff0000000378207900000000"
TWO_TEXTS = "0000000100000000000000190000000200000001000000046e756c6c00000002225c"
FOUR_NUMBERS = "".join(f"00000004{n:08x}" for n in range(1, 5))
SQUARE = "000000020000000000000017" + 2 * "0000000200000001" + FOUR_NUMBERS
PLACES = "000000010000000000000015" + "0000000200000000" + "000000020003" + "000000020000"
OIDS = "00000001000000000000001a" + "0000000100000000" + "0000000400000019"

# type, Arrow type, value held, text, binary in hex
VALUES: list[tuple[SqlType, pa.DataType, Any, str, str]] = [
    (core.BOOLEAN, pa.bool_(), True, "t", "01"),
    (core.BOOLEAN, pa.bool_(), False, "f", "00"),
    (core.SMALLINT, pa.int16(), -5, "-5", "fffb"),
    (core.INTEGER, pa.int32(), 5, "5", "00000005"),
    (core.BIGINT, pa.int64(), 2**63 - 1, "9223372036854775807", "7fffffffffffffff"),
    (core.UINT2, pa.int32(), 65535, "65535", "ffff"),
    (core.UINT4, pa.int64(), 2**32 - 1, "4294967295", "ffffffff"),
    (core.UINT8, pa.decimal128(20, 0), Decimal(2**64 - 1), "18446744073709551615", "ffffffffffffffff"),
    (core.OID, pa.int64(), 26, "26", "0000001a"),
    (core.REAL, pa.float32(), 1.5, "1.5", "3fc00000"),
    (core.REAL, pa.float32(), 1e6, "1e+06", "49742400"),
    (core.DOUBLE, pa.float64(), 1e-5, "1e-05", "3ee4f8b588e368f1"),
    (core.DOUBLE, pa.float64(), 7951935655656.967, "7951935655656.967", "429cedd1333ba3de"),
    (core.DOUBLE, pa.float64(), 1e15, "1e+15", "430c6bf526340000"),
    (core.DOUBLE, pa.float64(), float("nan"), "NaN", "7ff8000000000000"),
    (core.DOUBLE, pa.float64(), float("-inf"), "-Infinity", "fff0000000000000"),
    (core.DOUBLE, pa.float64(), -0.0, "-0", "8000000000000000"),
    (core.NUMERIC, pa.decimal128(38, 18), Decimal("0"), "0", "0000000000000000"),
    (core.NUMERIC, pa.decimal128(38, 18), Decimal("12.50"), "12.5", "0002000000000001000c1388"),
    (core.NUMERIC, pa.decimal128(38, 18), Decimal("-1e-18"), "-0.000000000000000001", "0001fffb400000120064"),
    (Numeric(0), pa.decimal128(38, 0), Decimal("10000"), "10000", "00010001000000000001"),
    (core.TEXT, pa.string(), "é", "é", "c3a9"),
    (core.TEXT, pa.large_string(), "", "", ""),
    (Varchar(9), pa.string(), "a b", "a b", "612062"),
    (Char(3), pa.string(), "x", "x  ", "782020"),
    (core.LETTER, pa.string(), "r", "r", "72"),
    (core.LETTER, pa.string(), "", "", "00"),
    (core.VECTORS["int2vector"], pa.list_(pa.int16()), [3, 0], "3 0", PLACES),
    (core.VECTORS["oidvector"], pa.list_(pa.int64()), [25], "25", OIDS),
    (core.BYTEA, pa.binary(), b"\x0a\xff", "\\x0aff", "0aff"),
    (core.DATE, pa.date32(), 19907, "2024-07-03", "000022f6"),
    (core.DATE, pa.date32(), -719529, "0002-12-31 BC", "fff4da8a"),
    (core.TIME, pa.int64(), 67385312456, "18:43:05.312456", "0000000fb07a44c8"),
    (core.TIME, pa.int64(), 86400000000, "24:00:00", "000000141dd76000"),
    (core.TIMESTAMP, pa.timestamp("us"), 1720032185300000, "2024-07-03 18:43:05.3", "0002bf5af8305420"),
    (core.TIMESTAMP, pa.timestamp("ms"), 0, "1970-01-01 00:00:00", "fffca2fec4c82000"),
    (core.TIMESTAMPTZ, pa.timestamp("us", "UTC"), 0, "1970-01-01 00:00:00+00", "fffca2fec4c82000"),
    (core.TIMESTAMPTZ, pa.timestamp("us", "Asia/Tokyo"), 0, "1970-01-01 00:00:00+00", "fffca2fec4c82000"),
    (core.INTERVAL, INTERVAL, (14, 3, 14706700000), "1 year 2 mons 3 days 04:05:06.7", LONG_INTERVAL),
    (core.INTERVAL, INTERVAL, (0, 0, 0), "00:00:00", "00" * 16),
    (core.INTERVAL, INTERVAL, (0, 0, -1000000), "-00:00:01", "fffffffffff0bdc0" + "00" * 8),
    (core.INTERVAL, INTERVAL, (-13, 2, -1), SIGNED_TEXT, "ff" * 8 + "00000002fffffff3"),
    (core.JSONB, pa.string(), '{"a":1}', '{"a":1}', "017b2261223a317d"),
    (core.UUID, pa.string(), SOME_UUID, SOME_UUID, SOME_UUID.replace("-", "")),
    (core.MZ_TIMESTAMP, pa.int64(), 42, "42", "3432"),
    (core.UNKNOWN, pa.string(), "x", "x", "78"),
    (ArrayOf(core.TEXT), pa.list_(pa.string()), ["a", None, "x y", ""], '{a,NULL,"x y",""}', FOUR_TEXTS),
    (ArrayOf(core.TEXT), pa.list_(pa.string()), ["null", '"\\'], '{"null","\\"\\\\"}', TWO_TEXTS),
    (ArrayOf(core.INTEGER), pa.list_(pa.int32()), [], "{}", "000000000000000000000017"),
    (ArrayOf(ArrayOf(core.INTEGER)), TABLE_HELD, [[1, 2], [3, 4]], "{{1,2},{3,4}}", SQUARE),
    (NUMBERS, NUMBERS_HELD, (True, 1, False, False, 5, False), "[1,5)", "02" + "0000000400000001" + "0000000400000005"),
    (NUMBERS, NUMBERS_HELD, (True, None, False, True, None, False), "(,)", "18"),
    (NUMBERS, NUMBERS_HELD, (False, None, False, False, None, False), "empty", "01"),
    (MOMENTS, MOMENTS_HELD, MOMENT, '("1970-01-01 00:00:00",)', "10" + "00000008fffca2fec4c82000"),
    (ArrayOf(NUMBERS), pa.list_(NUMBERS_HELD), [NOTHING_UP_TO_5], '{"(,5)"}', RANGES_UP_TO_5),
    (PAIR, PAIR_HELD, (1, "a b"), '(1,"a b")', "000000020000001700000004000000010000001900000003612062"),
    (PAIR, PAIR_HELD, (None, ""), '(,"")', "0000000200000017ffffffff0000001900000000"),
]

IDS = [f"{type} {text}" for type, _, _, text, _ in VALUES]


def column(held: pa.DataType, *values: Any) -> pa.Array:
    """Values as their Arrow type holds them; timestamps and dates are given by their number."""
    if pa.types.is_temporal(held):
        number = pa.int32() if pa.types.is_date32(held) else pa.int64()
        return pa.array(values, number).cast(held)
    return pa.array(values, held)


@pytest.mark.parametrize(("type", "held", "value", "text", "binary"), VALUES, ids=IDS)
def test_values_have_their_forms(
    type: SqlType, held: pa.DataType, value: Any, text: str, binary: str
) -> None:
    values = column(held, value, None, value)
    assert text_form(values, type).to_pylist() == [text, None, text]
    assert binary_form(values, type).to_pylist() == [bytes.fromhex(binary), None, bytes.fromhex(binary)]


@pytest.mark.parametrize(("type", "held", "value", "text", "binary"), VALUES, ids=IDS)
def test_a_slice_has_the_forms_of_its_own_rows(
    type: SqlType, held: pa.DataType, value: Any, text: str, binary: str
) -> None:
    values = column(held, None, value, None, value).slice(1, 2)
    assert text_form(values, type).to_pylist() == [text, None]
    assert binary_form(values, type).to_pylist() == [bytes.fromhex(binary), None]


@pytest.mark.parametrize(("type", "held", "value", "text", "binary"), VALUES, ids=IDS)
def test_an_empty_column_has_no_rows(
    type: SqlType, held: pa.DataType, value: Any, text: str, binary: str
) -> None:
    assert text_form(column(held), type).to_pylist() == []
    assert binary_form(column(held), type).to_pylist() == []


@pytest.mark.parametrize(
    ("type", "text", "binary"),
    [(type, text, binary) for type, _, _, text, binary in VALUES if not isinstance(type, Record)],
)
def test_binary_parameters_become_the_text_form(type: SqlType, text: str, binary: str) -> None:
    sent = binary_parameter(bytes.fromhex(binary), oid_of(type))
    if type in (core.REAL, core.DOUBLE) and text != "NaN":
        assert float(sent) == float(text)
    else:
        assert sent == text


def test_lists_and_maps_are_text_in_binary_too() -> None:
    lists = column(pa.list_(pa.list_(pa.int32())), [[1, None], None, []])
    assert text_form(lists, ListOf(ListOf(core.INTEGER))).to_pylist() == ["{{1,NULL},NULL,{}}"]
    assert binary_form(lists, ListOf(ListOf(core.INTEGER))).to_pylist() == [b"{{1,NULL},NULL,{}}"]


def test_maps_are_sorted_and_quoted() -> None:
    held = pa.map_(pa.string(), pa.string())
    maps = column(held, [("b", "1"), ("a", None)], [], [("k=>", "x y"), ("", "NULL")])
    shown = text_form(maps, MapOf(core.TEXT)).to_pylist()
    assert shown == ["{a=>NULL,b=>1}", "{}", '{""=>"NULL","k=>"=>"x y"}']


def test_nested_maps_stand_bare_and_records_are_quoted() -> None:
    maps = column(pa.map_(pa.string(), pa.map_(pa.string(), pa.int32())), [("a", [("b", 1)])])
    assert text_form(maps, MapOf(MapOf(core.INTEGER))).to_pylist() == ["{a=>{b=>1}}"]
    records = column(pa.list_(PAIR_HELD), [(1, "a b")])
    assert text_form(records, ArrayOf(PAIR)).to_pylist() == ['{"(1,\\"a b\\")"}']


def test_a_record_without_fields_has_parentheses() -> None:
    assert text_form(column(pa.struct([]), {}), Record(())).to_pylist() == ["()"]


def test_ragged_arrays_have_no_binary_form() -> None:
    ragged = column(pa.list_(pa.list_(pa.int32())), [[1], [2, 3]])
    with pytest.raises(DataError):
        binary_form(ragged, ArrayOf(ArrayOf(core.INTEGER)))


@pytest.mark.parametrize("type", [core.INTEGER, core.NUMERIC, core.INTERVAL, ArrayOf(core.TEXT), PAIR])
def test_a_column_of_nothing_but_null_needs_no_type(type: SqlType) -> None:
    assert text_form(pa.nulls(2), type).to_pylist() == [None, None]
    assert binary_form(pa.nulls(2), type).to_pylist() == [None, None]


def test_dictionaries_are_looked_up() -> None:
    values = pa.array(["a", "b", None, "a"]).dictionary_encode()
    assert text_form(values, core.TEXT).to_pylist() == ["a", "b", None, "a"]


@pytest.mark.parametrize(
    ("type", "oid", "length", "modifier"),
    [
        (core.BIGINT, 20, 8, -1),
        (core.UINT8, 16464, 8, -1),
        (core.UNKNOWN, 25, -1, -1),
        (Numeric(2), 1700, -1, (38 << 16 | 2) + 4),
        (Varchar(7), 1043, -1, 11),
        (Char(7), 1042, -1, 11),
        (core.Timestamp(3), 1114, 8, 3),
        (ArrayOf(core.INTEGER), 1007, -1, -1),
        (ArrayOf(ArrayOf(Varchar(7))), 1015, -1, 11),
        (ListOf(core.INTEGER), 16384, -1, -1),
        (MapOf(core.INTEGER), 16385, -1, -1),
        (NUMBERS, 3904, -1, -1),
        (ArrayOf(MOMENTS), 3909, -1, -1),
        (PAIR, 2249, -1, -1),
        (ArrayOf(PAIR), 2287, -1, -1),
    ],
)
def test_types_have_their_oids(type: SqlType, oid: int, length: int, modifier: int) -> None:
    assert (oid_of(type), length_of(type), modifier_of(type)) == (oid, length, modifier)


@pytest.mark.parametrize(
    "type",
    [
        *(core.BOOLEAN, core.BIGINT, core.UINT4, core.NUMERIC, core.TEXT, core.JSONB, core.TIMESTAMPTZ, Varchar()),
        *core.RANGES.values(),
    ],
)
def test_oids_lead_back_to_their_types(type: SqlType) -> None:
    assert from_oid(oid_of(type)) == type
    assert from_oid(oid_of(ArrayOf(type))) == ArrayOf(type)


def test_what_drivers_leave_open_is_left_open() -> None:
    assert from_oid(0) is None
    assert from_oid(705) is None
    assert from_oid(114) == core.JSONB
    with pytest.raises(UnknownType):
        from_oid(9_999)


@given(st.floats(allow_nan=False), st.floats(width=32, allow_nan=False))
def test_floats_read_back_as_themselves(double: float, real: float) -> None:
    assert float(text_form(pa.array([double]), core.DOUBLE)[0].as_py()) == double
    shown = text_form(pa.array([real], pa.float32()), core.REAL)[0].as_py()
    assert pa.scalar(float(shown), pa.float32()) == pa.scalar(real, pa.float32())


@given(st.decimals(min_value=-(10**19), max_value=10**19, places=18))
def test_numerics_keep_every_digit(value: Decimal) -> None:
    values = pa.array([value], pa.decimal128(38, 18))
    text = text_form(values, core.NUMERIC)[0].as_py()
    assert Decimal(text) == value
    assert "E" not in text
    assert not ("." in text and text[-1] in "0.")
    assert Decimal(binary_parameter(binary_form(values, core.NUMERIC)[0].as_py(), 1700)) == value


@given(st.datetimes(min_value=datetime(1, 1, 1), max_value=datetime(9999, 12, 31)))  # noqa: DTZ001
def test_timestamps_are_those_of_the_calendar(value: datetime) -> None:
    values = pa.array([value], pa.timestamp("us"))
    text = text_form(values, core.TIMESTAMP)[0].as_py()
    assert datetime.fromisoformat(text.ljust(26, "0") if "." in text else text) == value
    sent = binary_parameter(binary_form(values, core.TIMESTAMPTZ)[0].as_py(), 1184)
    assert datetime.fromisoformat(sent) == value.replace(tzinfo=UTC)


@given(st.lists(st.one_of(st.none(), st.text(alphabet='ab,{}" \\\nNUL\v', max_size=4)), max_size=5))
def test_arrays_read_back_as_themselves(items: list[str | None]) -> None:
    values = pa.array([items], pa.list_(pa.string()))
    text = text_form(values, ArrayOf(core.TEXT))[0].as_py()
    assert read_array(text) == items
    assert binary_parameter(binary_form(values, ArrayOf(core.TEXT))[0].as_py(), 1009) == text


def read_array(text: str) -> list[str | None]:
    """PostgreSQL's own way: quotes may be anywhere, a backslash keeps the next character."""
    items: list[str | None] = []
    item, quoted, in_quotes, characters = "", False, False, iter(text[1:-1])
    for character in characters:
        if character == "\\":
            item += next(characters)
        elif character == '"':
            quoted, in_quotes = True, not in_quotes
        elif character == "," and not in_quotes:
            items.append(item if quoted or item != "NULL" else None)
            item, quoted = "", False
        else:
            item += character
    return [*items, item if quoted or item != "NULL" else None] if text != "{}" else []


OIDS = [16, 17, 20, 21, 23, 25, 700, 701, 1009, 1016, 1082, 1083, 1184, 1186, 1231, 1700, 2950, 3802]
OIDS += [3904, 3906, 3908, 3912]


@given(st.binary(max_size=60), st.sampled_from(OIDS))
def test_any_bytes_are_a_parameter_or_a_data_error(data: bytes, oid: int) -> None:
    with suppress(DataError, NotSupported):
        binary_parameter(data, oid)


def test_made_up_array_sizes_cost_nothing() -> None:
    sizes = b"".join(n.to_bytes(4, "big") + b"\0\0\0\1" for n in (2**30, 2**30, 0))
    header = (3).to_bytes(4, "big") + bytes(4) + (23).to_bytes(4, "big")
    assert binary_parameter(header + sizes, 1007) == "{}"
    with pytest.raises(TailraceError):
        binary_parameter(header + sizes[:-8] + (2).to_bytes(4, "big") + b"\0\0\0\1", 1007)


def test_infinite_times_have_names() -> None:
    assert binary_parameter((2**63 - 1).to_bytes(8, "big"), 1184) == "infinity"
    assert binary_parameter((2**31).to_bytes(4, "big"), 1082) == "-infinity"


def test_far_timestamps_are_not_lost() -> None:
    micros = timedelta(days=3_000_000) // timedelta(microseconds=1)
    assert binary_parameter(micros.to_bytes(8, "big"), 1114) == "10213-09-21 00:00:00"


@pytest.mark.parametrize("data", [b"\xff", b"a\0b"])
def test_text_parameters_are_utf8_without_zero_bytes(data: bytes) -> None:
    with pytest.raises(TailraceError, match="invalid byte sequence") as caught:
        text_parameter(data)
    assert caught.value.sqlstate == "22021"
