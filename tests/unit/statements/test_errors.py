"""Errors that whoever wrote the SQL can act on.  « stands before the token that the caret must point at."""

from __future__ import annotations

import pytest

from tailrace.errors import SqlError
from tailrace.statements.registry import parse_statement

SINK = "CREATE SINK s FROM v INTO KAFKA CONNECTION k (TOPIC 't') "
SOURCE = "CREATE SOURCE s FROM KAFKA CONNECTION k (TOPIC 't') "
KAFKA = "CREATE CONNECTION k TO KAFKA "
CSR = "CREATE CONNECTION c TO CONFLUENT SCHEMA REGISTRY "
AVRO = "FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION csr "

SYNTAX = [
    ("«", "Expected a keyword at the beginning of a statement, found end of statement"),
    ("«frobnicate x", 'Expected a keyword at the beginning of a statement, found identifier "frobnicate"'),
    ("«FROM t", "Expected a keyword at the beginning of a statement, found FROM"),
    ("CREATE «frob x", "Expected one of CLUSTER or CONNECTION or DATABASE"),
    ("CREATE «", "found end of statement"),
    ("DROP «", "Expected one of CLUSTER or CONNECTION"),
    ("DROP MATERIALIZED «TABLE t", "Expected VIEW, found TABLE"),
    ("DROP TABLE t «u", 'Expected end of statement, found identifier "u"'),
    ("DROP TABLE IF «NOT EXISTS t", "Expected EXISTS, found NOT"),
    ("CREATE SECRET «AS 'x'", "Expected secret name, found AS"),
    ("CREATE SECRET s «'x'", "Expected AS, found string"),
    ("CREATE VIEW «both AS SELECT 1", "Expected view name, found BOTH"),
    ("CREATE MATERIALIZED VIEW IF NOT EXISTS «user AS SELECT 1", "Expected view name, found USER"),
    ("CREATE TABLE «offset (a int)", "Expected table name, found OFFSET"),
    ("CREATE SOURCE «left FROM LOAD GENERATOR COUNTER", "Expected source name, found LEFT"),
    ("CREATE VIEW v AS «DELETE", "Expected one of SELECT or WITH or VALUES or TABLE or SHOW or"),
    ("CREATE VIEW v AS SELECT (1«", 'Expected ")", found end of statement'),
    ("CREATE VIEW v (a «b) AS SELECT 1", 'Expected "," or ")", found identifier "b"'),
    ("CREATE TABLE t (a «)", 'Expected data type, found ")"'),
    ("CREATE TABLE t (a int «frob)", 'Expected "," or ")", found identifier "frob"'),
    ("CREATE SINK s FROM v «FORMAT JSON", "Expected INTO, found FORMAT"),
    ("CREATE SINK s FROM v INTO «FROB", "Expected one of KAFKA or ICEBERG or POSTGRES or REDIS"),
    (SINK + "FORMAT «no_such_format ENVELOPE UPSERT", 'found identifier "no_such_format"'),
    (SINK + "FORMAT JSON «FROB", 'Expected ENVELOPE, found identifier "frob"'),
    (SINK + "FORMAT JSON ENVELOPE «NONE", "Expected one of UPSERT or DEBEZIUM, found NONE"),
    (
        SINK + "FORMAT JSON ENVELOPE DEBEZIUM WITH («frob = 1)",
        "Expected one of PARTITION or SNAPSHOT or VERSION or COMMIT",
    ),
    (
        SOURCE + "FORMAT JSON INCLUDE «FROB",
        "Expected one of KEY or PARTITION or OFFSET or TIMESTAMP or HEADERS",
    ),
    (SOURCE + "FORMAT JSON INCLUDE HEADER 'x'«", "Expected AS, found end of statement"),
    (SOURCE + "FORMAT JSON ENVELOPE «FROB", "Expected one of NONE or UPSERT or DEBEZIUM or MATERIALIZE"),
    (SOURCE + "FORMAT CSV WITH «x COLUMNS", "Expected HEADER or a number of columns, found"),
    ("CREATE SOURCE s FROM «FROB", "Expected one of KAFKA or LOAD or POSTGRES"),
    ("CREATE CONNECTION c TO «FROB (x)", "Expected one of KAFKA or CONFLUENT or POSTGRES"),
    (KAFKA + "(«FROB 'x')", "Expected one of BROKER or BROKERS or AWS or SSH or SECURITY"),
    ("INSERT INTO t «", "Expected one of SELECT or WITH or VALUES"),
    ("UPDATE t a «= 1", "Expected SET, found"),
    ("UPDATE t SET a = «", "Expected expression, found end of statement"),
    ("UPDATE t SET (a, b) = «(1, 2, 3)", "number of columns does not match number of values"),
    ("UPDATE t SET («) = (1)", "Expected column name, found"),
    ("DELETE «t", "Expected FROM, found"),
    ("SHOW CREATE «FROB x", "Expected one of CLUSTER or CONNECTION"),
    ("SUBSCRIBE t ENVELOPE «NONE", "Expected one of UPSERT or DEBEZIUM, found NONE"),
    ("SET x «5", 'Expected "=" or TO, found number 5'),
    ("COMMENT ON COLUMN «a IS 'x'", "need to specify an object and a column"),
    ("EXPLAIN KEY SCHEMA FOR «SELECT 1", "Expected CREATE SINK, found SELECT"),
    ("ALTER SINK s «FROB", "Expected one of SET or RESET or RENAME or OWNER"),
    ("ALTER TABLE t «FROB", "Expected one of ADD or RENAME or SET or RESET or OWNER"),
    ("EXPLAIN «frob", "Expected a keyword at the beginning of a statement"),
]

CONNECTIONS = [
    (KAFKA + "()", "invalid CONNECTION: must set one of BROKER, BROKERS, or AWS PRIVATELINK"),
    (KAFKA + "(BROKER 'a', «BROKERS ('b'))", "can only set one of BROKER, BROKERS, or AWS PRIVATELINK"),
    (KAFKA + "(BROKER 'a', «BROKER 'b')", "BROKER specified more than once"),
    (KAFKA + "(«BROKER 'a:1,b:2')", "cannot specify multiple Kafka broker addresses in one string"),
    (SINK.replace("'t'", "«''") + "FORMAT JSON", "invalid TOPIC: the name of a topic is 1 to 249 letters, digits"),
    (SINK.replace("'t'", "«'..'") + "FORMAT JSON", "invalid TOPIC: the name of a topic is"),
    (SOURCE.replace("'t'", "«'two words'") + "FORMAT JSON", "invalid TOPIC: the name of a topic is"),
    (KAFKA + "(BROKER «'')", "invalid BROKER: cannot be empty"),
    (KAFKA + "(BROKERS ('a', «' '))", "invalid BROKERS: cannot be empty"),
    (KAFKA + "(BROKER 'a', PROGRESS TOPIC «'p/q')", "invalid PROGRESS TOPIC: the name of a topic is"),
    (KAFKA + "(BROKER 'a', «SECURITY PROTOCOL 'X')", "unknown security protocol: X"),
    (KAFKA + "(BROKER 'a', SASL USERNAME 'u')", "SASL MECHANISMS must be specified"),
    (KAFKA + "(BROKER 'a', SASL MECHANISMS PLAIN)", "SASL USERNAME must be specified"),
    (KAFKA + "(BROKER 'a', SASL MECHANISMS PLAIN, SASL USERNAME 'u')", "SASL PASSWORD must be specified"),
    (
        KAFKA + "(BROKER 'a', «SASL MECHANISMS 'X', SASL USERNAME 'u', SASL PASSWORD SECRET p)",
        "invalid SASL MECHANISMS: X",
    ),
    (KAFKA + "(BROKER 'a', SASL PASSWORD = «'x')", "invalid SASL PASSWORD: must provide a secret value"),
    (KAFKA + "(BROKER 'a', «SSL CERTIFICATE 'x')", "SSL KEY must be specified with SSL CERTIFICATE"),
    (
        KAFKA + "(BROKER 'a', SECURITY PROTOCOL PLAINTEXT, «SSL KEY SECRET x)",
        "option SSL KEY not supported with this configuration",
    ),
    (
        KAFKA + "(BROKER 'a', SECURITY PROTOCOL SSL, «SASL USERNAME 'x')",
        "option SASL USERNAME not supported with this configuration",
    ),
    (
        KAFKA + "(BROKER 'a', «PROGRESS TOPIC REPLICATION FACTOR 0)",
        "PROGRESS TOPIC REPLICATION FACTOR must be greater than 0",
    ),
    (
        KAFKA + "(BROKER 'a', «ACCESS KEY ID = 'x', PORT 5)",
        "KAFKA connections do not support ACCESS KEY ID, PORT values",
    ),
    (CSR + "()", "invalid CONNECTION: must specify URL"),
    (CSR + "(«URL 'http://')", "URL must specify domain name"),
    (CSR + "(«URL 'ftp://x')", "unknown scheme ftp"),
    (CSR + "(«URL 'http://x:99999')", "invalid URL: Port out of range"),
    (CSR + "(URL 'x', «SSL KEY SECRET k)", "requires both SSL KEY and SSL CERTIFICATE"),
    (CSR + "(URL 'x', «BROKER 'b')", "CONFLUENT SCHEMA REGISTRY connections do not support BROKER values"),
    ("CREATE CONNECTION c TO «SSH TUNNEL (HOST 'x')", "SSH TUNNEL connections not yet supported"),
    ("CREATE CONNECTION c TO «MYSQL (HOST 'x')", "MYSQL connections not yet supported"),
    ("ALTER CONNECTION c RESET (BROKER, «BROKER)", "BROKER specified more than once"),
]

SINKS = [
    (SINK + "FORMAT JSON«", "ENVELOPE clause is required"),
    (SINK + "FORMAT JSON «MODE UPSERT", "MODE is not supported for Kafka sinks, use ENVELOPE instead"),
    (SINK + "«ENVELOPE UPSERT", "sink without format not yet supported"),
    (SINK + "FORMAT «JSON ARRAY ENVELOPE UPSERT", "JSON ARRAY format in sinks not yet supported"),
    ("CREATE SINK «FROM v INTO KAFKA", "unspecified name for sink"),
    ("CREATE SINK s FROM v INTO KAFKA CONNECTION k «() FORMAT JSON", "KAFKA CONNECTION must specify TOPIC"),
    (
        "CREATE SINK s FROM v INTO KAFKA CONNECTION k (TOPIC 't', «COMPRESSION TYPE 'pied-piper') "
        "FORMAT JSON ENVELOPE DEBEZIUM",
        "invalid COMPRESSION TYPE: pied-piper",
    ),
    (
        "CREATE SINK s FROM v INTO KAFKA CONNECTION k (TOPIC 't', TOPIC REPLICATION FACTOR «0)",
        "TOPIC REPLICATION FACTOR must be a positive integer",
    ),
    (
        "CREATE SINK s FROM v INTO KAFKA CONNECTION k (TOPIC 't', TOPIC PARTITION COUNT = «many)",
        "invalid TOPIC PARTITION COUNT: cannot use value as number",
    ),
    (
        "CREATE SINK s FROM v INTO KAFKA CONNECTION k (TOPIC 't', «TOPIC METADATA REFRESH INTERVAL '1ms') "
        "FORMAT JSON ENVELOPE DEBEZIUM",
        "TOPIC METADATA REFRESH INTERVAL must be at least 1 second",
    ),
    (
        "CREATE SINK s FROM v INTO KAFKA CONNECTION k (TOPIC 't', «TOPIC METADATA REFRESH INTERVAL '2h') "
        "FORMAT JSON ENVELOPE DEBEZIUM",
        "TOPIC METADATA REFRESH INTERVAL cannot be greater than 1 hour",
    ),
    (
        SINK + AVRO + "(«AVRO KEY FULLNAME 'bad-name') ENVELOPE UPSERT",
        "Invalid name. Must start with [A-Za-z_] and subsequently only contain [A-Za-z0-9_]. Found: bad-name",
    ),
    (
        SINK + AVRO + "(NULL DEFAULTS = «'x') ENVELOPE UPSERT",
        "invalid NULL DEFAULTS option value: cannot use value as boolean",
    ),
    (
        SINK + AVRO + "(NULL DEFAULTS, «NULL DEFAULTS) ENVELOPE UPSERT",
        "NULL DEFAULTS specified more than once",
    ),
    (SINK + AVRO + "(DOC ON COLUMN «c = 'x') ENVELOPE UPSERT", "need to specify an object and a column"),
    (SINK + AVRO + "(DOC ON TYPE t«) ENVELOPE UPSERT", "option value: cannot be empty"),
    (SINK + AVRO + "(DOC ON TYPE t = «5) ENVELOPE UPSERT", "cannot use value as string"),
    (
        SINK + AVRO + "(«KEY COMPATIBILITY LEVEL 'x') ENVELOPE UPSERT",
        "invalid KEY COMPATIBILITY LEVEL option value: x",
    ),
    (
        SINK + "FORMAT JSON ENVELOPE DEBEZIUM WITH («VERSION = 1)",
        "CREATE SINK...WITH (VERSION..) is not allowed",
    ),
    (
        SINK + "FORMAT JSON ENVELOPE DEBEZIUM WITH («COMMIT INTERVAL '1s')",
        "COMMIT INTERVAL option is not supported with KAFKA sinks",
    ),
    (
        SINK + "FORMAT JSON ENVELOPE DEBEZIUM WITH («DELIVERY GUARANTEE 'maybe')",
        "invalid DELIVERY GUARANTEE: maybe",
    ),
    ("ALTER SINK s SET («SNAPSHOT = false)", "ALTER SINK ... SET (SNAPSHOT) not yet supported"),
]

SOURCES = [
    ("CREATE SOURCE s FROM KAFKA CONNECTION k «() FORMAT JSON", "KAFKA CONNECTION without TOPIC"),
    (
        "CREATE SOURCE s FROM KAFKA CONNECTION k (TOPIC 't', START OFFSET (0), «START TIMESTAMP 5)",
        "cannot specify START TIMESTAMP and START OFFSET at same time",
    ),
    (
        "CREATE SOURCE s FROM KAFKA CONNECTION k (TOPIC 't', «START OFFSET (0, -1)) FORMAT JSON",
        "START OFFSET must be a nonnegative integer",
    ),
    (
        "CREATE SOURCE s FROM KAFKA CONNECTION k (TOPIC 't', START TIMESTAMP «'x') FORMAT JSON",
        "invalid START TIMESTAMP: cannot use value as number",
    ),
    (
        SOURCE + "FORMAT JSON INCLUDE «KEY",
        "INCLUDE KEY requires specifying KEY FORMAT .. VALUE FORMAT, got bare FORMAT",
    ),
    (
        SOURCE + AVRO + "INCLUDE «KEY ENVELOPE DEBEZIUM",
        "Cannot use INCLUDE KEY with ENVELOPE DEBEZIUM: Debezium values include all keys.",
    ),
    (
        SOURCE + "FORMAT JSON «ENVELOPE UPSERT",
        "ENVELOPE [DEBEZIUM] UPSERT requires that KEY FORMAT be specified",
    ),
    (
        SOURCE + "KEY FORMAT JSON VALUE FORMAT JSON «ENVELOPE DEBEZIUM",
        "ENVELOPE DEBEZIUM requires that VALUE FORMAT is set to AVRO",
    ),
    (SOURCE + "FORMAT «JSON ARRAY", "JSON ARRAY format in sources not yet supported"),
    (SOURCE + "FORMAT CSV WITH 2 COLUMNS DELIMITED BY «'||'", "single ASCII character"),
    ("CREATE SOURCE s FROM «POSTGRES CONNECTION p", "POSTGRES sources not yet supported"),
]

RELATIONS = [
    ("CREATE TABLE t (a int, «a int)", 'column "a" specified more than once'),
    ("CREATE TABLE t (a int, «PRIMARY KEY (b))", 'column "b" named in key does not exist'),
    ("CREATE TABLE t (a int PRIMARY KEY, b int PRIMARY KEY)", "multiple primary keys"),
    ("CREATE TABLE t (a int «CHECK (a > 1))", "CREATE TABLE with CHECK constraint not yet supported"),
    ("CREATE TABLE t (a «frob)", 'type "frob" does not exist'),
    (
        "CREATE MATERIALIZED VIEW v WITH (ASSERT NOT NULL a, «ASSERT NOT NULL a) AS SELECT 1",
        'duplicate column "a" in non-null assertions',
    ),
    (
        "CREATE MATERIALIZED VIEW v WITH («REFRESH EVERY '1 day') AS SELECT 1",
        "REFRESH options of materialized views not yet supported",
    ),
    ("CREATE TYPE t AS (a int, «a int)", 'field "a" specified more than once'),
    ("CREATE CLUSTER c («REPLICATION FACTOR -1)", "REPLICATION FACTOR must not be negative"),
    (
        "SUBSCRIBE t ENVELOPE UPSERT (KEY «(a, a))",
        'column "a" appears more than once in SUBSCRIBE ENVELOPE KEY clause',
    ),
    ("DECLARE c CURSOR «WITH HOLD FOR SELECT 1", "WITH HOLD is unsupported for cursors"),
]


@pytest.mark.parametrize(("marked", "message"), SYNTAX + CONNECTIONS + SINKS + SOURCES + RELATIONS)
def test_the_error_says_what_is_wrong_and_where(marked: str, message: str) -> None:
    text = marked.replace("«", "")
    with pytest.raises(SqlError) as error:
        parse_statement(text)
    assert message in error.value.message
    if "«" in marked:
        assert error.value.position == marked.index("«") + 1


@pytest.mark.parametrize(("marked", "message"), SYNTAX)
def test_syntax_errors_have_their_code(marked: str, message: str) -> None:
    with pytest.raises(SqlError) as error:
        parse_statement(marked.replace("«", ""))
    assert error.value.sqlstate == "42601"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("CREATE SOURCE s FROM LOAD GENERATOR COUNTR", "Did you mean COUNTER?"),
        ("CREATE SOURCE s FROM LOAD GENERATOR tcph (SCALE FACTOR 1)", "Did you mean TPCH?"),
        ("CREATE SOURCE s FROM LOAD GENERATOR xyz", None),
    ],
)
def test_a_name_that_is_nearly_right_is_told_its_neighbour(text: str, hint: str | None) -> None:
    with pytest.raises(SqlError) as caught:
        parse_statement(text)
    assert caught.value.hint == hint


def test_positions_count_from_the_beginning_of_the_script() -> None:
    with pytest.raises(SqlError) as error:
        parse_statement("DROP frob", offset=50)
    assert error.value.position == 56


def test_an_error_in_create_secret_never_repeats_the_secret() -> None:
    for text in ("CREATE SECRET s 'hunter2'", "CREATE SECRET s AS 'hunter2')", "ALTER SECRET s 'hunter2'"):
        with pytest.raises(SqlError) as error:
            parse_statement(text)
        assert "hunter2" not in error.value.message
