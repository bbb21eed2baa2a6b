"""What a statement is to the program: text in, a Result out.

Each statement is one file in this folder: a frozen dataclass, its `parse`, and its `execute`.  `registry.py` lists
them; that line and the file are all that a new statement needs.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from tailrace.types.core import Schema, SqlType


@dataclass(frozen=True, slots=True)
class Notice:
    """Said beside a result: severity NOTICE or WARNING, and the fields of an error."""

    message: str
    detail: str | None = None
    hint: str | None = None
    severity: str = "NOTICE"
    sqlstate: str = "00000"


@dataclass(frozen=True, kw_only=True, slots=True)
class CopyStyle:
    """How the data of COPY are written: as text, which the defaults are of, as CSV, or in PostgreSQL's binary form."""

    is_csv: bool = False
    is_binary: bool = False
    delimiter: str = "\t"
    null: str = "\\N"
    quote: str = '"'
    escape: str = '"'
    header: bool = False

    @staticmethod
    def of(format: str) -> CopyStyle:
        """With nothing else said."""
        if format == "csv":
            return CopyStyle(is_csv=True, delimiter=",", null="")
        return CopyStyle(is_binary=format == "binary")


class CopyIn(Protocol):
    """Takes the data of COPY … FROM STDIN, in pieces of any size; nothing happens before `finish`."""

    @property
    def columns(self) -> int:
        """How many a row has."""

    @property
    def is_binary(self) -> bool:
        """Whether the data are PostgreSQL's binary format, else lines of text."""

    def write(self, data: bytes) -> None: ...

    def finish(self) -> int:
        """The rows are there, all of them, or the error is raised.  Returns how many."""


@dataclass(kw_only=True, slots=True)
class Result:
    """What a statement gives back.

    `columns` is None for statements without rows.  Row batches are Arrow, columns in order, values as
    types/spark.py holds them; they may come for ever (SUBSCRIBE), and closing the iterator ends the work behind it.
    `tag` is the command tag; a `{rows}` in it is replaced by the number of rows sent.
    `copy` makes the rows the data of COPY … TO STDOUT, in that style; then `Prepared.columns` is None.
    `copy_in` asks the client for data, as COPY … FROM STDIN does; the statement is done when it has `finish`ed.
    `work` is what remains to be done of a long statement: it says how far it is, and returns the number of rows.
    """

    tag: str
    columns: Schema | None = None
    rows: Iterable[pa.RecordBatch] = ()
    notices: list[Notice] = field(default_factory=list)
    copy: CopyStyle | None = None
    copy_in: CopyIn | None = None
    work: Generator[Notice, None, int] | None = None

    def finish(self) -> Iterator[Notice]:
        """Does the work, if there is any, and says what comes up on the way."""
        work, self.work = self.work, None
        if work is None:
            return
        rows = yield from work
        self.tag = self.tag.replace("{rows}", str(rows))


@dataclass(frozen=True, kw_only=True, slots=True)
class Prepared:
    """A statement that has been parsed and planned, not run.  `columns` is None if it returns no rows."""

    text: str
    statement: object | None  # None for an empty string of SQL
    parameters: tuple[SqlType, ...]
    columns: Schema | None


class Session(Protocol):
    """One client's conversation with the engine.  Calls block; a session is used by one thread at a time, except
    for `cancel`."""

    def split(self, text: str) -> Sequence[str]:
        """The statements of a string, without the semicolons; empty ones are left out.  Raises SyntaxFailure."""

    def prepare(self, text: str, parameters: Sequence[SqlType | None] = ()) -> Prepared:
        """Parses and plans one statement; never executes it.  Types of `$n` not given are inferred."""

    def execute(self, prepared: Prepared, arguments: Sequence[str | None] = ()) -> Result:
        """Runs it with the arguments' PostgreSQL text forms in place of `$1`, `$2` …"""

    def sql(self, text: str) -> Iterator[Result]:
        """Runs the statements of a string one after the other, each when its result is asked for."""

    def begin_string(self) -> None:
        """Several statements of one message follow: one transaction, unless they begin one themselves."""

    def end_string(self, *, keep: bool) -> None:
        """They have ended; `keep` is False if one of them failed."""

    def cancel(self) -> None:
        """From another thread: the running statement ends with SQLSTATE 57014."""

    def attach(self, cancel: Callable[[], None], terminate: Callable[[], None]) -> int:
        """Its client is there: `pg_cancel_backend` and `pg_terminate_backend` end by these what it runs, or all.

        The number by which others know it, which no other session has as long as it lasts.
        """

    def variable(self, name: str) -> str:
        """A session variable's value, e.g. `application_name`.  Raises SqlError 42704 if there is none."""

    def set_variable(self, name: str, value: str) -> None: ...

    def reported(self) -> dict[str, str]:
        """The variables that clients are told of (ParameterStatus), with PostgreSQL's spelling of their names."""

    def idle_limit(self) -> float:
        """So many seconds a transaction may wait for its client's next word; 0: as long as it likes."""

    def cursor(self, name: str) -> Schema | None:
        """The columns of a cursor that DECLARE has made.  None: there is no such cursor."""

    def close(self) -> None: ...
