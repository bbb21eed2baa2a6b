"""What statements see of the session that runs them: names for annotations, without importing the engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from tailrace.types.core import SqlType

if TYPE_CHECKING:
    from tailrace.engine.session import EngineSession

    Session: TypeAlias = EngineSession
else:
    Session = Any

Arguments: TypeAlias = Sequence[tuple[SqlType, str | None]]
"""The parameters of a prepared statement: type, and PostgreSQL text form or None for NULL."""
