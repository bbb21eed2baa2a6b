"""Ends that are no accident: SIGTERM, and a data directory that is in use."""

from __future__ import annotations

import itertools
import os
import signal
from pathlib import Path

import psycopg
import pytest

from faults.conftest import PipelineFactory
from tailrace.catalog.database import Database
from tailrace.testing.engine_process import EngineProcess


def test_after_a_clean_stop_the_engine_goes_on_where_it_was(pipelines: PipelineFactory) -> None:
    pipeline = pipelines()
    pipeline.start()
    pipeline.run_for(ticks=4)
    assert pipeline.engine.stop() == 0
    pipeline.clerks[-1].stop()
    pipeline.run_until_caught_up()
    verdicts = {verdict.sink: verdict for verdict in pipeline.check()}
    assert pipeline.engine.stop() == 0

    pipeline.engine.start()  # nothing has come meanwhile: no tick will run
    with pipeline.engine.connect() as connection:
        [(count,)] = connection.execute(b"SELECT count(*) FROM lines").fetchall()
    assert count == verdicts["lines"].messages
    assert pipeline.engine.stop() == 0
    assert pipeline.check() == list(verdicts.values())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_for_the_whole_group_ends_it_quietly(tmp_path: Path, number: signal.Signals) -> None:
    """Ctrl-C in a terminal and some service managers send it to every process at once."""
    with EngineProcess(tmp_path / "data", tmp_path / "engine.log", "--driver-memory", "1g") as engine:
        engine.start()
        with engine.connect() as connection:
            connection.execute("CREATE TABLE t (k int)")
            connection.execute("CREATE MATERIALIZED VIEW m AS SELECT count(*) AS n FROM t")
            for _ in range(5):
                connection.execute("INSERT INTO t VALUES (1)")
            os.killpg(engine.pid, number)
            inserted = 5 + _insert_until_it_ends(connection)
        assert engine.wait_until_dead() == 0
        assert engine.output().splitlines()[-1] == "stopping …"
        assert "Traceback" not in engine.output()
        engine.start()
        with engine.connect() as connection:
            [(found,)] = connection.execute("SELECT n FROM m").fetchall()
        assert found - inserted in (0, 1)  # the answer to the last one may have been lost


def _insert_until_it_ends(connection: psycopg.Connection) -> int:
    """How many were acknowledged."""
    for count in itertools.count():
        try:
            connection.execute("INSERT INTO t VALUES (1)")
        except psycopg.OperationalError:
            return count
    raise AssertionError


def test_a_data_directory_that_is_in_use_is_refused(tmp_path: Path) -> None:
    holder = Database(tmp_path / "data")
    try:
        with EngineProcess(tmp_path / "data", tmp_path / "engine.log", "--driver-memory", "1g") as engine:
            engine.start()
            assert engine.wait_until_dead() == 1
            assert f'ERROR:  data directory "{tmp_path / "data"}" is in use' in engine.output()
            assert "HINT:  Stop that process" in engine.output()
            assert "Traceback" not in engine.output()
    finally:
        holder.close()
