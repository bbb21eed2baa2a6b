"""Dates, times, timestamps and intervals."""

from __future__ import annotations

import re

from tailrace.errors import InternalError, InvalidOption, NotSupported
from tailrace.plan.expressions import Call
from tailrace.plan.functions.entry import Function, Render, SparkText, function
from tailrace.plan.functions.strings import constant
from tailrace.plan.raising import raising
from tailrace.plan.spark_literals import quoted
from tailrace.types.core import DATE, INTERVAL, TIME, TimestampTz

_DAY = "86400000000L"

MZ_NOW = "mz_now"
"""The time of the tick.  Whoever renders a plan says first which tick it is for: see plan/temporal.py."""


def _timeless() -> str:
    raise InternalError("mz_now() in a plan that is for no tick")


def plus_interval(moment: str, interval: str, sign: str) -> str:
    """Months first, then days, then µs, as PostgreSQL adds them."""
    return (
        f"({moment} {sign} INTERVAL '1' MONTH * {interval}.months {sign} INTERVAL '1' DAY * {interval}.days"
        f" {sign} INTERVAL '0.000001' SECOND * {interval}.micros)"
    )


def _shifted(sign: str, kind: str) -> SparkText:
    def text(call: Call, render: Render) -> str:
        moment, interval = render(call.arguments[0]), render(call.arguments[1])
        return plus_interval(f"CAST({moment} AS {kind})", interval, sign)

    return text


def _added(call: Call, render: Render) -> str:
    """interval + moment."""
    interval, moment = render(call.arguments[0]), render(call.arguments[1])
    kind = "timestamp" if isinstance(call.arguments[1].type, TimestampTz) else "timestamp_ntz"
    return plus_interval(f"CAST({moment} AS {kind})", interval, "+")


def micros(text: str) -> str:
    """µs since 1970 of a timestamp with or without zone."""
    return f"unix_micros(CAST({text} AS timestamp))"


def _difference(call: Call, render: Render) -> str:
    a, b = (micros(render(argument)) for argument in call.arguments)
    return as_interval(f"({a} - {b})")


def as_interval(text: str) -> str:
    """Days and µs of a number of µs."""
    return f"named_struct('months', 0, 'days', CAST({text} div {_DAY} AS int), 'micros', {text} % {_DAY})"


def _combined(sign: str) -> str:
    return (
        f"named_struct('months', {{0}}.months {sign} {{1}}.months, 'days', {{0}}.days {sign} {{1}}.days,"
        f" 'micros', {{0}}.micros {sign} {{1}}.micros)"
    )


def scaled(interval: str, factor: str) -> str:
    """An interval times a double: fractions of months spill into days, of days into µs."""
    months, days = f"{interval}.months * {factor}", f"{interval}.days * {factor}"
    whole_months = f"CAST(trunc_toward_zero({months}) AS int)"
    text = (
        f"named_struct('months', {whole_months}, 'days',"
        f" CAST(trunc_toward_zero({days} + ({months} - {whole_months}) * 30) AS int), 'micros',"
        f" CAST(rint({interval}.micros * {factor} + (({days} + ({months} - {whole_months}) * 30)"
        f" - CAST(trunc_toward_zero({days} + ({months} - {whole_months}) * 30) AS int)) * {_DAY}) AS bigint))"
    )
    # The double to integer cast of Spark already cuts towards zero.
    return text.replace("trunc_toward_zero", "")


_FIELDS = {
    "year": "year({0})", "years": "year({0})",
    "month": "month({0})", "months": "month({0})", "mon": "month({0})",
    "day": "day({0})", "days": "day({0})", "hour": "hour({0})", "hours": "hour({0})",
    "minute": "minute({0})", "minutes": "minute({0})", "quarter": "quarter({0})",
    "dow": "(dayofweek({0}) - 1)", "isodow": "(weekday({0}) + 1)", "doy": "dayofyear({0})",
    "week": "weekofyear({0})", "isoyear": "extract(YEAROFWEEK FROM {0})",
    "decade": "CAST(floor(year({0}) / 10) AS int)",
    "century": "CAST(ceil(year({0}) / 100) AS int)", "millennium": "CAST(ceil(year({0}) / 1000) AS int)",
    "second": "extract(SECOND FROM {0})", "seconds": "extract(SECOND FROM {0})",
    "milliseconds": "extract(SECOND FROM {0}) * 1000", "microseconds": "extract(SECOND FROM {0}) * 1000000",
    "epoch": "(CAST(unix_micros(CAST({0} AS timestamp)) AS decimal(20,0)) / 1000000)",
}  # fmt: skip

_INTERVAL_FIELDS = {
    "year": "({0}.months div 12)", "years": "({0}.months div 12)", "month": "({0}.months % 12)",
    "months": "({0}.months % 12)", "day": "{0}.days", "days": "{0}.days",
    "hour": "({0}.micros div 3600000000L)", "hours": "({0}.micros div 3600000000L)",
    "minute": "({0}.micros div 60000000L % 60)", "minutes": "({0}.micros div 60000000L % 60)",
    "second": "(CAST({0}.micros % 60000000L AS decimal(20,0)) / 1000000)",
    "seconds": "(CAST({0}.micros % 60000000L AS decimal(20,0)) / 1000000)",
    "milliseconds": "(CAST({0}.micros % 60000000L AS decimal(20,0)) / 1000)",
    "microseconds": "({0}.micros % 60000000L)",
    "epoch": "(({0}.months div 12) * 31557600L + ({0}.months % 12) * 2592000L + {0}.days * 86400L"
             " + CAST({0}.micros AS decimal(20,0)) / 1000000)",
}  # fmt: skip

_TIME_AS_INTERVAL = "named_struct('months', 0, 'days', 0, 'micros', {0})"


def _extract(result: str) -> SparkText:
    def text(call: Call, render: Render) -> str:
        field = constant(call.arguments[0], "extract of a field").lower()
        source, value = call.arguments[1].type, render(call.arguments[1])
        if source == TIME:
            source, value = INTERVAL, _TIME_AS_INTERVAL.format(value)
        template = (_INTERVAL_FIELDS if source == INTERVAL else _FIELDS).get(field)
        if template is None:
            raise InvalidOption(f'unit "{field}" not recognized for type {call.arguments[1].type}')
        if (source == DATE and "hour" in template) or (source == DATE and "SECOND" in template):
            value = f"CAST({value} AS timestamp_ntz)"
        return f"CAST({template.format(value)} AS {result})"

    return text


_UNITS = frozenset(
    """
        microseconds milliseconds second minute hour day week month quarter year decade century
        millennium
    """.split()  # noqa: SIM905
)


def _truncated(kind: str) -> SparkText:
    def text(call: Call, render: Render) -> str:
        unit = constant(call.arguments[0], "date_trunc to a unit").lower().removesuffix("s")
        unit = {"microsecond": "microseconds", "millisecond": "milliseconds", "centurie": "century"}.get(unit, unit)
        if unit not in _UNITS:
            raise InvalidOption(f'unit "{unit}" not recognized')
        value = render(call.arguments[1])
        if unit in ("decade", "century", "millennium"):
            years = {"decade": 10, "century": 100, "millennium": 1000}[unit]
            first = f"(year({value}) - (year({value}) - {0 if years == 10 else 1}) % {years})"
            return f"CAST(make_date({first}, 1, 1) AS {kind})"
        spark = {"microseconds": "MICROSECOND", "milliseconds": "MILLISECOND"}.get(unit, unit.upper())
        return f"CAST(date_trunc('{spark}', {value}) AS {kind})"

    return text


def _binned(call: Call, render: Render) -> str:
    """The start of the interval that holds a moment, counted in strides from the origin."""
    stride, value, origin = (render(argument) for argument in call.arguments)
    kind = "timestamp" if isinstance(call.arguments[1].type, TimestampTz) else "timestamp_ntz"
    length = f"({stride}.days * {_DAY} + {stride}.micros)"
    passed = f"({micros(value)} - {micros(origin)})"
    error = raising("22008", "timestamps cannot be binned into intervals containing months or years")
    start = f"timestamp_micros({micros(value)} - pmod({passed}, {length}))"
    return f"CASE WHEN {stride}.months <> 0 THEN {error} ELSE CAST({start} AS {kind}) END"


_PATTERNS = {
    "YYYY": "yyyy", "YYY": "yyy", "YY": "yy", "MONTH": "MMMM", "Month": "MMMM", "month": "MMMM", "MON": "MMM",
    "Mon": "MMM", "mon": "MMM", "MM": "MM", "DAY": "EEEE", "Day": "EEEE", "day": "EEEE", "DY": "EEE",
    "Dy": "EEE",
    "DDD": "DDD", "DD": "dd", "HH24": "HH", "HH12": "hh", "HH": "hh", "MI": "mm", "SS": "ss", "MS": "SSS",
    "US": "SSSSSS", "AM": "a", "PM": "a", "am": "a", "pm": "a", "Q": "Q",
}  # fmt: skip
_PATTERN = re.compile("|".join(sorted(_PATTERNS, key=len, reverse=True)) + r'|"[^"]*"|[A-Za-z]')


def _formatted(call: Call, render: Render) -> str:
    """to_char: PostgreSQL's template as one of Java's."""
    template = constant(call.arguments[1], "to_char with a format")

    def part(found: re.Match[str]) -> str:
        word = found.group()
        if word in _PATTERNS:
            return _PATTERNS[word]
        if word.startswith('"') or word in ("T", "Z"):
            return f"'{word.strip(chr(34))}'"
        raise NotSupported(f"to_char with {word} in its format not yet supported")

    java = _PATTERN.sub(part, template)
    value = f"date_format({render(call.arguments[0])}, {quoted(java)})"
    upper = any(word in template for word in ("MONTH", "MON", "DAY", "DY"))
    return f"upper({value})" if upper else value


def _extracts(name: str, result: str, spark: str) -> tuple[Function, ...]:
    return tuple(
        function(f"{name}(text, {kind}) -> {result}", _extract(spark))
        for kind in ("timestamp", "timestamptz", "date", "time", "interval")
    )


FUNCTIONS = (
    function("+(date, integer) -> date", "date_add({0}, {1})"),
    function("+(integer, date) -> date", "date_add({1}, {0})"),
    function("-(date, integer) -> date", "date_sub({0}, {1})"),
    function("-(date, date) -> integer", "datediff({0}, {1})"),
    function("+(date, interval) -> timestamp", _shifted("+", "timestamp_ntz")),
    function("-(date, interval) -> timestamp", _shifted("-", "timestamp_ntz")),
    function("+(timestamp, interval) -> timestamp", _shifted("+", "timestamp_ntz")),
    function("-(timestamp, interval) -> timestamp", _shifted("-", "timestamp_ntz")),
    function("+(timestamptz, interval) -> timestamptz", _shifted("+", "timestamp")),
    function("-(timestamptz, interval) -> timestamptz", _shifted("-", "timestamp")),
    function("+(interval, date) -> timestamp", _added),
    function("+(interval, timestamp) -> timestamp", _added),
    function("+(interval, timestamptz) -> timestamptz", _added),
    function("+(date, time) -> timestamp", "(CAST({0} AS timestamp_ntz) + INTERVAL '0.000001' SECOND * {1})"),
    function("-(timestamp, timestamp) -> interval", _difference),
    function("-(timestamptz, timestamptz) -> interval", _difference),
    function("-(time, time) -> interval", "named_struct('months', 0, 'days', 0, 'micros', {0} - {1})"),
    function("+(time, interval) -> time", f"pmod({{0}} + {{1}}.micros, {_DAY})"),
    function("-(time, interval) -> time", f"pmod({{0}} - {{1}}.micros, {_DAY})"),
    function("+(interval, interval) -> interval", _combined("+")),
    function("-(interval, interval) -> interval", _combined("-")),
    function(
        "-(interval) -> interval",
        "named_struct('months', -{0}.months, 'days', -{0}.days, 'micros', -{0}.micros)",
    ),
    function("*(interval, double precision) -> interval", lambda c, r: scaled(r(c.arguments[0]), r(c.arguments[1]))),
    function("*(double precision, interval) -> interval", lambda c, r: scaled(r(c.arguments[1]), r(c.arguments[0]))),
    function(
        "/(interval, double precision) -> interval",
        lambda c, r: scaled(r(c.arguments[0]), f"(1 / {r(c.arguments[1])})"),
    ),
    *_extracts("extract", "numeric", "decimal(38,18)"),
    *_extracts("date_part", "double precision", "double"),
    function("date_trunc(text, timestamp) -> timestamp", _truncated("timestamp_ntz")),
    function("date_trunc(text, date) -> timestamp", _truncated("timestamp_ntz")),
    function("date_trunc(text, timestamptz) -> timestamptz", _truncated("timestamp")),
    function(
        "to_timestamp(double precision) -> timestamptz",
        "timestamp_micros(CAST(rint({0} * 1000000) AS bigint))",
    ),
    function("date_bin(interval, timestamp, timestamp) -> timestamp", _binned),
    function("date_bin(interval, timestamptz, timestamptz) -> timestamptz", _binned),
    function("to_char(timestamp, text) -> text", _formatted),
    function("to_char(timestamptz, text) -> text", _formatted),
    function("to_char(date, text) -> text", _formatted),
    function("make_date(integer, integer, integer) -> date", "make_date({0}, {1}, {2})"),
    function(
        "make_timestamp(integer, integer, integer, integer, integer, double precision) -> timestamp",
        "make_timestamp_ntz({0}, {1}, {2}, {3}, {4}, CAST({5} AS decimal(16,6)))",
    ),
    function("timezone(text, timestamptz) -> timestamp", "CAST(from_utc_timestamp({1}, {0}) AS timestamp_ntz)"),
    function("timezone(text, timestamp) -> timestamptz", "to_utc_timestamp(CAST({1} AS timestamp), {0})"),
    function(
        "justify_hours(interval) -> interval",
        f"named_struct('months', {{0}}.months, 'days', {{0}}.days + CAST({{0}}.micros div {_DAY} AS int),"
        f" 'micros', {{0}}.micros % {_DAY})",
    ),
    function(
        "justify_days(interval) -> interval",
        "named_struct('months', {0}.months + CAST({0}.days div 30 AS int), 'days', {0}.days % 30,"
        " 'micros', {0}.micros)",
    ),
    function("now() -> timestamptz", "current_timestamp()", nulls="never", volatile=True),
    function("current_timestamp() -> timestamptz", "current_timestamp()", nulls="never", volatile=True),
    function("mz_now() -> mz_timestamp", lambda call, render: _timeless(), nulls="never", id=MZ_NOW),
    function("current_date() -> date", "current_date()", nulls="never", volatile=True),
    function("localtimestamp() -> timestamp", "localtimestamp()", nulls="never", volatile=True),
)
