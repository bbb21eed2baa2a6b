"""After ALTER CONNECTION or ALTER SECRET: whatever runs with the old settings goes on with the new ones.

Nothing is lost or repeated: a source keeps its positions in the tick log, and a sink asks its target what it holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailrace.catalog.items import Item

if TYPE_CHECKING:
    from tailrace.engine.engine import Engine


def reopen_users(engine: Engine, id: str) -> None:
    """Of a connection or a secret, also through other connections.  Returns when the tick loop has them."""
    items = engine.catalog.items.values()
    changed = _connections_with(engine, id)
    users = [
        item
        for item in items
        if (item.kind in ("source", "sink") or "source" in item.facts) and item.depends_on & changed
    ]

    def reopen() -> None:
        for item in sorted(users, key=lambda item: item.number):
            engine.running.reopen(item)

    if users:
        engine.loop.do(reopen, lanes=engine.cluster.lanes.of(item.id for item in users))


def _connections_with(engine: Engine, id: str) -> frozenset[str]:
    """The thing itself and all connections that need it.  In no order: ALTER lets an old one need a new one."""
    changed, connections = {id}, list(engine.catalog.of_kind("connection"))
    while more := {item.id for item in connections if item.depends_on & changed} - changed:
        changed |= more
    return frozenset(changed)


def altered(engine: Engine, connection: Item) -> None:
    """Makes the connection what it is from now on."""
    engine.swap(connection)
    reopen_users(engine, connection.id)
