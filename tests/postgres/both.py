"""The same text put to PostgreSQL and to Tailrace by the same client, and what each answered, as text.

Three things are made alike before answers are compared, as docs/postgres-differences.md says: numeric without
zeros at its end and with 18 digits after the point, jsonb without spaces and with its keys sorted, rows of a
query without ORDER BY in any order.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any, Self

import psycopg
from psycopg.pq import ExecStatus

from tailrace.types.spark import UNSCALED_DIGITS

_NUMERIC, _NUMERICS, _JSONB = 1700, 1231, 3802
ONE_ROW = "one_row"
_ROUNDED_DIGITS = 15
_WIDE = Context(prec=200, rounding="ROUND_HALF_UP")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a statement came to: rows of texts under types (OIDs), or a SQLSTATE."""

    types: tuple[int, ...] = ()
    rows: tuple[tuple[str | None, ...], ...] = ()
    error: str | None = None
    message: str = ""

    def __str__(self) -> str:
        if self.error is not None:
            return f"{self.error} {self.message}"
        return f"{list(self.rows)} of types {list(self.types)}"

    def same_as(self, other: Answer) -> bool:
        if (self.types, len(self.rows), self.error) != (other.types, len(other.rows), other.error):
            return False
        pairs = zip(self.rows, other.rows, strict=True)
        return all(_same(a, b, oid) for one, two in pairs for a, b, oid in zip(one, two, self.types, strict=True))

    def column(self, place: int) -> Answer:
        """One column of it, as if it had been asked for alone."""
        return Answer(types=(self.types[place],), rows=tuple((row[place],) for row in self.rows))


class Client:
    """One connection, asked in the simple protocol, so that all values come in their text form."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self.connection = connection

    @classmethod
    def connect(cls, dsn: str, *setup: str) -> Self:
        client = cls(psycopg.connect(dsn, autocommit=True))
        for statement in setup:
            client.connection.execute(statement)
        return client

    def ask(self, statement: str, *, exactly: bool = False) -> Answer:
        """`exactly`: the texts as they come, without being made alike."""
        result = self.connection.pgconn.exec_(statement.encode())
        if result.status == ExecStatus.FATAL_ERROR:
            state = result.error_field(psycopg.pq.DiagnosticField.SQLSTATE) or b""
            message = result.error_field(psycopg.pq.DiagnosticField.MESSAGE_PRIMARY) or b""
            return Answer(error=state.decode(), message=message.decode())
        types = tuple(result.ftype(i) for i in range(result.nfields))
        rows = tuple(
            tuple(_alike(result.get_value(row, i), 0 if exactly else oid) for i, oid in enumerate(types))
            for row in range(result.ntuples)
        )
        ordered = re.search(r"\border\s+by\b", _outside_parentheses(statement), re.IGNORECASE)
        return Answer(types=types, rows=rows if ordered else tuple(sorted(rows, key=repr)))

    def close(self) -> None:
        self.connection.close()


def _outside_parentheses(statement: str) -> str:
    """An ORDER BY inside a window or a subquery orders nothing outside."""
    inner = re.compile(r"\([^()]*\)")
    while inner.search(statement):
        statement = inner.sub("", statement)
    return statement


def _alike(value: bytes | None, oid: int) -> str | None:
    if value is None:
        return None
    text = value.decode()
    if oid == _NUMERIC:
        return _plain_number(text)
    if oid == _NUMERICS:
        return ",".join(_plain_number(part) for part in text.strip("{}").split(","))
    if oid == _JSONB:
        document = json.loads(text, parse_float=Decimal, parse_int=Decimal)
        return json.dumps(document, sort_keys=True, default=_json_number)
    return text


def _plain_number(text: str) -> str:
    number = Decimal(text) if text not in ("NULL",) else None
    if number is None or not number.is_finite():
        return text
    rounded = number.quantize(Decimal(1).scaleb(-UNSCALED_DIGITS), context=_WIDE)
    return f"{rounded.normalize(_WIDE):f}"


def _same(one: str | None, other: str | None, oid: int) -> bool:
    """A numeric may have more digits than the other if that one has many: the rest is rounding."""
    if one == other or oid != _NUMERIC or one is None or other is None:
        return one == other
    scales = [len(text.partition(".")[2]) for text in (one, other)]
    if min(scales) < _ROUNDED_DIGITS:
        return False
    unit = Decimal(1).scaleb(-min(scales))
    return Decimal(one).quantize(unit, context=_WIDE) == Decimal(other).quantize(unit, context=_WIDE)


def _json_number(value: Decimal) -> str:
    return f"number {value.normalize(_WIDE):f}"


@dataclass(frozen=True, slots=True)
class Both:
    postgres: Client
    tailrace: Client

    def run(self, statement: str) -> tuple[Answer, Answer]:
        """A statement put to each.  A materialized view is a plain one to PostgreSQL: it is never out of date."""
        plain = re.sub(r"^CREATE MATERIALIZED VIEW", "CREATE VIEW", statement.strip(), flags=re.IGNORECASE)
        return self.postgres.ask(plain), self.tailrace.ask(statement)

    def differences(self, expressions: list[str]) -> list[str]:
        """Lines about expressions that differ.  All that have a value are asked for at once."""
        wanted = {text: self.postgres.ask(_query(text)) for text in dict.fromkeys(expressions)}
        together = [text for text, answer in wanted.items() if answer.error is None and _is_scalar(text, answer)]
        found = self._found(together)
        found |= {text: self.tailrace.ask(_query(text)) for text in wanted if text not in found}
        return [difference(t, answer, found[t]) for t, answer in wanted.items() if not answer.same_as(found[t])]

    def _found(self, expressions: list[str]) -> dict[str, Answer]:
        if not expressions:
            return {}
        answer = self.tailrace.ask(_query(", ".join(expressions)))
        if answer.error is None:
            return {text: answer.column(i) for i, text in enumerate(expressions)}
        if len(expressions) == 1:
            return {expressions[0]: answer}
        half = len(expressions) // 2
        return self._found(expressions[:half]) | self._found(expressions[half:])


def _query(text: str) -> str:
    """An expression as a query of the table with one row: what needs no table is answered without Spark."""
    return f"SELECT {text}" if " FROM " in _outside_parentheses(text) else f"SELECT {text} FROM {ONE_ROW}"


def _is_scalar(text: str, answer: Answer) -> bool:
    """Can it stand beside others in one SELECT?"""
    return len(answer.rows) == 1 == len(answer.types) and " FROM " not in _outside_parentheses(text)


def difference(text: str, postgres: Answer, tailrace: Answer) -> str:
    return f"{text}\n    PostgreSQL: {postgres}\n    Tailrace:   {tailrace}"
