"""What the catalog holds: named items, each the statement that made it and what followed from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tailrace.errors import SqlError
from tailrace.plan.nodes import Key, Node
from tailrace.types.core import Schema

DEFAULT_DATABASE = "materialize"
DEFAULT_SCHEMA = "public"
DEFAULT_CLUSTER = "quickstart"
TEMPORARY = "temporary"
"""Fact of what goes with the session that made it."""
RELATIONS = ("table", "source", "view", "materialized view", "system table")


@dataclass(frozen=True, slots=True)
class FullName:
    database: str
    schema: str
    item: str

    def __str__(self) -> str:
        return ".".join(self.parts)

    @property
    def parts(self) -> tuple[str, str, str]:
        return self.database, self.schema, self.item


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """`statement` is the parsed CREATE statement; `create_sql` prints it with full names and is what is stored.

    `facts` are durable decisions of the moment of creation (the tick, start offsets): small JSON values.
    Relations have a `schema`; views a `plan`; `keys` and `append_only` are what the planner could prove.
    `broken`: why it could not be made again at a start.  Then it has no column and no plan, and stands still.
    """

    id: str
    kind: str
    name: FullName
    statement: Any
    create_sql: str
    depends_on: frozenset[str] = frozenset()
    schema: Schema | None = None
    plan: Node | None = None
    keys: frozenset[Key] = frozenset()
    append_only: bool = False
    watermark: int | None = None  # the place of the column that has one
    cluster: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    broken: SqlError | None = None

    @property
    def part_of(self) -> str | None:
        """The id of the item that this one came with, and goes with."""
        facts = ("dead_letters_of", "progress_of", "part_of", "hinted", "index_of")
        owners = (self.facts.get(fact) for fact in facts)
        return next((owner for owner in owners if owner is not None), None)

    @property
    def is_temporary(self) -> bool:
        """It goes with the session that made it, and no other one sees it."""
        return bool(getattr(self.statement, "temporary", False) or self.facts.get(TEMPORARY))

    @property
    def number(self) -> int:
        return int(self.id[1:])

    @property
    def is_too_old(self) -> bool:
        """It needs something that was made while it was planned (a table that a hint asked for)."""
        return any(id.startswith("u") and int(id[1:]) > self.number for id in self.depends_on)

    @property
    def rank(self) -> tuple[bool, int]:
        """What an item needs ranks before it: items in order of creation, then sinks, which ALTER SINK may have read
        something younger, and which nobody needs."""
        return self.kind == "sink", self.number


def whole(item: Item) -> Item:
    """The item, for whoever needs to know what it is made of.  Raises if it is broken."""
    if item.broken is None:
        return item
    broken = item.broken
    raise SqlError(broken.message, detail=broken.detail, hint=broken.hint, sqlstate="55000")
