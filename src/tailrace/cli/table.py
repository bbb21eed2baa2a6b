"""Rows on a terminal, as psql shows them."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from rich.console import Console
from rich.table import Table

from tailrace.types.core import Schema
from tailrace.types.postgres.text import text_form


def print_rows(columns: Schema, batches: Sequence[pa.RecordBatch]) -> None:
    table = Table(*(column.name for column in columns))
    count = 0
    for batch in batches:
        texts = [text_form(batch.column(i), column.type).to_pylist() for i, column in enumerate(columns)]
        for row in zip(*texts, strict=True):
            table.add_row(*("" if value is None else value for value in row))
        count += batch.num_rows
    console = Console()
    console.print(table)
    console.print(f"({count} row{'' if count == 1 else 's'})")
