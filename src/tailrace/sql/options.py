"""Option lists: `( NAME [=] value, … )`.

Each statement declares its options once, as a tuple of `Option`.  That tuple drives this parser, the hints of
its errors, SHOW CREATE and the reference pages.  Values become typed here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Generic, TypeVar

from tailrace.errors import InternalError, InvalidOption, SyntaxFailure
from tailrace.sql.kinds import Kind, PositiveInteger, Unusable
from tailrace.sql.parser import Parser, one_of
from tailrace.sql.unparse import Printer

T = TypeVar("T")
_LINE = 60  # characters of options that SHOW CREATE puts on one line


@dataclass(frozen=True, slots=True, repr=False)
class Option(Generic[T]):
    """One option: its words, what it takes, and a line for the reference.  Equal if it has the same name."""

    name: str
    kind: Kind[T] = field(compare=False)
    default: T | None = field(default=None, compare=False, kw_only=True)
    required: bool = field(default=False, compare=False, kw_only=True)
    repeatable: bool = field(default=False, compare=False, kw_only=True)
    aliases: tuple[str, ...] = field(default=(), compare=False, kw_only=True)
    doc: str = field(default="", compare=False, kw_only=True)

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Given:
    """An option as a statement gives it."""

    option: Option[Any]
    value: Any
    position: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Options:
    """The options of one statement, in their order.  Reading one is typed by the `Option` asked for."""

    given: tuple[Given, ...] = ()

    def get(self, option: Option[T]) -> T | None:
        """The given value, else the default, else None."""
        for given in self.given:
            if given.option == option:
                value: T = given.value
                return value
        return option.default

    def value(self, option: Option[T]) -> T:
        """Of an option that is required or has a default."""
        value = self.get(option)
        if value is None:
            raise InternalError(f"option {option.name} has neither a value nor a default")
        return value

    def all(self, option: Option[T]) -> tuple[T, ...]:
        """Every value of a repeatable option."""
        return tuple(given.value for given in self.given if given.option == option)

    def has(self, option: Option[Any]) -> bool:
        return any(given.option == option for given in self.given)

    def position(self, option: Option[Any]) -> int | None:
        return next((given.position for given in self.given if given.option == option), None)

    def without(self, options: Iterable[Option[Any]]) -> Options:
        gone = set(options)
        return Options(tuple(given for given in self.given if given.option not in gone))

    def updated(self, changes: Options) -> Options:
        """With the changes in place of, or after, what was given before."""
        by_option = {change.option: change for change in changes.given}
        kept = tuple(by_option.pop(given.option, given) for given in self.given)
        return Options(kept + tuple(by_option.values()))

    def show(self, printer: Printer) -> str:
        """`(NAME = value, …)`, one a line if that is long."""
        shown = [_shown(given, printer) for given in self.given]
        if sum(map(len, shown)) <= _LINE:
            return f"({', '.join(shown)})"
        return "(\n    " + ",\n    ".join(shown) + "\n)"

    def clause(self, printer: Printer, before: str = "") -> str | None:
        """`before (NAME = value, …)`, or None if there are none."""
        return f"{before}{self.show(printer)}" if self.given else None


def _shown(given: Given, printer: Printer) -> str:
    equals = " = " if given.option.kind.leading_equals else " "
    return f"{given.option.name}{equals}{given.option.kind.show(given.value, printer)}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Texts:
    """How the errors of one option list are worded; the reference system has several ways."""

    invalid: str = "invalid {name}: {cause}"
    missing: str = "{name} option is required"


PLAIN = Texts()


def parse_options(p: Parser, known: Sequence[Option[Any]], texts: Texts = PLAIN) -> Options:
    """`( option,… )`, a trailing comma allowed."""
    position = p.position
    p.expect("(")
    given: list[Given] = []
    while not p.accept(")"):
        given.append(parse_option(p, known, given, texts))
        if not p.at(")") and not p.accept(","):
            raise p.expected('"," or ")"')
    return _complete(given, known, texts, position)


def parse_bare_options(p: Parser, known: Sequence[Option[Any]], texts: Texts = PLAIN) -> Options:
    """`option,…` without parentheses, up to the statement's end or WITH."""
    position = p.position
    given: list[Given] = []
    while not p.at_end() and not p.at("WITH"):
        given.append(parse_option(p, known, given, texts))
        if not p.accept(","):
            break
    return _complete(given, known, texts, position)


def parse_option(p: Parser, known: Sequence[Option[Any]], before: Sequence[Given], texts: Texts) -> Given:
    position = p.position
    option = option_name(p, known)
    if not option.repeatable and any(given.option == option for given in before):
        raise InvalidOption(f"{option.name} specified more than once", position=position)
    equals = option.kind.leading_equals and p.accept("=")
    value_position = p.position
    try:
        value = _value(p, option.kind, equals)
    except Unusable as unusable:
        message = texts.invalid.format(name=option.name, cause=unusable)
        raise InvalidOption(message, position=p.position) from None
    if isinstance(option.kind, PositiveInteger) and value <= 0:
        raise InvalidOption(f"{option.name} must be a positive integer", position=value_position)
    return Given(option, value, position)


def _value(p: Parser, kind: Kind[T], equals: bool) -> T:
    if p.at_end() or (p.token.word in (",", ")") and equals):
        raise p.expected("option value")
    return kind.missing() if p.token.word in (",", ")") else kind.parse(p)


def option_name(p: Parser, known: Sequence[Option[Any]]) -> Option[Any]:
    """Takes the longest known name that comes next."""
    spellings = [(name.split(), option) for option in known for name in (option.name, *option.aliases)]
    matches = [(words, option) for words, option in spellings if p.at(*words)]
    if not matches:
        raise _unknown(p, known)
    words, option = max(matches, key=lambda match: len(match[0]))
    p.accept(*words)
    return option


def _unknown(p: Parser, known: Sequence[Option[Any]]) -> SyntaxFailure:
    failure = p.expected(one_of([option.name.split()[0] for option in known]))
    names = [option.name for option in known]
    typed = " ".join(p.peek(i).text.upper() for i in range(3))
    near = get_close_matches(typed, names, 1, 0.5) or get_close_matches(p.token.text.upper(), names, 1)
    failure.hint = f"Did you mean {near[0]}?" if near else f"The options are {', '.join(names)}."
    return failure


def _complete(given: list[Given], known: Sequence[Option[Any]], texts: Texts, position: int) -> Options:
    for option in known:
        if option.required and all(each.option != option for each in given):
            raise InvalidOption(texts.missing.format(name=option.name), position=position)
    return Options(tuple(given))
