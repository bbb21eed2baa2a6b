"""What the other statements hold after parsing: a claim for each that has a trap in it."""

from __future__ import annotations

from typing import Any

import pytest

from tailrace.sql.names import Name, ObjectKind, QueryText
from tailrace.statements.create_table import CreateTable
from tailrace.statements.create_table_from_source import CreateTableFromSource
from tailrace.statements.explain import ExplainPlan, Stage
from tailrace.statements.ingest import EnvelopeKind, Metadata
from tailrace.statements.registry import parse_statement
from tailrace.statements.show_create import ShowCreate
from tailrace.statements.show_objects import ShowObjects
from tailrace.statements.show_variable import ShowVariable
from tailrace.statements.sources.kafka import KafkaOrigin
from tailrace.statements.subscribe import KeyedOutput, OrderedOutput


def parse(text: str) -> Any:
    return parse_statement(text)


def test_a_secret_is_hidden_but_can_be_had() -> None:
    statement = parse("CREATE SECRET s AS 'hunter''2'")
    assert statement.value.literal.reveal() == "hunter'2"
    assert "hunter" not in repr(statement)
    computed = parse("CREATE SECRET s AS decode('c2Vj', 'base64')").value
    assert computed.literal is None
    assert computed.query() == QueryText("decode('c2Vj', 'base64')")
    assert "c2Vj" not in repr(computed)


def test_a_kafka_source() -> None:
    source = parse(
        "CREATE SOURCE s FROM KAFKA CONNECTION k (TOPIC 't', START OFFSET (1, 2))"
        " KEY FORMAT TEXT VALUE FORMAT JSON INCLUDE KEY AS k, OFFSET"
        " ENVELOPE UPSERT (VALUE DECODING ERRORS = INLINE)"
    )
    assert isinstance(source.origin, KafkaOrigin)
    assert (source.origin.topic, source.origin.start_offset) == ("t", (1, 2))
    assert [(each.metadata, each.alias) for each in source.ingest.include] == [
        (Metadata.KEY, "k"),
        (Metadata.OFFSET, None),
    ]
    assert source.ingest.envelope.kind is EnvelopeKind.UPSERT
    assert source.ingest.envelope.error_column == "error"


def test_columns_of_a_primary_key_are_not_null() -> None:
    table = parse("CREATE TABLE t (a int, b int DEFAULT 1, PRIMARY KEY (a))")
    assert isinstance(table, CreateTable)
    assert [column.not_null for column in table.columns] == [True, False]
    assert table.keys[0].columns == ("a",)


def test_a_default_ends_before_the_next_constraint() -> None:
    (column,) = parse("CREATE TABLE t (a int DEFAULT f(1, 2) + 3 NOT NULL)").columns
    assert (column.default, column.not_null) == (QueryText("f(1, 2) + 3"), True)


@pytest.mark.parametrize("text", ["CREATE TABLE t FROM SOURCE s", "CREATE TABLE t (a, b) FROM SOURCE s"])
def test_a_table_from_a_source_is_told_from_a_table(text: str) -> None:
    assert isinstance(parse(text), CreateTableFromSource)


def test_a_query_keeps_its_text_and_place() -> None:
    text = "CREATE MATERIALIZED VIEW v AS SELECT 'a', /* c */ 2  -- end"
    query = parse(text).query
    assert query.text == "SELECT 'a', /* c */ 2"
    assert text[query.start :].startswith(query.text)


def test_insert_tells_columns_from_a_query() -> None:
    assert parse("INSERT INTO t (a, b) VALUES (1, 2)").columns == ("a", "b")
    assert parse("INSERT INTO t (SELECT 1)").columns == ()
    assert parse("INSERT INTO t (a) (SELECT 1) RETURNING a").query == QueryText("(SELECT 1)")
    assert parse("INSERT INTO t DEFAULT VALUES").query is None


def test_update_splits_at_commas_outside_parentheses() -> None:
    update = parse("UPDATE t SET a = f(1, 2), b = (SELECT 1 WHERE true) WHERE c")
    assert [(each.column, each.value.text) for each in update.assignments] == [
        ("a", "f(1, 2)"),
        ("b", "(SELECT 1 WHERE true)"),
    ]
    assert update.where == QueryText("c")


def test_update_takes_values_from_other_relations() -> None:
    update = parse("UPDATE t SET a = u.x, b = c IS DISTINCT FROM d FROM u, w AS v WHERE t.k = u.k")
    assert [each.value.text for each in update.assignments] == ["u.x", "c IS DISTINCT FROM d"]
    assert (update.using, update.where) == (QueryText("u, w AS v"), QueryText("t.k = u.k"))


def test_update_of_several_columns_at_once() -> None:
    text = "(a, b) = ROW (1, f(2, 3)), (c, d) = ((SELECT 4), DEFAULT), (e, f) = (SELECT 5, 6)"
    update = parse(f"UPDATE t SET {text} WHERE g")
    assert [(each.column, each.value.text, each.of) for each in update.assignments] == [
        ("a", "1", None),
        ("b", "f(2, 3)", None),
        ("c", "(SELECT 4)", None),
        ("d", "DEFAULT", None),
        ("e", "(SELECT 5, 6)", (0, 2)),
        ("f", "(SELECT 5, 6)", (1, 2)),
    ]
    assert update.where == QueryText("g")


def test_as_of_is_not_part_of_the_query() -> None:
    select = parse("SELECT * FROM t AS OF AT LEAST now()")
    assert (select.query, select.as_of.time, select.as_of.at_least) == (
        QueryText("SELECT * FROM t"),
        QueryText("now()"),
        True,
    )


def test_subscribe_takes_its_envelope_in_both_places() -> None:
    first = parse("SUBSCRIBE t ENVELOPE UPSERT (KEY (a)) WITH (PROGRESS) AS OF 1 UP TO 2")
    last = parse("SUBSCRIBE t WITH (PROGRESS) AS OF 1 UP TO 2 ENVELOPE UPSERT (KEY (a))")
    assert first == last
    assert isinstance(first.output, KeyedOutput)
    assert (first.as_of.time, first.up_to) == (QueryText("1"), QueryText("2"))
    ordered = parse("SUBSCRIBE t WITHIN TIMESTAMP ORDER BY a, b DESC AS OF 1")
    assert ordered.output == OrderedOutput(order_by=QueryText("a, b DESC"))


def test_explain_holds_the_statement() -> None:
    explain = parse("EXPLAIN PHYSICAL PLAN FOR SELECT 1")
    assert isinstance(explain, ExplainPlan)
    assert (explain.stage, explain.statement) == (Stage.PHYSICAL, parse("SELECT 1"))
    assert parse("EXPLAIN VIEW v").name == Name(("v",))


def test_show_finds_the_longest_start() -> None:
    assert parse("SHOW MATERIALIZED VIEWS IN CLUSTER c") == ShowObjects(
        kind="materialized views", cluster="c"
    )
    assert parse("SHOW CREATE MATERIALIZED VIEW v") == ShowCreate(
        kind=ObjectKind.MATERIALIZED_VIEW, name=Name(("v",))
    )
    assert parse("SHOW cluster") == ShowVariable(variable="cluster")
    assert parse("SHOW TIME ZONE") == ShowVariable(variable="timezone")


def test_set_keeps_values_as_text() -> None:
    assert parse("SET search_path = public, 'b'").values == ("public", "b")
    assert parse("SET x TO -1.5").values == ("-1.5",)
    assert parse("SET x TO DEFAULT").values is None
    assert parse("SET TIME ZONE 'UTC'").variable == "timezone"
    assert parse("SET LOCAL cluster = c").local


def test_drop_takes_several_names() -> None:
    drop = parse("DROP MATERIALIZED VIEW IF EXISTS a, b.c CASCADE")
    assert (drop.kind, [name.parts for name in drop.names]) == ("materialized view", [("a",), ("b", "c")])
    assert drop.cascade
    assert drop.if_exists


def test_a_thing_may_be_called_if() -> None:
    assert parse("DROP TABLE if").names == (Name(("if",)),)
    assert parse("CREATE SECRET if AS 'x'").name == Name(("if",))


def test_prepare_keeps_the_statement_and_its_text() -> None:
    prepare = parse("PREPARE p (int) AS INSERT INTO t VALUES ($1)")
    assert prepare.text == QueryText("INSERT INTO t VALUES ($1)")
    assert prepare.statement == parse("INSERT INTO t VALUES ($1)")
