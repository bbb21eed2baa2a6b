"""Scripts: a file of SQL with ticks and expectations between the statements.  No Python needed to write one.

    CREATE TABLE bids (item int, price int);
    CREATE MATERIALIZED VIEW lowest AS SELECT item, min(price) AS price FROM bids GROUP BY item;
    tick    bids +(1,30) +(1,20)
    expect  lowest +(1,20)
    error   SELECT price / 0 FROM bids; 22012
    answer  SELECT count(*) FROM bids; (2)

`tick` changes tables in one tick.  `expect` says how a view changed in the last tick; no rows: not at all.  After
every tick each materialized view must also equal the batch meaning of its own query.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from tailrace.catalog.items import Item
from tailrace.engine import dml
from tailrace.engine.contents import reading, text_of
from tailrace.engine.define import scan_of
from tailrace.engine.engine import Engine
from tailrace.errors import TailraceError
from tailrace.statements.insert import Insert
from tailrace.statements.registry import parse_statement
from tailrace.types.core import Schema, Tick
from tailrace.types.postgres.text import text_form

_DIRECTIVES = ("tick", "expect", "error", "answer")
_ROW = re.compile(r"([+-])\s*\(")


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
    """Runs a script on an empty engine whose loop is idle.  Raises ScriptFailed."""
    runner = _Runner(engine)
    for step in steps(path.read_text()):
        try:
            runner.do(step)
        except (TailraceError, AssertionError) as error:
            raise ScriptFailed(f"{path.name}:{step.line}: {error}") from error


class _Runner:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._session = engine.session()
        self._before: Tick = engine.cluster.done

    def do(self, step: Step) -> None:
        match step.word:
            case "sql":
                self._engine.sql(step.text)
            case "tick":
                self._tick(step.text)
            case "expect":
                self._expect(step.text)
            case "error":
                self._error(step.text)
            case "answer":
                self._answer(step.text)

    def _tick(self, text: str) -> None:
        changes = {table: rows for table, rows in _changes(text)}
        plans = {table: self._rows(table, rows) for table, rows in changes.items()}
        self._before = self._engine.cluster.done
        self._engine.loop.change(lambda: {self._item(table).id: rows for table, rows in plans.items()})
        self._compare_with_recompute()

    def _rows(self, table: str, rows: list[tuple[int, str]]) -> pa.Table:
        item = self._item(table)
        tables = []
        for weight, row in rows:
            insert = parse_statement(f"INSERT INTO {table} VALUES {row}")
            assert isinstance(insert, Insert)
            tables.append(dml.new_rows(self._session, item, insert, weight))
        return pa.concat_tables(tables)

    def _expect(self, text: str) -> None:
        [(view, rows)] = _changes(text)
        item = self._item(view)
        expected: Counter[tuple[str | None, ...]] = Counter()
        for weight, row in rows:
            expected[self._texts(item, row)] += weight
        found = self._change(item)
        if found != expected:
            raise ScriptFailed(f"{view} changed by {_shown(found)}, expected {_shown(expected)}")

    def _texts(self, item: Item, row: str) -> tuple[str | None, ...]:
        """A row as written, as the view's types print it."""
        names = [f"column{i}" for i in range(1, len(item.schema or ()) + 1)]
        casts = ", ".join(f"{n}::{c.type}" for n, c in zip(names, item.schema or (), strict=True))
        table = self._collect(f"SELECT {casts} FROM (VALUES {row}) v")
        assert item.schema is not None
        return _rows_as_text(table, item.schema)[0]

    def _collect(self, query: str) -> pa.Table:
        [result] = self._session.sql(query)
        return pa.Table.from_batches(list(result.rows))

    def _change(self, item: Item) -> Counter[tuple[str | None, ...]]:
        cluster = self._engine.cluster
        delta = cluster.reader(scan_of(item)).delta(self._before, cluster.done).consolidated()
        if delta.sql is None:
            return Counter()
        assert item.schema is not None
        rows = self._engine.views.small.sql(delta.sql).toArrow()
        found: Counter[tuple[str | None, ...]] = Counter()
        for row, weight in zip(_rows_as_text(rows, item.schema), rows["weight"].to_pylist(), strict=True):
            found[row] += weight
        return found

    def _compare_with_recompute(self) -> None:
        for item in self._engine.catalog.of_kind("materialized view"):
            if self._engine.statuses.of(item.id).status == "stalled":
                continue
            assert item.plan is not None
            assert item.schema is not None
            with reading(self._engine, item.plan) as t:
                kept = self._engine.views.small.sql(text_of(self._engine, scan_of(item), t)).toArrow()
                fresh = self._engine.views.small.sql(text_of(self._engine, item.plan, t)).toArrow()
            one, other = (Counter(_rows_as_text(table, item.schema)) for table in (kept, fresh))
            if one != other:
                raise ScriptFailed(f"{item.name.item} holds {_shown(one)}, a recompute gives {_shown(other)}")

    def _error(self, text: str) -> None:
        statement, _, sqlstate = text.rpartition(";")
        try:
            self._engine.sql(statement)
        except TailraceError as error:
            if error.sqlstate != sqlstate.strip():
                raise ScriptFailed(
                    f"failed with {error.sqlstate} {error.message}, not {sqlstate.strip()}"
                ) from error
            return
        raise ScriptFailed(f"did not fail: {statement}")

    def _answer(self, text: str) -> None:
        query, _, expected = text.rpartition(";")
        [result] = self._session.sql(query)
        assert result.columns is not None
        rows = _rows_as_text(pa.Table.from_batches(list(result.rows)), result.columns)
        shown = " ".join("(" + ",".join("NULL" if v is None else v for v in row) + ")" for row in rows)
        if shown != expected.strip():
            raise ScriptFailed(f"answered {shown}, not {expected.strip()}")

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


def _rows_as_text(table: pa.Table, schema: Schema) -> list[tuple[str | None, ...]]:
    columns: list[Any] = [
        text_form(table.column(i).combine_chunks(), c.type).to_pylist() for i, c in enumerate(schema)
    ]
    return list(zip(*columns, strict=True)) if columns else [()] * table.num_rows


def _shown(rows: Counter[tuple[str | None, ...]]) -> str:
    return " ".join(f"{weight:+d}{row}" for row, weight in sorted(rows.items(), key=str)) or "nothing"
