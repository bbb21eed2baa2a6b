"""What names mean inside a query: the columns of FROM, and around them those of the enclosing queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from tailrace.errors import AmbiguousColumn, UnknownColumn
from tailrace.plan.expressions import Expression, OuterRef, Ref
from tailrace.types.core import Schema, SqlType

Similar = Callable[[str, tuple[str, ...]], str | None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Field:
    """One column that can be named.

    `relation` is its table's name, qualified as far as it is known: `("materialize", "public", "t")`, or an
    alias. `qualified_only`: USING has merged it into another column, so only `t.c` still means it.  `stands_for_row`:
    the name is that of a function's rows, each of which is one value; a column of this name goes first.  `padded`: its
    relation stands on the far side of an outer join, where there may be no row.
    """

    relation: tuple[str, ...]
    name: str
    index: int
    type: SqlType
    nullable: bool
    qualified_only: bool = False
    stands_for_row: bool = False
    padded: bool = False

    @property
    def is_column(self) -> bool:
        """Part of `*`."""
        return not self.qualified_only and not self.stands_for_row

    def answers_to(self, qualifier: tuple[str, ...]) -> bool:
        mine = self.relation[-len(qualifier) :]
        return mine == qualifier or tuple(part.lower() for part in mine) == qualifier

    def is_called(self, name: str, *, folded: bool) -> bool:
        """`folded`: a name without quotes, which has lost its case, may also mean a column that has capitals."""
        return self.name == name or (folded and self.name.lower() == name)


@dataclass(slots=True)
class Scope:
    """The fields of one query's row.  `positions` remembers where each column was first named."""

    fields: list[Field]
    parent: Scope | None = None
    similar: Similar | None = None
    positions: dict[int, int] = field(default_factory=dict)

    def resolve(self, parts: Sequence[str], position: int | None) -> Expression:
        """The column of this name.  Raises UnknownColumn with a hint of the nearest name, or
        AmbiguousColumn.
        """
        scope: Scope | None = self
        depth = 0
        while scope is not None:
            found = scope.find(parts, position)
            if found is not None:
                return found if depth == 0 else _outer(found, depth)
            scope, depth = scope.parent, depth + 1
        raise self.unknown(parts, position)

    def find(self, parts: Sequence[str], position: int | None) -> Ref | None:
        *qualifier, name = parts
        candidates = [
            f for f in self.fields if (f.answers_to(tuple(qualifier)) if qualifier else not f.qualified_only)
        ]
        matches = [f for f in candidates if f.is_called(name, folded=False)]
        matches = matches or [f for f in candidates if f.is_called(name, folded=True)]
        matches = [f for f in matches if not f.stands_for_row] or matches
        if not matches:
            return None
        if len({f.index for f in matches}) > 1:
            raise AmbiguousColumn(f'column reference "{name}" is ambiguous', position=position)
        if position is not None:
            self.positions.setdefault(matches[0].index, position)
        return Ref(index=matches[0].index, type=matches[0].type, nullable=matches[0].nullable)

    def unknown(self, parts: Sequence[str], position: int | None) -> UnknownColumn:
        name = ".".join(parts)
        qualifier = tuple(parts[:-1])
        if qualifier and not any(f.answers_to(qualifier) for scope in self.chain() for f in scope.fields):
            error = UnknownColumn(
                f'missing FROM-clause entry for table "{".".join(qualifier)}"', position=position
            )
            error.sqlstate = "42P01"
            return error
        names = tuple(dict.fromkeys(f.name for scope in self.chain() for f in scope.fields))
        similar = self.similar(parts[-1], names) if self.similar is not None else None
        hint = f'The similarly named column "{similar}" does exist.' if similar else None
        return UnknownColumn(f'column "{name}" does not exist', hint=hint, position=position)

    def chain(self) -> Iterator[Scope]:
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def visible(self, qualifier: tuple[str, ...] = ()) -> list[Field]:
        """The columns of `*`, or of `t.*`."""
        if qualifier:
            return [f for f in self.fields if f.answers_to(qualifier)]
        return [f for f in self.fields if f.is_column]

    def describe(self, index: int) -> str:
        """A column's name for messages."""
        for f in self.fields:
            if f.index == index:
                return f"{f.relation[-1]}.{f.name}" if f.relation else f.name
        return f"#{index}"


def _outer(ref: Ref, depth: int) -> OuterRef:
    return OuterRef(depth=depth, index=ref.index, type=ref.type, nullable=ref.nullable)


def fields_of(schema: Schema, relation: tuple[str, ...], start: int = 0) -> list[Field]:
    return [
        Field(relation=relation, name=c.name, index=start + i, type=c.type, nullable=c.nullable)
        for i, c in enumerate(schema)
    ]


def shifted(fields: Sequence[Field], by: int, *, nullable: bool = False) -> list[Field]:
    """The same fields further to the right; `nullable`: on the far side of an outer join."""
    return [
        replace(f, index=f.index + by, nullable=f.nullable or nullable, padded=f.padded or nullable) for f in fields
    ]
