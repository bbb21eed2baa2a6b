"""Arrow tables on the driver that Spark SQL texts name."""

from __future__ import annotations

import itertools
import re
import uuid
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa
from pyspark.sql.pandas.types import _check_arrow_table_timestamps_localize, to_arrow_schema
from pyspark.sql.types import StructType

_TIME_ZONE = "UTC"  # as spark.py says
_PREFIX = f"tr_{uuid.uuid4().hex[:8]}_"  # which no user's text has in it
_numbers = itertools.count(1)

NAME = re.compile(rf"global_temp\.{_PREFIX}\d+")


def new_name() -> str:
    """Never used twice, so that a text that still mentions an old one fails instead of reading something else."""
    return f"{_PREFIX}{next(_numbers)}"


@lru_cache(maxsize=1000)
def struct(schema: str) -> StructType:
    """Spark DDL, parsed."""
    parsed = StructType.fromDDL(schema)  # asks the JVM
    assert isinstance(parsed, StructType)
    return parsed


@lru_cache(maxsize=1000)
def arrow_schema(schema: str) -> pa.Schema:
    """The Arrow schema of Spark DDL, every field nullable."""
    return to_arrow_schema(struct(schema))


@dataclass(frozen=True, slots=True)
class ArrowTable:
    """`schema` is Spark DDL."""

    table: pa.Table
    schema: str

    @property
    def for_spark(self) -> pa.Table:
        """As `createDataFrame` sends it."""
        local = _check_arrow_table_timestamps_localize(self.table, struct(self.schema), True, _TIME_ZONE)
        return local.cast(arrow_schema(self.schema))
