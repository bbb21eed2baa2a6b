"""TOPIC METADATA REFRESH INTERVAL: how often a source or sink looks for new partitions of its topic."""

from __future__ import annotations

from datetime import timedelta

from tailrace.errors import InvalidOption
from tailrace.sql.durations import Duration
from tailrace.sql.kinds import INTERVAL
from tailrace.sql.options import Option, Options

TOPIC_METADATA_REFRESH_INTERVAL = Option(
    "TOPIC METADATA REFRESH INTERVAL",
    INTERVAL,
    default=Duration("30s", timedelta(seconds=30)),
    doc="How often to look for new partitions: 1 second to 1 hour.",
)


def refresh_interval(options: Options) -> timedelta:
    name = TOPIC_METADATA_REFRESH_INTERVAL.name
    position = options.position(TOPIC_METADATA_REFRESH_INTERVAL)
    length = options.value(TOPIC_METADATA_REFRESH_INTERVAL).length
    if length < timedelta(seconds=1):
        raise InvalidOption(f"{name} must be at least 1 second", position=position)
    if length > timedelta(hours=1):
        raise InvalidOption(f"{name} cannot be greater than 1 hour", position=position)
    return length
