"""The text forms of dates, times, timestamps and intervals."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import ROUND_HALF_EVEN, Decimal

from tailrace.errors import DataError, InvalidText

DAY_MICROS = 86_400_000_000

_DATE = r"(?P<year>\d{4,6})-(?P<month>\d{1,2})-(?P<day>\d{1,2})|(?P<compact>\d{8})"
_CLOCK = r"(?P<hour>\d{1,2}):(?P<minute>\d{1,2})(:(?P<second>\d{1,2})(?P<fraction>\.\d*)?)?"
_ZONE = r"(?P<zone>Z|UTC|GMT|[+-]\d{1,2}(:?\d{2})?(:\d{2})?)"
_TIMESTAMP = re.compile(rf"\s*(?:{_DATE})(?:[T ]\s*{_CLOCK})?\s*{_ZONE}?\s*", re.I)
_TIME = re.compile(rf"\s*{_CLOCK}\s*{_ZONE}?\s*", re.I)


def date_value(text: str) -> date:
    return timestamp_value(text, "date", None, zoned=False).date()


def timestamp_value(text: str, type_name: str, precision: int | None, *, zoned: bool) -> datetime:
    """Without zone.  A zone in the text is ignored, or for `zoned` turned into UTC."""
    if text.strip().lower() == "epoch":
        return datetime(1970, 1, 1)  # noqa: DTZ001  timestamps without zone are what we hold
    found = _TIMESTAMP.fullmatch(text)
    if not found:
        raise InvalidText(f'invalid input syntax for type {type_name}: "{text}"')
    try:
        moment = datetime.combine(_date(found), datetime.min.time()) + timedelta(microseconds=_micros(found))
    except (ValueError, OverflowError):
        raise DataError(f'date/time field value out of range: "{text}"', sqlstate="22008") from None
    zone = found["zone"]
    if zoned and zone:
        moment = moment.replace(tzinfo=_zone(zone)).astimezone(UTC).replace(tzinfo=None)
    return moment if precision is None else rounded(moment, precision)


def _date(found: re.Match[str]) -> date:
    if compact := found["compact"]:
        return date(int(compact[:4]), int(compact[4:6]), int(compact[6:]))
    return date(int(found["year"]), int(found["month"]), int(found["day"]))


def _micros(found: re.Match[str]) -> int:
    if found["hour"] is None:
        return 0
    hour, minute, second = int(found["hour"]), int(found["minute"]), int(found["second"] or 0)
    if hour > 24 or minute > 59 or second > 60:
        raise ValueError(found)
    fraction = found["fraction"] or ""
    micros = int(_half_even(Decimal("0" + fraction) * 1_000_000)) if len(fraction) > 1 else 0
    total = ((hour * 60 + minute) * 60 + second) * 1_000_000 + micros
    if total > DAY_MICROS:
        raise ValueError(found)
    return total


def _half_even(value: Decimal) -> Decimal:
    return value.to_integral_value(ROUND_HALF_EVEN)


def _zone(text: str) -> timezone:
    if text.upper() in ("Z", "UTC", "GMT"):
        return UTC
    digits = text[1:].replace(":", "")
    hours, minutes = (digits[:-2], digits[-2:]) if len(digits) > 2 else (digits, "0")
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    return timezone(offset if text[0] == "+" else -offset)


def rounded(moment: datetime, precision: int) -> datetime:
    """To `precision` digits of a second, half up."""
    unit = 10 ** (6 - precision)
    micros = (moment.microsecond + unit // 2) // unit * unit
    return moment.replace(microsecond=0) + timedelta(microseconds=micros)


def time_value(text: str) -> int:
    """µs of the day."""
    found = _TIME.fullmatch(text)
    if not found:
        found = _TIMESTAMP.fullmatch(text)
        if not found or found["hour"] is None:
            raise InvalidText(f'invalid input syntax for type time: "{text}"')
    try:
        return _micros(found)
    except ValueError:
        raise DataError(f'date/time field value out of range: "{text}"', sqlstate="22008") from None


_UNITS: dict[str, tuple[int, int, int]] = {
    "millennium": (12_000, 0, 0), "century": (1_200, 0, 0), "decade": (120, 0, 0),
    "year": (12, 0, 0), "month": (1, 0, 0), "week": (0, 7, 0), "day": (0, 1, 0),
    "hour": (0, 0, 3_600_000_000), "minute": (0, 0, 60_000_000), "second": (0, 0, 1_000_000),
    "millisecond": (0, 0, 1_000), "microsecond": (0, 0, 1),
}  # fmt: skip
_ABBREVIATIONS = {
    "y": "year", "yr": "year", "yrs": "year", "mon": "month", "mons": "month", "w": "week", "d": "day",
    "h": "hour", "hr": "hour", "hrs": "hour", "m": "minute", "min": "minute", "mins": "minute",
    "s": "second", "sec": "second",
    "secs": "second", "ms": "millisecond", "msec": "millisecond", "msecs": "millisecond", "us": "microsecond",
    "usec": "microsecond", "usecs": "microsecond", "millennia": "millennium", "centuries": "century",
    "c": "century", "dec": "decade", "decs": "decade", "milliseconds": "millisecond",
}  # fmt: skip
_PART = re.compile(r"\s*([+-]?\d*\.?\d+(?:e[+-]?\d+)?)\s*([a-z]+)\s*", re.I)
_YEARS = re.compile(r"\s*([+-]?\d+)-(\d+)\s*")
_SIGNED_CLOCK = re.compile(
    r"\s*(?P<sign>[+-]?)(?P<hour>\d+):(?P<minute>\d{1,2})(:(?P<second>\d{1,2}(\.\d*)?))?\s*"
)
_ISO = re.compile(
    r"P(?:(-?[\d.]+)Y)?(?:(-?[\d.]+)M)?(?:(-?[\d.]+)W)?(?:(-?[\d.]+)D)?"
    r"(?:T(?:(-?[\d.]+)H)?(?:(-?[\d.]+)M)?(?:(-?[\d.]+)S)?)?"
)


def interval_value(text: str) -> tuple[int, int, int]:
    """(months, days, µs).  `1 year 2 mons 3 days 04:05:06.7`, `1-2`, `P1Y2M`, `90` (seconds), `1 day ago`."""
    body = text.strip()
    if body.startswith("P") and (iso := _ISO.fullmatch(body)) and len(body) > 1:
        units = ("year", "month", "week", "day", "hour", "minute", "second")
        return _sum([(amount, unit) for amount, unit in zip(iso.groups(), units, strict=True) if amount])
    ago = body.lower().endswith("ago")
    parts, clock = _interval_parts(body[:-3] if ago else body, text)
    months, days, micros = _sum(parts)
    result = (months, days, micros + clock)
    return (-result[0], -result[1], -result[2]) if ago else result


def _interval_parts(body: str, text: str) -> tuple[list[tuple[str, str]], int]:
    parts: list[tuple[str, str]] = []
    clock, place = 0, 0
    body = body.lstrip("@ ")
    if not body.strip():
        raise InvalidText(f'invalid input syntax for type interval: "{text}"')
    while place < len(body):
        if found := _SIGNED_CLOCK.match(body, place):
            clock += _clock(found)
        elif found := _YEARS.match(body, place):
            sign = "-" if found[1].startswith("-") else ""
            parts += [(found[1], "year"), (sign + found[2], "month")]
        elif found := _PART.match(body, place):
            parts.append((found[1], _unit(found[2], text)))
        elif found := re.compile(r"\s*([+-]?\d*\.?\d+)\s*").match(body, place):
            parts.append((found[1], "day" if body[found.end() :].strip() else "second"))
        else:
            raise InvalidText(f'invalid input syntax for type interval: "{text}"')
        place = found.end()
    return parts, clock


def _clock(found: re.Match[str]) -> int:
    seconds = Decimal(found["second"] or 0)
    micros = (int(found["hour"]) * 60 + int(found["minute"])) * 60_000_000 + int(
        _half_even(seconds * 1_000_000)
    )
    return -micros if found["sign"] == "-" else micros


def _unit(word: str, text: str) -> str:
    lowered = word.lower()
    name = _ABBREVIATIONS.get(lowered) or (lowered[:-1] if lowered.endswith("s") else lowered)
    if name not in _UNITS:
        raise InvalidText(f'invalid input syntax for type interval: "{text}"')
    return name


def _sum(parts: list[tuple[str, str]]) -> tuple[int, int, int]:
    """A fraction of a month spills into days (30 a month), one of a day into µs."""
    months, days, micros = Decimal(0), Decimal(0), Decimal(0)
    for amount, unit in parts:
        m, d, u = _UNITS[unit]
        whole_months = (Decimal(amount) * m).to_integral_value("ROUND_DOWN")
        months += whole_months
        loose_days = Decimal(amount) * d + (Decimal(amount) * m - whole_months) * 30
        whole_days = loose_days.to_integral_value("ROUND_DOWN")
        days += whole_days
        micros += Decimal(amount) * u + (loose_days - whole_days) * DAY_MICROS
    return int(months), int(days), int(_half_even(micros))
