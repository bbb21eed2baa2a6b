"""The console: health, metrics and one page, made of what anyone can SELECT."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from engine.test_jobs import spark_jobs
from tailrace.console.app import Console
from tailrace.engine.engine import Engine
from tailrace.server.listener import TooOpen


@pytest.fixture(scope="module")
def console(engine: Engine) -> Iterator[Console]:
    engine.sql("CREATE TABLE t (k int); INSERT INTO t VALUES (1)")
    engine.sql("CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS n FROM t")
    engine.sql("CREATE MATERIALIZED VIEW broken AS SELECT sum(1 / (k - 1)) AS x FROM t")
    engine.settle()
    with_console = Console(engine, "127.0.0.1", 0)
    with_console.start()
    yield with_console
    with_console.stop()


def get(console: Console, path: str, **headers: str) -> tuple[int, str]:
    request = urllib.request.Request(f"http://127.0.0.1:{console.port}{path}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_health_says_that_the_loop_runs(console: Console) -> None:
    assert get(console, "/health") == (200, "ok\n")
    assert get(console, "/ready") == (200, "ready\n")
    assert get(console, "/nope")[0] == 404


def test_the_page_has_a_twin_in_json_and_costs_no_job(engine: Engine, console: Console) -> None:
    before = spark_jobs(engine.spark)
    found = json.loads(get(console, "/console.json")[1])
    assert spark_jobs(engine.spark) == before
    assert {row["name"]: row["status"] for row in found["views"]} == {"broken": "stalled", "counted": "running"}
    assert found["ticks"][0]["tick"] > 0
    code, page = get(console, "/")
    assert code == 200
    assert not re.search(r"(src|href)=|https?://(?!www\.w3\.org)", page), "nothing is loaded from elsewhere"


def test_metrics_are_what_prometheus_reads(console: Console) -> None:
    _, text = get(console, "/metrics")
    sample = re.compile(r'[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? -?[0-9.e+]+')
    names = set()
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            names.add(line.split()[2])
        elif not line.startswith("#"):
            assert sample.fullmatch(line), line
            assert line.split("{")[0].split(" ")[0] in names
    assert 'name="broken",kind="view",status="stalled"} 1.0' in text
    assert "tailrace_up 1.0" in text


def test_a_page_of_somebody_else_cannot_read_along(console: Console) -> None:
    assert get(console, "/console.json", Host="evil.example")[0] == 403
    assert get(console, "/console.json", Host=f"localhost:{console.port}")[0] == 200


def test_it_listens_on_loopback_only(engine: Engine) -> None:
    with pytest.raises(TooOpen):
        Console(engine, "0.0.0.0", 0)
