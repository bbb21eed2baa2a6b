"""Streaming SQL on Apache Spark: every change of a view reaches its target exactly once."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tailrace.engine.engine import Engine

__all__ = ["Engine"]


def __getattr__(name: str) -> Any:
    """`from tailrace import Engine`, without loading Spark for those who only want a part."""
    if name == "Engine":
        from tailrace.engine.engine import Engine

        return Engine
    raise AttributeError(name)
