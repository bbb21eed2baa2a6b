"""Defences switched off, to see that tests notice: a fault test proves little until it fails without the defence.

    TAILRACE_TEST_DEFENCES=-progress_record,-known_ticks

in the environment of an engine switches them off.  Nothing but a test does that; nothing else reads it.

- `progress_record`: the tick of what a sink writes is committed with it, in the target
- `fence_before_progress`: a sink asks what its target holds only when nobody else can write to it any more
- `log_before_effects`: a tick is durable in the tick log before anything of it is seen outside
- `conditional_commit`: a commit to an Iceberg table fails if anybody else has committed since it was read
- `generation`: a write to PostgreSQL or Redis fails if a newer writer has begun
- `known_ticks`: a sink whose target holds a tick that the tick log does not know refuses to go on
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

import pyarrow as pa

from tailrace.catalog.database import Database
from tailrace.sinks import iceberg_definition, postgres_definition, redis_definition
from tailrace.sinks.kafka_definition import Defences
from tailrace.sources.contract import Offsets
from tailrace.ticks.log import TickLog
from tailrace.types.core import Tick

VARIABLE = "TAILRACE_TEST_DEFENCES"
DEFENCES = (
    *("progress_record", "fence_before_progress", "log_before_effects", "known_ticks"),
    *("generation", "conditional_commit"),
)


def is_on(name: str) -> bool:
    """Whether the defence works, as it does unless a test has switched it off."""
    assert name in DEFENCES
    switched_off = {word.strip() for word in os.environ.get(VARIABLE, "").split(",") if word.strip()}
    unknown = switched_off - {f"-{each}" for each in DEFENCES}
    if unknown:
        raise ValueError(f"{VARIABLE} knows -{', -'.join(DEFENCES)}; not {', '.join(sorted(unknown))}")
    return f"-{name}" not in switched_off


def of_kafka_sinks() -> Defences:
    return Defences(
        progress_record=is_on("progress_record"), fence_before_progress=is_on("fence_before_progress")
    )


def of_postgres_sinks() -> postgres_definition.Defences:
    return postgres_definition.Defences(
        progress_record=is_on("progress_record"),
        fence_before_progress=is_on("fence_before_progress"),
        generation=is_on("generation"),
        end_older=is_on("generation"),  # or the older writer would lose its session before it is asked
    )


def of_iceberg_sinks() -> iceberg_definition.Defences:
    return iceberg_definition.Defences(
        progress_record=is_on("progress_record"), conditional_commit=is_on("conditional_commit")
    )


def of_redis_sinks() -> redis_definition.Defences:
    return redis_definition.Defences(
        progress_record=is_on("progress_record"),
        fence_before_progress=is_on("fence_before_progress"),
        generation=is_on("generation"),
    )


def open_tick_log(database: Database) -> TickLog:
    return TickLog(database) if is_on("log_before_effects") else LateTickLog(database)


def known_ticks(log: TickLog) -> Callable[[Tick], bool]:
    return log.__contains__ if is_on("known_ticks") else lambda _: True


class LateTickLog(TickLog):
    """A tick log that is wrong on purpose: a tick is written when the next one begins, after all its effects."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._late: tuple[Tick, Mapping[str, Offsets], Mapping[str, pa.Table]] | None = None

    def append(self, t: Tick, positions: Mapping[str, Offsets], changes: Mapping[str, pa.Table]) -> None:
        if self._late is not None:
            self.write(*self._late)
        self._late = (t, positions, changes)
        self.remember(t, positions)

    def changes(self, relation: str, lo: Tick, hi: Tick) -> list[tuple[Tick, pa.Table]]:
        found = super().changes(relation, lo, hi)
        if self._late is not None and lo < self._late[0] <= hi and relation in self._late[2]:
            found.append((self._late[0], self._late[2][relation]))
        return found
