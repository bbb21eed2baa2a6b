"""pgjdbc, and with it whatever asks for its metadata: DBeaver and the like."""

from __future__ import annotations

from pathlib import Path

import pytest

from clients.programs import claims
from tailrace.jars import jdbc_driver
from tailrace.java import java
from tailrace.server.listener import Server

PROGRAM = Path(__file__).with_name("Pgjdbc.java")


def test_pgjdbc_finds_a_postgres(server: Server) -> None:
    if not java().with_name("javac").exists():
        pytest.skip("a Java without its compiler cannot run a program from its source")
    url = f"jdbc:postgresql://127.0.0.1:{server.port}/materialize"
    claims([java(), "-XX:TieredStopAtLevel=1", "-cp", jdbc_driver(), PROGRAM, url])
