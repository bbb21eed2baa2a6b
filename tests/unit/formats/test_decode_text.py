"""FORMAT TEXT and FORMAT BYTES."""

from pyspark.sql import SparkSession

from tailrace.formats.decode_bytes import BytesDecoder
from tailrace.formats.decode_text import TextDecoder
from tailrace.types.core import BYTEA, TEXT, Column

MESSAGES = [b"", b"plain", "héllo ☃ 𝄞".encode(), b"a\x00b", b"\xff", b"caf\xe9", b"\xf0\x9f\x92", b"\xc0\x80"]


def test_text_is_utf8_or_an_error(spark: SparkSession) -> None:
    decoded = TextDecoder().decoded("data")
    rows = spark.createDataFrame([(message,) for message in MESSAGES], "data binary")
    for row in rows.selectExpr(
        "data", f"{decoded.columns[0]} AS text", f"{decoded.error} AS error"
    ).collect():
        message = bytes(row.data)
        try:
            assert row.text == message.decode()
            assert row.error is None
        except UnicodeDecodeError:
            assert row.error == f"Decode error: Text: invalid UTF-8 (original bytes: {message.hex()})"
        assert TextDecoder().surely_decodes([message]) == (row.error is None)


def test_bytes_are_never_wrong(spark: SparkSession) -> None:
    decoded = BytesDecoder().decoded("data")
    assert decoded.error is None
    rows = spark.createDataFrame([(message,) for message in MESSAGES], "data binary")
    assert [bytes(row[0]) for row in rows.selectExpr(decoded.columns[0]).collect()] == MESSAGES


def test_each_makes_one_column() -> None:
    assert TextDecoder().schema == (Column("text", TEXT, nullable=False),)
    assert BytesDecoder().schema == (Column("data", BYTEA, nullable=False),)
