"""FORMAT REGEX: the groups of a pattern's first match in the message, as text.

A group has the name that `(?P<name>…)` gives it, else that of its place, `column1 …`.  One that takes no part in the
match is NULL.  A message without a match is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from tailrace.formats.decode_contract import Decoded, as_text, decode_error
from tailrace.formats.encode_scalars import literal
from tailrace.types.core import TEXT, Column, Schema

# What a parenthesis can be mistaken in: an escaped character, a bracket expression, whose first ] does not end it.
_PARTS = re.compile(
    r"\\.|\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]|(?P<named>\(\?P?<(?P<name>[A-Za-z_]\w*)>)|(?P<other>\(\?)|(?P<plain>\()",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class RegexDecoder:
    """One text column per group.  `pattern`: without names, which Java spells otherwise."""

    pattern: str
    names: tuple[str, ...]

    keyword: ClassVar[str] = "REGEX"
    head: ClassVar[int] = 0
    is_single: ClassVar[bool] = False

    @staticmethod
    def of(pattern: str) -> RegexDecoder:
        groups = [found for found in _PARTS.finditer(pattern) if found["named"] or found["plain"]]
        names = tuple(found["name"] or f"column{place}" for place, found in enumerate(groups, start=1))
        return RegexDecoder(_PARTS.sub(lambda found: "(" if found["named"] else found[0], pattern), names)

    @property
    def schema(self) -> Schema:
        return tuple(Column(name, TEXT) for name in self.names)

    def learned(self, heads: Iterable[bytes]) -> Self:
        return self

    def decoded(self, data: str) -> Decoded:
        text, match = as_text(data), f"{data}_match"
        first = f"get(tailrace_regex_all({text}, {literal(self.pattern)}, ''), 0)"
        error = (
            f"CASE WHEN NOT is_valid_utf8({text}) THEN {decode_error(literal('Regex: invalid UTF-8'), data)}"
            f" WHEN {match} IS NULL THEN {decode_error(literal('Regex: the pattern does not match'), data)} END"
        )
        return Decoded(tuple(f"{match}[{i}]" for i in range(len(self.names))), error, once=((match, first),))

    def surely_differ(self, values: Sequence[bytes]) -> bool:
        return False

    def surely_decodes(self, values: Sequence[bytes]) -> bool:
        return False
