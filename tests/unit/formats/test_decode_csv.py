"""FORMAT CSV: one record a message, as many fields as columns, or an error."""

import pytest
from pyspark.sql import SparkSession

from tailrace.formats.decode_csv import CsvDecoder
from tailrace.types.core import TEXT, Column

PAIRS = CsvDecoder.with_columns(2)

RECORDS: list[tuple[str, list[str]]] = [
    ("a,b", ["a", "b"]),
    ("a,b\n", ["a", "b"]),
    ("a,b\r\n", ["a", "b"]),
    (",", ["", ""]),
    ('"",x', ["", "x"]),
    (" a , b ", [" a ", " b "]),
    ('"a,1","b ""quoted"""', ["a,1", 'b "quoted"']),
    ('"two\nlines",b', ["two\nlines", "b"]),
    ("back\\slash,null", ["back\\slash", "null"]),
    ("#a,é", ["#a", "é"]),
]

BROKEN: list[tuple[bytes, str]] = [
    (b"a", "CSV error at record number 1: expected 2 columns, got 1."),
    (b"a,b,c", "CSV error at record number 1: expected 2 columns, got 3."),
    (b'"a,b",c,d', "CSV error at record number 1: expected 2 columns, got 3."),
    (b"", "CSV error at record number 1: expected 2 columns, got 1."),
    (b"a,b\nc,d", "CSV: more than one record in a message"),
    (b"a,\xff", "CSV: invalid UTF-8"),
]


def decode(
    spark: SparkSession, decoder: CsvDecoder, messages: list[bytes]
) -> dict[bytes, tuple[list[str], str | None]]:
    decoded = decoder.decoded("data")
    rows = spark.createDataFrame([(message,) for message in messages], "data binary")
    judged = rows.selectExpr("data", f"{decoded.error} AS error", *decoded.columns).collect()
    return {bytes(row[0]): (list(row[2:]), row[1]) for row in judged}


@pytest.fixture(scope="module")
def results(spark: SparkSession) -> dict[bytes, tuple[list[str], str | None]]:
    messages = [record.encode() for record, _ in RECORDS] + [message for message, _ in BROKEN]
    return decode(spark, PAIRS, messages)


@pytest.mark.parametrize(("record", "fields"), RECORDS)
def test_a_record_gives_its_fields(
    record: str, fields: list[str], results: dict[bytes, tuple[list[str], str | None]]
) -> None:
    assert results[record.encode()] == (fields, None)


@pytest.mark.parametrize(("message", "cause"), BROKEN)
def test_a_broken_record_is_an_error(
    message: bytes, cause: str, results: dict[bytes, tuple[list[str], str | None]]
) -> None:
    error = results[message][1]
    assert error is not None
    assert error.startswith(f"Decode error: {cause} (original ")


def test_what_the_driver_takes_spark_takes_too(
    results: dict[bytes, tuple[list[str], str | None]],
) -> None:
    taken = [message for message in results if PAIRS.surely_decodes([message])]
    assert b"a,b" in taken
    assert all(results[message][1] is None for message in taken)


def test_the_delimiter_may_be_any_character(spark: SparkSession) -> None:
    pipes = CsvDecoder(("a", "b"), "|")
    [(fields, error)] = decode(spark, pipes, [b"x,y|z"]).values()
    assert (fields, error) == (["x,y", "z"], None)
    [(_, error)] = decode(spark, pipes, [b"x|y|z"]).values()
    assert error is not None
    assert "expected 2 columns, got 3." in error


def test_one_column_and_its_name(spark: SparkSession) -> None:
    single = CsvDecoder.with_columns(1)
    assert single.schema == (Column("column1", TEXT, nullable=False),)
    results = decode(spark, single, [b"x", b"x,y"])
    assert results[b"x"] == (["x"], None)
    assert results[b"x,y"][1] is not None
