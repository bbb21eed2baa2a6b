"""SQL types: small values that compare by content.  Every outside form is derived from these, one file a world."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NewType, TypeAlias

Tick = NewType("Tick", int)
"""One step of logical time: milliseconds since the epoch, strictly increasing."""

BEGINNING = Tick(0)
"""Before every tick.  The change of a relation since BEGINNING is its whole content."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """A type without parameters.  `name` is its canonical SQL name, e.g. `bigint`, `double precision`."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Numeric:
    """Exact decimal.  With a scale, values are rounded to it; without one, 18 digits after the point are kept."""

    scale: int | None = None

    def __str__(self) -> str:
        return "numeric" if self.scale is None else f"numeric(38,{self.scale})"


@dataclass(frozen=True, slots=True)
class Varchar:
    length: int | None = None

    def __str__(self) -> str:
        return "character varying" if self.length is None else f"character varying({self.length})"


@dataclass(frozen=True, slots=True)
class Letter(Varchar):
    """`"char"`, which is written with its quotes: one byte, as PostgreSQL's catalog has it for kinds of things."""

    length: int | None = 1

    def __str__(self) -> str:
        return '"char"'


@dataclass(frozen=True, slots=True)
class Char:
    length: int = 1

    def __str__(self) -> str:
        return f"character({self.length})"


@dataclass(frozen=True, slots=True)
class Timestamp:
    """Without time zone; `precision` digits of a second (None: 6)."""

    precision: int | None = None

    def __str__(self) -> str:
        return "timestamp" + ("" if self.precision is None else f"({self.precision})") + " without time zone"


@dataclass(frozen=True, slots=True)
class TimestampTz:
    precision: int | None = None

    def __str__(self) -> str:
        return "timestamp" + ("" if self.precision is None else f"({self.precision})") + " with time zone"


@dataclass(frozen=True, slots=True)
class Named:
    """What CREATE TYPE called a type.  `sql` is the name as SQL has it; `array` the OID of an array of these.

    It is no part of the type: two are the same if they consist of the same.
    """

    id: str
    sql: str
    oid: int
    array: int

    def __str__(self) -> str:
        return self.sql


@dataclass(frozen=True, slots=True)
class ListOf:
    element: SqlType
    named: Named | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return str(self.named or f"{self.element} list")


@dataclass(frozen=True, slots=True)
class ArrayOf:
    element: SqlType

    def __str__(self) -> str:
        return f"{self.element}[]"


@dataclass(frozen=True, slots=True)
class VectorOf(ArrayOf):
    """An array of PostgreSQL's catalog, see VECTORS: written `1 2 3`, and counted from 0."""

    def __str__(self) -> str:
        return next(name for name, vector in VECTORS.items() if vector == self)


@dataclass(frozen=True, slots=True)
class MapOf:
    """Keys are text."""

    value: SqlType
    named: Named | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return str(self.named or f"map[text=>{self.value}]")


@dataclass(frozen=True, slots=True)
class Record:
    fields: tuple[Column, ...]
    named: Named | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return str(self.named or "record(" + ", ".join(f"{f.name}: {f.type}" for f in self.fields) + ")")


@dataclass(frozen=True, slots=True)
class RangeOf:
    """The values of `element` between two bounds: see RANGES for which there are.

    Held as a struct whose fields, compared one after the other, give PostgreSQL's order: whether it holds anything
    (the empty range comes first), the lower bound (NULL: none), whether the range begins after it, whether it is
    endless, the upper bound, and whether the range reaches until it, the bound included.  What has no meaning is NULL
    or false, and ranges of integers and dates include their lower bound and not their upper: one range, one struct.
    """

    element: SqlType

    def __str__(self) -> str:
        return next(name for name, range in RANGES.items() if range == self)

    @property
    def is_discrete(self) -> bool:
        """Has each value a next one?"""
        return self.element in (INTEGER, BIGINT, DATE)


SqlType: TypeAlias = (
    Scalar | Numeric | Varchar | Char | Timestamp | TimestampTz | ListOf | ArrayOf | MapOf | Record | RangeOf
)


@dataclass(frozen=True, slots=True)
class Column:
    """A named place in a relation.  Names may repeat in a query's result, never in a catalog object."""

    name: str
    type: SqlType
    nullable: bool = True


Schema: TypeAlias = tuple[Column, ...]


def named_in(type: SqlType) -> frozenset[str]:
    """The ids of the types in it that CREATE TYPE has made."""
    match type:
        case Record(fields=fields):
            inner = frozenset[str]().union(*(named_in(each.type) for each in fields))
        case ListOf(element=element) | ArrayOf(element=element) | MapOf(value=element):
            inner = named_in(element)
        case _:
            return frozenset()
    named = None if isinstance(type, ArrayOf) else type.named
    return inner if named is None else frozenset({named.id})


BOOLEAN = Scalar("boolean")
SMALLINT = Scalar("smallint")
INTEGER = Scalar("integer")
BIGINT = Scalar("bigint")
UINT2 = Scalar("uint2")
UINT4 = Scalar("uint4")
UINT8 = Scalar("uint8")
OID = Scalar("oid")
REAL = Scalar("real")
DOUBLE = Scalar("double precision")
NUMERIC = Numeric()
TEXT = Scalar("text")
BYTEA = Scalar("bytea")
DATE = Scalar("date")
TIME = Scalar("time")
TIMESTAMP = Timestamp()
TIMESTAMPTZ = TimestampTz()
INTERVAL = Scalar("interval")
JSONB = Scalar("jsonb")
UUID = Scalar("uuid")
MZ_TIMESTAMP = Scalar("mz_timestamp")
RANGES = {
    "int4range": RangeOf(INTEGER),
    "int8range": RangeOf(BIGINT),
    "numrange": RangeOf(NUMERIC),
    "daterange": RangeOf(DATE),
    "tsrange": RangeOf(TIMESTAMP),
    "tstzrange": RangeOf(TIMESTAMPTZ),
}
"""The types of ranges by name, as PostgreSQL has them."""
LETTER = Letter()
VECTORS = {"int2vector": VectorOf(SMALLINT), "oidvector": VectorOf(OID)}
"""By name, as PostgreSQL has them."""
UNKNOWN = Scalar("unknown")
"""A string literal, NULL or parameter whose type its surroundings will decide."""
