"""A value of every type, as Python's drivers take it and give it back."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

VALUES: dict[str, Any] = {
    "boolean": True,
    "smallint": -5,
    "int": 2**31 - 1,
    "bigint": -(2**63),
    "real": 1.5,
    "double precision": 1e300,
    "numeric(38,4)": Decimal("-12345.6789"),
    "text": 'é "x" \\ %',
    "varchar(10)": "",
    "bytea": b"\0\xff",
    "date": date(2024, 7, 3),
    "time": time(18, 43, 5, 312456),
    "timestamp": datetime(1999, 12, 31, 23, 59, 59, 1),  # noqa: DTZ001
    "timestamptz": datetime(2024, 7, 3, 18, 43, 5, 312456, tzinfo=UTC),
    "interval": timedelta(days=3, seconds=5, microseconds=7),
    "uuid": UUID(int=1),
    "int[]": [1, None, 3],
    "text[]": ["a", None, 'x "y"', ""],
    "numeric[]": [Decimal("1.5"), None],
    "timestamptz[]": [datetime(2024, 7, 3, tzinfo=UTC)],
    "uuid[]": [UUID(int=2)],
    "boolean[]": [True, None, False],
    "bytea[]": [b"\0", b""],
}
COLUMNS = ", ".join(f"c{i} {type}" for i, type in enumerate(VALUES))
