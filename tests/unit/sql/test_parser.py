"""The cursor: names, embedded text, splitting."""

from __future__ import annotations

import pytest

from tailrace.errors import SyntaxFailure
from tailrace.sql.parser import Parser, split


def test_split_knows_strings_comments_and_dollar_quotes() -> None:
    script = "SELECT ';' ; -- a; b\n/* ; /* ; */ */ SELECT $$;$$, \";\" ;;\n ; VALUES (1)"
    parts = split(script)
    assert [part.text for part in parts] == ["SELECT ';'", 'SELECT $$;$$, ";"', "VALUES (1)"]
    assert all(script[part.start :].startswith(part.text) for part in parts)


def test_split_of_nothing_is_empty() -> None:
    assert split(" ; -- only a comment\n;") == []


def test_names_fold_unless_quoted() -> None:
    assert Parser('Db."Sch ema".TABLE').name().parts == ("db", "Sch ema", "table")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('""', "zero-length delimited identifier"),
        ('"."', 'invalid identifier "."'),
        ("é" * 128, "identifier length exceeds 255 bytes"),
        ("select", "Expected identifier, found SELECT"),
        ("'x'", "Expected identifier, found string 'x'"),
        ("5", "Expected identifier, found number 5"),
        ("$1", "Expected identifier, found parameter $1"),
        ("(", 'Expected identifier, found "("'),
        ("", "Expected identifier, found end of statement"),
    ],
)
def test_what_is_no_identifier(text: str, message: str) -> None:
    with pytest.raises(SyntaxFailure) as failure:
        Parser(text).identifier()
    assert failure.value.message == message
    assert failure.value.position == 1


def test_a_query_ends_at_its_parenthesis() -> None:
    p = Parser("(SELECT (1), f(')', [2]) ) x", offset=10)
    p.expect("(")
    query = p.query_text()
    assert (query.text, query.start) == ("SELECT (1), f(')', [2])", 11)
    p.expect(")")


def test_a_query_ends_at_a_phrase_outside_parentheses() -> None:
    p = Parser("SELECT (SELECT 1 RETURNING) RETURNING a")
    assert p.query_text(("RETURNING",)).text == "SELECT (SELECT 1 RETURNING)"


def test_an_expression_ends_at_a_comma() -> None:
    assert Parser("f(a, b) + 1, c").expression().text == "f(a, b) + 1"


@pytest.mark.parametrize(
    ("text", "message", "position"),
    [
        ("(1", 'Expected ")", found end of statement', 3),
        ("(1]", 'Expected ")", found "]"', 3),
        ("", "Expected expression, found end of statement", 1),
        (", 1", 'Expected expression, found ","', 1),
    ],
)
def test_an_expression_that_does_not_close(text: str, message: str, position: int) -> None:
    with pytest.raises(SyntaxFailure) as failure:
        Parser(text).expression()
    assert (failure.value.message, failure.value.position) == (message, position)


def test_rest_as_text_drops_only_what_surrounds_it() -> None:
    assert Parser("  a + /* in */ b  -- after").rest_as_text().text == "a + /* in */ b"


def test_integers_have_a_sign_and_an_end() -> None:
    assert Parser("-12").integer() == -12
    with pytest.raises(SyntaxFailure, match=r"found number 1\.5"):
        Parser("1.5").integer()
    with pytest.raises(SyntaxFailure):
        Parser("9" * 5000).integer()
