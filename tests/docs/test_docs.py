"""What the pages say, works: every SQL block runs, every file they mention is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tailrace.engine.engine import Engine
from tailrace.testing.broker import Broker
from tailrace.testing.topics import create_topic, produce

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"```sql\n(.*?)```", re.DOTALL)
FILE = re.compile(r"`((?:src/tailrace|tests|benchmarks|docs)/[\w/.-]+)`")
MODULE = re.compile(r"`((?:ticks|sources|sinks|plan|ivm|state|formats|kafka|engine|sql|statements)/[\w/]+\.py)`")
WITH_SQL = [page for page in PAGES if BLOCK.search(page.read_text()) and page.parent.name != "guides"]  # test_guides.py
IDS = [str(page.relative_to(ROOT)) for page in PAGES]


@pytest.mark.parametrize("page", WITH_SQL, ids=lambda p: p.name)
def test_every_sql_block_runs(page: Path, spark: SparkSession, broker: Broker) -> None:
    create_topic(broker.bootstrap, "orders")
    produce(broker.bootstrap, "orders", [(None, '{"item": "tea", "amount": 12}')])
    with Engine(spark) as engine:
        for block in BLOCK.findall(page.read_text()):
            engine.sql(block.replace("localhost:9092", broker.bootstrap))
        answer = engine.sql("SELECT * FROM totals")
        assert answer is not None
        assert answer.to_pylist() == [{"item": "tea", "total": 12}]


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_every_file_that_a_page_mentions_is_there(page: Path) -> None:
    text = page.read_text()
    missing = [name for name in FILE.findall(text) if not (ROOT / name.rstrip("/")).exists()]
    missing += [name for name in MODULE.findall(text) if not (ROOT / "src/tailrace" / name).exists()]
    assert not missing
