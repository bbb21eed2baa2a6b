"""Prepared statements by name, as Parse makes them and `DEALLOCATE` drops them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tailrace.errors import SqlError
from tailrace.server.messages import Parse
from tailrace.statements.contract import Prepared, Result, Session
from tailrace.types.core import SqlType
from tailrace.types.postgres import from_oid, oid_of
from tailrace.types.postgres.parameters import BadCharacters

_DEALLOCATE = re.compile(
    r'\s*deallocate\s+(?:prepare\s+)?(?:"((?:[^"]|"")+)"|([a-z_][\w$]*))\s*;?\s*', re.IGNORECASE
)


class UnknownStatement(SqlError):
    sqlstate = "26000"


class DuplicateStatement(SqlError):
    sqlstate = "42P05"


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement, planned, under the name that the client gave it."""

    prepared: Prepared
    parameter_oids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Deallocate:
    """DEALLOCATE of a name that Parse has made: drivers that do not know Close drop their statements so."""

    name: str


class PreparedStatements:
    """What a session can Bind.  The unnamed statement is the one with the empty name."""

    def __init__(self, engine: Session) -> None:
        self._engine = engine
        self._by_name: dict[str, Statement] = {}

    def add(self, message: Parse) -> None:
        if message.statement and message.statement in self._by_name:
            raise DuplicateStatement(f'prepared statement "{message.statement}" already exists')
        self.forget("")
        given = message.parameter_oids
        prepared = self.plan(message.text, [from_oid(oid) for oid in given])
        self._by_name[message.statement] = Statement(prepared, _parameter_oids(given, prepared.parameters))

    def get(self, name: str) -> Statement:
        try:
            return self._by_name[name]
        except KeyError:
            which = f'prepared statement "{name}"' if name else "unnamed prepared statement"
            raise UnknownStatement(f"{which} does not exist") from None

    def forget(self, name: str) -> None:
        self._by_name.pop(name, None)

    def plan(self, text: str, types: Sequence[SqlType | None] = ()) -> Prepared:
        """Parses and plans; never executes."""
        if (name := _deallocated(text)) in self._by_name:
            return Prepared(text=text, statement=Deallocate(name), parameters=(), columns=None)
        return self._engine.prepare(readable(text), types)

    def execute(self, prepared: Prepared, arguments: Sequence[str | None]) -> Result:
        if isinstance(prepared.statement, Deallocate):
            self.forget(prepared.statement.name)
            return Result(tag="DEALLOCATE")
        return self._engine.execute(prepared, arguments)

    def succeeded(self, tag: str) -> None:
        if tag in ("DEALLOCATE ALL", "DISCARD ALL"):
            self._by_name.clear()


def _parameter_oids(given: Sequence[int], inferred: Sequence[SqlType]) -> tuple[int, ...]:
    """What the client said, where it said anything; else what the statement makes of it; else text."""
    oids = [oid_of(type) for type in inferred]
    oids += [0] * (len(given) - len(oids))
    said = [*given, *[0] * (len(oids) - len(given))]
    return tuple(s if from_oid(s) is not None else o or 25 for s, o in zip(said, oids, strict=True))


def _deallocated(text: str) -> str:
    found = _DEALLOCATE.fullmatch(text)
    if found is None:
        return ""
    quoted, plain = found.groups()
    return quoted.replace('""', '"') if quoted else plain.lower()


def readable(text: str) -> str:
    """The text, if it was UTF-8 on the wire.  (It cannot hold a zero byte: that would have ended it.)"""
    try:
        text.encode()
    except UnicodeEncodeError as bad:
        wrong = text[bad.start].encode("utf-8", "surrogateescape").hex()
        raise BadCharacters(f'invalid byte sequence for encoding "UTF8": 0x{wrong}') from None
    return text
