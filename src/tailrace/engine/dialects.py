"""Whose SQL a statement is: Materialize's or Flink's.

Each statement says it itself (`auto`): a table whose options have strings for names is Flink's, and so are jobs and
statement sets; everything else is read the same in both.  `SET dialect` forces one of them, and then what only the
other has is refused.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tailrace.errors import InvalidOption, NotSupported

if TYPE_CHECKING:
    from tailrace.engine.session import EngineSession

_OF_FLINK = ("CreateFlinkTable", "StatementSet", "Jobs")
_OF_MATERIALIZE = (
    *("CreateCluster", "CreateConnection", "CreateIndex", "CreateMaterializedView", "CreateSecret", "CreateSink"),
    *("CreateSource", "CreateTableFromSource", "Subscribe", "Copy"),
)


def check(session: EngineSession, statement: object) -> None:
    """Raises SqlError for a statement that the session's dialect does not have."""
    dialect, kind = session.variable("dialect"), type(statement).__name__
    if dialect == "flink" and kind == "CreateTable":
        raise InvalidOption(
            "Table options do not contain an option key 'connector' for discovering a connector.",
            hint="SET dialect = auto takes tables without a connector too.",
        )
    if dialect == "flink" and kind in _OF_MATERIALIZE:
        raise _not_of(dialect, kind, "Materialize's")
    if dialect == "materialize" and (kind in _OF_FLINK or getattr(statement, "of_flink", False)):
        raise _not_of(dialect, kind, "Flink's")


def _not_of(dialect: str, kind: str, whose: str) -> NotSupported:
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind).upper()
    return NotSupported(
        f"{words} is no statement of dialect {dialect}",
        detail=f"It is {whose} SQL.",
        hint="SET dialect = auto takes both.",
    )
