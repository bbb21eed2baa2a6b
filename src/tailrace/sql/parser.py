"""A cursor over one statement's tokens, with the words that every grammar rule is made of.

Rules read as the grammar does: `p.expect("INTO", "KAFKA")`, `if p.accept("IN", "CLUSTER"): …`.  Each error
points at the token that does not fit and says `Expected X, found Y`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TypeVar

from tailrace.errors import SyntaxFailure
from tailrace.sql.keywords import RESERVED, RESERVED_BY_POSTGRES
from tailrace.sql.lexer import Kind, Token, scan
from tailrace.sql.names import Name, QueryText
from tailrace.sql.type_names import parse_type
from tailrace.types.core import SqlType

T = TypeVar("T")
Words = tuple[str, ...]
Types = Callable[[Words], SqlType | None]

MAX_IDENTIFIER_BYTES = 255
MAX_DIGITS = 20  # of an integer: enough for uint8
MAX_NESTING = 50  # of types and of statements in statements, so that no text exhausts the stack
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_CLOSING = frozenset(_PAIRS.values())
_ENDING = _CLOSING | {";"}  # inside a STATEMENT SET
_QUERY_STARTS = ("SELECT", "WITH", "VALUES", "TABLE", "SHOW", "(")


@dataclass(frozen=True, slots=True)
class StatementText:
    """One statement of a script: its text without the semicolon, and where it begins."""

    text: str
    start: int = field(default=0, compare=False)


def split(text: str) -> list[StatementText]:
    """The statements of a string, without empty ones.  Semicolons in strings and comments do not count."""
    statements, piece = [], list[Token]()
    for token in scan(text):
        if token.kind is not Kind.END and (token.word != ";" or _is_open_set(piece)):
            piece.append(token)
        elif piece:
            statements.append(StatementText(text[piece[0].start : piece[-1].end], piece[0].start))
            piece = []
    return statements


def _is_open_set(piece: Sequence[Token]) -> bool:
    """Whether this is the beginning of a STATEMENT SET of Flink's: it ends with an END after a semicolon."""
    words = [token.word for token in piece[:3]]
    if words not in (["EXECUTE", "STATEMENT", "SET"], ["BEGIN", "STATEMENT", "SET"]):
        return False
    return [token.word for token in piece[-2:]] != [";", "END"]


class Parser:
    """Reads one statement from left to right.  `offset` is where it begins in what the client sent."""

    def __init__(self, text: str, offset: int = 0, types: Types = lambda _: None) -> None:
        """`types`: those that CREATE TYPE has made, by the parts of their names."""
        self.types = types
        self._text = text
        self._offset = offset
        self._tokens = scan(text, offset)
        self._at = 0
        self._nesting = 0
        self.discreet = False  # set where a literal may be a password: errors then do not repeat it

    @property
    def token(self) -> Token:
        return self.peek()

    @property
    def position(self) -> int:
        """Of the next token, in characters from 1."""
        return self.token.position

    @property
    def mark(self) -> int:
        """A place to `rewind` to."""
        return self._at

    def rewind(self, mark: int) -> None:
        self._at = mark

    def peek(self, ahead: int = 0) -> Token:
        return self._tokens[min(self._at + ahead, len(self._tokens) - 1)]

    def advance(self) -> Token:
        token = self.token
        self._at = min(self._at + 1, len(self._tokens) - 1)
        return token

    def at(self, *words: str) -> bool:
        """Whether these words or symbols come next, in this order."""
        return all(self.peek(i).word == word for i, word in enumerate(words))

    def at_end(self) -> bool:
        return self.token.kind is Kind.END

    def accept(self, *words: str) -> bool:
        """Takes the words if all of them come next."""
        if not self.at(*words):
            return False
        self._at += len(words)
        return True

    def accept_part(self, symbol: str) -> bool:
        """Takes a symbol also where it only begins an operator: the first `>` of `>>`, which ends two types."""
        token = self.token
        if token.kind is not Kind.SYMBOL or not token.text.startswith(symbol):
            return False
        rest = token.text[len(symbol) :]
        if rest:
            self._tokens[self._at] = Token(Kind.SYMBOL, rest, rest, token.start + len(symbol), token.end)
        else:
            self.advance()
        return True

    def expect(self, *words: str) -> None:
        for word in words:
            if not self.accept(word):
                raise self.expected(_shown(word))

    def keyword(self, *choices: str) -> str:
        """Takes one of the words and returns it."""
        for choice in choices:
            if self.accept(choice):
                return choice
        raise self.expected(one_of(choices))

    def phrase(self, *choices: str) -> str:
        """Takes the longest of the phrases that comes next, e.g. `MATERIALIZED VIEW`, and returns it."""
        for choice in sorted(choices, key=lambda phrase: -len(phrase.split())):
            if self.accept(*choice.split()):
                return choice
        failure = self.expected(one_of(choices))
        near = get_close_matches(self.token.word, choices, 1)
        failure.hint = f"Did you mean {near[0]}?" if near else None
        raise failure

    def expected(self, what: str) -> SyntaxFailure:
        """The error to raise when something else than `what` comes next."""
        found = self.token.described(discreet=self.discreet)
        return SyntaxFailure(f"Expected {what}, found {found}", position=self.position)

    def end(self) -> None:
        if not self.at_end():
            raise self.expected("end of statement")

    def at_identifier(self) -> bool:
        token = self.token
        return token.kind is Kind.QUOTED or (token.kind is Kind.WORD and token.word not in RESERVED)

    def identifier(self, what: str = "identifier") -> str:
        """A name's part: folded to lower case unless quoted."""
        if not self.at_identifier():
            raise self.expected(what)
        return _checked(self.advance())

    def name(self, what: str = "identifier") -> Name:
        position = self.position
        parts = [self.identifier(what)]
        while self.accept("."):
            if self.token.kind not in (Kind.WORD, Kind.QUOTED):
                raise self.expected("identifier")
            parts.append(_checked(self.advance()))
        return Name(tuple(parts), position)

    def new_name(self, what: str) -> Name:
        """The name of a relation that is to be made."""
        if self.token.kind is Kind.WORD and self.token.word in RESERVED_BY_POSTGRES:
            refusal = self.expected(what)
            refusal.hint = "PostgreSQL reserves this word.  Put it in double quotes to use it as a name."
            raise refusal
        return self.name(what)

    def string(self, what: str = "literal string") -> str:
        if self.token.kind is not Kind.STRING:
            raise self.expected(what)
        return self.advance().value

    def integer(self, what: str = "literal integer") -> int:
        mark = self.mark
        sign = -1 if self.accept("-") else 1
        token = self.token
        if token.kind is Kind.NUMBER and token.value.isdecimal() and len(token.value) <= MAX_DIGITS:
            return sign * int(self.advance().value)
        self.rewind(mark)
        raise self.expected(what)

    def boolean(self) -> bool:
        return self.keyword("TRUE", "FALSE") == "TRUE"

    def items(self, item: Callable[[], T], *, trailing_comma: bool = False) -> tuple[T, ...]:
        """`( item,… )`, at least one."""
        self.expect("(")
        found = [item()]
        while self.accept(","):
            if trailing_comma and self.at(")"):
                break
            found.append(item())
        if not self.accept(")"):
            raise self.expected('"," or ")"')
        return tuple(found)

    def several(self, item: Callable[[], T]) -> tuple[T, ...]:
        """`item,…` without parentheses."""
        found = [item()]
        while self.accept(","):
            found.append(item())
        return tuple(found)

    def columns(self) -> tuple[str, ...]:
        """`( column,… )`."""
        return self.items(lambda: self.identifier("column name"))

    def if_not_exists(self) -> bool:
        if self.at("IF", "NOT") or self.at("IF", "EXISTS"):  # else it is something called `if`
            self.expect("IF", "NOT", "EXISTS")
            return True
        return False

    def if_exists(self) -> bool:
        if self.at("IF", "NOT") or self.at("IF", "EXISTS"):
            self.expect("IF", "EXISTS")
            return True
        return False

    def in_cluster(self) -> str | None:
        if self.accept("IN"):
            self.expect("CLUSTER")
            return self.identifier("cluster name")
        return None

    @contextmanager
    def nested(self) -> Iterator[None]:
        """One level deeper.  Rules that call themselves go through this."""
        if self._nesting >= MAX_NESTING:
            message = f"statement is nested more than {MAX_NESTING} levels deep"
            raise SyntaxFailure(message, position=self.position, sqlstate="54001")
        self._nesting += 1
        yield
        self._nesting -= 1

    def type_(self) -> SqlType:
        return parse_type(self)

    def query_text(self, *until: Words) -> QueryText:
        """A query, as written, up to the statement's end, the parenthesis around it or one of the phrases."""
        if self.token.word not in _QUERY_STARTS:
            raise self.expected(one_of(_QUERY_STARTS))
        return self._text_until(until, commas=False, what="query")

    def expression(self, *until: Words, what: str = "expression") -> QueryText:
        """An expression, as written, up to a comma outside parentheses or where `query_text` would end."""
        return self._text_until(until, commas=True, what=what)

    def clause(self, *until: Words, what: str = "expression") -> QueryText:
        """As `expression`, but commas are part of it."""
        return self._text_until(until, commas=False, what=what)

    def rest_as_text(self, what: str = "expression") -> QueryText:
        """Everything up to the statement's end, as written."""
        return self._text_until((), commas=False, what=what)

    def text_since(self, start: int) -> str:
        """What was read since the token that begins at `start`, as written, but for comments and line ends."""
        text, last = "", None
        for token in scan(self._text[start - self._offset : self.token.start - self._offset]):
            apart = last is not None and last.end < token.start and token.kind is not Kind.END
            text, last = text + (" " if apart else "") + token.text, token
        return text

    def one_token(self) -> QueryText:
        """The next token alone, as text."""
        token = self.advance()
        return QueryText(token.text, token.start)

    def _text_until(self, until: Sequence[Words], *, commas: bool, what: str) -> QueryText:
        first, last = self.token, None
        expected: list[str] = []  # the closing brackets to come
        while not self.at_end():
            token = self.token
            if token.kind is Kind.SYMBOL:
                if not expected and (token.text in _ENDING or (commas and token.text == ",")):
                    break
                self._follow(token, expected)
            elif not expected and last is not None and self._ends(until, last):
                break
            last = self.advance()
        if expected:
            raise self.expected(f'"{expected[-1]}"')
        if last is None:
            raise self.expected(what)
        return QueryText(self._text[first.start - self._offset : last.end - self._offset], first.start)

    def _ends(self, until: Sequence[Words], last: Token) -> bool:
        """Whether one of the words comes next; the FROM of IS DISTINCT FROM does not count."""
        return any(self.at(*words) for words in until) and not (last.word == "DISTINCT" and self.at("FROM"))

    def _follow(self, token: Token, expected: list[str]) -> None:
        if token.text in _PAIRS:
            expected.append(_PAIRS[token.text])
        elif token.text in _CLOSING:
            closing = expected.pop()
            if token.text != closing:
                raise self.expected(f'"{closing}"')


def _checked(token: Token) -> str:
    if not token.value:
        raise SyntaxFailure("zero-length delimited identifier", position=token.position)
    if len(token.value.encode(errors="replace")) > MAX_IDENTIFIER_BYTES:
        message = f"identifier length exceeds {MAX_IDENTIFIER_BYTES} bytes"
        raise SyntaxFailure(message, position=token.position)
    if token.value in (".", ".."):
        raise SyntaxFailure(f'invalid identifier "{token.value}"', position=token.position)
    return token.value


def _shown(word: str) -> str:
    return word if word[0].isalpha() else f'"{word}"'


def one_of(choices: Sequence[str]) -> str:
    """`A`, or `one of A or B or C`: how an error lists what it would have taken."""
    shown = list(dict.fromkeys(_shown(choice) for choice in choices))
    return shown[0] if len(shown) == 1 else "one of " + " or ".join(shown)
