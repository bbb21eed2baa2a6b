"""Some of a row's columns, under names of their own, in another encoder's format.

A Flink table's key may leave a prefix out, and its value the key.  A NULL in a column that is NOT NULL is an error
here: the last place where the row is still a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tailrace.formats.encode_contract import ChangeFrame, Encoder
from tailrace.formats.encode_scalars import literal
from tailrace.types.core import Column, Schema

_MARK = ("TAILRACE<23502:", ">TAILRACE")  # by which plan/data_errors.py knows an error of ours


@dataclass(frozen=True, slots=True)
class SelectedEncoder:
    """`columns` are those that are told, with their names; they are found in a row by `sources`."""

    encoder: Encoder
    columns: Schema
    sources: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.encoder.name

    @property
    def framing(self) -> int:
        return self.encoder.framing

    @property
    def prefix(self) -> bytes:
        return self.encoder.prefix

    @property
    def change(self) -> ChangeFrame:
        return self.encoder.change

    def check(self, columns: Schema) -> None:
        self.encoder.check(self.columns)

    def registered(self, columns: Schema, *, change: bool) -> SelectedEncoder:
        return replace(self, encoder=self.encoder.registered(self.columns, change=change))

    def record(self, columns: Schema, places: Sequence[str]) -> str:
        mine = self._places(columns, places)
        return self._not_null(mine, self.encoder.record(self.columns, mine))

    def side(self, columns: Schema, places: Sequence[str]) -> str:
        mine = self._places(columns, places)
        return self._not_null(mine, self.encoder.side(self.columns, mine))

    def _places(self, columns: Schema, places: Sequence[str]) -> list[str]:
        by_name = {column.name: place for column, place in zip(columns, places, strict=True)}
        return [by_name[source] for source in self.sources]

    def _not_null(self, places: Sequence[str], encoded: str) -> str:
        strict = [(source, place) for source, place, column in self._all(places) if not column.nullable]
        if not strict:
            return encoded
        checks = " ".join(f"WHEN {place} IS NULL THEN {_refusal(source)}" for source, place in strict)
        return f"CASE {checks} ELSE {encoded} END"

    def _all(self, places: Sequence[str]) -> list[tuple[str, str, Column]]:
        return list(zip(self.sources, places, self.columns, strict=True))


def _refusal(name: str) -> str:
    said = f"Column '{name}' is NOT NULL, however, a null value is being written into it."
    return f"CAST(raise_error({literal(_MARK[0] + said + _MARK[1])}) AS binary)"
