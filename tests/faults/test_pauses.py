"""A machine that stands still for a while, and goes on, has lost nothing."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.pandas import conversion

SPARKS_PATIENCE_SECONDS = 15
OURS_SECONDS = 120


@pytest.mark.slow
def test_rows_of_a_job_wait_for_a_driver_that_stood_still(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    fetch, fetched = conversion._load_from_socket, []

    def fetch_late(*where: Any) -> Any:
        time.sleep(SPARKS_PATIENCE_SECONDS + 3)
        return fetch(*where)

    monkeypatch.setattr(conversion, "_load_from_socket", fetch_late)
    # In a thread that may be left behind: with Spark's own limit it never ends.
    asking = threading.Thread(target=lambda: fetched.append(spark.range(3).toArrow().num_rows), daemon=True)
    asking.start()
    asking.join(OURS_SECONDS)
    assert fetched == [3]
