"""node-postgres: parameters as text, prepared statements, cursors, pools."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from clients.programs import claims
from tailrace.jars import cache_directory
from tailrace.server.listener import Server

HERE = Path(__file__).parent
LOCK = HERE / "package-lock.json"


def packages() -> Path:
    """What package-lock.json names, installed once in the user's cache."""
    place = cache_directory() / "node" / hashlib.sha256(LOCK.read_bytes()).hexdigest()[:12]
    place.mkdir(parents=True, exist_ok=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "done").exists():
            for name in ("package.json", LOCK.name):
                shutil.copy(HERE / name, place)
            command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
            subprocess.run(command, cwd=place, check=True, capture_output=True, timeout=300)
            (place / "done").touch()
    return place / "node_modules"


def test_node_postgres_finds_a_postgres(server: Server) -> None:
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        pytest.skip("node and npm are not installed")
    environment = {**os.environ, "NODE_PATH": str(packages()), "NODE_NO_WARNINGS": "1", "TZ": "UTC"}
    claims([node, HERE / "node_postgres.js", str(server.port)], environment)
