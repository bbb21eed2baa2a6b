"""Sinks for tests: on topics of their own, told what to write in plain Python, read back independently."""

import json
import uuid
from collections import Counter
from typing import Any

from tailrace.formats.encoders import encoder
from tailrace.ivm.zset import ZSet
from tailrace.kafka.connection import KafkaConnection
from tailrace.sinks.kafka_definition import KafkaSinkDefinition
from tailrace.testing.broker import Broker
from tailrace.testing.topics import Message, read_committed, settle
from tailrace.types.core import INTEGER, TEXT, Column

SCHEMA = (Column("k", INTEGER), Column("v", TEXT))


def definition_of(broker: Broker, **more: Any) -> KafkaSinkDefinition:
    """An upsert sink of rows (k, v) with key k, in JSON, with topics that no other test uses."""
    fresh = uuid.uuid4().hex[:8]
    defaults: dict[str, Any] = {
        "id": "u7",
        "name": "totals_out",
        "connection": connection_of(broker, fresh),
        "region": "here",
        "topic": f"totals.{fresh}",
        "schema": SCHEMA,
        "key": (0,),
        "key_format": encoder("json"),
        "value_format": encoder("json"),
        "envelope": "upsert",
    }
    return KafkaSinkDefinition(**{**defaults, **more})


def connection_of(broker: Broker, fresh: str | None = None) -> KafkaConnection:
    fresh = fresh or uuid.uuid4().hex[:8]
    return KafkaConnection(
        id=fresh,  # transactional ids contain it
        name="kafka",
        brokers=(broker.bootstrap,),
        security_protocol="PLAINTEXT",
        progress_topic=f"_materialize-progress-here-{fresh}",
    )


def zset(*rows: tuple[Any, ...], large: bool = False, positive: bool = False) -> ZSet:
    """Rows (k, v, weight).  `large` makes a sink believe that they are many."""
    values = ", ".join(f"({k}, {_text(v)}, {weight}L)" for k, v, weight in rows)
    sql = f"SELECT CAST(c0 AS int) AS c0, c1, weight FROM VALUES {values} AS t(c0, c1, weight)"
    return ZSet(arity=2, sql=sql, rows=10_000_000 if large else len(rows), positive=positive)


def numbers(count: int, large: bool = False, sql: str = "concat('v', id)") -> ZSet:
    """Rows (0, v0), (1, v1), …"""
    rows = f"SELECT CAST(id AS int) AS c0, {sql} AS c1, 1L AS weight FROM range({count})"
    return ZSet(arity=2, sql=rows, rows=10_000_000 if large else count, positive=True)


def told(sink: KafkaSinkDefinition) -> list[Message]:
    """What a reader of committed messages sees once nothing is open any more."""
    bootstrap = sink.connection.brokers[0]
    settle(bootstrap, sink.topic)
    return read_committed(bootstrap, sink.topic)


def changes(sink: KafkaSinkDefinition) -> Counter[str]:
    """Key, value and tick of each message, counted."""
    return Counter(
        json.dumps([_parsed(each.key), _parsed(each.value), int(each.headers["materialize-timestamp"] or -1)])
        for each in told(sink)
    )


def upserts(rows: dict[int, str | None], tick: int) -> Counter[str]:
    """What an upsert sink tells of these rows: None is a deletion."""
    return Counter(
        json.dumps([{"k": k}, None if v is None else {"k": k, "v": v}, tick]) for k, v in rows.items()
    )


def records(sink: KafkaSinkDefinition) -> list[tuple[str, dict[str, Any]]]:
    """All progress records, in order."""
    bootstrap, topic = sink.connection.brokers[0], sink.connection.progress_topic
    settle(bootstrap, topic)
    return [((each.key or b"").decode(), _parsed(each.value)) for each in read_committed(bootstrap, topic)]


def _parsed(part: bytes | None) -> Any:
    return None if part is None else json.loads(part)


def _text(value: str | None) -> str:
    return "CAST(NULL AS string)" if value is None else f"'{value}'"
