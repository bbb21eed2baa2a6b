"""Warming up does what a pipeline does, and leaves nothing behind."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tailrace.engine.warm_up import warm_up


def test_warming_up_leaves_nothing_behind(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = {table.name for table in spark.catalog.listTables("global_temp")}
    warm_up(spark)
    assert {table.name for table in spark.catalog.listTables("global_temp")} == before
    assert list(tmp_path.iterdir()) == []
