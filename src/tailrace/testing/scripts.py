"""Scripts: a file of SQL with ticks and expectations between the statements.  No Python needed to write one.

    CREATE TABLE bids (item int, price int);
    CREATE MATERIALIZED VIEW lowest AS SELECT item, min(price) AS price FROM bids GROUP BY item;
    tick    bids +(1,30) +(1,20)
    expect  lowest +(1,20)
    answer  SELECT count(*) FROM bids; (2)
    error   SELECT price / 0 FROM bids; 22012

`tick` changes tables in one tick: `bids +(1,30) -(1,20); items +(1)`.  `expect` says how a relation was changed
by the last tick or statement; no rows: not at all.  `answer` gives the rows of a query, `error` the SQLSTATE of a
statement, `stalled` the error that a view stands still with.  `time` sets the clock, which stands from then on (but
for a millisecond at each tick): `time 2100-01-01 00:00:02.5`, always a time that is still to come.  After every tick
and statement each materialized view must also equal the batch meaning of its query.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa

from tailrace.catalog.items import Item
from tailrace.engine import dml
from tailrace.engine.define import scan_of
from tailrace.engine.engine import Engine
from tailrace.errors import TailraceError
from tailrace.statements.insert import Insert
from tailrace.statements.registry import parse_statement
from tailrace.testing.oracle import assert_views_equal_recompute
from tailrace.testing.standing_clock import StandingClock
from tailrace.types.core import BEGINNING, Schema
from tailrace.types.postgres.text import text_form

_DIRECTIVES = ("tick", "time", "expect", "answer", "error", "stalled")
_ROW = re.compile(r"([+-])\s*\(")

Row: TypeAlias = tuple[str | None, ...]
"""The text forms of a row's values."""


class ScriptFailed(AssertionError):
    """What a script expected did not happen; the message says where."""


@dataclass(frozen=True, slots=True)
class Step:
    line: int
    word: str  # sql, or one of the directives
    text: str


def steps(text: str) -> list[Step]:
    """The parts of a script in order.  A directive is one line; SQL goes on up to its semicolon."""
    found: list[Step] = []
    pending: list[str] = []
    began = 1
    for number, line in enumerate(text.splitlines(), start=1):
        word = line.split(None, 1)[0] if line.split() else ""
        if not pending and word in _DIRECTIVES:
            found.append(Step(number, word, line.split(None, 1)[1] if " " in line.strip() else ""))
        elif line.strip() and not (line.lstrip().startswith("--") and not pending):
            began = began if pending else number
            pending.append(line)
            if line.rstrip().endswith(";"):
                found.append(Step(began, "sql", "\n".join(pending)))
                pending = []
    if pending:
        raise ScriptFailed(f"line {began}: a statement without a semicolon")
    return found


def run_script(engine: Engine, path: Path) -> None:
    """Runs a script on an empty engine.  Raises ScriptFailed."""
    with ExitStack() as held:
        runner = _Runner(engine, held)
        for step in steps(path.read_text()):
            try:
                runner.do(step)
            except (TailraceError, AssertionError) as error:
                raise ScriptFailed(f"{path.name}:{step.line}: {error}") from error


class _Runner:
    """`held` keeps the tick before the last step readable, so that `expect` can tell what the step changed."""

    def __init__(self, engine: Engine, held: ExitStack) -> None:
        self._engine = engine
        self._held = held
        self._session = engine.session()
        self._before = BEGINNING
        self._known: set[str] = set()
        self._do: dict[str, Callable[[str], None]] = {
            "sql": self._sql,
            "tick": self._tick,
            "time": self._time,
            "expect": self._expect,
            "answer": self._answer,
            "error": self._error,
            "stalled": self._stalled,
        }

    def do(self, step: Step) -> None:
        if step.word not in ("sql", "tick", "time"):
            self._do[step.word](step.text)
            return
        self._held.close()
        self._engine.settle()
        self._known = set(self._engine.catalog.items)
        self._before = self._held.enter_context(self._engine.cluster.pinned())
        self._do[step.word](step.text)
        self._engine.settle()
        assert_views_equal_recompute(self._engine)

    def _sql(self, text: str) -> None:
        for result in self._session.sql(text):
            list(result.rows)

    def _tick(self, text: str) -> None:
        changes = {self._item(name).id: self._rows(name, rows) for name, rows in _changes(text)}
        self._engine.loop.change(lambda: changes)

    def _time(self, text: str) -> None:
        loop = self._engine.loop
        if not isinstance(loop.clock, StandingClock):
            loop.clock = StandingClock(loop.clock.last)
        moment = datetime.fromisoformat(text.strip()).replace(tzinfo=UTC)
        loop.clock.time = round(moment.timestamp() * 1000)
        loop.settle()

    def _rows(self, name: str, rows: list[tuple[int, str]]) -> pa.Table:
        tables = []
        for weight in {weight for weight, _ in rows}:
            values = ", ".join(row for each, row in rows if each == weight)
            insert = parse_statement(f"INSERT INTO {name} VALUES {values}")
            assert isinstance(insert, Insert)
            tables.append(dml.new_rows(self._session, self._item(name), insert, weight))
        return pa.concat_tables(tables)

    def _expect(self, text: str) -> None:
        [(name, rows)] = _changes(text)
        view = self._item(name)
        status = self._engine.statuses.of(view.id)
        if status.status != "running":
            raise ScriptFailed(f"{name} is {status.status}: {status.error}")
        found, expected = self._change(view), self._as_written(view.schema or (), rows)
        if found != expected:
            raise ScriptFailed(f"{name} changed by {_shown(found)}, expected {_shown(expected)}")

    def _change(self, view: Item) -> Counter[Row]:
        """What the last step did to a view; one that it made was empty before."""
        before = self._before if view.id in self._known else BEGINNING
        cluster = self._engine.cluster
        delta = cluster.reader(scan_of(view)).delta(before, cluster.done)
        delta = delta.consolidated(view.schema or ())
        if delta.sql is None:
            return Counter()
        return _weighted(self._engine.views.small.sql(delta.sql).toArrow(), view.schema or ())

    def _as_written(self, schema: Schema, rows: list[tuple[int, str]]) -> Counter[Row]:
        """Rows of a script as the view's types print them."""
        if not rows:
            return Counter()
        values = ", ".join(f"({row[1:-1]}, {weight})" for weight, row in rows)
        casts = [f"column{i}::{column.type} AS c{i}" for i, column in enumerate(schema, start=1)]
        weight = f"column{len(schema) + 1}::bigint AS weight"
        [result] = self._session.sql(f"SELECT {', '.join([*casts, weight])} FROM (VALUES {values}) AS v")
        table = pa.Table.from_batches(list(result.rows))
        return _weighted(table.rename_columns([*table.column_names[:-1], "weight"]), schema)

    def _answer(self, text: str) -> None:
        query, _, expected = text.rpartition(";")
        [result] = self._session.sql(query)
        assert result.columns is not None
        rows = _texts(pa.Table.from_batches(list(result.rows)), result.columns)
        shown = " ".join("(" + ",".join("NULL" if v is None else v for v in row) + ")" for row in rows)
        if shown != expected.strip():
            raise ScriptFailed(f"answered {shown}, not {expected.strip()}")

    def _error(self, text: str) -> None:
        statement, _, sqlstate = text.rpartition(";")
        try:
            self._sql(statement)
        except TailraceError as error:
            if error.sqlstate != sqlstate.strip():
                raise ScriptFailed(f"failed with {error.sqlstate} {error.message}, not {sqlstate.strip()}") from error
            return
        raise ScriptFailed(f"did not fail: {statement}")

    def _stalled(self, text: str) -> None:
        name, _, error = text.partition(" ")
        status = self._engine.statuses.of(self._item(name).id)
        if (status.status, status.error) != ("stalled", error.strip()):
            raise ScriptFailed(f"{name} is {status.status}: {status.error}")

    def _item(self, name: str) -> Item:
        return self._session.resolve(self._session.parse_name(name))


def _changes(text: str) -> list[tuple[str, list[tuple[int, str]]]]:
    """`bids +(1,30) -(2,5); items +(1)` → relation and weighted rows."""
    found = []
    for part in text.split(";"):
        if part.strip():
            name, _, rest = part.strip().partition(" ")
            found.append((name, _weighted_rows(rest)))
    return found


def _weighted_rows(text: str) -> list[tuple[int, str]]:
    rows = []
    for match in _ROW.finditer(text):
        depth, end, quoted = 1, match.end(), False
        while depth:
            quoted ^= text[end] == "'"
            depth += 0 if quoted else {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        rows.append((1 if match[1] == "+" else -1, text[match.end() - 1 : end]))
    return rows


def _weighted(table: pa.Table, schema: Schema) -> Counter[Row]:
    """Rows by their text, with their weights; the weight is the last column."""
    found: Counter[Row] = Counter()
    for row, weight in zip(_texts(table, schema), table.column(len(schema)).to_pylist(), strict=True):
        found[row] += weight
    return found


def _texts(table: pa.Table, schema: Schema) -> list[Row]:
    columns = [text_form(table.column(i).combine_chunks(), c.type).to_pylist() for i, c in enumerate(schema)]
    return list(zip(*columns, strict=True)) if columns else [()] * table.num_rows


def _shown(rows: Counter[Row]) -> str:
    return " ".join(f"{weight:+d} × {row}" for row, weight in sorted(rows.items(), key=str)) or "nothing"
