"""What the catalog held, at a start.  What this version cannot make of its statement stands still alone, and says why.

An upgrade may refuse what an older version took.  A view, a sink or a job of which that is so is broken: it can be
dropped, nothing can be made of it, everything else goes on.  No checkpoint is written while there is one, so that its
state and all ticks since stay: when a version that can make it opens the directory, it goes on as if nothing had been.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from tailrace.catalog.items import DEFAULT_CLUSTER, RELATIONS, Item
from tailrace.catalog.storage import Stored
from tailrace.errors import SqlError
from tailrace.statements.registry import parse_statement

if TYPE_CHECKING:
    from tailrace.engine.engine import Engine
    from tailrace.engine.session import EngineSession

_log = logging.getLogger("tailrace.engine")

_ALONE = ("view", "materialized view", "sink", "job", "index")
_HINT = "DROP it, or open the data directory with the version of Tailrace that made it: it then goes on."


def restored(engine: Engine, stored: Stored) -> Item:
    """Raises if it is something that the others rest on."""
    session = engine.session()
    try:
        return engine.running.restore(stored, session)
    except SqlError as error:
        broken = SqlError(
            f'{stored.kind} "{stored.name}" cannot be made again: {error.message}',
            detail="Another version of Tailrace has made it.  The data directory is as it was.",
            hint="Open the data directory with that version.",
            sqlstate=error.sqlstate,
        )
        statement = _parsed(session, stored) if stored.kind in _ALONE else None
        if statement is None:
            raise broken from error
        broken.detail, broken.hint = "Another version of Tailrace has made it.", _HINT
        _log.warning("object cannot be made again id=%s name=%s error=%s", stored.id, stored.name, error.message)
        return _standing_still(session, stored, statement, broken)


def _parsed(session: EngineSession, stored: Stored) -> Any:
    """None if it is no statement of this version: then nobody knows what it needs."""
    try:
        return parse_statement(stored.create_sql.rstrip().removesuffix(";"), types=session.type)
    except SqlError:
        return None


def _standing_still(session: EngineSession, stored: Stored, statement: Any, broken: SqlError) -> Item:
    """As much of it as can be known."""
    needs = {stored.facts[fact] for fact in ("from", "index_of") if fact in stored.facts}
    if stored.kind == "sink":
        needs |= {session.resolve(name).id for name in statement.target.connections}
    else:
        needs |= session.used()
    runs = stored.kind in ("materialized view", "sink", "job")
    return Item(
        id=stored.id,
        kind=stored.kind,
        name=stored.name,
        statement=statement,
        create_sql=stored.create_sql,
        depends_on=frozenset(needs),
        schema=() if stored.kind in RELATIONS else None,
        cluster=(getattr(statement, "cluster", None) or DEFAULT_CLUSTER) if runs else None,
        facts=stored.facts,
        broken=broken,
    )
