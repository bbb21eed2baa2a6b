"""FORMAT JSON takes exactly the documents of RFC 8259.  All are judged by one Spark query; each is its own
claim."""

import json
import random

import pytest
from pyspark.sql import SparkSession

from tailrace.formats.decode_json import JsonDecoder, is_json
from tailrace.jvm.functions import install

VALID = [
    '{"a":1}',
    ' {"a" : 1}\r\n\t',
    "{}",
    "[]",
    "[1,[2,{}],null]",
    "1",
    "-0",
    "1.5e-10",
    "1e400",
    "9" * 60,
    '"x"',
    '"é\\u00e9\\ud800\\n"',
    "null",
    "true",
    "false",
    '{"":{"b":[1,{"c":"}]"}]}}',
    '{"a":1,"a":2}',
    '{"a":"%s"}' % ("x" * 100_000),
    "1" * 1_000,
    "[" * 900 + "]" * 900,
]

INVALID = [
    "",
    "  ",
    "{",
    "}",
    '{"a":1',
    '{"a":1}}',
    '{"a":1} x',
    '{"a":1}{"b":2}',
    '{"a":1},{"b":2}',
    '{"a":1}]',
    "1,2",
    "1 2",
    "1]",
    '1,"x":2',
    "{'a':1}",
    "{a:1}",
    '{"a":01}',
    "+1",
    ".5",
    "5.",
    "-",
    "NaN",
    '{"a":NaN}',
    "Infinity",
    "tru",
    '"x',
    '"\\x"',
    '"\\u12"',
    '"\t"',
    '{"a":1,}',
    "[1,]",
    "[,1]",
    "/*c*/1",
    '{"a" 1}',
    "\ufeff1",
    "\u00a01",
    "1" * 1_100,
    "[" * 1_100 + "]" * 1_100,
]

NOT_UTF8 = [
    b'"\xff"',
    b'{"a":"\xc3"}',
    b'"\xed\xa0\x80"',
    '"é"'.encode("latin-1"),
    b'"\xc0\xaf"',
    b'"\xe0\x80\xaf"',
    b'"\xf0\x80\x80\xaf"',
    b'"\xf4\x90\x80\x80"',
    b'"\xf5\x80\x80\x80"',
    b'"\xe2\x82"',
    b'{"\x80":1}',
]


@pytest.fixture(scope="module")
def errors(spark: SparkSession) -> dict[bytes, str | None]:
    """What each document's error is."""
    install(spark)
    documents = [text.encode() for text in (*VALID, *INVALID)] + NOT_UTF8
    rows = spark.createDataFrame([(document,) for document in documents], "data binary")
    decoded = JsonDecoder().decoded("data")
    judged = rows.selectExpr("data", f"{decoded.columns[0]} AS text", f"{decoded.error} AS error").collect()
    assert all(row.text.encode() == bytes(row.data) for row in judged if row.error is None)
    return {bytes(row.data): row.error for row in judged}


@pytest.mark.parametrize("document", VALID, ids=lambda text: text[:20])
def test_a_document_is_taken_as_it_is(document: str, errors: dict[bytes, str | None]) -> None:
    assert errors[document.encode()] is None


@pytest.mark.parametrize("document", INVALID, ids=lambda text: text[:20])
def test_anything_else_is_an_error(document: str, errors: dict[bytes, str | None]) -> None:
    error = errors[document.encode()]
    shown = document if len(document) <= 200 else document[:200] + "…"
    assert error == f"Decode error: JSON: not a valid document (original text: {shown})"


@pytest.mark.parametrize("document", NOT_UTF8)
def test_bytes_that_are_not_utf8_are_an_error(document: bytes, errors: dict[bytes, str | None]) -> None:
    error = errors[document]
    assert error == f"Decode error: JSON: not a valid document (original bytes: {document.hex()})"


def test_what_the_driver_takes_spark_takes_too(errors: dict[bytes, str | None]) -> None:
    taken = [document for document in errors if JsonDecoder().surely_decodes([document])]
    assert taken
    assert all(errors[document] is None for document in taken)
    assert not JsonDecoder().surely_decodes([b"1", b"{", b"2"])


def test_python_agrees_about_documents_with_a_wrong_byte(spark: SparkSession) -> None:
    """A thousand documents, each with one byte changed, left out or put in."""
    install(spark)
    chance = random.Random(7)
    documents = sorted({_damaged(chance.choice(VALID[:18]).encode()[:60], chance) for _ in range(1_000)})
    rows = spark.createDataFrame([(document,) for document in documents], "data binary")
    answers = [row[0] for row in rows.selectExpr(is_json("data")).collect()]
    assert answers == [_is_json_to_python(document) for document in documents]
    assert {True, False} == set(answers)


def _refuse(_: str) -> None:
    raise ValueError


def _is_json_to_python(document: bytes) -> bool:
    try:
        json.loads(document.decode(), parse_constant=_refuse)
    except ValueError:
        return False
    return True


def _damaged(document: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(document) + 1)
    put_in = chance.choice([b"", b"", bytes([chance.choice(b' \t\n{}[]:,"\\-+.eE019tfnu\x00\xc3\xff')])])
    return document[:place] + put_in + document[place + chance.choice([0, 1]) :]


def test_the_lists_are_what_python_says() -> None:
    for text in VALID[:-1]:  # the last one is too deep for Python
        json.loads(text)
    for text in INVALID[:-2]:  # the last two are too much only for Spark's parser
        with pytest.raises(ValueError):  # noqa: PT011  any of json's is meant
            json.loads(text, parse_constant=_refuse)


def test_an_error_repeats_only_the_beginning_of_a_long_message(spark: SparkSession) -> None:
    install(spark)
    rows = spark.createDataFrame([(b"x" * 10_000,), (b"\xff" * 10_000,)], "data binary")
    for row in rows.selectExpr(f"{JsonDecoder().decoded('data').error} AS error").collect():
        assert len(row.error) < 600
        assert row.error.endswith("…)")


@pytest.mark.parametrize(
    ("documents", "differ"),
    [
        ([b'{"a":1}', b'{"a":2}', b'"x"', b"7", b"[1,2]", b"null"], True),
        ([b'{"a":1,"b":2}', b'{"b":2,"a":1}'], False),
        ([b'{"a": 1}', b'{"a":1}'], False),
        ([b"1", b"1.0"], False),
        ([b'{"a":[{"b":1.5}]}'], False),
        ([b'"\\u0078"', b'"x"'], False),
        ([b"-0", b"0"], False),
        ([b"100000000000000000000", b"1"], False),
        ([b'{"a":1,"a":2}', b'{"a":2}'], False),
        ([b"{"], False),
    ],
)
def test_different_bytes_are_known_to_be_different_values(documents: list[bytes], differ: bool) -> None:
    assert JsonDecoder().surely_differ(documents) is differ
