"""Quoting, and what a printer leaves out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.sql.names import Name, QueryText
from tailrace.sql.parser import Parser
from tailrace.sql.unparse import Printer, quote_ident, quote_literal


@pytest.mark.parametrize(
    ("identifier", "quoted"),
    [
        ("orders", "orders"),
        ("_a$1", "_a$1"),
        ("Orders", '"Orders"'),
        ("select", '"select"'),
        ("1a", '"1a"'),
        ("größe", '"größe"'),
        ('a"b', '"a""b"'),
        ("key", "key"),
    ],
)
def test_quotes_stand_only_where_they_are_needed(identifier: str, quoted: str) -> None:
    assert quote_ident(identifier) == quoted


@given(st.text(min_size=1, max_size=60).filter(lambda text: text not in (".", "..")))
def test_any_identifier_comes_back(identifier: str) -> None:
    assert Parser(quote_ident(identifier)).identifier() == identifier


@given(st.text())
def test_any_literal_comes_back(text: str) -> None:
    assert Parser(quote_literal(text)).string() == text


def test_names_are_qualified_by_the_caller() -> None:
    printer = Printer(qualify=lambda name: ("materialize", "public", name.item))
    assert printer.name(Name(("T",))) == 'materialize.public."T"'


def test_redaction_replaces_every_literal() -> None:
    printer = Printer(redacted=True)
    assert printer.query(QueryText("SELECT 'a', 5, x'1f', \"b\" -- 7")) == (
        "SELECT '<REDACTED>', '<REDACTED>', '<REDACTED>', \"b\" -- 7"
    )
    assert printer.text("secret") == "'<REDACTED>'"
