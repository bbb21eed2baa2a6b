"""A history that failed, as a script: the smallest that Hypothesis found stays in tests/scripts/ until somebody looks.

A script compares every view with a recompute after each tick, so it needs no expectations to fail again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from properties.world import TABLES, Row, World

SCRIPTS = Path(__file__).parents[1] / "scripts"

Ticked = Sequence[tuple[Row, int]]
"""Rows and their weights."""


@contextmanager
def keeping(name: str, world: World, views: Mapping[str, str], folder: Path = SCRIPTS) -> Iterator[None]:
    """Writes `found_{name}.sql` if what is done inside fails.  Hypothesis runs the smallest failure last."""
    try:
        yield
    except Exception as error:
        (folder / f"found_{name}.sql").write_text(script(name, views, world.history, error))
        raise


def script(name: str, views: Mapping[str, str], history: Sequence[str | Mapping[str, Ticked]], error: object) -> str:
    first = str(error).splitlines()[0] if str(error) else type(error).__name__
    lines = [f"-- found_{name}: {first}"]
    lines += [f"CREATE TABLE {table} ({', '.join(columns)});" for table, columns in TABLES.items()]
    lines += [f"CREATE MATERIALIZED VIEW {view} AS {query};" for view, query in views.items()]
    for step in history:
        if isinstance(step, str):
            lines.append(f"-- {step}")
        elif changes := "; ".join(f"{table} {_rows(rows)}" for table, rows in step.items() if rows):
            lines.append(f"tick    {changes}")
    return "\n".join(lines) + "\n"


def _rows(rows: Ticked) -> str:
    return " ".join(f"{'+' if weight > 0 else '-'}({', '.join(map(_literal, row))})" for row, weight in rows)


def _literal(value: object) -> str:
    if value is None:
        return "NULL"
    return repr(value) if isinstance(value, int | float) else "'" + str(value).replace("'", "''") + "'"
