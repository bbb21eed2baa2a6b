"""The text forms of dates, times, timestamps and intervals."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from decimal import ROUND_HALF_EVEN, Decimal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tailrace.errors import DataError, InvalidText, NotSupported

DAY_MICROS = 86_400_000_000

_CLOCK = r"(?P<hour>\d{1,2}):(?P<minute>\d{1,2})(?::(?P<second>\d{1,2})(?P<fraction>\.\d*)?)?"
_TOKEN = re.compile(
    rf"""\s*(?:,\s*)?(?:
        (?P<clock>{_CLOCK})
      | (?P<ymd>\d{{4,6}}[-/.]\d{{1,2}}[-/.]\d{{1,2}})(?=$|\D)t?
      | (?P<mdy>\d{{1,2}}[-/.]\d{{1,2}}[-/.]\d{{2,4}})
      | (?P<named>\d{{1,4}}-[a-z]{{3,9}}-\d{{1,4}})
      | (?P<offset>[+-]\d{{1,2}}(?::?\d{{2}})?(?::\d{{2}})?(?!\d))
      | (?P<compact>\d{{8}})t?
      | (?P<number>\d{{1,4}})(?:st|nd|rd|th)?(?![\d:])
      | (?P<region>[a-z]+/[a-z_/+-]+\d*)
      | (?P<word>[a-z]+)\.?
    )\s*""",
    re.IGNORECASE | re.VERBOSE,
)
_WITHOUT_COLONS = re.compile(r"^(\s*\d{4}-?\d\d-?\d\d)[tT ](\d\d)(\d\d)(\d\d)(?!\d)", re.ASCII)
_MONTHS = "january february march april may june july august september october november december".split()  # noqa: SIM905
_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()  # noqa: SIM905
_ZONES = {
    "z": 0, "utc": 0, "gmt": 0, "zulu": 0, "est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8,
    "pdt": -7, "bst": 1, "cet": 1, "cest": 2, "eet": 2, "eest": 3, "msk": 3, "jst": 9,
}  # fmt: skip


@dataclass(slots=True)
class _Parts:
    """What a text says of a moment.  jvm/Times.java reads the same texts at run time."""

    year: int | None = None
    month: int | None = None
    day: int | None = None
    micros: int | None = None
    zone: tzinfo | None = None
    before_christ: bool = False


def date_value(text: str) -> date:
    return timestamp_value(text, "date", None, zoned=False).date()


def timestamp_value(text: str, type_name: str, precision: int | None, *, zoned: bool) -> datetime:
    """Without zone.  A zone in the text is ignored, or for `zoned` turned into UTC."""
    if text.strip().lower() == "epoch":
        return datetime(1970, 1, 1)  # noqa: DTZ001  timestamps without zone are what we hold
    if re.fullmatch(r"\s*[+-]?inf(inity)?\s*", text, re.IGNORECASE):
        raise NotSupported(f"infinite values of type {type_name} not supported")
    parts = _parts(text, type_name)
    if parts.year is None or parts.month is None or parts.day is None:
        raise _invalid(type_name, text)
    try:
        if parts.before_christ:
            raise ValueError(text)
        moment = datetime.combine(date(parts.year, parts.month, parts.day), datetime.min.time())
        if type_name != "date":
            moment += timedelta(microseconds=parts.micros or 0)
        if zoned and parts.zone is not None:
            moment = moment.replace(tzinfo=parts.zone).astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        raise _out_of_range(text) from None
    return moment if precision is None else rounded(moment, precision)


def _invalid(type_name: str, text: str) -> InvalidText:
    return InvalidText(f'invalid input syntax for type {type_name}: "{text}"', sqlstate="22007")


def _out_of_range(text: str) -> DataError:
    return DataError(f'date/time field value out of range: "{text}"', sqlstate="22008")


def _parts(text: str, type_name: str) -> _Parts:
    parts, place = _Parts(), 0
    spelt = _WITHOUT_COLONS.sub(r"\1T\2:\3:\4", text)
    while place < len(spelt):
        found = _TOKEN.match(spelt, place)
        if not found or not _take(found, parts, text):
            raise _invalid(type_name, text)
        place = found.end()
    return parts


def _take(found: re.Match[str], parts: _Parts, text: str) -> bool:
    """Whether the next token makes sense there."""
    if found["clock"]:
        try:
            parts.micros = _micros(found)
        except ValueError:
            raise _out_of_range(text) from None
        return True
    if found["offset"]:
        parts.zone = _offset(found["offset"], text)
        return parts.micros is not None
    if found["region"]:
        return _set_zone(parts, found["region"])
    if found["word"]:
        return _take_word(found["word"].lower(), parts, text)
    if found["number"]:
        return _take_number(found["number"], parts)
    return _take_date(found, parts)


def _take_date(found: re.Match[str], parts: _Parts) -> bool:
    if parts.year is not None:
        return False
    if compact := found["compact"]:
        parts.year, parts.month, parts.day = int(compact[:4]), int(compact[4:6]), int(compact[6:])
        return True
    one, two, three = re.split("[-/.]", found["ymd"] or found["mdy"] or found["named"])
    if found["ymd"]:
        parts.year, parts.month, parts.day = int(one), int(two), int(three)
    elif found["mdy"]:
        parts.year, parts.month, parts.day = _year(three), int(one), int(two)
    else:
        year, day = (one, three) if len(one) > 2 else (three, one)
        parts.year, parts.month, parts.day = _year(year), _place(two.lower(), _MONTHS), int(day)
    return parts.month is not None


def _take_number(digits: str, parts: _Parts) -> bool:
    if parts.day is None and len(digits) <= 2:
        parts.day = int(digits)
    elif parts.year is None:
        parts.year = _year(digits)
    else:
        return False
    return True


def _take_word(word: str, parts: _Parts, text: str) -> bool:
    month = _place(word, _MONTHS)
    if word in ("am", "pm"):
        hour = (parts.micros or 0) // 3_600_000_000
        if parts.micros is None or hour > 12:
            raise _out_of_range(text)
        hours = 12 if word == "pm" and hour < 12 else -12 if word == "am" and hour == 12 else 0
        parts.micros += hours * 3_600_000_000
    elif word in ("bc", "ad"):
        parts.before_christ = word == "bc"
    elif month is not None:
        parts.month = month
    elif _place(word, _WEEKDAYS) is None and not (word == "t" and parts.micros is None):
        return parts.micros is not None and _set_zone(parts, word)
    return True


def _place(word: str, names: list[str]) -> int | None:
    for i, name in enumerate(names):
        if word in (name, name[:3]) or (name == "september" and word == "sept"):
            return i + 1
    return None


def _year(digits: str) -> int:
    year = int(digits)
    return year if len(digits) > 2 else 2000 + year if year < 70 else 1900 + year


def _micros(found: re.Match[str]) -> int:
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


def _offset(text: str, whole: str) -> timezone:
    digits = text[1:].replace(":", "")
    hours, minutes = (digits[:-2], digits[-2:]) if len(digits) > 2 else (digits, "0")
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    if offset >= timedelta(hours=16):
        raise DataError(f'time zone displacement out of range: "{whole}"', sqlstate="22009")
    return timezone(offset if text[0] == "+" else -offset)


def _set_zone(parts: _Parts, name: str) -> bool:
    if name.lower() in _ZONES:
        parts.zone = timezone(timedelta(hours=_ZONES[name.lower()]))
        return True
    try:
        parts.zone = ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return False
    return True


def rounded(moment: datetime, precision: int) -> datetime:
    """To `precision` digits of a second, half up."""
    unit = 10 ** (6 - precision)
    micros = (moment.microsecond + unit // 2) // unit * unit
    return moment.replace(microsecond=0) + timedelta(microseconds=micros)


def time_value(text: str) -> int:
    """µs of the day."""
    parts = _parts(text, "time")
    if parts.micros is None:
        raise _invalid("time", text)
    return parts.micros


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
        raise _invalid("interval", text)
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
            raise _invalid("interval", text)
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
        raise _invalid("interval", text)
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
