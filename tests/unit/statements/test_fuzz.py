"""Broken statements are refused with a place, and nothing else ever happens."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.errors import SqlError
from tailrace.sql.lexer import scan
from tailrace.sql.parser import split
from tailrace.sql.unparse import Printer
from tailrace.statements.create_secret import CreateSecret
from tailrace.statements.registry import parse_statement

DATA = Path(__file__).parents[2] / "data"
STATEMENTS = [s.text for file in sorted(DATA.glob("*statements/*.sql")) for s in split(file.read_text())]
PIECES = sorted({token.text for text in STATEMENTS for token in scan(text)[:-1]})


@st.composite
def broken(draw: st.DrawFn) -> str:
    """A statement with a few tokens deleted, inserted, swapped or cut off."""
    tokens = [token.text for token in scan(draw(st.sampled_from(STATEMENTS)))[:-1]]
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(tokens)))
        match draw(st.sampled_from(["delete", "insert", "replace", "swap", "cut"])):
            case "delete":
                del tokens[at : at + 1]
            case "insert":
                tokens.insert(at, draw(st.sampled_from(PIECES)))
            case "replace":
                tokens[at : at + 1] = [draw(st.sampled_from(PIECES))]
            case "swap":
                tokens[at : at + 2] = tokens[at : at + 2][::-1]
            case _:
                del tokens[at:]
    return " ".join(tokens)


def outcome(text: str) -> Any:
    """The statement, or None if it was refused as it should be."""
    try:
        return parse_statement(text, 7)
    except SqlError as error:
        position = error.position
    assert position is None or 8 <= position <= len(text) + 8
    return None


def reprinted(statement: Any) -> bool:
    """Whether what is still a CREATE prints as something that parses."""
    if hasattr(statement, "create_sql") and not isinstance(statement, CreateSecret):
        (only,) = split(statement.create_sql(Printer()))
        return parse_statement(only.text) is not None
    return True


@settings(max_examples=400, deadline=None)
@given(broken())
def test_a_broken_statement_is_refused_or_parses(text: str) -> None:
    assert reprinted(outcome(text))


def test_a_random_soup_is_refused() -> None:
    dice = random.Random(5)
    for _ in range(500):
        outcome(" ".join(dice.choices(PIECES, k=dice.randint(0, 12))))


def test_depth_has_an_end() -> None:
    for text in (
        "EXPLAIN " * 3000 + "SELECT 1",
        "SELECT " + "(" * 20000,
        "PREPARE a AS " * 3000 + "SELECT 1",
    ):
        outcome(text)
