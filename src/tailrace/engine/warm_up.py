"""Work like that of a pipeline on rows of its own, so that the first real tick finds everything compiled.

A JVM runs code ten times slower before it has compiled it, and Spark's planner is much code.  Once with many rows, as a
catch-up would, and a few times with few rows, as a steady stream would.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from tailrace.engine.engine import Engine
from tailrace.formats.decode_json import JsonDecoder, same_text
from tailrace.formats.encoders import encoder
from tailrace.ivm.zset import ZSet
from tailrace.sinks.envelope import UPSERT, Envelope
from tailrace.state.run import COMPRESSION
from tailrace.types.core import BIGINT, TEXT, Column

_ROWS = 100_000

_RAW = (
    """SELECT CAST(concat('{"id":', id, ',"user":', id % 997, ',"at":"2026-01-01 00:00:00","region":"r', id % 61,"""
    f" '\"}}') AS BINARY) AS value FROM range(0, {_ROWS}, 1, 4)"
)

_SMALL = (
    "CREATE TABLE visits (data jsonb); CREATE TABLE places (region text, name text)",
    "CREATE VIEW visited AS SELECT (data->>'id')::bigint AS id, data->>'region' AS region FROM visits",
    "CREATE MATERIALIZED VIEW totals AS SELECT region, count(*) AS n, count(DISTINCT id) AS d FROM visited GROUP BY 1",
    "CREATE MATERIALIZED VIEW named AS SELECT name, sum(id) AS s FROM visited JOIN places USING (region) GROUP BY name",
)
_CHANGE = """INSERT INTO visits VALUES ('{"id": 1, "region": "a"}'), ('{"id": 2, "region": "b"}')"""


def warm_up(spark: SparkSession) -> None:
    """Takes some seconds.  Leaves nothing behind."""
    with (
        tempfile.TemporaryDirectory(prefix="tailrace-warm-up-") as directory,
        Engine(spark, Path(directory) / "data") as engine,
        ThreadPoolExecutor(1) as aside,
    ):
        writing = aside.submit(_written, engine.spark)
        for name, sql in (("sums", _sums()), ("last", _last())):
            engine.spark.sql(sql).write.option("compression", COMPRESSION).parquet(f"{directory}/{name}")
        writing.result()
        for statement in _SMALL:
            engine.sql(statement)
        for _ in range(3):
            engine.sql(_CHANGE)


def _decoded() -> str:
    """Rows c0 … c3 and weight, as a source and a view over it make them of JSON."""
    decoded = JsonDecoder().decoded("value")
    names = b"id\0user\0at\0region".hex()
    return (
        f"SELECT CAST(f[0] AS BIGINT) AS c0, CAST(f[1] AS BIGINT) AS c1, f[2] AS c2, upper(f[3]) AS c3, 1L AS weight"
        f" FROM (SELECT {decoded.columns[0]} AS c0 FROM ({_RAW}) WHERE {decoded.error} IS NULL)"
        f" LATERAL VIEW explode(array(tailrace_json_fields(CAST(c0 AS BINARY), X'{names}'))) t AS f"
    )


def _sums() -> str:
    keys = "xxhash64(c3, c1) AS h, c3 AS c0, c1"
    return f"SELECT {keys}, sum(weight) AS weight FROM ({_decoded()}) GROUP BY 1, 2, 3 HAVING sum(weight) <> 0"


def _last() -> str:
    """The last row of each key, as an upsert source and a top-k look for it."""
    place = "row_number() OVER (PARTITION BY xxhash64(k), k ORDER BY c0 DESC, c2)"
    keyed = f"SELECT *, {same_text('to_json(struct(c1))')} AS k FROM ({_decoded()})"
    return f"SELECT * FROM (SELECT *, {place} AS place FROM ({keyed})) WHERE place = 1"


def _written(spark: SparkSession) -> None:
    """Messages in slots, through Python workers, to nowhere."""
    schema = (Column("id", BIGINT), Column("user", BIGINT), Column("at", TEXT), Column("region", TEXT))
    told = Envelope(kind=UPSERT, schema=schema, key=(0,), key_format=encoder("json"), value_format=encoder("json"))
    messages = told.slotted(ZSet(arity=4, sql=_decoded(), rows=_ROWS, positive=True), 4)
    spark.sql(messages).mapInArrow(_take, "n bigint").toArrow()


def _take(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield pa.RecordBatch.from_pydict({"n": [sum(batch.num_rows for batch in batches)]})
