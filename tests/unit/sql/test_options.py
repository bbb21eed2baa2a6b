"""Option lists: what they accept, what they refuse, and where the caret points."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tailrace.errors import InvalidOption, SqlError, SyntaxFailure
from tailrace.sql import kinds
from tailrace.sql.names import Name, QueryText, SecretRef
from tailrace.sql.options import Option, Options, parse_bare_options, parse_options
from tailrace.sql.parser import Parser
from tailrace.sql.unparse import Printer

TOPIC = Option("TOPIC", kinds.TEXT)
CONFIG = Option("TOPIC CONFIG", kinds.TEXT_MAP)
COUNT = Option("TOPIC PARTITION COUNT", kinds.POSITIVE)
SNAPSHOT = Option("SNAPSHOT", kinds.BOOLEAN, default=True)
INTERVAL = Option("COMMIT INTERVAL", kinds.INTERVAL)
PASSWORD = Option("PASSWORD", kinds.SECRET)
USER = Option("USERNAME", kinds.SECRET_OR_TEXT, aliases=("USER",))
HASH = Option("PARTITION BY", kinds.EXPRESSION)
OFFSETS = Option("START OFFSET", kinds.Several(kinds.INTEGER))
ASSERT = Option("ASSERT NOT NULL", kinds.COLUMN, repeatable=True)
AWS = Option("AWS CONNECTION", kinds.OBJECT)
HISTORY = Option("RETAIN HISTORY", kinds.FOR_INTERVAL)
SCALE = Option("SCALE FACTOR", kinds.FLOAT)
ALL = (TOPIC, CONFIG, COUNT, SNAPSHOT, INTERVAL, PASSWORD, USER, HASH, OFFSETS, ASSERT, AWS, HISTORY, SCALE)


def parse(text: str) -> Options:
    p = Parser(text)
    options = parse_options(p, ALL)
    p.end()
    return options


def test_the_equals_sign_is_optional_and_a_trailing_comma_allowed() -> None:
    assert parse("(TOPIC 'a', SNAPSHOT = false,)") == parse("(topic = 'a', snapshot false)")


def test_values_are_typed() -> None:
    options = parse(
        "(TOPIC bare, TOPIC CONFIG MAP['a' => 'b', 'c' => 5], TOPIC PARTITION COUNT '4',"
        " COMMIT INTERVAL '1h 30m', PASSWORD SECRET s.p, USER 'me', PARTITION BY = f(a, b) % 2,"
        " START OFFSET [1, 2], ASSERT NOT NULL = a,"
        " ASSERT NOT NULL \"B\", AWS CONNECTION a.b, RETAIN HISTORY = FOR '1s', SCALE FACTOR .5)"
    )
    assert options.get(TOPIC) == "bare"
    assert options.get(CONFIG) == (("a", "b"), ("c", "5"))
    assert options.get(COUNT) == 4
    assert options.get(SNAPSHOT) is True
    duration = options.get(INTERVAL)
    assert duration is not None
    assert duration.length == timedelta(minutes=90)
    assert options.get(PASSWORD) == SecretRef(Name(("s", "p")))
    assert options.get(USER) == "me"
    assert options.get(HASH) == QueryText("f(a, b) % 2")
    assert options.get(OFFSETS) == (1, 2)
    assert options.all(ASSERT) == ("a", "B")
    assert options.get(AWS) == Name(("a", "b"))
    assert options.get(SCALE) == 0.5


def test_a_boolean_without_a_value_is_true() -> None:
    assert parse("(SNAPSHOT)").value(SNAPSHOT) is True
    assert parse("(SNAPSHOT off)").value(SNAPSHOT) is False


def test_the_longest_name_wins() -> None:
    assert parse("(TOPIC CONFIG MAP[])").get(TOPIC) is None


@pytest.mark.parametrize(
    ("text", "message", "position"),
    [
        ("(TOPIC 'a', TOPIC 'b')", "TOPIC specified more than once", 13),
        ("(USER 'a', USERNAME 'b')", "USERNAME specified more than once", 12),
        ("(TOPIC 5)", "invalid TOPIC: cannot use value as string", 8),
        ("(TOPIC SECRET x)", "invalid TOPIC: cannot use value as string", 8),
        ("(TOPIC)", "invalid TOPIC: cannot be empty", 7),
        ("(TOPIC PARTITION COUNT 'x')", "invalid TOPIC PARTITION COUNT: cannot use value as number", 24),
        ("(TOPIC PARTITION COUNT 0)", "TOPIC PARTITION COUNT must be a positive integer", 24),
        ("(TOPIC PARTITION COUNT = -1)", "TOPIC PARTITION COUNT must be a positive integer", 26),
        ("(TOPIC CONFIG 'x')", "invalid TOPIC CONFIG: cannot use value as map", 15),
        ("(TOPIC CONFIG MAP['a' => b])", "invalid TOPIC CONFIG: cannot use value as string", 26),
        ("(SNAPSHOT 'maybe')", "invalid SNAPSHOT: cannot use value as boolean", 11),
        ("(COMMIT INTERVAL 5)", "invalid COMMIT INTERVAL: cannot use value as interval", 18),
        ("(COMMIT INTERVAL 'soon')", "invalid COMMIT INTERVAL: cannot use value as interval", 18),
        ("(PASSWORD 'x')", "invalid PASSWORD: must provide a secret value", 11),
        ("(START OFFSET (1, a))", "invalid START OFFSET: cannot use value as number", 19),
        ("(SCALE FACTOR x)", "invalid SCALE FACTOR: cannot use value as number", 15),
    ],
)
def test_a_bad_value_names_the_option(text: str, message: str, position: int) -> None:
    with pytest.raises(InvalidOption) as error:
        parse(text)
    assert (error.value.message, error.value.position) == (message, position)


@pytest.mark.parametrize(
    ("text", "message", "position"),
    [
        ("(TOPIK 'x')", 'found identifier "topik"', 2),
        ("(TOPIC 'x' SNAPSHOT)", 'Expected "," or ")", found SNAPSHOT', 12),
        ("(TOPIC 'x'", 'Expected "," or ")", found end of statement', 11),
        ("(TOPIC = )", 'Expected option value, found ")"', 10),
        ("(TOPIC", "Expected option value, found end of statement", 7),
        ("TOPIC 'x'", 'Expected "(", found TOPIC', 1),
        ("(RETAIN HISTORY '1s')", "Expected FOR, found string '1s'", 17),
    ],
)
def test_bad_syntax_points_at_the_token(text: str, message: str, position: int) -> None:
    with pytest.raises(SyntaxFailure) as error:
        parse(text)
    assert message in error.value.message
    assert error.value.position == position


def test_an_unknown_option_is_told_the_nearest() -> None:
    with pytest.raises(SyntaxFailure) as error:
        parse("(TOPIK PARTITION COUNT 4)")
    assert error.value.message.startswith("Expected one of TOPIC or SNAPSHOT or COMMIT or")
    assert error.value.hint == "Did you mean TOPIC PARTITION COUNT?"


def test_a_required_option_must_be_there() -> None:
    with pytest.raises(SqlError, match="HOST option is required"):
        parse_options(Parser("()"), (Option("HOST", kinds.TEXT, required=True),))


def test_without_parentheses_the_list_ends_with_the_statement() -> None:
    p = Parser("TOPIC 'a', SNAPSHOT false WITH (x)")
    assert parse_bare_options(p, ALL) == parse("(TOPIC 'a', SNAPSHOT false)")
    assert p.at("WITH")


def test_options_print_as_they_parse_and_in_order() -> None:
    text = "(TOPIC CONFIG = MAP['a' => 'it''s'], START OFFSET = (1, 2))"
    assert parse(text).show(Printer()) == text


def test_a_long_list_has_a_line_for_each() -> None:
    shown = parse(f"(TOPIC '{'x' * 60}', SNAPSHOT)").show(Printer())
    assert shown == f"(\n    TOPIC = '{'x' * 60}',\n    SNAPSHOT = true\n)"


def test_a_change_takes_the_old_value_s_place() -> None:
    old = parse("(TOPIC 'a', SNAPSHOT true)")
    new = old.updated(parse("(START OFFSET 5, TOPIC 'b')"))
    assert new == parse("(TOPIC 'b', SNAPSHOT true, START OFFSET 5)")
    assert old.without([TOPIC]) == parse("(SNAPSHOT)")
