"""Sinks: typed clauses, and the checks that need no catalog."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tailrace.errors import SqlError
from tailrace.sql.names import Name
from tailrace.statements.avro_options import AvroDoc
from tailrace.statements.create_sink import CreateSink, DeliveryGuarantee
from tailrace.statements.formats import AvroRegistry, Json, Text
from tailrace.statements.registry import parse_statement
from tailrace.statements.sinks.kafka import SinkEnvelope

INTO = "CREATE SINK s FROM v INTO KAFKA CONNECTION k (TOPIC 't') "
AVRO = "FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION csr "


def sink(text: str) -> CreateSink:
    statement = parse_statement(text)
    assert isinstance(statement, CreateSink)
    return statement


def test_every_clause_becomes_a_field() -> None:
    statement = sink(
        "CREATE SINK IF NOT EXISTS a.s IN CLUSTER c FROM b.v INTO KAFKA CONNECTION k (TOPIC 't',"
        " TOPIC PARTITION COUNT 4, TOPIC CONFIG MAP['a' => 'b'], PARTITION BY = f(x, y))"
        " KEY (x, y) NOT ENFORCED HEADERS h KEY FORMAT TEXT VALUE FORMAT JSON ENVELOPE UPSERT"
        " WITH (SNAPSHOT = false, DELIVERY GUARANTEE 'at-least-once')"
    )
    assert (statement.name, statement.relation) == (Name(("a", "s")), Name(("b", "v")))
    assert (statement.cluster, statement.if_not_exists, statement.snapshot) == ("c", True, False)
    assert statement.delivery_guarantee is DeliveryGuarantee.AT_LEAST_ONCE
    target = statement.target
    assert (target.topic, target.topic_partition_count, target.topic_config) == ("t", 4, (("a", "b"),))
    assert target.partition_by is not None
    assert target.partition_by.text == "f(x, y)"
    assert target.key is not None
    assert (target.key.columns, target.key.enforced) == (("x", "y"), False)
    assert (target.headers, target.envelope) == ("h", SinkEnvelope.UPSERT)
    assert (target.formats.of_key, target.formats.value) == (Text(), Json())


def test_defaults() -> None:
    statement = sink(INTO + "FORMAT JSON ENVELOPE DEBEZIUM")
    assert statement.snapshot
    assert statement.delivery_guarantee is DeliveryGuarantee.EXACTLY_ONCE
    assert statement.target.compression_type == "lz4"
    assert statement.target.topic_metadata_refresh_interval == timedelta(seconds=30)
    assert statement.target.formats.of_key == Json()


def test_avro_documentation_is_kept_by_schema() -> None:
    statement = sink(
        INTO + "KEY (a) " + AVRO + "(DOC ON TYPE t = 'both', KEY DOC ON COLUMN s.t.a = 'key') ENVELOPE UPSERT"
    )
    format_ = statement.target.formats.value
    assert isinstance(format_, AvroRegistry)
    assert format_.options.docs == (AvroDoc(Name(("t",)), None, "both"),)
    assert format_.options.key_docs == (AvroDoc(Name(("s", "t")), "a", "key"),)


def test_the_key_s_position_is_that_of_its_columns() -> None:
    text = INTO + "KEY (a) FORMAT JSON ENVELOPE UPSERT"
    key = sink(text).target.key
    assert key is not None
    assert key.position == text.index("(a)") + 1


@pytest.mark.parametrize(
    ("clauses", "message"),
    [
        ("KEY «(a, b, a) FORMAT JSON ENVELOPE UPSERT", "duplicate column referenced in KEY: a"),
        ("FORMAT JSON «ENVELOPE UPSERT", "upsert sinks must specify a key"),
        (
            "KEY (a) «HEADERS h FORMAT JSON ENVELOPE DEBEZIUM",
            "HEADERS option is not supported with ENVELOPE DEBEZIUM",
        ),
        (
            AVRO + "(«AVRO KEY FULLNAME 'a', AVRO VALUE FULLNAME 'b') ENVELOPE DEBEZIUM",
            "Cannot specify AVRO KEY FULLNAME without a corresponding KEY field",
        ),
        (
            "KEY (a) " + AVRO + "(AVRO KEY FULLNAME 'a') ENVELOPE UPSERT",
            "Must specify both AVRO KEY FULLNAME and AVRO VALUE FULLNAME when specifying generated",
        ),
    ],
)
def test_clauses_that_parse_but_do_not_fit(clauses: str, message: str) -> None:
    statement = sink(INTO + clauses.replace("«", ""))
    with pytest.raises(SqlError) as error:
        statement.target.check()
    assert message in error.value.message
    if "«" in clauses:
        assert error.value.position == len(INTO) + clauses.index("«") + 1


def test_a_good_sink_passes_the_check() -> None:
    sink(INTO + "KEY (a) HEADERS h " + AVRO + "ENVELOPE UPSERT").target.check()
