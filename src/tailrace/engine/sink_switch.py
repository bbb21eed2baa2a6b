"""ALTER SINK … SET FROM: a sink goes on with the changes of another relation, under the same clauses.

Law: there is one tick T at which the target holds all that the sink owes of the old relation, and the new one can be
read.  Between two ticks the catalog gets the new relation and T, in one step.  Before that step a crash leaves the old
sink; after it the new one, which owes nothing up to T, whatever the target has on record.  So every change of the old
relation up to T and of the new one after T arrives once, and none of the new one's content at T.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from tailrace.catalog.items import Item, whole
from tailrace.engine import avro_sinks, privileges, sinks
from tailrace.engine.contents import wait_until_filled
from tailrace.engine.define import Identity, scan_of
from tailrace.engine.widening import WIDTH, altered_meanwhile, read_by
from tailrace.errors import SqlError
from tailrace.sinks.kafka_definition import KafkaSinkDefinition
from tailrace.sql.names import Name
from tailrace.statements.sinks.kafka import KafkaTarget
from tailrace.testing.crash import crash_point

if TYPE_CHECKING:
    from tailrace.engine.engine import Engine
    from tailrace.engine.session import EngineSession
    from tailrace.statements.create_sink import CreateSink

SWITCHED, VERSION = "switched", "version"
"""Facts of a sink: the tick T of its last switch, and how many there were."""

_LOOK_SECONDS = 0.05


def switch(session: EngineSession, sink: Item, relation: Name) -> None:
    """Returns when the new relation is the sink's.  Waits, as long as the session wants to, for a sink that stands
    still: before it has written what it owes, there is no T."""
    engine = session.engine
    whole(sink)
    statement = _switched(session, sink, relation)
    new, target = sinks.checked(session, statement)
    privileges.require(session, "SELECT", new)
    statement = replace(statement, target=target)
    facts = {name: fact for name, fact in sink.facts.items() if name != WIDTH}
    after = sinks.item(session, statement, Identity(id=sink.id, name=sink.name, facts=facts))
    if not isinstance(target, KafkaTarget):
        _refuse_other_columns(read_by(sink.facts, engine.catalog.items[sink.facts["from"]]), new)
    definition = sinks.definition(engine, after, new)
    if isinstance(definition, KafkaSinkDefinition):
        avro_sinks.check_compatible(definition)
    wait_until_filled(engine, scan_of(new))
    deadline = session.deadline()
    lanes = engine.cluster.lanes.of([sink.id])
    while not engine.loop.do(lambda: _attempt(engine, sink, after, new), lanes=lanes):
        _check_in_time(session, sink, deadline)
        time.sleep(_LOOK_SECONDS)


def _check_in_time(session: EngineSession, sink: Item, deadline: float) -> None:
    """Raises if the statement is to end now; whoever has waited in vain gets to know what for."""
    try:
        session.check_in_time(deadline)
    except SqlError as error:
        status = session.engine.statuses.of(sink.id)
        error.detail = f'Sink "{sink.name}" has not written all that it owes of its old relation.'
        if status.status == "stalled":
            error.detail += f"  It stands still: {status.error}"
            error.hint = status.hint or "DROP it and CREATE it from the other relation: it then begins with a snapshot."
        raise


def _switched(session: EngineSession, sink: Item, relation: Name) -> CreateSink:
    """The statement with another relation; documentation of the old one's columns is now the new one's."""
    statement: CreateSink = replace(sink.statement, relation=relation)
    if isinstance(statement.target, KafkaTarget):
        old, new = session.engine.catalog.items[sink.facts["from"]], session.resolve(relation)
        target = avro_sinks.documented_anew(session.engine, statement.target, old, new)
        statement = replace(statement, target=target)
    return statement


def _refuse_other_columns(old: Item, new: Item) -> None:
    """A target has the columns of the relation that it was made for.  More may come, if older rows need no value."""
    before, after = ({column.name: column for column in item.schema or ()} for item in (old, new))
    other = [name for name, column in before.items() if name not in after or after[name].type != column.type]
    needed = [name for name, column in after.items() if name not in before and not column.nullable]
    if not other and not needed:
        return
    raise SqlError(
        f'{new.kind} "{new.name}" has other columns than {old.kind} "{old.name}"',
        detail=f'Column "{other[0]}" is missing, or of another type.'
        if other
        else f'Column "{needed[0]}" is new and never NULL, and older rows of the target have no value for it.',
        hint="Create a sink of its own for it.",
        sqlstate="42P16",
    )


def _attempt(engine: Engine, before: Item, after: Item, new: Item) -> bool:
    """Switches now, between two ticks, if this is a T.  Called by the tick loop's thread."""
    cluster = engine.cluster
    with engine.lock:
        for item in (before, new):
            if engine.catalog.items.get(item.id) is not item:
                raise altered_meanwhile(item)
        delivery, t = cluster.deliveries[after.id], cluster.done
        if not delivery.owes_nothing(t) or not cluster.knows(scan_of(new), t):
            delivery.begin_interval(after.statement.commit_interval)  # no need to wait for its end
            return False
        version = after.facts.get(VERSION, 0) + 1
        after = replace(after, facts={**after.facts, "from": new.id, SWITCHED: t, VERSION: version})
        crash_point("sink.before_switch")
        engine.swap(after)
        crash_point("sink.switched")
    delivery.switch(new.id, cluster.operator(scan_of(new), delivery.lane), sinks.open_sink(engine, after, new))
    return True
