"""A change as a target that holds one row for each key wants it: per key, the row it has now, or that it is gone.

The key and the row are Spark text of their outside form, so rows that look the same there are the same.
"""

from __future__ import annotations

from tailrace.ivm.zset import ZSet

INSERT, UPDATE, DELETE = "i", "u", "d"

_PARTITION_ROWS = 100_000  # two partitions are on the driver at a time, and each costs a job
_MOST_PARTITIONS = 1000


def per_key(delta: ZSet, key: str, row: str, partitions: int, *, proven: bool) -> str:
    """Spark text, one row for each key that changed.  One shuffle.  `proven`: no key has two rows at a time.

    `k` and `r`: key and row as they were given, the row being the new one, or the last one the key had.  `change`: how
    the key came to it.  `came`: how many new rows it has; more than one cannot be told.
    """
    if proven and delta.positive:  # a snapshot, or of a relation that only grows: every row is a key's first
        return (
            f"SELECT /*+ REPARTITION({partitions}, k) */ {key} AS k, {row} AS r, 1L AS came, '{INSERT}' AS change"
            f" FROM ({delta.sql})"
        )
    rows = (
        "SELECT k, r, sum(w) AS w FROM"
        f" (SELECT /*+ REPARTITION({partitions}, k) */ {key} AS k, {row} AS r, weight AS w FROM ({delta.sql}))"
        " GROUP BY k, r HAVING sum(w) <> 0"
    )
    keys = (
        "SELECT k, coalesce(max(CASE WHEN w > 0 THEN r END), max(r)) AS r, sum(greatest(w, 0L)) AS came, sum(w) AS net"
        f" FROM ({rows}) GROUP BY k"
    )
    change = f"CASE WHEN came = 0 THEN '{DELETE}' WHEN net > 0 THEN '{INSERT}' ELSE '{UPDATE}' END"
    return f"SELECT k, r, came, {change} AS change FROM ({keys})"


def partitions(delta: ZSet, parallelism: int) -> int:
    """Into how many parts a large change is spread, to be read on the driver one after the other."""
    return min(max(-(-delta.rows // _PARTITION_ROWS), parallelism), _MOST_PARTITIONS)
