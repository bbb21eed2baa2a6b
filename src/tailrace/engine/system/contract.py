"""A system relation: its name, its columns, and a function from the session to rows.  One entry is all it needs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tailrace.plan.type_names import type_of
from tailrace.types.core import Column, Schema

if TYPE_CHECKING:
    from tailrace.engine.session import EngineSession

Rows = Iterable[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class SystemTable:
    """Values are those of plan/values.py; a timestamp is a datetime in UTC without its zone."""

    schema: str
    name: str
    columns: Schema
    rows: Callable[[EngineSession], Rows]


def table(name: str, columns: str, rows: Callable[[EngineSession], Rows]) -> SystemTable:
    """`table("mz_catalog.mz_roles", "id text, oid oid, comment text?", rows)`; `?`: may be NULL."""
    schema, _, relation = name.partition(".")
    return SystemTable(schema, relation, tuple(_column(text) for text in re.split(r",\s*", columns)), rows)


def _column(text: str) -> Column:
    name, _, type = text.strip().rstrip("?").partition(" ")
    return Column(name, type_of(type), nullable=text.endswith("?"))


def empty(name: str, columns: str) -> SystemTable:
    """A relation that clients look into and where there is never anything."""
    return table(name, columns, lambda _: ())
