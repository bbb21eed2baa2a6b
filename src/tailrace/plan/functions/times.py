"""Dates, times, timestamps and intervals."""

from __future__ import annotations

from collections.abc import Callable

from tailrace.errors import InternalError, InvalidOption, NotSupported
from tailrace.plan.expressions import Call, Literal
from tailrace.plan.functions.entry import Function, Render, SparkText, function
from tailrace.plan.functions.let import let
from tailrace.plan.functions.strings import constant
from tailrace.plan.raising import raising
from tailrace.types.core import DATE, INTERVAL, TIME, SqlType, TimestampTz

_DAY = "86400000000L"
_PARTS = ("months", "days", "micros")

MZ_NOW = "mz_now"
"""The time of the tick.  Whoever renders a plan says first which tick it is for: see plan/temporal.py."""


TIME_TO_PRECISION = "time to precision"
"""Of a time and a number of digits: what a cast to time(2) does."""


def _to_precision(call: Call, render: Render) -> str:
    """Half up, and so to 24:00:00 at the end of the day."""
    time, digits = call.arguments
    assert isinstance(digits, Literal)
    unit = 10 ** (6 - int(digits.text or 6))
    return f"(({render(time)} + {unit // 2}L) div {unit}L * {unit}L)"


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
    outside = raising("22008", "interval out of range")

    def part(name: str) -> str:
        return f"coalesce(try_{'add' if sign == '+' else 'subtract'}({{0}}.{name}, {{1}}.{name}), {outside})"

    return (
        f"CASE WHEN {{0}} IS NOT NULL AND {{1}} IS NOT NULL THEN named_struct('months', {part('months')},"
        f" 'days', {part('days')}, 'micros', {part('micros')}) END"
    )


def scaled(interval: str, factor: str) -> str:
    """An interval times a double: fractions of months spill into days, of days into µs, both rounded to six digits.

    Spark's cast of a double to an integer cuts towards zero.
    """
    fields = (f"'{name}', {interval}.{field} * {factor}" for name, field in zip("mdu", _PARTS, strict=True))
    steps = (
        "named_struct('m', CAST(v.m AS int), 'd', CAST(v.d AS int), 'r', round((v.m - CAST(v.m AS int)) * 30, 6),"
        " 'f', v.d - CAST(v.d AS int), 'u', v.u)",
        "named_struct('m', v.m, 'd', v.d + CAST(v.r AS int), 's', round((v.f + v.r - CAST(v.r AS int)) * 86400, 6),"
        " 'u', v.u)",
        "CASE WHEN v.u IS NOT NULL THEN named_struct('months', v.m, 'days', v.d + CAST(v.s / 86400 AS int),"
        " 'micros', CAST(rint(v.u + (v.s - CAST(v.s / 86400 AS int) * 86400) * 1000000) AS bigint)) END",
    )
    text = f"array(named_struct({', '.join(fields)}))"
    for step in steps:
        text = f"transform({text}, v -> {step})"
    return f"element_at({text}, 1)"


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
    "milliseconds": "extract(SECOND FROM {0}) * 1000", "millisecond": "extract(SECOND FROM {0}) * 1000",
    "microseconds": "extract(SECOND FROM {0}) * 1000000", "microsecond": "extract(SECOND FROM {0}) * 1000000",
    "julian": "(datediff({0}, DATE'1970-01-01') + 2440588"
              " + CAST(pmod(unix_micros(CAST({0} AS timestamp)), 86400000000L) AS decimal(20,0)) / 86400000000L)",
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

_ZONE_FIELDS = {"timezone": "0", "timezone_hour": "0", "timezone_minute": "0"}  # always UTC
_OF_DAYS = frozenset(
    """
        year years month months mon day days quarter dow isodow doy week isoyear decade century millennium julian
    """.split()  # noqa: SIM905
)
"""Fields of a date, which a time has not."""

_TIME_AS_INTERVAL = "named_struct('months', 0, 'days', 0, 'micros', {0})"


def _extract(result: str) -> SparkText:
    def text(call: Call, render: Render) -> str:
        field = constant(call.arguments[0], "extract of a field").lower()
        source, value = call.arguments[1].type, render(call.arguments[1])
        fields = _INTERVAL_FIELDS if source in (INTERVAL, TIME) else _FIELDS
        template = _ZONE_FIELDS.get(field) if isinstance(source, TimestampTz) else None
        template = template or fields.get(field)
        known = template is not None or field in _FIELDS or field in _ZONE_FIELDS
        wrong_for_date = source == DATE and field not in _OF_DAYS and field != "epoch"
        if known and (template is None or wrong_for_date or (source == TIME and field in _OF_DAYS)):
            raise NotSupported(f'unit "{field}" not supported for type {_SPELT.get(source, source)}')
        if template is None:
            raise InvalidOption(f'unit "{field}" not recognized for type {_SPELT.get(source, source)}')
        if source == TIME:
            value = _TIME_AS_INTERVAL.format(value)
        return f"CAST({template.format(value)} AS {result})"

    return text


_SPELT: dict[SqlType, str] = {TIME: "time without time zone"}

_UNITS = frozenset(
    """
        microseconds milliseconds second minute hour day week month quarter year decade century
        millennium
    """.split()  # noqa: SIM905
)


def _unit(call: Call) -> str:
    """The unit of a date_trunc."""
    unit = constant(call.arguments[0], "date_trunc to a unit").lower().removesuffix("s")
    unit = {"microsecond": "microseconds", "millisecond": "milliseconds", "centurie": "century"}.get(unit, unit)
    if unit not in _UNITS:
        raise InvalidOption(f'unit "{unit}" not recognized for type {call.arguments[1].type}')
    return unit


def _truncated_in_zone(call: Call, render: Render) -> str:
    """In the zone's own days."""
    zone = f"tailrace_zone({render(call.arguments[2])})"
    local = f"CAST(from_utc_timestamp({render(call.arguments[1])}, {zone}) AS timestamp_ntz)"
    inner = _truncated("timestamp")(call, lambda argument: local if argument is call.arguments[1] else render(argument))
    return f"to_utc_timestamp({inner}, {zone})"


def _truncated(kind: str) -> Callable[[Call, Render], str]:
    def text(call: Call, render: Render) -> str:
        unit, value = _unit(call), render(call.arguments[1])
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
    error = raising("0A000", "timestamps cannot be binned into intervals containing months or years")
    empty = raising("22008", "stride must be greater than zero")
    start = f"timestamp_micros({micros(value)} - pmod({passed}, {length}))"
    return (
        f"CASE WHEN {stride}.months <> 0 THEN {error} WHEN {length} <= 0 THEN {empty} ELSE CAST({start} AS {kind}) END"
    )


def _formatted(call: Call, render: Render) -> str:
    """to_char of a moment."""
    moment, template = (render(argument) for argument in call.arguments)
    zoned = "true" if isinstance(call.arguments[0].type, TimestampTz) else "false"
    return f"tailrace_time_text({micros(moment)}, {template}, {zoned})"


def _age(call: Call, render: Render) -> str:
    one, other = (micros(render(argument)) for argument in call.arguments)
    return f"tailrace_age({one}, {other})"


def _made(call: Call, render: Render) -> str:
    """make_interval."""
    years, months, weeks, days, hours, minutes, seconds = (render(argument) for argument in call.arguments)
    clock = f"{hours} * 3600000000L + {minutes} * 60000000L + CAST(rint(CAST({seconds} AS double) * 1000000) AS bigint)"
    return f"named_struct('months', {years} * 12 + {months}, 'days', {weeks} * 7 + {days}, 'micros', {clock})"


def _made_time(call: Call, render: Render) -> str:
    hour, minute, second = (render(argument) for argument in call.arguments)
    error = raising("22008", "time field value out of range")
    value = f"({hour} * 3600000000L + {minute} * 60000000L + CAST(rint({second} * 1000000) AS bigint))"
    right = f"{hour} BETWEEN 0 AND 24 AND {minute} BETWEEN 0 AND 59 AND {second} BETWEEN 0 AND 60 AND {value} <= {_DAY}"
    return f"CASE WHEN {right} THEN {value} ELSE {error} END"


def _truncated_interval(call: Call, render: Render) -> str:
    unit = _unit(call)
    interval = render(call.arguments[1])
    months = {"year": 12, "quarter": 3, "decade": 120, "century": 1200, "millennium": 12000}
    sizes = {"hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000, "milliseconds": 1000, "microseconds": 1}
    if unit == "week":
        raise NotSupported("unit \"week\" not supported for type interval")
    m, d, u = "{i}.months", "{i}.days", "{i}.micros"
    if unit in sizes:
        u = f"({{i}}.micros div {sizes[unit]}L * {sizes[unit]}L)"
    elif unit == "day":
        u = "0L"
    else:
        m, d, u = f"({{i}}.months div {months.get(unit, 1)} * {months.get(unit, 1)})", "0", "0L"
    return let(
        {"i": interval},
        f"CASE WHEN {{i}} IS NOT NULL THEN named_struct('months', CAST({m} AS int), 'days', {d}, 'micros', {u}) END",
    )


def _justified(call: Call, render: Render) -> str:
    """Hours into days, days into months, and all parts of one sign."""
    total = f"(CAST({{i}}.months AS decimal(38,0)) * 30 + {{i}}.days) * {_DAY} + {{i}}.micros"
    months = f"CAST({{t}} div (30 * {_DAY}) AS int)"
    days = f"CAST({{t}} % (30 * {_DAY}) div {_DAY} AS int)"
    body = f"named_struct('months', {months}, 'days', {days}, 'micros', CAST({{t}} % {_DAY} AS bigint))"
    inner = let({"t": total.replace("{i}", "v.i")}, body)
    one = f"array(named_struct('i', {render(call.arguments[0])}))"
    return f"element_at(transform({one}, v -> CASE WHEN v.i IS NOT NULL THEN {inner} END), 1)"


def _justified_by(large: str, small: str, size: str) -> SparkText:
    """As many of the smaller part as make `size` into the larger one; then both have one sign."""
    whole, rest = f"({{i}}.{large} + CAST({{i}}.{small} div {size} AS int))", f"({{i}}.{small} % {size})"
    back = f"CASE WHEN {whole} > 0 AND {rest} < 0 THEN 1 WHEN {whole} < 0 AND {rest} > 0 THEN -1 ELSE 0 END"
    parts = {part: f"{{i}}.{part}" for part in _PARTS}
    parts |= {large: f"{whole} - {back}", small: f"{rest} + {back} * {size}"}
    fields = ", ".join(f"'{part}', {text}" for part, text in parts.items())
    body = f"CASE WHEN {{i}} IS NOT NULL THEN named_struct({fields}) END"
    return lambda call, render: let({"i": render(call.arguments[0])}, body)


def _days_later(date: str, days: str, sign: str) -> str:
    """Spark counts on beyond the years that can be shown."""
    outside = raising("22008", "date out of range")
    day = f"CAST(unix_date({date}) AS bigint) {sign} {days}"
    known = f"date_from_unix_date(CAST({day} AS int))"
    return f"CASE WHEN {day} NOT BETWEEN -719162 AND 2932896 THEN {outside} ELSE {known} END"


def _extracts(name: str, result: str, spark: str) -> tuple[Function, ...]:
    return tuple(
        function(f"{name}(text, {kind}) -> {result}", _extract(spark))
        for kind in ("timestamp", "timestamptz", "date", "time", "interval")
    )


FUNCTIONS = (
    function("+(date, integer) -> date", _days_later("{0}", "{1}", "+")),
    function("+(integer, date) -> date", _days_later("{1}", "{0}", "+")),
    function("-(date, integer) -> date", _days_later("{0}", "{1}", "-")),
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
    function(f"{TIME_TO_PRECISION}(time, integer) -> time", _to_precision),
    function("+(interval, time) -> time", f"pmod({{1}} + {{0}}.micros, {_DAY})"),
    function("-(time, interval) -> time", f"pmod({{0}} - {{1}}.micros, {_DAY})"),
    function("+(interval, interval) -> interval", _combined("+")),
    function("-(interval, interval) -> interval", _combined("-")),
    function(
        "-(interval) -> interval",
        "named_struct('months', - {0}.months, 'days', - {0}.days, 'micros', - {0}.micros)",
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
    function("date_trunc(text, timestamptz) -> timestamptz", _truncated("timestamp")),
    function("date_trunc(text, timestamptz, text) -> timestamptz", _truncated_in_zone),
    function("date_trunc(text, interval) -> interval", _truncated_interval),
    function("age(timestamp, timestamp) -> interval", _age),
    function("age(timestamptz, timestamptz) -> interval", _age),
    *(
        function(
            f"age({kind}) -> interval",
            "tailrace_age(unix_micros(CAST(current_date() AS timestamp)), unix_micros(CAST({0} AS timestamp)))",
            volatile=True,
        )
        for kind in ("timestamp", "timestamptz")
    ),
    function("to_timestamp(text, text) -> timestamptz", "timestamp_micros(tailrace_time_read({0}, {1}))"),
    function("to_date(text, text) -> date", "CAST(timestamp_micros(tailrace_time_read({0}, {1})) AS date)"),
    function(
        "to_char(interval, text) -> text", "tailrace_span_text({0}.months, {0}.days, {0}.micros, {1})"
    ),
    function(f"make_interval({'integer, ' * 6}double precision) -> interval", _made),
    function("make_time(integer, integer, double precision) -> time", _made_time),
    function(
        "make_timestamptz(integer, integer, integer, integer, integer, double precision) -> timestamptz",
        "CAST(make_timestamp_ntz({0}, {1}, {2}, {3}, {4}, CAST({5} AS decimal(16,6))) AS timestamp)",
    ),
    function("justify_interval(interval) -> interval", _justified),
    *(
        function(f"isfinite({kind}) -> boolean", "({0} IS NOT NULL)")
        for kind in ("date", "timestamp", "timestamptz", "interval")
    ),
    function("date_add(timestamptz, interval) -> timestamptz", _shifted("+", "timestamp")),
    function("date_subtract(timestamptz, interval) -> timestamptz", _shifted("-", "timestamp")),
    function("+(time, date) -> timestamp", "(CAST({1} AS timestamp_ntz) + INTERVAL '0.000001' SECOND * {0})"),
    function("clock_timestamp() -> timestamptz", "current_timestamp()", nulls="never", volatile=True),
    function("transaction_timestamp() -> timestamptz", "current_timestamp()", nulls="never", volatile=True),
    function("statement_timestamp() -> timestamptz", "current_timestamp()", nulls="never", volatile=True),
    function("gen_random_uuid() -> uuid", "uuid()", nulls="never", volatile=True),
    function("uuid_generate_v4() -> uuid", "uuid()", nulls="never", volatile=True),
    function(
        "uuid_extract_version(uuid) -> smallint", "CAST(conv(substring({0}, 15, 1), 16, 10) AS smallint)"
    ),
    function(
        "to_timestamp(double precision) -> timestamptz",
        "timestamp_micros(CAST(rint({0} * 1000000) AS bigint))",
    ),
    function("date_bin(interval, timestamp, timestamp) -> timestamp", _binned),
    function("date_bin(interval, timestamptz, timestamptz) -> timestamptz", _binned),
    function("to_char(timestamp, text) -> text", _formatted),
    function("to_char(timestamptz, text) -> text", _formatted),
    function("make_date(integer, integer, integer) -> date", "make_date({0}, {1}, {2})"),
    function(
        "make_timestamp(integer, integer, integer, integer, integer, double precision) -> timestamp",
        "make_timestamp_ntz({0}, {1}, {2}, {3}, {4}, CAST({5} AS decimal(16,6)))",
    ),
    function(
        "timezone(text, timestamptz) -> timestamp",
        "CAST(from_utc_timestamp({1}, tailrace_zone({0})) AS timestamp_ntz)",
    ),
    function(
        "timezone(text, timestamp) -> timestamptz",
        "to_utc_timestamp(CAST({1} AS timestamp), tailrace_zone({0}))",
    ),
    function(
        "timezone(interval, timestamp) -> timestamptz",
        "CAST({1} - INTERVAL '0.000001' SECOND * {0}.micros AS timestamp)",
    ),
    function(
        "timezone(interval, timestamptz) -> timestamp",
        "CAST({1} + INTERVAL '0.000001' SECOND * {0}.micros AS timestamp_ntz)",
    ),
    function("justify_hours(interval) -> interval", _justified_by("days", "micros", _DAY)),
    function("justify_days(interval) -> interval", _justified_by("months", "days", "30")),
    function("now() -> timestamptz", "current_timestamp()", nulls="never", volatile=True),
    function("current_timestamp() -> timestamptz", "current_timestamp()", nulls="never", volatile=True),
    function("mz_now() -> mz_timestamp", lambda call, render: _timeless(), nulls="never", id=MZ_NOW),
    function("current_date() -> date", "current_date()", nulls="never", volatile=True),
    function("localtimestamp() -> timestamp", "localtimestamp()", nulls="never", volatile=True),
    function("localtime() -> time", f"pmod({micros('localtimestamp()')}, {_DAY})", nulls="never", volatile=True),
)
