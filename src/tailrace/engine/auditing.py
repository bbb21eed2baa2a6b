"""The audit log: who created, altered, dropped, granted or commented on what, and when.  Kept with the catalog."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tailrace.catalog.items import Item
from tailrace.errors import SqlError
from tailrace.sql.names import Name

if TYPE_CHECKING:
    from tailrace.engine.session import EngineSession

_VERBS = {
    **{"Create": "create", "Drop": "drop", "Comment": "comment"},
    **{"Alter": "alter", "Rename": "alter", "Swap": "alter"},
}


@dataclass(frozen=True, slots=True)
class Concerned:
    """What a statement is about, as it stood before it ran; nothing for what it makes."""

    statement: object
    items: tuple[Item, ...]


def before(session: EngineSession, statement: object) -> Concerned:
    return Concerned(statement, tuple(_items(session, statement)))


def note(session: EngineSession, concerned: Concerned) -> None:
    """One event for each object, now that the statement has taken effect."""
    statement = concerned.statement
    kind = type(statement).__name__
    verb = next((event for prefix, event in _VERBS.items() if kind.startswith(prefix)), None)
    if verb is None and hasattr(statement, "grants"):
        _record(session, "grant" if statement.grants else "revoke", "role", {"statement": kind.lower()})
        return
    items = concerned.items or tuple(_items(session, statement))
    for item in items:
        name = {"database": item.name.database, "schema": item.name.schema, "item": item.name.item}
        _record(session, str(verb), item.kind.replace(" ", "-"), {"id": item.id, **name})
    if not items and verb is not None:
        _record(session, verb, _without_item(statement) or _object_type(kind), {"name": _shown(statement)})


def _items(session: EngineSession, statement: object) -> Iterator[Item]:
    if _without_item(statement) is not None:
        return
    single = (getattr(statement, "name", None), getattr(statement, "object", None))
    for name in (*getattr(statement, "names", ()), *single):
        if isinstance(name, Name):
            try:
                yield session.catalog.resolve(name.parts)
            except SqlError:
                continue


def _without_item(statement: object) -> str | None:
    """The kind, if such things have names of their own: a table may be called the same."""
    if "Cluster" in type(statement).__name__:
        return "cluster"
    kind = getattr(statement, "kind", None)
    return str(kind) if kind in ("cluster", "database", "role", "schema") else None


def _object_type(kind: str) -> str:
    return "-".join(re.findall("[A-Z][a-z]+", kind)[1:]).lower() or "object"


def _shown(statement: object) -> str:
    names = getattr(statement, "names", None) or (getattr(statement, "name", None) or getattr(statement, "object", ""),)
    return ", ".join(map(str, names))


def _record(session: EngineSession, event: str, object_type: str, details: dict[str, Any]) -> None:
    text = json.dumps(details, sort_keys=True, separators=(",", ":"))
    session.engine.storage.audit(event, object_type, text, session.user, time.time())
