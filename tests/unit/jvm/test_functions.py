"""Our functions in Java give what they say."""

import json
import random
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tailrace.errors import SqlError
from tailrace.jvm.functions import install

CASES: list[tuple[str, list[str | None] | None]] = [
    ('{"a":1,"b":"x"}', ["1", "x"]),
    ('{"b":"x","z":{"a":9},"a":1}', ["1", "x"]),
    (' { "a" : true , "b" : false } ', ["true", "false"]),
    ('{"a":null}', [None, None]),
    ("{}", [None, None]),
    ("[1]", None),
    ('"a"', None),
    ('{"a":1', None),
    ('{"\\u0061":1,"b\\"":2}', ["1", None]),
    ('{"a":"","b":"\\u00e9\\n\\"\\/\\ud83d\\ude00 ☃"}', ["", 'é\n"/😀 ☃']),
    ('{"a":{ "x" : [1, "y z"] },"b":[ ]}', ['{"x":[1,"y z"]}', "[]"]),
    ('{"a":-0,"b":100000000000000000000000}', ["0", "100000000000000000000000"]),
    ('{"a":1.10,"b":1.0}', ["1.1", "1"]),
    ('{"a":1e3,"b":-1.5E+2}', ["1000", "-150"]),
    ('{"a":12345678901234567890.123456789012,"b":1E-7}', ["12345678901234567890.123456789012", "0.0000001"]),
    ('{"a":0.0e5,"b":1e999999}', ["0", "1E+999999"]),
    ('{"a":1,"a":2}', ["2", None]),
    ('{"a":1,"a":null}', [None, None]),
    ('{"a":{"x":[1, 2.50, "\\u00e9\\/"]}}', ['{"x":[1,2.50,"\\u00e9\\/"]}', None]),
]


def fields(session: SparkSession, documents: list[str], names: str) -> list[Any]:
    rows = session.createDataFrame([(document.encode(),) for document in documents], "data binary")
    return [row[0] for row in rows.selectExpr(f"tailrace_json_fields(data, CAST({names} AS BINARY))").collect()]


def test_fields_are_what_the_arrow_operator_gives(spark: SparkSession) -> None:
    install(spark)
    found = fields(spark, [document for document, _ in CASES], "'a\\0b'")
    assert dict(zip((document for document, _ in CASES), found, strict=True)) == dict(CASES)


def test_fields_of_random_documents(spark: SparkSession) -> None:
    install(spark)
    chance = random.Random(5)
    names = ["a", "b", "long name", "é", ""]
    documents = [
        {chance.choice(names): _value(chance) for _ in range(chance.randrange(6))} for _ in range(300)
    ]
    texts = [
        json.dumps(d, ensure_ascii=chance.random() < 0.5, indent=chance.choice([None, 1])) for d in documents
    ]
    expected = [[_text(document.get(name)) for name in names] for document in documents]
    assert fields(spark, texts, "'" + "\\0".join(names) + "'") == expected


def _value(chance: random.Random) -> Any:
    scalars = [
        None,
        True,
        0,
        -17,
        2**70,
        "",
        'q"\\/',
        "tab\t",
        "é😀",
        chance.random() * 10 ** chance.randrange(-8, 9),
    ]
    return chance.choice([*scalars, [], {"a": [1, " x "]}])


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float):
        return format(Decimal(repr(value)).normalize(), "f")
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value, separators=(",", ":"))


def test_a_missing_document_has_no_fields(spark: SparkSession) -> None:
    install(spark)
    row = spark.sql("SELECT tailrace_json_fields(NULL, X'61'), tailrace_is_json(NULL)").first()
    assert row is not None
    assert tuple(row) == (None, None)


STRINGS = ["", "plain", 'q"\\/', "\n\r\t\b\f", "\x00\x01\x1f\x7f", "é😀\u2028", '"' * 40, "a\x0bb"]


def test_a_text_becomes_a_json_string(spark: SparkSession) -> None:
    install(spark)
    rows = spark.createDataFrame([(text.encode(),) for text in STRINGS] + [(None,)], "data binary")
    found = [row[0] for row in rows.selectExpr("tailrace_json_string(data)").collect()]
    assert found == [json.dumps(text, ensure_ascii=False) for text in STRINGS] + [None]


SAME = [
    ('{"b":1,"a":"x"}', '{"a":"x","b":1}'),
    (' { "a" : "\\u0078" , "b" : [ 1 , { } , [ ] , null , true ] } ', '{"a":"x","b":[1,{},[],null,true]}'),
    ('{"a":12345678901234567890123456789012345678901}', '{"a":12345678901234567890123456789012345678901}'),
    ('{"a":1,"a":2}', '{"a":2}'),
    ('"q\\"\\u000a"', '"q\\"\\n"'),
    ("7", "7"),
    ('"é"', '"é"'),
    ("1.0", "1"),
    ("1.50", "1.5"),
    ("1e2", "100"),
    ("-0.0", "0"),
    ("{", "{"),
    ("1 1", "1 1"),
]


def test_all_spellings_of_a_document_are_one_text(spark: SparkSession) -> None:
    install(spark)
    rows = spark.createDataFrame([(document.encode(),) for document, _ in SAME], "data binary")
    found = [row[0] for row in rows.selectExpr("tailrace_json_same(data)").collect()]
    assert found == [text for _, text in SAME]


def test_a_session_with_its_jvm_elsewhere_is_refused() -> None:
    class Remote:
        """As Spark Connect's."""

    with pytest.raises(SqlError, match="cannot be given Tailrace's functions") as refused:
        install(Remote())  # type: ignore[arg-type]
    assert "one of Spark Connect has none" in str(refused.value.hint)
