"""What SHOW CREATE prints parses to the same statement again, and printing that changes nothing."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.sql.keywords import KEYWORDS
from tailrace.sql.names import Name
from tailrace.sql.parser import split
from tailrace.sql.unparse import Printer, quote_ident, quote_literal
from tailrace.statements.create_secret import CreateSecret
from tailrace.statements.insert import Insert
from tailrace.statements.registry import parse_statement

DATA = Path(__file__).parents[2] / "data"


def created() -> list[object]:
    found = []
    for file in sorted(DATA.glob("*statements/*.sql")):
        for i, text in enumerate(split(file.read_text())):
            statement = parse_statement(text.text)
            if hasattr(statement, "create_sql") and not isinstance(statement, CreateSecret | Insert):
                found.append(pytest.param(statement, id=f"{file.stem}-{i}"))
    return found


def settled(statement: Any, cluster: str) -> Any:
    """As the catalog keeps it: made, in a cluster, and past what only CREATE itself needs."""
    names = {field.name for field in fields(statement)}
    settled = {name: False for name in ("if_not_exists", "or_replace") if name in names}
    if "cluster" in names:
        settled["cluster"] = statement.cluster or cluster
    if "validate" in names:
        settled["validate"] = statement.type.validated
    return replace(statement, **settled)


def check(statement: Any, printer: Printer) -> None:
    text = statement.create_sql(printer)
    assert text.endswith(";")
    (only,) = split(text)
    again: Any = parse_statement(only.text)
    assert settled(again, printer.cluster) == settled(statement, printer.cluster)
    assert again.create_sql(printer) == text


@pytest.mark.parametrize("statement", created())
def test_what_is_printed_parses_to_the_same(statement: Any) -> None:
    check(statement, Printer(cluster="quickstart"))


@pytest.mark.parametrize("statement", created())
def test_names_are_printed_qualified(statement: Any) -> None:
    def qualify(name: Name) -> tuple[str, ...]:
        return ("materialize", "public", "it")[: 3 - len(name.parts)] + name.parts

    text = statement.create_sql(Printer(qualify=qualify))
    (only,) = split(text)
    assert parse_statement(only.text) is not None
    if statement.name is not None and "CLUSTER" not in text.split()[1]:
        assert "materialize." in text or len(statement.name.parts) == 3


@pytest.mark.parametrize("statement", created())
def test_redacted_text_shows_no_literal(statement: Any) -> None:
    text = statement.create_sql(Printer(redacted=True))
    for hidden in ("'t'", "9092", "compact", "it''s"):
        assert hidden not in text


IDENTIFIERS = (
    st.text(min_size=1, max_size=8).filter(lambda text: text not in (".", ".."))
    | st.sampled_from(sorted(word.lower() for word in KEYWORDS))
    | st.sampled_from(["a", "b", "key", "value", "A"])
)
NAMES = st.lists(IDENTIFIERS.map(quote_ident), min_size=1, max_size=3).map(".".join)
COLUMNS = st.lists(IDENTIFIERS, min_size=1, max_size=3, unique=True).map(
    lambda names: "(" + ", ".join(map(quote_ident, names)) + ")"
)
STRINGS = st.text(max_size=10).map(quote_literal)
TOPICS = st.from_regex(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,9}", fullmatch=True).map(quote_literal)
POSITIVE = st.integers(1, 10**6).map(str)
EXPRESSIONS = st.sampled_from(["a", "f(a, b)", "'x' || $1", "(a)::uint8 % 7", "CASE WHEN a THEN 1 END"])
TYPES = st.sampled_from(
    ["int", "numeric(10,2)", "text list", "map[text=>int[]]", "timestamp(3) with time zone"]
)
INTERVALS = st.sampled_from(["'1s'", "'10 minutes'", "'00:00:30'"])


def chosen(*parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Some of the parts, each at most once, in any order, with commas."""
    return st.permutations(parts).flatmap(
        lambda order: st.integers(0, len(order)).flatmap(
            lambda n: st.tuples(*order[:n]).map(lambda items: ", ".join(items))
        )
    )


def option(name: str, value: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(st.sampled_from([" ", " = "]), value).map(lambda both: f"{name}{both[0]}{both[1]}")


def maybe(part: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.just("") | part


def sequence(*parts: str | st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(*(st.just(part) if isinstance(part, str) else part for part in parts)).map(" ".join)


AVRO = sequence(
    "AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION",
    NAMES,
    maybe(
        chosen(
            option("NULL DEFAULTS", st.sampled_from(["true", "false"])),
            option("KEY COMPATIBILITY LEVEL", st.just("'FULL'")),
            sequence("DOC ON TYPE", NAMES, "=", STRINGS),
            sequence("VALUE DOC ON COLUMN", NAMES, ".", IDENTIFIERS.map(quote_ident), "=", STRINGS),
        ).map(lambda options: f"({options})")
    ),
)
SINK_FORMATS = st.sampled_from(["JSON", "TEXT", "BYTES"]) | AVRO
SINKS = sequence(
    *("CREATE SINK", NAMES, maybe(sequence("IN CLUSTER", IDENTIFIERS.map(quote_ident))), "FROM", NAMES),
    *("INTO KAFKA CONNECTION", NAMES, "("),
    chosen(
        option("COMPRESSION TYPE", st.sampled_from(["'gzip'", "none"])),
        option("TRANSACTIONAL ID PREFIX", STRINGS),
        option("PARTITION BY", EXPRESSIONS),
        option("TOPIC PARTITION COUNT", POSITIVE),
        option("TOPIC CONFIG", sequence("MAP[", STRINGS, "=>", STRINGS, "]")),
        option("TOPIC METADATA REFRESH INTERVAL", INTERVALS),
    ).map(lambda options: f"{options}," if options else ""),
    *(option("TOPIC", TOPICS), ")"),
    maybe(sequence("KEY", COLUMNS, maybe(st.just("NOT ENFORCED")))),
    maybe(sequence("HEADERS", IDENTIFIERS.map(quote_ident))),
    sequence("FORMAT", SINK_FORMATS) | sequence("KEY FORMAT", SINK_FORMATS, "VALUE FORMAT", SINK_FORMATS),
    *("ENVELOPE", st.sampled_from(["UPSERT", "DEBEZIUM"])),
    maybe(
        st.sampled_from(["WITH (SNAPSHOT)", "WITH (DELIVERY GUARANTEE 'at-least-once', SNAPSHOT = false)"])
    ),
)
METADATA = st.sampled_from(["PARTITION", "OFFSET", "TIMESTAMP", "HEADERS"])
AS = sequence("AS", IDENTIFIERS.map(quote_ident))
INCLUDES = st.lists(
    sequence(METADATA, maybe(AS)) | sequence("HEADER", STRINGS, AS, maybe(st.just("BYTES"))),
    min_size=1,
    max_size=3,
).map(", ".join)
SOURCES = sequence(
    *("CREATE SOURCE", NAMES, maybe(COLUMNS), "FROM KAFKA CONNECTION", NAMES, "("),
    option("TOPIC", TOPICS),
    maybe(option(", START OFFSET", st.lists(POSITIVE, max_size=3).map(lambda ns: f"({', '.join(ns)})"))),
    *(")", "KEY FORMAT", st.sampled_from(["JSON", "TEXT", "CSV WITH 2 COLUMNS"]), "VALUE FORMAT"),
    st.sampled_from(["JSON", "BYTES", "REGEX 'x'", "CSV WITH HEADER (a, b) DELIMITED BY '|'"]),
    maybe(sequence("INCLUDE KEY", maybe(AS), ",", INCLUDES)),
    maybe(st.sampled_from(["ENVELOPE NONE", "ENVELOPE UPSERT (VALUE DECODING ERRORS INLINE AS oops)"])),
    maybe(sequence("EXPOSE PROGRESS AS", NAMES)),
    maybe(sequence("WITH (RETAIN HISTORY FOR", INTERVALS, ", TIMESTAMP INTERVAL", INTERVALS, ")")),
)
TABLE_COLUMNS = st.lists(IDENTIFIERS, min_size=1, max_size=4, unique=True).flatmap(
    lambda names: st.tuples(
        *(
            sequence(
                quote_ident(name), TYPES, maybe(sequence("DEFAULT", EXPRESSIONS)), maybe(st.just("NOT NULL"))
            )
            for name in names
        ),
        maybe(st.just(f", PRIMARY KEY ({quote_ident(names[0])})")),
    ).map(lambda parts: "(" + ", ".join(parts[:-1]) + parts[-1] + ")")
)
TABLES = sequence("CREATE", maybe(st.just("TEMP")), "TABLE", NAMES, TABLE_COLUMNS)
VIEWS = sequence(
    *("CREATE MATERIALIZED VIEW", NAMES, maybe(COLUMNS)),
    maybe(sequence("WITH (ASSERT NOT NULL", IDENTIFIERS.map(quote_ident), ", RETAIN HISTORY FOR '1s')")),
    *("AS SELECT", EXPRESSIONS, "FROM", NAMES),
)
CONNECTIONS = sequence(
    *("CREATE CONNECTION", NAMES, "TO KAFKA (BROKER"),
    st.text(max_size=10).map(lambda text: quote_literal("x" + text.replace(",", ";"))),
    *(", SASL MECHANISMS PLAIN, SASL PASSWORD SECRET", NAMES, ", SASL USERNAME"),
    STRINGS | sequence("SECRET", NAMES),
    ")",
)


@given(SINKS | SOURCES | TABLES | VIEWS | CONNECTIONS)
def test_whatever_people_call_things(text: str) -> None:
    check(parse_statement(text), Printer(cluster="my cluster"))
