"""Lengths of time in options: `'1s'`, `'5 minutes'`, `'1h 30m'`, `'00:01:30'`, `'500 ms'`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta

_UNITS = {
    "us": timedelta(microseconds=1),
    "ms": timedelta(milliseconds=1),
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}
_SPELLINGS = {
    "us": "microsecond microseconds usec usecs us",
    "ms": "millisecond milliseconds msec msecs ms",
    "s": "second seconds sec secs s",
    "m": "minute minutes min mins m",
    "h": "hour hours hr hrs h",
    "d": "day days d",
    "w": "week weeks w",
}
_UNIT_OF = {spelling: unit for unit, spellings in _SPELLINGS.items() for spelling in spellings.split()}
_PART = re.compile(
    r"\s*(?:(?P<h>\d{1,9}):(?P<m>\d{1,2})(?::(?P<s>\d{1,2}(?:\.\d{1,6})?))?"
    r"|(?P<n>\d{1,15}(?:\.\d{1,9})?)\s*(?P<unit>[a-z]+)?)\s*,?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Duration:
    """A length of time and how it was written: SHOW CREATE gives it back unchanged."""

    text: str
    length: timedelta


def parse_duration(text: str) -> Duration | None:
    """None if the text is no length of time.  A number alone means seconds, as in PostgreSQL's intervals."""
    total, at = timedelta(), 0
    if not text.strip():
        return None
    while at < len(text):
        match = _PART.match(text, at)
        part = None if match is None else _length(match)
        if match is None or part is None:
            return None
        try:
            total += part
        except OverflowError:
            return None
        at = match.end()
    return Duration(text, total)


def _length(part: re.Match[str]) -> timedelta | None:
    try:
        if part["h"] is not None:
            return timedelta(hours=int(part["h"]), minutes=int(part["m"]), seconds=float(part["s"] or 0))
        unit = _UNIT_OF.get((part["unit"] or "s").lower())
        return None if unit is None else float(part["n"]) * _UNITS[unit]
    except OverflowError:
        return None
