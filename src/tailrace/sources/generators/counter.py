"""LOAD GENERATOR COUNTER: 1, 2, 3 …; with MAX CARDINALITY the oldest leaves when one comes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from tailrace.sources.generators.contract import Steps
from tailrace.types.core import BIGINT, Column, Schema


@dataclass(frozen=True, slots=True)
class Counter:
    most: int | None = None

    tables: ClassVar[Mapping[str, Schema]] = {"": (Column("counter", BIGINT, nullable=False),)}

    @property
    def append_only(self) -> bool:
        return self.most is None

    def rows(self, table: str, steps: Steps) -> tuple[list[str], int]:
        texts = [f"SELECT id + 1 AS c0, 1L AS weight FROM {steps.range()}"]
        if self.most is not None:
            leaving = steps.range(steps.first + self.most)
            texts.append(f"SELECT id + 1 - {self.most}L AS c0, -1L AS weight FROM {leaving}")
        return texts, len(texts) * (steps.until - steps.since)
