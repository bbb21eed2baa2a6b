"""Iceberg tables of tests, and sinks into them without an engine around."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from tailrace.sinks.iceberg_connection import IcebergConnection
from tailrace.sinks.iceberg_definition import IcebergSinkDefinition
from targets.postgres_sink_of import SCHEMA

_numbers = itertools.count(1)


def fresh(letter: str) -> str:
    """A table's name that no other test has."""
    return f"{letter}{next(_numbers)}"


class Warehouse:
    """A catalog in SQLite, tables in files beside it."""

    def __init__(self, directory: Path) -> None:
        self.url = f"sqlite:///{directory}/catalog.db"
        self.path = f"file://{directory}/warehouse"
        (directory / "warehouse").mkdir()
        self.catalog.create_namespace("n")

    @property
    def catalog(self) -> SqlCatalog:
        return SqlCatalog("default", uri=self.url, warehouse=self.path)

    def table(self, name: str) -> Table:
        return self.catalog.load_table(f"n.{name}")

    def rows(self, name: str) -> list[tuple[Any, ...]]:
        return rows_of(self.catalog, name)

    @property
    def connection(self) -> IcebergConnection:
        return IcebergConnection(name="lake", catalog_type="sql", url=self.url, warehouse=self.path)


def until(holds: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def definition_of(connection: IcebergConnection, **more: Any) -> IcebergSinkDefinition:
    given = {"id": "u7", "name": "out", "connection": connection, "namespace": "n", "table": fresh("s")}
    return IcebergSinkDefinition(**{**given, "schema": SCHEMA, "key": (0,), **more})


def rows_of(catalog: Catalog, name: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in catalog.load_table(f"n.{name}").scan().to_arrow().to_pylist())
