"""Every error a person can meet, in three families.  Callers choose by family.

`SqlError`: whoever wrote the SQL can act.  `Unavailable`: trying again may help; a status says so meanwhile.
`InternalError`: our own bug.  They cross process borders (Spark workers), so they pickle: `args` stays the message.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class TailraceError(Exception):
    """A message, and what PostgreSQL clients show beside it.  `position` counts characters from 1."""

    sqlstate = "XX000"

    def __init__(
        self,
        message: str,
        *,
        detail: str | None = None,
        hint: str | None = None,
        position: int | None = None,
        sqlstate: str | None = None,
    ) -> None:
        super().__init__(message)
        self.detail = detail
        self.hint = hint
        self.position = position
        if sqlstate is not None:
            self.sqlstate = sqlstate

    @property
    def message(self) -> str:
        return str(self.args[0])

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.args, self.__dict__

    def advice(self) -> list[str]:
        """What psql would show below the message."""
        return [f"{word}:  {text}" for word, text in (("DETAIL", self.detail), ("HINT", self.hint)) if text]


class SqlError(TailraceError):
    """The statement, or the data it meets, is at fault."""

    sqlstate = "42000"


class SyntaxFailure(SqlError):
    """Text that is not a statement we know: `Expected X, found Y`."""

    sqlstate = "42601"


class UnknownObject(SqlError):
    """`unknown catalog item 'x'`; drivers test for 42P01."""

    sqlstate = "42P01"


class DuplicateObject(SqlError):
    sqlstate = "42710"


class WrongObjectType(SqlError):
    sqlstate = "42809"


class DependentObjects(SqlError):
    """Dropping it would break others; CASCADE takes them along."""

    sqlstate = "2BP01"


class UnknownColumn(SqlError):
    sqlstate = "42703"


class AmbiguousColumn(SqlError):
    sqlstate = "42702"


class DuplicateColumn(SqlError):
    sqlstate = "42701"


class UnknownFunction(SqlError):
    sqlstate = "42883"


class UnknownType(SqlError):
    sqlstate = "42704"


class TypeMismatch(SqlError):
    sqlstate = "42804"


class GroupingFailure(SqlError):
    """A column that is neither grouped nor aggregated, or an aggregate where none may stand."""

    sqlstate = "42803"


class InvalidOption(SqlError):
    """An option that is unknown, repeated, or has a bad value."""

    sqlstate = "22023"


class KeyNotUnique(SqlError):
    sqlstate = "42P10"


class KeyViolation(SqlError):
    """A target that holds one row for each key was given two."""

    sqlstate = "23505"


class NotSupported(SqlError):
    """`{feature} not yet supported`."""

    sqlstate = "0A000"


class NotNullViolation(SqlError):
    sqlstate = "23502"


class DataError(SqlError):
    """A row that an expression cannot take: `1/0`, a bad cast."""

    sqlstate = "22000"


class InvalidText(DataError):
    """`invalid input syntax for type integer: "x"`."""

    sqlstate = "22P02"


class ObjectInUse(SqlError):
    """A data directory, a cursor or a name that somebody else holds."""

    sqlstate = "55006"


class Unavailable(TailraceError):
    """Something outside does not answer or refuses for now; trying again can help."""

    sqlstate = "08006"


class Fenced(Unavailable):
    """A newer writer has taken over: this one must stop writing and ask the target before it goes on."""

    sqlstate = "55P03"


class InternalError(TailraceError):
    """Our own bug.  The client sees a short id; the trace is in the log."""


@contextmanager
def noted(statement: str = "") -> Iterator[None]:
    """Errors in it carry as notes what psql shows below the message: Python prints those with a trace."""
    try:
        yield
    except TailraceError as error:
        if not hasattr(error, "__notes__"):
            for note in (*_pointed(statement, error.position), *error.advice()):
                error.add_note(note)
        raise


def _pointed(statement: str, position: int | None) -> list[str]:
    """The line that is meant, and a caret below its place."""
    if position is None or not 0 < position <= len(statement) + 1:
        return []
    before = statement[: position - 1]
    line = statement.split("\n")[before.count("\n")]
    head = f"LINE {before.count(chr(10)) + 1}: "
    return [head + line, " " * (len(head) + len(before) - before.rfind("\n") - 1) + "^"]
