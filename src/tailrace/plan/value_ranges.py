"""The text form of ranges: `[1,5)`, `(,"2024-07-03 18:43:05"]`, `empty`.

jvm/Ranges.java reads the same texts at run time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from functools import total_ordering
from typing import Any

from tailrace.errors import DataError, InvalidText
from tailrace.types.core import RangeOf

DISORDER = "range lower bound must be less than or equal to range upper bound"
_EMPTY = "empty"
_BEYOND = {"int4range": 2**31, "int8range": 2**63}


@total_ordering
@dataclass(frozen=True, slots=True)
class RangeValue:
    """The fields of types/core.py's RangeOf, compared in PostgreSQL's order."""

    holds: bool = False
    lower: Any = None
    after: bool = False
    endless: bool = False
    upper: Any = None
    until: bool = False

    def __lt__(self, other: RangeValue) -> bool:
        return self._order() < other._order()

    def _order(self) -> tuple[Any, ...]:
        known = self.lower is not None, self.upper is not None
        return self.holds, known[0], self.lower, self.after, self.endless, known[1], self.upper, self.until


EMPTY = RangeValue()


def range_value(text: str, type: RangeOf, bound: Callable[[str], Any]) -> RangeValue:
    """Raises InvalidText for what is no range, DataError 22000 if its bounds are in the wrong order."""
    flags, *bounds = range_parts(text)
    if flags == _EMPTY:
        return EMPTY
    lower, upper = (None if part is None else bound(part) for part in bounds)
    return _made(lower, upper, flags[0] == "[", flags[1] == "]", type)


def _made(lower: Any, upper: Any, from_lower: bool, until_upper: bool, type: RangeOf) -> RangeValue:
    """The one value of that range."""
    if lower is not None and upper is not None:
        if lower > upper:
            raise DataError(DISORDER, sqlstate="22000")
        if lower == upper and not (from_lower and until_upper):
            return EMPTY
    if type.is_discrete:
        lower = lower if from_lower or lower is None else _next(lower, type)
        upper = upper if not until_upper or upper is None else _next(upper, type)
        if lower is not None and upper is not None and lower >= upper:
            return EMPTY
        from_lower, until_upper = True, False
    return RangeValue(
        holds=True,
        lower=lower,
        after=lower is not None and not from_lower,
        endless=upper is None,
        upper=upper,
        until=upper is not None and until_upper,
    )


def _next(value: Any, type: RangeOf) -> Any:
    if isinstance(value, date):
        try:
            return value + timedelta(days=1)
        except OverflowError:
            raise DataError("date out of range", sqlstate="22008") from None
    if value + 1 == _BEYOND[str(type)]:
        raise DataError(f"{type.element} out of range", sqlstate="22003")
    return value + 1


def range_parts(text: str) -> tuple[str, str | None, str | None]:
    """Both brackets, or `empty`, and the texts of the bounds that are there."""
    body = text.strip()
    if body[:5].lower() == _EMPTY:
        if body[5:]:
            raise _malformed(text, 'Junk after "empty" key word.')
        return _EMPTY, None, None
    if body[:1] not in ("[", "("):
        raise _malformed(text, "Missing left parenthesis or bracket.")
    lower, place = _bound(body, 1, text)
    if body[place] != ",":
        raise _malformed(text, "Missing comma after lower bound.")
    upper, place = _bound(body, place + 1, text)
    if body[place] == ",":
        raise _malformed(text, "Too many commas.")
    if body[place + 1 :]:
        raise _malformed(text, "Junk after right parenthesis or bracket.")
    return body[0] + body[place], lower, upper


def _bound(body: str, place: int, text: str) -> tuple[str | None, int]:
    """What stands before the next comma or bracket outside quotes, and where that is.  None: nothing at all."""
    found, start, inside = "", place, False
    while place < len(body) and (inside or body[place] not in ",)]"):
        character, following = body[place], body[place + 1 : place + 2]
        if character == "\\" and following:
            found += following
            place += 1
        elif character == '"' and inside and following == '"':
            found += character
            place += 1
        elif character == '"':
            inside = not inside
        elif character != "\\":
            found += character
        place += 1
    if place >= len(body):
        raise _malformed(text, "Unexpected end of input.")
    return (None if place == start else found), place


def _malformed(text: str, detail: str) -> InvalidText:
    return InvalidText(f'malformed range literal: "{text}"', detail=detail)
