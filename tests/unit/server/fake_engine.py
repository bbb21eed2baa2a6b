"""An engine in one file, for tests of the wire alone: it keeps the contract of a Session, and no data.

It understands what the tests need: rows of every type, rows that come slowly or for ever, errors of every
kind, notices, transactions.  `SELECT $1::type, …` echoes its arguments.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from decimal import Decimal
from threading import Event

import pyarrow as pa

from tailrace.errors import SqlError, SyntaxFailure
from tailrace.server.startup import StartupInfo
from tailrace.statements.contract import CopyStyle, Notice, Prepared, Result
from tailrace.types import core
from tailrace.types.core import ArrayOf, Column, Schema, SqlType

TYPES: dict[str, SqlType] = {
    "bool": core.BOOLEAN,
    "int2": core.SMALLINT,
    "int4": core.INTEGER,
    "int8": core.BIGINT,
    "uint8": core.UINT8,
    "float4": core.REAL,
    "float8": core.DOUBLE,
    "numeric": core.NUMERIC,
    "text": core.TEXT,
    "varchar": core.Varchar(20),
    "bytea": core.BYTEA,
    "date": core.DATE,
    "time": core.TIME,
    "timestamp": core.TIMESTAMP,
    "timestamptz": core.TIMESTAMPTZ,
    "interval": core.INTERVAL,
    "jsonb": core.JSONB,
    "uuid": core.UUID,
    "int4[]": ArrayOf(core.INTEGER),
    "text[]": ArrayOf(core.TEXT),
}
_PLAIN = {
    "bool": (pa.bool_(), lambda text: text in ("t", "true", "True")),
    "int2": (pa.int16(), int),
    "int4": (pa.int32(), int),
    "int8": (pa.int64(), int),
    "uint8": (pa.decimal128(20, 0), Decimal),
    "float4": (pa.float32(), float),
    "float8": (pa.float64(), float),
    "numeric": (pa.decimal128(38, 18), Decimal),
    "bytea": (pa.binary(), lambda text: bytes.fromhex(text.removeprefix("\\x"))),
    "date": (pa.date32(), date.fromisoformat),
    "time": (pa.int64(), lambda text: _micros(text)),
    "interval": (
        pa.struct([("months", pa.int32()), ("days", pa.int32()), ("micros", pa.int64())]),
        lambda text: _interval(text),
    ),
    "int4[]": (pa.list_(pa.int32()), lambda text: [None if x == "NULL" else int(x) for x in _items(text)]),
    "text[]": (pa.list_(pa.string()), lambda text: [None if x == "NULL" else x for x in _items(text)]),
}


def column_of(name: str, text: str | None) -> pa.Array:
    """One value, as types/spark.py holds it, from its text form."""
    if name in ("timestamp", "timestamptz"):
        zone = "UTC" if name == "timestamptz" else None
        iso = None if text is None else re.sub(r"\+00(:00)?$|Z$", "", text).replace("T", " ")
        return pa.array([iso]).cast(pa.timestamp("us")).cast(pa.int64()).cast(pa.timestamp("us", zone))
    kind, parse = _PLAIN.get(name, (pa.string(), str))
    return pa.array([None if text is None else parse(text)], kind)


def _items(text: str) -> list[str]:
    return [item.strip('"') for item in text.strip("{}").split(",") if item]


def _micros(clock: str) -> int:
    hours, minutes, seconds = clock.split(":")
    return (int(hours) * 3600 + int(minutes) * 60) * 1_000_000 + int(Decimal(seconds) * 1_000_000)


def _interval(text: str) -> tuple[int, int, int]:
    amounts = {unit.rstrip("s"): int(n) for n, unit in re.findall(r"(-?\d+) (mons?|days?)", text)}
    clock = re.search(r"(\d+:\d+:[\d.]+)", text)
    return amounts.get("mon", 0), amounts.get("day", 0), _micros(clock[1]) if clock else 0


def numbers(first: int, count: int) -> pa.RecordBatch:
    return pa.record_batch([pa.array(range(first, first + count), pa.int64())], names=["c0"])


NUMBER: Schema = (Column("n", core.BIGINT),)


class Rows:
    """Batches that note when they are closed."""

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        self._batches = iter(batches)
        self.closed = Event()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self

    def __next__(self) -> pa.RecordBatch:
        return next(self._batches)

    def close(self) -> None:
        self.closed.set()


_numbers = itertools.count(1)


class FakeSession:
    """Keeps the `Session` contract.  `executed` lists what ran; `rows` is the last row stream."""

    def __init__(self, startup: StartupInfo | None = None) -> None:
        self.startup = startup
        self.executed: list[str] = []
        self.prepared: list[str] = []
        self.rows: Rows | None = None
        self.blocked = Event()
        self.closed = Event()
        self._cancelled = Event()
        self.variables = {
            "application_name": "",
            "client_encoding": "UTF8",
            "client_min_messages": "notice",
            "DateStyle": "ISO, MDY",
            "integer_datetimes": "on",
            "server_version": "9.5.0",
            "standard_conforming_strings": "on",
            "TimeZone": "UTC",
        }

    def split(self, text: str) -> Sequence[str]:
        if text.count("'") % 2:
            raise SyntaxFailure("unterminated quoted string", position=text.rindex("'") + 1)
        return [part.strip() for part in text.split(";") if part.strip()]

    def prepare(self, text: str, parameters: Sequence[SqlType | None] = ()) -> Prepared:
        self.prepared.append(text)
        words = text.lower().split()
        if not words:
            return Prepared(text=text, statement=None, parameters=(), columns=None)
        if words[0] == "selec":
            raise SyntaxFailure("Expected a statement, found identifier", position=1)
        casts = re.findall(r"\$\d+::([\w\[\]]+)", text)
        types = tuple(TYPES[name] for name in casts)
        return Prepared(text=text, statement=words[0], parameters=types, columns=self._columns(text, types))

    def execute(self, prepared: Prepared, arguments: Sequence[str | None] = ()) -> Result:
        self._cancelled.clear()
        text = prepared.text
        self.executed.append(text)
        casts = re.findall(r"\$\d+::([\w\[\]]+)", text)
        if casts and prepared.columns is not None:
            columns = [column_of(name, value) for name, value in zip(casts, arguments, strict=True)]
            batch = pa.record_batch(columns, names=[f"c{i}" for i in range(len(columns))])
            return Result(tag="SELECT {rows}", columns=prepared.columns, rows=[batch])
        if casts:
            return Result(tag="INSERT 0 1")
        return self._run(text.lower().split(), text, prepared.columns)

    def _columns(self, text: str, types: Sequence[SqlType]) -> Schema | None:
        match text.lower().split():
            case ["select", *_] if types:
                return tuple(Column(f"c{i}", type) for i, type in enumerate(types))
            case ["numbers" | "forever" | "sleep" | "select", *_]:
                return NUMBER
            case ["show", name]:
                return (Column(name, core.TEXT),)
            case _:
                return None

    def _run(self, words: list[str], text: str, columns: Schema | None) -> Result:
        match words:
            case ["select", value, *_]:
                return Result(tag="SELECT {rows}", columns=columns, rows=[numbers(int(value), 1)])
            case ["numbers", count, size]:
                return self._streaming(numbers(i, int(size)) for i in range(0, int(count), int(size)))
            case ["forever"]:
                return self._streaming(self._forever())
            case ["sleep"]:
                self._sleep()
            case ["begin" | "commit" | "rollback"]:
                return Result(tag=words[0].upper())
            case ["end"]:
                return Result(tag="COMMIT")
            case ["set", name, "=", *_]:
                self.set_variable(name, text.split("=", 1)[1].strip())
                return Result(tag="SET")
            case ["show", name]:
                batch = pa.record_batch([pa.array([self.variable(name)])], names=["c0"])
                return Result(tag="SHOW", columns=columns, rows=[batch])
            case ["notify"]:
                return Result(tag="NOTIFY", notices=[Notice("be warned", hint="Look.", severity="WARNING")])
            case ["fail"]:
                raise SqlError("it failed", detail="Because.", hint="Do not.", position=1, sqlstate="22012")
            case ["crash"]:
                raise RuntimeError("password=hunter2")
            case ["copy", style]:
                names = pa.array(["a\tb", None, 'q"x,'])
                batch = pa.record_batch([pa.array([1, 2, 3], pa.int32()), names], names=["c0", "c1"])
                columns = (Column("n", core.INTEGER), Column("s", core.TEXT))
                return Result(tag="COPY {rows}", columns=columns, rows=[batch], copy=CopyStyle.of(style))
            case ["changed"]:
                return Result(tag="SELECT {rows}", columns=NUMBER, rows=[numbers(0, 1)])
            case ["deallocate" | "discard", "all"]:
                return Result(tag=text.upper())
            case ["insert", *_]:
                return Result(tag="INSERT 0 1")
        raise SyntaxFailure(f"Expected a statement, found {text}", position=1)

    def _streaming(self, batches: Iterable[pa.RecordBatch]) -> Result:
        self.rows = Rows(batches)
        return Result(tag="SELECT {rows}", columns=NUMBER, rows=self.rows)

    def _forever(self) -> Iterator[pa.RecordBatch]:
        """Two rows, then nothing until somebody cancels."""
        yield numbers(0, 1)
        yield numbers(1, 1)
        self._sleep()

    def _sleep(self) -> None:
        self.blocked.set()
        self._cancelled.wait()
        raise SqlError("canceling statement due to user request", sqlstate="57014")

    def sql(self, text: str) -> Iterator[Result]:
        for statement in self.split(text):
            yield self.execute(self.prepare(statement))

    def begin_string(self) -> None: ...

    def end_string(self, *, keep: bool) -> None: ...

    def cancel(self) -> None:
        self._cancelled.set()

    def attach(self, cancel: Callable[[], None], terminate: Callable[[], None]) -> int:
        self.terminate = terminate
        return next(_numbers)

    def variable(self, name: str) -> str:
        for known, value in self.variables.items():
            if known.lower() == name.lower():
                return value
        raise SqlError(f'unrecognized configuration parameter "{name}"', sqlstate="42704")

    def set_variable(self, name: str, value: str) -> None:
        self.variable(name)
        if name.lower() == "timezone" and value != "UTC":
            raise SqlError('invalid value for parameter "TimeZone"', sqlstate="22023")
        known = next(known for known in self.variables if known.lower() == name.lower())
        self.variables[known] = value

    def reported(self) -> dict[str, str]:
        return {name: value for name, value in self.variables.items() if name != "client_min_messages"}

    def idle_limit(self) -> float:
        return float(self.variables.get("idle_limit", 0))

    def cursor(self, name: str) -> Schema | None:
        return None

    def close(self) -> None:
        self.closed.set()
