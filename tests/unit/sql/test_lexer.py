"""Tokens keep their text, their value and their place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.errors import SyntaxFailure
from tailrace.sql.lexer import Kind, scan


def values(text: str) -> list[tuple[Kind, str]]:
    return [(token.kind, token.value) for token in scan(text)[:-1]]


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("Orders", Kind.WORD, "orders"),
        ("a$1", Kind.WORD, "a$1"),
        ("größe", Kind.WORD, "größe"),
        ('"Mixed ""Case"""', Kind.QUOTED, 'Mixed "Case"'),
        ("'it''s'", Kind.STRING, "it's"),
        (r"'no \n escape'", Kind.STRING, r"no \n escape"),
        (r"E'a\nb\'c\\d\x41\101\u00e9'", Kind.STRING, "a\nb'c\\dAA\u00e9"),
        (r"U&'\00e9\\'", Kind.STRING, "\u00e9\\"),
        ("$$it's$$", Kind.STRING, "it's"),
        ("$x$ $$ $x$", Kind.STRING, " $$ "),
        ("x'1F'", Kind.BITS, "1F"),
        ("12", Kind.NUMBER, "12"),
        ("1.5e-3", Kind.NUMBER, "1.5e-3"),
        (".5", Kind.NUMBER, ".5"),
        ("$12", Kind.PARAMETER, "12"),
        ("=>", Kind.SYMBOL, "=>"),
        ("::", Kind.SYMBOL, "::"),
        ("->>", Kind.SYMBOL, "->>"),
        ("@-", Kind.SYMBOL, "@-"),
    ],
)
def test_a_token_stands_for_its_value(text: str, kind: Kind, value: str) -> None:
    assert values(text) == [(kind, value)]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("=-5", ["=", "-", "5"]),
        ("a--b\nc", ["a", "c"]),
        ("a/*b/*c*/;d*/e", ["a", "e"]),
        ("1*/*x*/2", ["1", "*", "2"]),
        ("count(*)", ["count", "(", "*", ")"]),
        ("a.b::text[]", ["a", ".", "b", "::", "text", "[", "]"]),
    ],
)
def test_operators_and_comments_end_where_postgres_ends_them(text: str, pieces: list[str]) -> None:
    assert [value for _, value in values(text)] == pieces


@pytest.mark.parametrize(
    ("text", "message", "position"),
    [
        ("a 'b", "unterminated quoted string", 3),
        ("a E'b\\'", "unterminated quoted string", 3),
        ("a 'b''c", "unterminated quoted string", 3),
        ('a "b', "unterminated quoted identifier", 3),
        ("a /* /* */", "unterminated /* comment", 3),
        ("a $x$ b $$", "unterminated dollar-quoted string", 3),
        ("a 12b", "trailing junk after numeric literal", 5),
        ("a \\d", "unexpected character '\\\\'", 3),
        ("E'\\u0000'", "invalid Unicode escape value", 1),
    ],
)
def test_what_cannot_be_read_is_pointed_at(text: str, message: str, position: int) -> None:
    with pytest.raises(SyntaxFailure) as failure:
        scan(text)
    assert (failure.value.message, failure.value.position) == (message, position)


def test_places_count_from_the_clients_text() -> None:
    first, _ = scan("abc", offset=100)
    assert (first.start, first.end, first.position) == (100, 103, 101)


def test_a_letter_that_only_looks_like_a_keyword_is_none() -> None:
    assert scan("\N{LATIN SMALL LETTER LONG S}ET")[0].word == ""


@given(st.text())
def test_any_text_is_tokens_or_a_syntax_failure(text: str) -> None:
    try:
        tokens = scan(text)
    except SyntaxFailure as failure:
        position = failure.position
    else:
        position = 1
        assert all(text[token.start : token.end] == token.text for token in tokens)
    assert position is not None
    assert 1 <= position <= len(text) + 1
