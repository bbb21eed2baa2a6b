"""Words, literals and operators of a query, each with its place in the whole statement.

The characters are read by sqlglot's PostgreSQL tokenizer.  Here its tokens become few kinds, two-word
keywords fall apart into their words, and operators that it splits are put together again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal as OneOf
from typing import NoReturn

from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import TokenError
from sqlglot.tokens import Token as SqlglotToken  # type: ignore[attr-defined]
from sqlglot.tokens import TokenType  # type: ignore[attr-defined]

from tailrace.errors import NotSupported, SyntaxFailure

Kind = OneOf["word", "identifier", "string", "number", "parameter", "operator", "hint", "end"]


@dataclass(frozen=True, slots=True)
class Token:
    """`text` of a word is in lower case, of a string its content; `position` counts characters from 1."""

    kind: Kind
    text: str
    position: int
    end: int = 0


_DOLLAR = "\ue000"
"""Stands for the `$` of a parameter: sqlglot takes `$1,$` of `$1,$2` for the tag of a dollar-quoted string."""


class _Dialect(Postgres):
    """PostgreSQL's, and Flink's back quotes around names."""

    class Tokenizer(Postgres.Tokenizer):
        IDENTIFIERS = ['"', "`"]  # noqa: RUF012  sqlglot's own way to say it
        SINGLE_TOKENS = {**Postgres.Tokenizer.SINGLE_TOKENS, _DOLLAR: TokenType.PARAMETER}  # noqa: RUF012


_STRINGS = {
    TokenType.STRING, TokenType.BYTE_STRING, TokenType.HEREDOC_STRING, TokenType.UNICODE_STRING,
    TokenType.NATIONAL_STRING,
}  # fmt: skip
_BITS = {TokenType.BIT_STRING, TokenType.HEX_STRING}
_PUNCTUATION = {
    "*": "star", "=": "equals sign", "(": "left parenthesis", ")": "right parenthesis", ",": "comma",
    ".": "dot", ";": "semicolon", "[": "left square bracket", "]": "right square bracket", ":": "colon",
    "::": "double colon", "=>": "arrow",
}  # fmt: skip
_JOINED = {
    ("!", "~"), ("!", "~*"), ("!", "~~"), ("!", "~~*"), ("<", "<"), (">", ">"), ("|", "|/"), ("@", "?"), ("@", "@"),
}  # fmt: skip
_HINT = re.compile(r"/\*\+\s*OPTIONS\b(.*?)\*/", re.IGNORECASE | re.DOTALL)
_WORD = re.compile(r"[^\W\d][\w$]*")
_BASED = re.compile(r"0x(?:_?[0-9a-f])+|0o(?:_?[0-7])+|0b(?:_?[01])+|\d+(?:_\d+)+", re.IGNORECASE)
_PARAMETER = re.compile(
    r"""[eE]'(?:[^'\\]++|''|\\.)*+' | '(?:[^']++|'')*+' | "[^"]*+" | `[^`]*+` | --[^\n]*+ | /\*.*?\*/
      | \$(?P<tag>(?:[^\W\d]\w*)?)\$.*?\$(?P=tag)\$ | (?<![\w$])\$(?=\d)""",
    re.VERBOSE | re.DOTALL,
)
"""Quoted pieces and comments, to be passed over, or the `$` of a parameter."""


def tokenize(text: str, offset: int = 0) -> list[Token]:
    """The tokens of `text`, which begins `offset` characters inside its statement, and a last one of kind
    `end`.
    """
    readable = _PARAMETER.sub(lambda found: _DOLLAR if found.group() == "$" else found.group(), text)
    try:
        raw = _Dialect().tokenize(readable)
    except TokenError:
        raise _unterminated(text, offset) from None
    tokens = list(_joined(part for token in _with_hints(raw, text, offset) for part in token))
    return [*tokens, Token("end", "", len(text) + offset + 1)]


def _with_hints(raw: list[SqlglotToken], text: str, offset: int) -> Iterator[Iterator[Token]]:
    """Each token's parts, and `/*+ OPTIONS(…) */` between them, which is no comment: it says what is read."""
    at = 0
    for token in raw:
        yield _hints(text, at, token.start, offset)
        yield _parts(token, text, offset)
        at = token.end + 1
    yield _hints(text, at, len(text), offset)


def _hints(text: str, start: int, end: int, offset: int) -> Iterator[Token]:
    for found in _HINT.finditer(text, start, end):
        yield Token("hint", found[1], found.start() + offset + 1, found.end() + offset)


def _parts(token: SqlglotToken, text: str, offset: int) -> Iterator[Token]:
    start, end = token.start, token.end + 1
    position = start + offset + 1
    source = text[start:end]
    if token.token_type in _BITS and not _BASED.fullmatch(source):
        raise NotSupported("bit strings not yet supported", hint="Bytes are written '\\x1f'::bytea.", position=position)
    if token.token_type == TokenType.IDENTIFIER:
        yield Token("identifier", token.text, position, end + offset)
    elif token.token_type in _STRINGS:
        content = _unicode(token.text) if token.token_type == TokenType.UNICODE_STRING else token.text
        yield Token("string", content, position, end + offset)
    elif _BASED.fullmatch(source):
        yield Token("number", _whole(source), position, end + offset)
    elif token.token_type == TokenType.NUMBER:
        yield Token("number", token.text, position, end + offset)
    elif _WORD.match(source):
        for word in _WORD.finditer(source):
            yield Token("word", word.group().lower(), position + word.start(), start + offset + word.end())
    else:
        yield Token("operator", token.text, position, end + offset)


def _whole(source: str) -> str:
    """`1_000`, `0x1F`, `0o17` and `0b101` in plain digits."""
    digits = source.replace("_", "")
    return str(int(digits, 10 if digits.isdigit() else 0))


def _joined(tokens: Iterator[Token]) -> Iterator[Token]:
    """`!` `~` as `!~`, `<` `<` as `<<`, `$` `1` as a parameter, `0` `x1f` as a number, where they touch."""
    held: Token | None = None
    for token in tokens:
        if held is not None and held.end + 1 == token.position:
            if held.text == _DOLLAR and token.kind == "number":
                held = Token("parameter", token.text, held.position, token.end)
                continue
            if held.kind == "number" and _BASED.fullmatch(held.text + token.text):
                held = Token("number", _whole(held.text + token.text), held.position, token.end)
                continue
            if held.kind == "operator" and (held.text, token.text) in _JOINED:
                held = Token("operator", held.text + token.text, held.position, token.end)
                continue
        if held is not None:
            yield held
        held = token
    if held is not None:
        yield held


def _unicode(text: str) -> str:
    """`U&'d\\0061t'` means `dat`."""
    return re.sub(
        r"\\(?:\\|\+([0-9A-Fa-f]{6})|([0-9A-Fa-f]{4}))",
        lambda m: chr(int(m.group(1) or m.group(2), 16)) if m.group(1) or m.group(2) else "\\",
        text,
    )


def _unterminated(text: str, offset: int) -> SyntaxFailure:
    """What the tokenizer gives up on is a quote or a comment that does not end: the last one opened."""
    for kind, mark in (("string literal", "'"), ("quoted identifier", '"')):
        if text.count(mark) % 2:
            return SyntaxFailure(f"unterminated {kind}", position=text.rfind(mark) + offset + 1)
    place = max(text.rfind("/*"), text.rfind("$$"), 0)
    kind = "comment" if text[place : place + 2] == "/*" else "quoted string"
    return SyntaxFailure(f"unterminated {kind}", position=place + offset + 1)


def described(token: Token) -> str:
    """A token as an error message names it."""
    match token.kind:
        case "end":
            return "EOF"
        case "word":
            return token.text.upper() if token.text in KEYWORDS else f'identifier "{token.text}"'
        case "identifier":
            return f'identifier "{token.text}"'
        case "string":
            return f'string literal "{token.text}"'
        case "number":
            return f'number "{token.text}"'
        case "parameter":
            return f'parameter "${token.text}"'
        case _:
            return _PUNCTUATION.get(token.text, f'operator "{token.text}"')


RESERVED = frozenset(
    """
        all and any array as asc between both case cast check collate create cross current_date
        current_timestamp desc distinct else end except exists fetch for from full group having ilike in
        inner intersect into is isnull join lateral leading left like limit localtime localtimestamp
        natural not notnull null offset on or order outer returning right row select similar some
        symmetric table then to trailing union unique using values when where window with
    """.split()  # noqa: SIM905
)
"""Words that are never a column's, a table's or a function's name without quotes."""

FUNCTION_LIKE = frozenset(["left", "right", "row", "any", "all", "some", "exists", "array", "cast"])
"""Reserved words that begin an expression when a parenthesis or bracket follows."""

NOT_ALIAS = RESERVED | frozenset(
    """
        over filter within escape at rows range groups tablesample and isnull only
    """.split()  # noqa: SIM905
)
"""Words that do not become an alias when AS is left out."""

KEYWORDS = RESERVED | frozenset(
    """
        by true false filter over partition rows range preceding following unbounded interval extract
        first last nulls ordinality grouping sets rollup cube within ignore respect as of up show insert
        update delete set default explain create drop alter begin commit rollback
    """.split()  # noqa: SIM905
)


class Cursor:
    """A place in the tokens.  `take…` moves on if it can; `expect…` moves on or raises `Expected X,
    found Y`.
    """

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._place = 0

    @property
    def token(self) -> Token:
        return self._tokens[self._place]

    def ahead(self, count: int = 1) -> Token:
        return self._tokens[min(self._place + count, len(self._tokens) - 1)]

    def next(self) -> Token:
        token = self.token
        if token.kind != "end":
            self._place += 1
        return token

    def mark(self) -> int:
        return self._place

    def reset(self, mark: int) -> None:
        self._place = mark

    def is_word(self, *words: str) -> bool:
        """The next words are these, in this order."""
        return all(
            (token := self.ahead(i) if i else self.token).kind == "word" and token.text == word
            for i, word in enumerate(words)
        )

    def is_one_of(self, *words: str) -> bool:
        return self.token.kind == "word" and self.token.text in words

    def take_word(self, *words: str) -> Token | None:
        """The first of these words if all of them follow."""
        if not self.is_word(*words):
            return None
        first = self.token
        self._place += len(words)
        return first

    def take_one_of(self, *words: str) -> Token | None:
        return self.next() if self.is_one_of(*words) else None

    def is_operator(self, *texts: str) -> bool:
        return self.token.kind == "operator" and self.token.text in texts

    def take_operator(self, *texts: str) -> Token | None:
        return self.next() if self.is_operator(*texts) else None

    def expect_word(self, *words: str) -> Token:
        return self.take_word(*words) or self.fail(" ".join(words).upper())

    def expect_operator(self, text: str) -> Token:
        return self.take_operator(text) or self.fail(_PUNCTUATION.get(text, text))

    def expect_number(self) -> Token:
        return self.next() if self.token.kind == "number" else self.fail("a number")

    def expect_end(self) -> None:
        self.take_operator(";")
        if self.token.kind != "end":
            self.fail("end of statement")

    def is_name(self) -> bool:
        return self.token.kind == "identifier" or (
            self.token.kind == "word" and self.token.text not in RESERVED
        )

    def expect_name(self, what: str = "identifier") -> Token:
        return self.next() if self.is_name() else self.fail(what)

    def fail(self, expected: str) -> NoReturn:
        raise SyntaxFailure(
            f"Expected {expected}, found {described(self.token)}", position=self.token.position
        )
