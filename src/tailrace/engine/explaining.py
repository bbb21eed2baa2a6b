"""EXPLAIN: the operators of a query, the rule that keeps each up to date, and the state it holds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tailrace.catalog.items import Item, whole
from tailrace.engine import sinks
from tailrace.engine.avro_sinks import KEY, VALUE
from tailrace.engine.define import scan_of
from tailrace.engine.rows import rows_of
from tailrace.engine.sink_key import key_places
from tailrace.errors import NotSupported, SqlError
from tailrace.formats.encode_avro import AvroEncoder
from tailrace.ivm.dataflow import Dataflow
from tailrace.ivm.operator import Operator
from tailrace.ivm.rules.arrange import Arranged
from tailrace.plan.explain import explain
from tailrace.plan.keys import infer_keys
from tailrace.plan.nodes import Node, Scan
from tailrace.plan.walk import nodes
from tailrace.state.store import Store
from tailrace.statements.contract import Result
from tailrace.statements.sinks.contract import SinkEnvelope
from tailrace.statements.sinks.kafka import KafkaTarget
from tailrace.ticks.lane import owner_of
from tailrace.types.core import BEGINNING, TEXT, Column, Schema, Tick

if TYPE_CHECKING:
    from tailrace.engine.engine import Engine
    from tailrace.engine.session import EngineSession
    from tailrace.statements.explain import ExplainPlan, ExplainSchema, ExplainTimestamp
    from tailrace.ticks.cluster import Cluster

COLUMNS: Schema = (Column("plan", TEXT, nullable=False),)
TIMESTAMP: Schema = (Column("Timestamp", TEXT, nullable=False),)


def plan(session: EngineSession, statement: ExplainPlan) -> Result:
    """No Spark job; nothing is created."""
    node = _node(session, statement)
    items = session.catalog.items
    cluster = None if statement.name is None else session.resolve(statement.name).cluster
    annotations = _Annotations(session.engine, node, cluster or session.variables.get("cluster"))
    text = explain(node, annotations, lambda id: items[id].name.item if id in items else id)
    keys = sorted(sorted(node.schema[i].name for i in key) for key in infer_keys(node))
    shown = ", ".join("(" + ", ".join(key) + ")" for key in keys) or "none"
    return Result(tag="EXPLAIN", columns=COLUMNS, rows=rows_of(COLUMNS, [(f"{text}\nkeys: {shown}",)]))


def schema_columns(statement: ExplainSchema) -> Schema:
    return (Column("key_schema" if statement.of_key else "value_schema", TEXT, nullable=False),)


def schema(session: EngineSession, statement: ExplainSchema) -> Result:
    """The Avro schema that a sink would publish.  Nothing is created, and nobody asked."""
    relation, target = sinks.checked(session, statement.sink)
    if not isinstance(target, KafkaTarget):
        raise NotSupported(f"EXPLAIN SCHEMA for a {target.type} sink not yet supported")
    encoder = sinks.encoder_of(session.engine, target, KEY if statement.of_key else VALUE, relation)
    if not isinstance(encoder, AvroEncoder):
        raise NotSupported(f"EXPLAIN SCHEMA for a sink with FORMAT {encoder.name.upper()} not yet supported")
    assert relation.schema is not None
    if not statement.of_key:
        text = encoder.schema(relation.schema, change=target.envelope is SinkEnvelope.DEBEZIUM)
    elif target.key is not None:
        places = key_places(relation.schema, target.key)
        text = encoder.schema(tuple(relation.schema[place] for place in places), change=False)
    else:
        raise SqlError("CREATE SINK does not have a key")
    columns = schema_columns(statement)
    pretty = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    return Result(tag="EXPLAIN", columns=columns, rows=rows_of(columns, [(pretty,)]))


def timestamp(session: EngineSession, statement: ExplainTimestamp) -> Result:
    """The time that the query would be answered as of, and what each of its inputs can be read at.  Nothing is read.

    A frontier is the first time that is *not* known yet (write), or still known (read), as in `mz_frontiers`.
    """
    engine, cluster = session.engine, session.engine.cluster
    node = session.bind(statement.query).node
    read = {each.relation: each for each in nodes(node) if isinstance(each, Scan) and each.relation.startswith("u")}
    held = None if session.transaction is None else session.transaction.tick
    chosen = cluster.still(cluster.done) if held is None else held
    known = {item.id: (item, *_frontiers(cluster, scan)) for item, scan in _in_order(engine, read)}
    uppers = [upper for _, _, upper in known.values()] or [Tick(cluster.frontier + 1)]
    facts = {
        "query_timestamp": chosen,
        "upper": min(uppers),
        "since": max((since for _, since, _ in known.values()), default=BEGINNING),
        "can_respond_immediately": cluster.are_ready(read) and cluster.reach(read) >= (held or cluster.done),
        "session_wall_time": cluster.frontier,
    }
    sources = [
        {"name": str(item.name), "id": item.id, "kind": item.kind, "read_frontier": since, "write_frontier": upper}
        for item, since, upper in known.values()
    ]
    text = json.dumps({**facts, "sources": sources}, indent=2) if statement.as_json else _shown(facts, sources)
    return Result(tag="EXPLAIN", columns=TIMESTAMP, rows=rows_of(TIMESTAMP, [(text,)]))


def _in_order(engine: Engine, read: Mapping[str, Scan]) -> list[tuple[Item, Scan]]:
    return sorted(((engine.catalog.items[id], scan) for id, scan in read.items()), key=lambda pair: pair[0].number)


def _frontiers(cluster: Cluster, scan: Scan) -> tuple[Tick, Tick]:
    view = cluster.maintained.get(scan.relation)
    reached = cluster.frontier if view is None or view.frontier == cluster.done else view.frontier
    return cluster.readable_since(cluster.reader(scan)), Tick(reached + 1)


def _shown(facts: Mapping[str, Any], sources: Iterable[Mapping[str, Any]]) -> str:
    lines = [_line(name, value) for name, value in facts.items()]
    for source in sources:
        lines += ["", f"source {source['name']} ({source['id']}, {source['kind']}):"]
        lines += [_line(name, source[name]) for name in ("read_frontier", "write_frontier")]
    return "\n".join(lines)


def _line(name: str, value: int) -> str:
    return f"{name.replace('_', ' '):>30}: {_moment(value)}"


def _moment(value: int) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    at = datetime.fromtimestamp(value / 1000, UTC).isoformat(" ", "milliseconds").removesuffix("+00:00")
    return f"{value} ({at})"


def _node(session: EngineSession, statement: ExplainPlan) -> Node:
    if statement.name is not None:
        item = whole(session.resolve(statement.name, str(statement.kind)))
        return item.plan or scan_of(item)
    query = getattr(statement.statement, "query", None)
    if query is None:
        raise NotSupported(f"EXPLAIN {type(statement.statement).__name__} not yet supported")
    return session.bind(query).node


class _Annotations:
    """What EXPLAIN writes beside a node: its rule, and the rows of state it holds now."""

    def __init__(self, engine: Engine, node: Node, cluster: str) -> None:
        # A dataflow of its own: explaining must not leave operators or traces behind.
        store = Store(views=engine.views, directory=engine.store.directory, traces=dict(engine.store.traces))
        self._living = engine.store.traces
        dataflow = Dataflow(store, engine.cluster.leaf, owner_of(engine.clusters.lane(cluster)))
        self._rules: dict[Node, str] = {}
        self._note(dataflow.operator(node))

    def _note(self, operator: Operator | Arranged) -> None:
        if isinstance(operator, Arranged):
            self._note(operator.input)
            return
        rows = sum(self._living[trace.id].rows for trace in operator.traces() if trace.id in self._living)
        state = f", {rows:,} rows of state" if operator.traces() else ""
        self._rules.setdefault(operator.node, f"[{operator.rule}{state}]")
        for below in operator.below:
            self._note(below)

    def __call__(self, node: Node) -> str:
        return self._rules.get(node, "")
