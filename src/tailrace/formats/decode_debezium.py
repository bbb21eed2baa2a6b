"""Changelogs in JSON: what the messages of Debezium, Canal and Maxwell say of rows."""

from __future__ import annotations

from tailrace.types.core import SqlType

FORMAT_METADATA: dict[str, dict[str, SqlType]] = {}
"""By format: what it tells of each message beside rows."""
