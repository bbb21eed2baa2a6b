"""CREATE TABLE … WITH ('connector' = …): what is understood, and errors one can act on.

« stands before the token that the caret must point at.
"""

from __future__ import annotations

import pytest

from tailrace.errors import SqlError
from tailrace.sql.unparse import Printer
from tailrace.statements.create_flink_table import CreateFlinkTable, Role
from tailrace.statements.create_table import CreateTable
from tailrace.statements.registry import parse_statement
from tailrace.types.core import BYTEA, INTEGER, TEXT, Column, ListOf, MapOf, Numeric, Record, TimestampTz

KAFKA = "'connector' = 'kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'b'"
UPSERT = "'connector' = 'upsert-kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'b'"
KEYED = "'key.format' = 'json', 'value.format' = 'json'"


def table(columns: str, options: str) -> CreateFlinkTable:
    parsed = parse_statement(f"CREATE TABLE t ({columns}) WITH ({options})")
    assert isinstance(parsed, CreateFlinkTable)
    return parsed


def test_types_become_ours() -> None:
    columns = "a ROW<x INT, y ARRAY<MAP<STRING, BYTES>>>, b DECIMAL(10, 2), c TIMESTAMP_LTZ(3) NOT NULL, d STRING"
    found = table(columns, KAFKA + ", 'format' = 'json'").columns
    assert [column.type for column in found] == [
        Record((Column("x", INTEGER), Column("y", ListOf(MapOf(BYTEA))))),
        Numeric(2),
        TimestampTz(3),
        TEXT,
    ]
    assert [column.not_null for column in found] == [False, False, True, False]


def test_columns_have_roles() -> None:
    metadata = "ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp', `offset` BIGINT METADATA VIRTUAL"
    columns = f"`userId` INT, {metadata}, d AS 1 + 1"
    found = table(columns, KAFKA + ", 'format' = 'json'").columns
    assert [(c.name, c.role, c.key, c.is_written) for c in found] == [
        ("userId", Role.PHYSICAL, None, True),
        ("ts", Role.METADATA, "timestamp", True),
        ("offset", Role.METADATA, "offset", False),
        ("d", Role.COMPUTED, None, False),
    ]


def test_a_table_without_string_keys_is_not_flinks() -> None:
    assert isinstance(parse_statement("CREATE TABLE t (a int) WITH (RETAIN HISTORY = FOR '1 day')"), CreateTable)


def test_passwords_are_not_printed() -> None:
    made = table("a INT", KAFKA + ", 'format' = 'json', 'properties.sasl.jaas.config' = 'hunter2'")
    assert "hunter2" not in made.create_sql(Printer())
    assert made.options.sensitive() == {"properties.sasl.jaas.config": "hunter2"}


LOGINS = (
    "'avro-confluent.basic-auth.credentials-source' = 'USER_INFO', 'avro-confluent.basic-auth.user-info' = 'hunter2'",
    "'avro-confluent.bearer-auth.credentials-source' = 'STATIC_TOKEN', 'avro-confluent.bearer-auth.token' = 'hunter2'",
    "'avro-confluent.ssl.keystore.location' = 'f', 'avro-confluent.ssl.keystore.password' = 'hunter2'",
    "'avro-confluent.ssl.truststore.location' = 'f', 'avro-confluent.ssl.truststore.password' = 'hunter2'",
    "'debezium-avro-confluent.basic-auth.credentials-source' = 'USER_INFO'",
    "'debezium-avro-confluent.basic-auth.user-info' = 'hunter2'",
    "'debezium-avro-confluent.bearer-auth.credentials-source' = 'STATIC_TOKEN'",
    "'debezium-avro-confluent.bearer-auth.token' = 'hunter2'",
    "'debezium-avro-confluent.ssl.keystore.location' = 'f'",
    "'debezium-avro-confluent.ssl.keystore.password' = 'hunter2'",
    "'debezium-avro-confluent.ssl.truststore.location' = 'f'",
    "'debezium-avro-confluent.ssl.truststore.password' = 'hunter2'",
)


@pytest.mark.parametrize("login", LOGINS)
def test_logins_at_registries_are_not_printed_and_what_is_printed_is_taken_again(login: str) -> None:
    format = login.split("'")[1].split(".")[0]
    made = table("a INT", KAFKA + f", 'format' = '{format}', '{format}.url' = 'u', {login}")
    shown = made.create_sql(Printer())
    assert "hunter2" not in shown
    assert isinstance(parse_statement(shown.removesuffix(";")), CreateFlinkTable)


ERRORS = [
    ("a INT", "«'topic' = 't'", "Table options do not contain an option key 'connector'"),
    ("a INT", "'connector' = «'kafak'", "Could not find any factory for identifier 'kafak'"),
    ("a INT", KAFKA + ", 'format' = «'jsn'", "Could not find any factory for identifier 'jsn'"),
    ("a INT", KAFKA + ", 'format' = «'protobuf'", "format 'protobuf' of Kafka tables not yet supported"),
    ("a INT", KAFKA + ", 'format' = 'json', «'scan.startup.mod' = 'x'", "Unsupported options found for 'kafka'."),
    ("a INT", KAFKA + ", 'format' = 'json', «'csv.null-literal' = 'x'", "Unsupported options found for 'kafka'."),
    ("a INT", UPSERT + ", «'scan.startup.mode' = 'earliest-offset'", "Unsupported options found for 'upsert-kafka'."),
    ("a INT", KAFKA + ", 'format' = 'json', «'format' = 'csv'", "option 'format' specified more than once"),
    ("a INT", KAFKA + ", 'format' = 'json', 'scan.parallelism' = «'0'", "Invalid value for option 'scan.parallelism'."),
    ("a INT", KAFKA + ", 'scan.startup.mode' = «'first'", "Invalid value for option 'scan.startup.mode'."),
    (
        "a INT",
        "«'connector' = 'kafka', 'topic' = 't', 'format' = 'json'",
        "One or more required options are missing.",
    ),
    ("a INT", "«" + KAFKA, "One or more required options are missing."),
    ("a INT", "«" + KAFKA + ", 'format' = 'avro-confluent'", "One or more required options are missing."),
    ("a INT", KAFKA + ", 'value.format' = 'json', «'format' = 'json'", "shouldn't be set together"),
    ("a INT", KAFKA + ", «'topic-pattern' = 't', 'format' = 'json'", "Option 'topic' and 'topic-pattern' shouldn't"),
    (
        "a INT",
        "«'connector' = 'kafka', 'properties.bootstrap.servers' = 'b', 'format' = 'json'",
        "Either 'topic' or 'topic-pattern' must be set.",
    ),
    ("a INT", KAFKA + ", 'format' = 'json', «'key.fields' = 'a'", "The option 'key.fields' can only be declared if"),
    ("a INT", KAFKA + ", 'format' = 'json', «'key.format' = 'json'", "A key format 'key.format' requires"),
    ("a INT", KAFKA + f", {KEYED}, «'key.fields' = 'b'", "Could not find the field 'b' in the table schema"),
    (
        "k_a INT",
        KAFKA + f", {KEYED}, 'key.fields' = 'k_a', «'key.fields-prefix' = 'k_'",
        "A key prefix is not allowed when option 'value.fields-include' is set to 'ALL'.",
    ),
    (
        "a INT",
        KAFKA + f", {KEYED}, 'key.fields' = 'a', «'key.fields-prefix' = 'k_', 'value.fields-include' = 'EXCEPT_KEY'",
        "All fields in 'key.fields' must be prefixed with 'k_'",
    ),
    (
        "a INT",
        KAFKA + ", 'format' = 'json', «'scan.startup.mode' = 'timestamp'",
        "'scan.startup.timestamp-millis' is required in 'timestamp' startup mode but missing.",
    ),
    (
        "a INT",
        KAFKA + ", 'format' = 'json', «'scan.bounded.mode' = 'specific-offsets'",
        "'scan.bounded.specific-offsets' is required in 'specific-offsets' bounded mode but missing.",
    ),
    (
        "a INT",
        KAFKA + ", 'format' = 'json', 'scan.startup.specific-offsets' = «'1:2'",
        "Invalid value for option 'scan.startup.specific-offsets'.",
    ),
    (
        "a INT",
        KAFKA + f", {KEYED}, 'key.fields' = 'a', «'sink.partitioner' = 'round-robin'",
        "Currently 'round-robin' partitioner only works when option 'key.fields' is not specified.",
    ),
    (
        "a INT",
        KAFKA + ", 'format' = 'json', «'sink.partitioner' = 'org.mycompany.MyPartitioner'",
        "sink.partitioner 'org.mycompany.MyPartitioner' not supported",
    ),
    (
        "a INT",
        KAFKA + ", 'format' = 'json', «'sink.semantic' = 'exactly-once'",
        "sink.transactional-id-prefix must be specified when using DeliveryGuarantee.EXACTLY_ONCE.",
    ),
    (
        "a INT, PRIMARY KEY (a) NOT ENFORCED",
        "«" + KAFKA + ", 'format' = 'json'",
        "with 'json' format doesn't support defining PRIMARY KEY constraint",
    ),
    ("a INT", "«" + UPSERT + f", {KEYED}", "'upsert-kafka' tables require to define a PRIMARY KEY constraint."),
    (
        "a INT, PRIMARY KEY (a) NOT ENFORCED",
        UPSERT + ", 'key.format' = 'json', «'value.format' = 'debezium-json'",
        "'upsert-kafka' connector doesn't support 'debezium-json' as value format",
    ),
    ("a INT, «PRIMARY KEY (a)", KAFKA, "Flink doesn't support ENFORCED mode for PRIMARY KEY constraint."),
    ("a INT, «a INT", KAFKA, 'column "a" specified more than once'),
    ("a «INTT", KAFKA, 'type "INTT" does not exist'),
    ("a «MULTISET<INT>", KAFKA, "type MULTISET not yet supported"),
    ("a INT, «WATERMARK FOR a AS a", KAFKA, "Invalid data type of time field for watermark definition."),
    ("a INT, «WATERMARK FOR b AS b", KAFKA, 'column "b" named in WATERMARK does not exist'),
    (
        "a INT",
        KAFKA + ", 'format' = 'json', 'json.ignore-parse-errors' = 'true', «'json.fail-on-missing-field' = 'true'",
        "fail-on-missing-field and ignore-parse-errors shouldn't both be true.",
    ),
]


@pytest.mark.parametrize(("columns", "options", "message"), ERRORS, ids=[case[2][:50] for case in ERRORS])
def test_an_error_points_at_what_is_wrong(columns: str, options: str, message: str) -> None:
    marked = f"CREATE TABLE t ({columns}) WITH ({options})"
    with pytest.raises(SqlError) as caught:
        parse_statement(marked.replace("«", ""))
    assert message in caught.value.message
    assert caught.value.position == marked.index("«") + 1


def test_an_unknown_option_is_told_its_neighbour() -> None:
    with pytest.raises(SqlError) as caught:
        table("a INT", KAFKA + ", 'format' = 'json', 'scan.startup.mod' = 'x'")
    assert caught.value.hint == "Did you mean 'scan.startup.mode'?"
