"""COPY { (query | SUBSCRIBE …) | name } TO STDOUT | expression [[WITH] (option,…)]

and COPY [INTO] name [(column,…)] FROM STDIN | expression [[WITH] (option,…)]; also with PostgreSQL's older options
without parentheses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tailrace.engine import copy_to, copying
from tailrace.engine.context import Arguments, Session
from tailrace.errors import NotSupported
from tailrace.sql.kinds import BOOLEAN, OBJECT, SIZE, TEXT, Several
from tailrace.sql.lexer import Kind
from tailrace.sql.names import Name, QueryText
from tailrace.sql.options import Given, Option, Options, parse_options
from tailrace.sql.parser import Parser
from tailrace.statements import select, subscribe
from tailrace.statements.contract import Result
from tailrace.statements.select import Select
from tailrace.statements.subscribe import Subscribe

STARTS = (("COPY",),)

FORMAT = Option("FORMAT", TEXT, doc="text, csv, binary or parquet.")
AWS_CONNECTION = Option("AWS CONNECTION", OBJECT, doc="How to reach the bucket.")
MAX_FILE_SIZE = Option("MAX FILE SIZE", SIZE, doc="Begin a new file after this much.")
DELIMITER = Option("DELIMITER", TEXT, doc="Between two fields.")
NULL = Option("NULL", TEXT, doc="How NULL is written.")
QUOTE = Option("QUOTE", TEXT, doc="Around a field.")
ESCAPE = Option("ESCAPE", TEXT, doc="Before a quote inside a field.")
HEADER = Option("HEADER", BOOLEAN, doc="Whether the first line names the columns.")
FILES = Option("FILES", Several(TEXT), doc="Which to read.")
PATTERN = Option("PATTERN", TEXT, doc="Which to read, with wildcards.")
TO_OPTIONS: tuple[Option[Any], ...] = (
    *(FORMAT, AWS_CONNECTION, MAX_FILE_SIZE, DELIMITER, NULL, QUOTE, ESCAPE, HEADER),
)
FROM_OPTIONS: tuple[Option[Any], ...] = (
    *(FORMAT, AWS_CONNECTION, DELIMITER, NULL, QUOTE, ESCAPE, HEADER, FILES, PATTERN),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class CopyTo:
    """`target` is None for STDOUT; `format` is in lower case, or None if not given."""

    of: Name | Select | Subscribe
    target: QueryText | None
    format: str | None
    options: Options = field(default_factory=Options)


@dataclass(frozen=True, kw_only=True, slots=True)
class CopyFrom:
    """`origin` is None for STDIN."""

    table: Name
    columns: tuple[str, ...]
    origin: QueryText | None
    format: str | None
    options: Options = field(default_factory=Options)


Copy: TypeAlias = CopyTo | CopyFrom


def parse(p: Parser) -> Copy:
    p.expect("COPY")
    if p.accept("("):
        of: Name | Select | Subscribe = subscribe.parse(p) if p.at("SUBSCRIBE") else select.parse(p)
        p.expect(")", "TO")
        return _to(p, of)
    into = p.accept("INTO")
    name = p.name("relation name or query in parentheses")
    columns_position = p.position
    columns = p.columns() if p.at("(") else ()
    if columns and not into and p.at("TO"):
        raise NotSupported(
            "specifying columns for COPY <table_name> TO commands not yet supported;"
            " use COPY (SELECT...) TO ... instead",
            position=columns_position,
        )
    if not into and not columns and p.accept("TO"):
        return _to(p, name)
    p.keyword("FROM") if into or columns else p.keyword("TO", "FROM")
    return _from(p, name, columns)


def _to(p: Parser, of: Name | Select | Subscribe) -> CopyTo:
    target = None if p.accept("STDOUT") else _place(p)
    options = _options(p, TO_OPTIONS)
    return CopyTo(of=of, target=target, format=_format(options), options=options)


def _from(p: Parser, table: Name, columns: tuple[str, ...]) -> CopyFrom:
    origin = None if p.accept("STDIN") else _place(p)
    options = _options(p, FROM_OPTIONS)
    return CopyFrom(table=table, columns=columns, origin=origin, format=_format(options), options=options)


def _place(p: Parser) -> QueryText:
    """An expression.  After a lone string a parenthesis begins the options; it cannot be part of it."""
    if p.token.kind is Kind.STRING and p.peek(1).word == "(":
        return p.one_token()
    return p.expression(("WITH",))


def _options(p: Parser, known: tuple[Option[Any], ...]) -> Options:
    with_ = p.accept("WITH")
    return parse_options(p, known) if p.at("(") or (with_ and p.at_end()) else Options(tuple(_words(p)))


def _words(p: Parser) -> Iterator[Given]:
    """PostgreSQL's older form, which `\\copy` is still written in: `CSV HEADER DELIMITER ';' NULL 'x'`."""
    texts = {"DELIMITER": DELIMITER, "DELIMITERS": DELIMITER, "NULL": NULL, "QUOTE": QUOTE, "ESCAPE": ESCAPE}
    while not p.at_end():
        position = p.position
        word = p.keyword("CSV", "BINARY", "HEADER", *texts)
        if word in ("CSV", "BINARY"):
            yield Given(FORMAT, word.lower(), position)
        elif word == "HEADER":
            yield Given(HEADER, True, position)
        else:
            p.accept("AS")
            yield Given(texts[word], p.string(), position)


def _format(options: Options) -> str | None:
    given = options.get(FORMAT)
    return None if given is None else given.lower()


def execute(statement: Copy, session: Session, arguments: Arguments) -> Result:
    match statement:
        case CopyTo(target=None):
            return copying.to_client(statement, _rows(statement.of, session, arguments))
        case CopyFrom(origin=None):
            session.admit("write")
            return copying.from_client(session, statement)
        case CopyTo():
            return copy_to.to_bucket(session, statement)
        case CopyFrom(origin=origin):
            raise NotSupported(
                "COPY from files not yet supported",
                hint="Load with COPY … FROM STDIN, or read a topic.",
                position=None if origin is None else origin.start + 1,
            )


def _rows(of: Name | Select | Subscribe, session: Session, arguments: Arguments) -> Result:
    match of:
        case Name(parts=parts):
            quoted = ".".join('"' + part.replace('"', '""') + '"' for part in parts)
            return select.execute(Select(query=QueryText(f"SELECT * FROM {quoted}")), session, arguments)
        case Select():
            return select.execute(of, session, arguments)
        case Subscribe():
            return subscribe.execute(of, session, arguments)
