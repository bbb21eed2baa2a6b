"""What a kind of sink is to the engine: from a CREATE SINK to a definition, and from that to a running sink."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from tailrace.catalog.items import Item
from tailrace.engine.define import Identity
from tailrace.sinks.contract import Sink

if TYPE_CHECKING:
    from tailrace.engine.engine import Engine
    from tailrace.statements.create_sink import CreateSink

Definition = TypeVar("Definition")


@dataclass(frozen=True, kw_only=True, slots=True)
class SinkRequest:
    """A CREATE SINK whose names are resolved.  `connection` is of any type: the definition wants its own."""

    engine: Engine
    statement: CreateSink
    identity: Identity
    relation: Item
    connection: Item


@dataclass(frozen=True, kw_only=True, slots=True)
class SinkKind(Generic[Definition]):
    """`define` raises SqlError if such a sink cannot be; it touches nothing outside.  `open` neither: its first
    `progress` does."""

    define: Callable[[SinkRequest], Definition]
    open: Callable[[Engine, Definition], Sink]
