"""Pieces of a statement that other layers give a meaning to: names and embedded SQL."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Name:
    """`[[database.]schema.]item`, already case-folded.  Two are equal wherever they stand."""

    parts: tuple[str, ...]
    position: int | None = field(default=None, compare=False)

    @property
    def item(self) -> str:
        return self.parts[-1]

    def __str__(self) -> str:
        return ".".join(self.parts)


@dataclass(frozen=True, slots=True)
class QueryText:
    """A query or expression as it was written.

    `start` counts characters from 0 in the string that the client sent, so that an error inside it can
    point at the right place.
    """

    text: str
    start: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class SecretRef:
    """`SECRET name`: a value that only the connection's client sees."""

    name: Name


class ObjectKind(StrEnum):
    """What can be dropped, altered, commented on and shown.  The value is how messages call it."""

    CLUSTER = "cluster"
    CLUSTER_REPLICA = "cluster replica"
    CONNECTION = "connection"
    DATABASE = "database"
    INDEX = "index"
    MATERIALIZED_VIEW = "materialized view"
    ROLE = "role"
    SCHEMA = "schema"
    SECRET = "secret"
    SINK = "sink"
    SOURCE = "source"
    TABLE = "table"
    TYPE = "type"
    VIEW = "view"
