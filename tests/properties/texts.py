"""The texts of known benchmarks: their tables and queries, as files of SQL."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

_DATA = Path(__file__).parents[1] / "data"
_TABLE = re.compile(r"CREATE TABLE (\w+) \((.*?)\n\);", re.DOTALL)


def queries_of(benchmark: str) -> dict[str, str]:
    """Name → query."""
    paths = sorted((_DATA / benchmark).glob("q*.sql"))
    return {path.stem: path.read_text().strip().removesuffix(";") for path in paths}


def tables_of(benchmark: str) -> Mapping[str, Sequence[str]]:
    """Name → what stands between the parentheses."""
    text = (_DATA / benchmark / "schema.sql").read_text()
    return {match[1]: (match[2].strip(),) for match in _TABLE.finditer(text)}
