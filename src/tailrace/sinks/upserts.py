"""What became of each key in one tick, for targets that keep one row for a key.

Rows are encoded first, by Spark, and compared by what they look like in the target.  A large change is reduced to one
row for each key by Spark, a small one by Arrow on the driver: there Spark's plan would cost more than all the rest of
the sink.  tests/unit/sinks/test_upserts.py holds both against the same plain Python.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.ivm.zset import ZSet

INSERT, UPDATE, DELETE = "i", "u", "d"

_PARTITION_ROWS = 100_000  # two partitions are on the driver at a time, and each costs a job
_MOST_PARTITIONS = 1000


def encoded(delta: ZSet, key: str, row: str) -> str:
    """Spark text: k and r, key and row as they were given; w, the weight.  No shuffle."""
    return f"SELECT {key} AS k, {row} AS r, weight AS w FROM ({delta.sql})"


def per_key(delta: ZSet, key: str, row: str, partitions: int, *, proven: bool) -> str:
    """Spark text, one row for each key that changed.  One shuffle.  `proven`: no key has two rows at a time.

    `k` and `r`: key and row as they were given, the row being the new one, or the last one the key had.  `change`: how
    the key came to it.  `came`: how many new rows it has; more than one cannot be told.
    """
    if proven and delta.positive:  # a snapshot, or of a relation that only grows: every row is a key's first
        return (
            f"SELECT /*+ REPARTITION({partitions}, k) */ k, r, 1L AS came, '{INSERT}' AS change"
            f" FROM ({encoded(delta, key, row)})"
        )
    rows = (
        "SELECT k, r, sum(w) AS w FROM"
        f" (SELECT /*+ REPARTITION({partitions}, k) */ * FROM ({encoded(delta, key, row)}))"
        " GROUP BY k, r HAVING sum(w) <> 0"
    )
    keys = (
        "SELECT k, coalesce(max(CASE WHEN w > 0 THEN r END), max(r)) AS r, sum(greatest(w, 0L)) AS came, sum(w) AS net"
        f" FROM ({rows}) GROUP BY k"
    )
    change = f"CASE WHEN came = 0 THEN '{DELETE}' WHEN net > 0 THEN '{INSERT}' ELSE '{UPDATE}' END"
    return f"SELECT k, r, came, {change} AS change FROM ({keys})"


def per_key_here(rows: pa.Table) -> pa.Table:
    """The same on the driver, of rows as `encoded` gives them."""
    rows = rows.group_by(["k", "r"]).aggregate([("w", "sum")]).rename_columns(["k", "r", "w"])
    rows = rows.filter(pc.field("w") != 0)
    new = pc.greater(rows["w"], 0)
    sides = pa.table(
        {
            "k": rows["k"],
            "old": rows["r"],
            "new": pc.if_else(new, rows["r"], None),
            "came": pc.if_else(new, rows["w"], 0),
            "net": rows["w"],
        }
    )
    wanted = [("old", "max"), ("new", "max"), ("came", "sum"), ("net", "sum")]
    keys = sides.group_by("k").aggregate(wanted).rename_columns(["k", "old", "new", "came", "net"])
    stays = pc.if_else(pc.greater(keys["net"], 0), INSERT, UPDATE)
    return pa.table(
        {
            "k": keys["k"],
            "r": pc.coalesce(keys["new"], keys["old"]),
            "came": keys["came"],
            "change": pc.if_else(pc.equal(keys["came"], 0), DELETE, stays),
        }
    )


def partitions(delta: ZSet, parallelism: int) -> int:
    """Into how many parts a large change is spread, to be read on the driver one after the other."""
    return min(max(-(-delta.rows // _PARTITION_ROWS), parallelism), _MOST_PARTITIONS)
