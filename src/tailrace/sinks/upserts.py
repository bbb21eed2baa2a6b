"""What became of each key in one tick, for targets that keep one row for a key.

Rows are encoded first, by Spark, and compared by what they look like in the target.  A large change is reduced to one
row for each key by Spark, a small one by Arrow on the driver: there Spark's plan would cost more than all the rest of
the sink.  tests/unit/sinks/test_upserts.py holds both against the same plain Python.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.ivm.zset import ZSet

INSERT, UPDATE, DELETE = "i", "u", "d"

_WORTH_COMPILING = 1000  # rows
_PARTITION_ROWS = 100_000  # two partitions are on the driver at a time, and each costs a job
_MOST_PARTITIONS = 1000


@dataclass(frozen=True, slots=True)
class Encoding:
    """Spark text: a row's key, the row itself, and what is enough of a row that left."""

    key: str
    row: str
    gone: str

    def of(self, delta: ZSet) -> str:
        """k, r and w: key, row and weight.  Of rows that left, all is needed where one of them may cancel another."""
        stays = f"CASE WHEN weight > 0 THEN {self.row} ELSE {self.gone} END" if delta.is_settled else self.row
        return f"SELECT {self.key} AS k, {stays} AS r, weight AS w FROM ({delta.sql})"


def encoded(delta: ZSet, encoding: Encoding) -> str:
    """Spark text, for `per_key_here`.  No shuffle.

    Spark computes what it can of rows on the driver while it plans, by an interpreter.  With something in between it
    compiles the text: two thirds of the time for 20,000 rows, and more for a handful.
    """
    if delta.rows < _WORTH_COMPILING:
        return encoding.of(delta)
    return encoding.of(replace(delta, sql=f"SELECT /*+ COALESCE(1) */ * FROM ({delta.sql})"))


def per_key(delta: ZSet, encoding: Encoding, partitions: int, *, proven: bool) -> str:
    """Spark text, one row for each key that changed.  One shuffle.  `proven`: no key has two rows at a time.

    `k` and `r`: key and row, the row being the new one, or what is known of the last one the key had.  `change`: how
    the key came to it.  `came`: how many new rows it has; more than one cannot be told.
    """
    if proven and delta.positive:  # a snapshot, or of a relation that only grows: every row is a key's first
        return (
            f"SELECT /*+ REPARTITION({partitions}, k) */ k, r, 1L AS came, '{INSERT}' AS change"
            f" FROM ({encoding.of(delta)})"
        )
    rows = (
        "SELECT k, r, sum(w) AS w FROM"
        f" (SELECT /*+ REPARTITION({partitions}, k) */ * FROM ({encoding.of(delta)}))"
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
