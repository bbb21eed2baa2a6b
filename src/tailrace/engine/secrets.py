"""Values of connection options that may be secrets, looked up when a client needs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailrace.secret import Secret
from tailrace.sql.names import SecretRef

if TYPE_CHECKING:
    from tailrace.engine.engine import Engine


def needed(engine: Engine, value: str | SecretRef) -> Secret:
    if isinstance(value, str):
        return Secret(value)
    item = engine.catalog.expect(value.name.parts, ("secret",), value.name.position)
    return engine.storage.secret(item.id)


def revealed(engine: Engine, value: str | SecretRef | None) -> Secret | None:
    """The same for what may not be given."""
    return None if value is None else needed(engine, value)
