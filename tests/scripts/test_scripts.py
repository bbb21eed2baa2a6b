"""Does the SQL do what a user expects?  One behaviour a file; its first line says which."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tailrace.engine.engine import Engine
from tailrace.testing.scripts import run_script
from tailrace.ticks.loop import Pace

SCRIPTS = sorted(Path(__file__).parent.glob("*.sql"))


@pytest.mark.parametrize("script", SCRIPTS, ids=[script.stem for script in SCRIPTS])
def test_script(spark: SparkSession, script: Path) -> None:
    with Engine(spark, pace=Pace(interval=3600)) as engine:  # ticks are only those that the script makes
        run_script(engine, script)


@pytest.mark.parametrize("script", SCRIPTS, ids=[script.stem for script in SCRIPTS])
def test_a_script_opens_with_its_claim(script: Path) -> None:
    first = script.read_text().splitlines()[0]
    assert first.startswith(f"-- {script.stem}: ")
