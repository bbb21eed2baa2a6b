"""What an option's value may be.  A kind reads it from the tokens and prints it again.

A value of the wrong shape raises `Unusable`; options.py knows the option's name and makes an error of it:
`invalid TOPIC PARTITION COUNT: cannot use value as number`.
"""

from __future__ import annotations

from math import inf, isfinite
from typing import Generic, TypeVar

from tailrace.errors import SyntaxFailure
from tailrace.sql.durations import Duration, parse_duration
from tailrace.sql.lexer import Kind as TokenKind
from tailrace.sql.names import Name, QueryText, SecretRef
from tailrace.sql.parser import Parser
from tailrace.sql.unparse import REDACTED, Printer, quote_ident

T = TypeVar("T")


_TRUTH = {
    **dict.fromkeys(("true", "on", "t", "1"), True),
    **dict.fromkeys(("false", "off", "f", "0"), False),
}


class Unusable(Exception):
    """The next token cannot be what the option wants; the text says why."""


class Kind(Generic[T]):
    """How to read and print one sort of value.  `shown` is its name in the documentation."""

    shown = "value"
    leading_equals = True  # whether an `=` may stand between the option's name and this

    def parse(self, p: Parser) -> T:
        raise NotImplementedError

    def show(self, value: T, printer: Printer) -> str:
        raise NotImplementedError

    def missing(self) -> T:
        """The value when only the option's name is given."""
        raise Unusable("cannot be empty")


class Text(Kind[str]):
    """A string, or a bare word."""

    shown = "text"

    def is_next(self, p: Parser) -> bool:
        return p.token.kind in (TokenKind.STRING, TokenKind.WORD, TokenKind.QUOTED) and not p.at("SECRET")

    def parse(self, p: Parser) -> str:
        if self.is_next(p):
            return p.advance().value
        raise Unusable("cannot use value as string")

    def show(self, value: str, printer: Printer) -> str:
        return printer.text(value)


class Size(Text):
    """`'100MB'`, or a number of bytes."""

    shown = "size"

    def parse(self, p: Parser) -> str:
        return p.advance().value if p.token.kind is TokenKind.NUMBER else super().parse(p)


class Integer(Kind[int]):
    shown = "integer"

    def parse(self, p: Parser) -> int:
        try:
            value = int(p.token.value) if p.token.kind is TokenKind.STRING else None
            if value is None:
                return p.integer()
        except (ValueError, SyntaxFailure):
            raise Unusable("cannot use value as number") from None
        p.advance()
        return value

    def show(self, value: int, printer: Printer) -> str:
        return printer.number(value)


class Float(Kind[float]):
    shown = "number"

    def parse(self, p: Parser) -> float:
        value = float(p.token.value) if p.token.kind is TokenKind.NUMBER else inf
        if not isfinite(value):
            raise Unusable("cannot use value as number")
        p.advance()
        return value

    def show(self, value: float, printer: Printer) -> str:
        return REDACTED if printer.redacted else repr(value)


class PositiveInteger(Integer):
    """`{OPTION} must be a positive integer`."""

    shown = "integer > 0"


class Boolean(Kind[bool]):
    """Given without a value it is true."""

    shown = "boolean"

    def parse(self, p: Parser) -> bool:
        value = _TRUTH.get(p.token.value.lower())
        if value is None or p.token.kind is TokenKind.QUOTED:
            raise Unusable("cannot use value as boolean")
        p.advance()
        return value

    def show(self, value: bool, printer: Printer) -> str:
        return str(value).lower()

    def missing(self) -> bool:
        return True


class Interval(Kind[Duration]):
    """`'30s'`, or `INTERVAL '30s'`."""

    shown = "interval"

    def parse(self, p: Parser) -> Duration:
        p.accept("INTERVAL")
        duration = parse_duration(p.token.value) if p.token.kind is TokenKind.STRING else None
        if duration is None:
            raise Unusable("cannot use value as interval")
        p.advance()
        return duration

    def show(self, value: Duration, printer: Printer) -> str:
        return printer.text(value.text)


class ForInterval(Interval):
    """`FOR '30s'`, as in RETAIN HISTORY."""

    shown = "FOR interval"

    def parse(self, p: Parser) -> Duration:
        p.expect("FOR")
        return super().parse(p)

    def show(self, value: Duration, printer: Printer) -> str:
        return "FOR " + super().show(value, printer)


class Secret(Kind[SecretRef]):
    """`SECRET name`; a password in plain text is refused."""

    shown = "secret"

    def parse(self, p: Parser) -> SecretRef:
        if not p.accept("SECRET"):
            raise Unusable("must provide a secret value")
        return SecretRef(p.name("secret name"))

    def show(self, value: SecretRef, printer: Printer) -> str:
        return printer.text_or_secret(value)


class SecretOrText(Kind[str | SecretRef]):
    shown = "secret or text"

    def parse(self, p: Parser) -> str | SecretRef:
        return SECRET.parse(p) if p.at("SECRET") else TEXT.parse(p)

    def show(self, value: str | SecretRef, printer: Printer) -> str:
        return printer.text_or_secret(value)


class ObjectName(Kind[Name]):
    shown = "object name"

    def parse(self, p: Parser) -> Name:
        if not p.at_identifier():
            raise Unusable("cannot use value as object name")
        return p.name()

    def show(self, value: Name, printer: Printer) -> str:
        return printer.name(value)


class ColumnName(Kind[str]):
    shown = "column"

    def parse(self, p: Parser) -> str:
        if not p.at_identifier():
            raise Unusable("cannot use value as identifier")
        return p.identifier()

    def show(self, value: str, printer: Printer) -> str:
        return quote_ident(value)


class Expression(Kind[QueryText]):
    """SQL, as written; the plan layer binds it."""

    shown = "expression"

    def parse(self, p: Parser) -> QueryText:
        return p.expression()

    def show(self, value: QueryText, printer: Printer) -> str:
        return printer.query(value)


class Several(Kind[tuple[T, ...]]):
    """`(a, b)` or `[a, b]`; a single value needs no parentheses."""

    def __init__(self, item: Kind[T]) -> None:
        self._item = item
        self.shown = f"list of {item.shown}"

    def parse(self, p: Parser) -> tuple[T, ...]:
        closing = ")" if p.accept("(") else "]" if p.accept("[") else None
        if closing is None:
            return (self._item.parse(p),)
        values: list[T] = []
        while not p.accept(closing):
            values.append(self._item.parse(p))
            if not p.at(closing) and not p.accept(","):
                raise p.expected(f'"," or "{closing}"')
        return tuple(values)

    def show(self, value: tuple[T, ...], printer: Printer) -> str:
        return "(" + ", ".join(self._item.show(item, printer) for item in value) + ")"


class TextMap(Kind[tuple[tuple[str, str], ...]]):
    """`MAP['k' => 'v']`, in the given order."""

    shown = "map[text => text]"

    def parse(self, p: Parser) -> tuple[tuple[str, str], ...]:
        if not p.accept("MAP", "["):
            raise Unusable("cannot use value as map")
        entries: list[tuple[str, str]] = []
        while not p.accept("]"):
            key = p.string()
            p.expect("=>")
            entries.append((key, self._value(p)))
            if not p.at("]") and not p.accept(","):
                raise p.expected('"," or "]"')
        return tuple(entries)

    def _value(self, p: Parser) -> str:
        if p.token.kind in (TokenKind.STRING, TokenKind.NUMBER):
            return p.advance().value
        raise Unusable("cannot use value as string")

    def show(self, value: tuple[tuple[str, str], ...], printer: Printer) -> str:
        entries = (f"{printer.text(key)} => {printer.text(text)}" for key, text in value)
        return "MAP[" + ", ".join(entries) + "]"


class Anything(Kind[str]):
    """Any value, kept as text: for options that are recognised only to be refused by name."""

    def parse(self, p: Parser) -> str:
        return p.expression(what="option value").text

    def show(self, value: str, printer: Printer) -> str:
        return value

    def missing(self) -> str:
        return ""


TEXT = Text()
SIZE = Size()
INTEGER = Integer()
FLOAT = Float()
POSITIVE = PositiveInteger()
BOOLEAN = Boolean()
INTERVAL = Interval()
FOR_INTERVAL = ForInterval()
SECRET = Secret()
SECRET_OR_TEXT = SecretOrText()
OBJECT = ObjectName()
COLUMN = ColumnName()
EXPRESSION = Expression()
TEXT_MAP = TextMap()
ANYTHING = Anything()
