"""Connections: what the options add up to, and how ALTER changes them."""

from __future__ import annotations

import pytest

from tailrace.errors import SqlError
from tailrace.sql.names import Name, SecretRef
from tailrace.statements.alter_connection import AlterConnection
from tailrace.statements.connections.csr import CsrDetails
from tailrace.statements.connections.kafka import Broker, KafkaDetails
from tailrace.statements.create_connection import CreateConnection
from tailrace.statements.registry import parse_statement


def create(text: str) -> CreateConnection:
    statement = parse_statement(text)
    assert isinstance(statement, CreateConnection)
    return statement


def kafka(options: str) -> KafkaDetails:
    details = create(f"CREATE CONNECTION k TO KAFKA ({options})").details
    assert isinstance(details, KafkaDetails)
    return details


def registry(options: str) -> CsrDetails:
    details = create(f"CREATE CONNECTION c TO CONFLUENT SCHEMA REGISTRY ({options})").details
    assert isinstance(details, CsrDetails)
    return details


@pytest.mark.parametrize(
    ("options", "protocol"),
    [
        ("BROKER 'a'", "SSL"),
        ("BROKER 'a', SECURITY PROTOCOL plaintext", "PLAINTEXT"),
        ("BROKER 'a', SASL MECHANISMS plain, SASL USERNAME 'u', SASL PASSWORD SECRET p", "SASL_SSL"),
        ("BROKER 'a', AWS CONNECTION aws", "SASL_SSL"),
    ],
)
def test_plaintext_must_be_asked_for(options: str, protocol: str) -> None:
    assert kafka(options).security_protocol == protocol


def test_options_become_fields() -> None:
    details = kafka(
        "BROKERS ('a:1', 'b:2'), SASL MECHANISMS 'scram-sha-256', SASL USERNAME SECRET u,"
        " SASL PASSWORD SECRET p, PROGRESS TOPIC 't', PROGRESS TOPIC REPLICATION FACTOR 2"
    )
    assert details.brokers == (Broker("a:1"), Broker("b:2"))
    assert details.sasl_mechanism == "SCRAM-SHA-256"
    assert details.sasl_username == SecretRef(Name(("u",)))
    assert (details.progress_topic, details.progress_topic_replication_factor) == ("t", 2)


@pytest.mark.parametrize(
    ("options", "url", "assumed"),
    [
        ("URL 'http://h:8081'", "http://h:8081", False),
        ("URL 'https://h/apis/ccompat/v7'", "https://h/apis/ccompat/v7", False),
        ("URL 'h:8081'", "http://h:8081", True),
        ("URL 'h:8081', SSL KEY SECRET k, SSL CERTIFICATE SECRET c", "https://h:8081", True),
        ("URL 'http://h:1/x', PORT 2", "http://h:2/x", False),
    ],
)
def test_a_registry_url_gets_a_scheme(options: str, url: str, assumed: bool) -> None:
    details = registry(options)
    assert (details.url, details.scheme_assumed) == (url, assumed)


def test_validation_is_the_default_and_can_be_refused() -> None:
    assert create("CREATE CONNECTION k TO KAFKA (BROKER 'a')").validate
    assert not create("CREATE CONNECTION k TO KAFKA (BROKER 'a') WITH (VALIDATE = false)").validate


def alter(before: str, change: str) -> KafkaDetails:
    created = create(f"CREATE CONNECTION k TO KAFKA ({before})")
    statement = parse_statement(f"ALTER CONNECTION k {change}")
    assert isinstance(statement, AlterConnection)
    details = created.type.altered(created.details, statement.change, statement.reset)
    assert isinstance(details, KafkaDetails)
    return details


def test_alter_changes_all_or_nothing() -> None:
    details = alter("BROKER 'a', SECURITY PROTOCOL PLAINTEXT", "SET (BROKERS ('b', 'c')), DROP (BROKER)")
    assert details.brokers == (Broker("b"), Broker("c"))
    assert details.security_protocol == "PLAINTEXT"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("SET (BROKER 'b'), RESET (BROKER)", "cannot both SET and DROP/RESET options BROKER"),
        ("SET (PROGRESS TOPIC 'x')", "cannot ALTER KAFKA option PROGRESS TOPIC"),
        ("SET (REGION 'x')", "KAFKA connections do not support REGION values"),
        ("RESET (BROKER)", "must set one of BROKER"),
        ("SET (BROKERS ('b'))", "can only set one of BROKER"),
    ],
)
def test_alter_refuses_what_create_would(change: str, message: str) -> None:
    with pytest.raises(SqlError) as error:
        alter("BROKER 'a'", change)
    assert message in error.value.message
