"""Text becomes tokens that know where they stand.

A scanner of our own, after PostgreSQL's lexical rules: sqlglot's tokenizer drops how a piece was quoted,
which names, secrets and errors depend on.  Queries are only skimmed here, for their end: the
plan layer parses them with sqlglot.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from tailrace.errors import SyntaxFailure
from tailrace.sql.keywords import KEYWORDS


class Kind(Enum):
    WORD = "word"  # a keyword or an unquoted identifier: which of them, the grammar decides
    QUOTED = "quoted identifier"
    STRING = "string"
    BITS = "bit string"  # x'1f', b'01'
    NUMBER = "number"
    PARAMETER = "parameter"
    SYMBOL = "symbol"
    END = "end of statement"


class Token(NamedTuple):
    """A piece of the text.  `value` is what it stands for: folded, unquoted, unescaped."""

    kind: Kind
    text: str
    value: str
    start: int  # characters from 0, in the whole string that the client sent
    end: int

    @property
    def position(self) -> int:
        """As PostgreSQL counts: from 1."""
        return self.start + 1

    @property
    def word(self) -> str:
        """What the grammar compares: upper case for a word, itself for a symbol, nothing for the rest."""
        if self.kind is Kind.WORD:
            return self.text.upper() if self.text.isascii() else ""  # a long s in upper case is S
        return self.text if self.kind is Kind.SYMBOL else ""

    def described(self, *, discreet: bool = False) -> str:
        """How an error calls it: `identifier "x"`, `string 'x'`, `FROM`, `end of statement`."""
        match self.kind:
            case Kind.END:
                return "end of statement"
            case Kind.WORD if self.word in KEYWORDS:
                return self.word
            case Kind.WORD | Kind.QUOTED:
                return f'identifier "{self.value}"'
            case Kind.STRING:
                return "string" if discreet else f"string {_shortened(self.text)}"
            case Kind.SYMBOL:
                return f'"{self.text}"'
            case _:
                return f"{self.kind.value} {self.text}"


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "…'"


_TOKEN = re.compile(
    r"""
      (?P<space>\s+ | --[^\n]*)
    | (?P<comment>/\*)
    | (?P<escaped>[eE]'(?:[^'\\]++|''|\\.)*+')
    | (?P<bits>[xXbB]'[^']*+')
    | (?P<unicode>[uU]&'(?:[^']++|'')*+')
    | (?P<string>'(?:[^']++|'')*+')
    | (?P<quoted>"(?:[^"]++|"")*+")
    | (?P<backquoted>`(?:[^`]++|``)*+`)
    | (?P<open>(?:[eExXbB]|[uU]&)?'|"|`)
    | (?P<dollar>\$(?:[^\W\d]\w*)?\$)
    | (?P<parameter>\$[0-9]+)
    | (?P<based>0[xX](?:_?[0-9a-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+|[0-9]+(?:_[0-9]+)+)
    | (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    | (?P<word>[^\W\d][\w$]*)
    | (?P<symbol>::|:=|[()\[\]{},;.:])
    | (?P<operator>[-+*/<>=~!@\#%^&|?]+)
    """,
    re.VERBOSE | re.DOTALL,
)
_HINT = re.compile(r"/\*\+\s*OPTIONS\b", re.IGNORECASE)  # of Flink's: it means something, so it is no comment
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_ESCAPE = re.compile(r"''|\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)", re.DOTALL)
_UNICODE = re.compile(r"''|\\(\\|[0-9a-fA-F]{4}|\+[0-9a-fA-F]{6})")
_SIMPLE_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def scan(text: str, offset: int = 0) -> list[Token]:
    """All tokens of `text`, and an END.  `offset` is where it begins in the string that the client sent."""
    tokens = list(_tokens(text, offset))
    tokens.append(Token(Kind.END, "", "", offset + len(text), offset + len(text)))
    return tokens


def _tokens(text: str, offset: int) -> Iterator[Token]:
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup == "open":
            raise _unreadable(text, at, offset)
        end = match.end()
        name = str(match.lastgroup)
        if name == "space":
            pass
        elif name == "comment":
            end = _comment_end(text, at, offset)
            if _HINT.match(text, at):
                yield Token(Kind.SYMBOL, text[at:end], text[at:end], offset + at, offset + end)
        elif name == "dollar":
            end = _dollar_end(text, match, offset)
            value = text[match.end() : end - len(match.group())]
            yield Token(Kind.STRING, text[at:end], value, offset + at, offset + end)
        else:
            if name == "operator":
                end = at + len(_operator(match.group()))
            yield _token(name, text[at:end], offset + at, offset + end)
            if name in ("number", "based"):
                _check_number_ends(text, end, offset)
        at = end


def _token(name: str, text: str, start: int, end: int) -> Token:
    match name:
        case "word":
            return Token(Kind.WORD, text, text.lower(), start, end)
        case "quoted":
            return Token(Kind.QUOTED, text, text[1:-1].replace('""', '"'), start, end)
        case "backquoted":  # Flink's quotes; nothing in PostgreSQL's SQL looks like them
            return Token(Kind.QUOTED, text, text[1:-1].replace("``", "`"), start, end)
        case "string":
            return Token(Kind.STRING, text, text[1:-1].replace("''", "'"), start, end)
        case "escaped":
            return Token(Kind.STRING, text, _unescaped(text[2:-1], start), start, end)
        case "unicode":
            return Token(Kind.STRING, text, _from_unicode(text[3:-1], start), start, end)
        case "bits":
            return Token(Kind.BITS, text, text[2:-1], start, end)
        case "number":
            return Token(Kind.NUMBER, text, text, start, end)
        case "based":
            return Token(Kind.NUMBER, text, str(whole_number(text)), start, end)
        case "parameter":
            return Token(Kind.PARAMETER, text, text[1:], start, end)
        case _:
            return Token(Kind.SYMBOL, text, text, start, end)


def _unreadable(text: str, at: int, offset: int) -> SyntaxFailure:
    match text[at]:
        case '"' | "`":
            message = "unterminated quoted identifier"
        case "'" | "e" | "E" | "x" | "X" | "b" | "B" | "u" | "U":
            message = "unterminated quoted string"
        case other:
            message = f"unexpected character {other!r}"
    return SyntaxFailure(message, position=offset + at + 1)


def _comment_end(text: str, at: int, offset: int) -> int:
    """Comments nest, as in PostgreSQL."""
    depth, end = 0, at
    while edge := _COMMENT_EDGE.search(text, end):
        depth += 1 if edge.group() == "/*" else -1
        end = edge.end()
        if depth == 0:
            return end
    raise SyntaxFailure("unterminated /* comment", position=offset + at + 1)


def _dollar_end(text: str, opening: re.Match[str], offset: int) -> int:
    closing = text.find(opening.group(), opening.end())
    if closing < 0:
        raise SyntaxFailure("unterminated dollar-quoted string", position=offset + opening.start() + 1)
    return closing + len(opening.group())


def _operator(run: str) -> str:
    """PostgreSQL's rules: a comment ends an operator; `=-` is two, unless one of ~!@#%^&|`? is in it."""
    for comment in ("--", "/*"):
        cut = run.find(comment)
        if cut > 0:
            run = run[:cut]
    if not set(run) & set("~!@#%^&|`?"):
        while len(run) > 1 and run[-1] in "+-":
            run = run[:-1]
    return run


def whole_number(text: str) -> int:
    """`1_000`, `0x1F`, `0o17`, `0b101`."""
    base = {"x": 16, "o": 8, "b": 2}.get(text[1:2].lower(), 10)
    return int(text[2:].lstrip("_") if base != 10 else text, base)


def _check_number_ends(text: str, end: int, offset: int) -> None:
    following = text[end : end + 1]
    if following.isalnum() or following == "_":
        raise SyntaxFailure("trailing junk after numeric literal", position=offset + end + 1)


def _unescaped(body: str, start: int) -> str:
    def replacement(match: re.Match[str]) -> str:
        code = match.group(1)
        if code is None:
            return "'"
        if code[0] in "uUx" and len(code) > 1:
            return _character(code[1:], 16, start)
        if code[0] in "01234567":
            return _character(code, 8, start)
        return _SIMPLE_ESCAPES.get(code, str(code))

    return _ESCAPE.sub(replacement, body)


def _from_unicode(body: str, start: int) -> str:
    def replacement(match: re.Match[str]) -> str:
        code = match.group(1)
        if code is None:
            return "'"
        return "\\" if code == "\\" else _character(code.lstrip("+"), 16, start)

    return _UNICODE.sub(replacement, body)


def _character(digits: str, base: int, start: int) -> str:
    code = int(digits, base)
    if code == 0 or code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise SyntaxFailure("invalid Unicode escape value", position=start + 1)
    return chr(code)
