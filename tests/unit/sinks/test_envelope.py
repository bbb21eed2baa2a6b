"""Random Z-sets, not consolidated and with any weights, against the pairing written in plain Python."""

import json
import random
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import zip_longest

import pyarrow as pa
import pytest

from tailrace.errors import NotSupported, SqlError
from tailrace.formats.encode_contract import Origin
from tailrace.formats.encode_json import JsonEncoder
from tailrace.formats.encoders import encoder
from tailrace.ivm.zset import ZSet
from tailrace.sinks import pairing
from tailrace.sinks.envelope import Envelope
from tailrace.types.core import INTEGER, TEXT, Column, MapOf

SCHEMA = (Column("k", INTEGER), Column("v", TEXT))


def envelope(kind: str, key: tuple[int, ...] | None = (0,), **formats: str) -> Envelope:
    return Envelope(
        kind=kind,
        schema=SCHEMA,
        key=key,
        key_format=encoder(formats.get("key_format", "json")),
        value_format=encoder(formats.get("value_format", "json")),
    )


def zset(rows, positive: bool = False) -> ZSet:
    values = ", ".join(f"({k}, '{v}', {weight}L)" for k, v, weight in rows)
    sql = f"SELECT * FROM VALUES {values} AS t(c0, c1, weight)"
    return ZSet(arity=2, sql=sql, rows=len(rows), positive=positive)


def random_rows(seed: int, weights: range, count: int = 300):
    draw = random.Random(seed)
    nonzero = [weight for weight in weights if weight]
    return [(draw.randrange(40), draw.choice("abcd"), draw.choice(nonzero)) for _ in range(count)]


def by_spark(spark, envelope: Envelope, delta: ZSet) -> pa.Table:
    return spark.sql(envelope.messages(delta, 3)).toArrow()


def on_the_driver(spark, envelope: Envelope, delta: ZSet) -> pa.Table:
    encoded = spark.sql(envelope.encoded(delta)).toArrow()
    return pairing.messages(encoded, envelope, positive=delta.positive)


both_ways = pytest.mark.parametrize("messages", [by_spark, on_the_driver])


def counted(messages: pa.Table) -> Counter:
    found = Counter()
    for row in messages.to_pylist():
        parts = [None if part is None else json.loads(part) for part in (row["key"], row["value"])]
        found[json.dumps(parts)] += row["copies"]
    return found


def expected(rows, kind: str, keyed: bool) -> Counter:
    weights: Counter = Counter()
    for k, v, weight in rows:
        weights[(k, v)] += weight
    changes = defaultdict(lambda: ([], []))
    for (k, v), weight in sorted(weights.items()):
        group = k if keyed else (k, v)
        changes[group][weight > 0].extend([{"k": k, "v": v}] * abs(weight))
    found: Counter = Counter()
    for group, (gone, come) in changes.items():
        key = {"k": group} if keyed else None
        for before, after in zip_longest(gone, come):
            value = after if kind == "upsert" else {"before": before, "after": after}
            found[json.dumps([key, value])] += 1
    return found


KINDS = pytest.mark.parametrize(
    ("kind", "keyed"), [("upsert", True), ("debezium", True), ("debezium", False)]
)


@both_ways
@KINDS
def test_changes_are_paired_per_key(spark, messages, kind, keyed):
    rows = random_rows(1, range(-3, 4))
    found = messages(spark, envelope(kind, (0,) if keyed else None), zset(rows))
    assert counted(found) == expected(rows, kind, keyed)


@both_ways
@KINDS
def test_a_zset_that_only_grows_gives_the_same_without_a_shuffle(spark, messages, kind, keyed):
    rows = random_rows(3, range(1, 4), count=60)
    told, delta = envelope(kind, (0,) if keyed else None), zset(rows, positive=True)
    assert counted(messages(spark, told, delta)) == expected(rows, kind, keyed)
    assert "Exchange" not in spark.sql(told.messages(delta, 3))._jdf.queryExecution().toString()


@both_ways
@KINDS
def test_rows_that_cancel_out_are_not_told(spark, messages, kind, keyed):
    rows = [(1, "a", 1), (1, "a", -1), (2, "b", 2), (2, "b", -2)]
    assert len(messages(spark, envelope(kind, (0,) if keyed else None), zset(rows))) == 0


@both_ways
def test_framing_stands_before_every_part_but_not_before_a_tombstone(spark, messages):
    told = replace(envelope("upsert"), key_format=Framed(), value_format=Framed())
    found = messages(spark, told, zset([(1, "a", 1), (2, "b", -1)])).to_pylist()
    assert sorted((row["key"], row["value"] or b"") for row in found) == [
        (b'\x00\x07{"k":1}', b'\x00\x07{"k":1,"v":"a"}'),
        (b'\x00\x07{"k":2}', b""),
    ]


class Framed(JsonEncoder):
    """JSON as a schema registry would frame it."""

    prefix = b"\x00\x07"


@pytest.mark.parametrize("positive", [True, False])
@pytest.mark.parametrize("keyed", [True, False])
def test_slots_are_a_function_of_the_bytes_and_each_is_one_spark_partition(spark, keyed, positive):
    rows = random_rows(4, range(1, 2) if positive else range(-2, 3))
    told = envelope("debezium", (0,) if keyed else None)
    found = []
    for partitions in (1, 5):
        spread = f"SELECT /*+ REPARTITION({partitions}) */ * FROM ({zset(rows).sql})"
        delta = ZSet(arity=2, sql=spread, rows=len(rows), positive=positive)
        sql = f"SELECT spark_partition_id() AS task, * FROM ({told.slotted(delta, 4)})"
        found.append(spark.sql(sql).toArrow().to_pylist())
    one, other = ({(row["slot"], row["key"], row["value"]) for row in each} for each in found)
    assert one == other
    assert len({row["slot"] for row in found[0]}) == 4
    assert all(row["slot"] == row["task"] for row in found[1])


def test_one_shuffle_is_enough_for_consolidating_and_pairing(spark):
    for kind in ("upsert", "debezium"):
        sql = envelope(kind).slotted(zset(random_rows(5, range(-3, 4))), 4)
        executed = spark.sql(sql)._jdf.queryExecution().executedPlan().toString()
        assert executed.count("Exchange ") == 1, executed


def test_key_and_value_may_have_different_formats(spark):
    delta = zset([(7, "x", 1)])
    [row] = spark.sql(envelope("upsert", key_format="text").messages(delta, 1)).collect()
    assert (row.key, row.value) == (b"7", b'{"k":7,"v":"x"}')


def test_an_upsert_without_key_is_refused():
    with pytest.raises(SqlError, match="upsert sinks must specify a key"):
        envelope("upsert", None).check()


def test_a_format_that_cannot_hold_the_rows_is_refused():
    with pytest.raises(NotSupported, match="multiple columns"):
        envelope("upsert", value_format="text").check()
    with pytest.raises(NotSupported, match="multiple columns"):
        envelope("upsert", (0, 1), key_format="bytes").check()


def with_extras(kind: str, key: tuple[int, ...] | None = (0,)) -> Envelope:
    """The partition is a function of the key, as it must be for DEBEZIUM; headers tell the value."""
    headers = {"headers": 2} if kind == "upsert" else {}
    schema = (*SCHEMA, Column("h", MapOf(TEXT)))
    return replace(envelope(kind, key), schema=schema, partition_by="CAST(c0 * 7 AS bigint)", **headers)


def zset_with_map(rows) -> ZSet:
    entries = "map('v', c1, 'materialize-x', 'no', 'n', CAST(NULL AS string))"
    sql = f"SELECT c0, c1, {entries} AS c2, weight FROM ({zset(rows).sql})"
    return ZSet(arity=3, sql=sql, rows=len(rows))


@both_ways
@KINDS
def test_extras_are_of_the_new_row_or_else_of_the_old_one(spark, messages, kind, keyed):
    rows = [(1, "a", -1), (1, "b", 1), (2, "c", -1), (3, "d", 2), (4, "e", 1), (4, "e", -1)]
    found = messages(spark, with_extras(kind, (0,) if keyed else None), zset_with_map(rows)).to_pylist()
    for row in found:
        value = json.loads(row["value"]) if row["value"] else None
        after = value if kind == "upsert" else value["after"] or value["before"]
        k = json.loads(row["key"])["k"] if keyed else after["k"]
        assert row["p"] == k * 7
        if kind == "upsert":
            shown = "c" if value is None else value["v"]
            assert row["h"] == f"6E:-,76:{shown.encode().hex().upper()}"
    assert sum(row["copies"] for row in found) == (4 if keyed else 5)


@both_ways
def test_a_null_map_has_no_headers(spark, messages):
    delta = ZSet(arity=3, sql="SELECT 1 AS c0, 'a' AS c1, CAST(NULL AS map<string,string>) AS c2, 1L AS weight", rows=1)
    [row] = messages(spark, with_extras("upsert"), delta).to_pylist()
    assert row["h"] is None


@both_ways
def test_a_change_may_say_what_it_did_when_and_to_what(spark, messages):
    origin = Origin(name="here", database="d", schema="s", table="t")
    told = replace(envelope("debezium"), origin=origin).at(7)
    found = messages(spark, told, zset([(1, "a", 1), (2, "b", -1), (3, "c", -1), (3, "d", 1)]))
    values = {json.loads(row["key"])["k"]: json.loads(row["value"]) for row in found.to_pylist()}
    assert {k: value["op"] for k, value in values.items()} == {1: "c", 2: "d", 3: "u"}
    assert all((value["ts_ms"], value["source"]["ts_ms"]) == (7, 7) for value in values.values())
    assert list(values[3]) == ["before", "after", "source", "op", "ts_ms"]
