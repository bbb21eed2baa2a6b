"""VALUE DECODING ERRORS = (INLINE AS error): a value that cannot be decoded is a row, too, which says why.

The first column is a record with the reason, or NULL; where it is set, the others are NULL.  So a key whose last value
is broken is there, instead of having its last good one, and the next value replaces it like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from tailrace.formats.decode_contract import Decoded, Decoder
from tailrace.types.core import TEXT, Column, Record, Schema


@dataclass(frozen=True, slots=True)
class InlineErrors:
    """A decoder of values to which nothing is an error.  `name`: of the column that says what was wrong."""

    inner: Decoder
    name: str

    keyword: ClassVar[str] = "INLINE"
    is_single: ClassVar[bool] = False

    @property
    def schema(self) -> Schema:
        reason = Record((Column("description", TEXT, nullable=False),))
        return (Column(self.name, reason), *(replace(column, nullable=True) for column in self.inner.schema))

    @property
    def head(self) -> int:
        return self.inner.head

    def learned(self, heads: Iterable[bytes]) -> Self:
        return replace(self, inner=self.inner.learned(heads))

    def decoded(self, data: str) -> Decoded:
        inner, why = self.inner.decoded(data), f"{data}_why"
        values = (f"CASE WHEN {why} IS NULL THEN {text} END" for text in inner.columns)
        return replace(
            inner,
            columns=(f"CASE WHEN {why} IS NOT NULL THEN struct({why} AS f0) END", *values),
            error=None,
            once=(*inner.once, (why, inner.error or "CAST(NULL AS STRING)")),
        )

    def surely_differ(self, values: Sequence[bytes]) -> bool:
        return self.inner.surely_differ(values)

    def surely_decodes(self, values: Sequence[bytes]) -> bool:
        return True
