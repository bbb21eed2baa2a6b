"""PostgreSQL's text form of single values, as Spark SQL text: NULL stays NULL, and every value has one form.

All of it runs on the JVM.  An argument is a column or a lambda's variable: naming it twice costs nothing.
types/postgres/text.py gives the same forms to Arrow columns; tests hold the two against each other.
"""

from __future__ import annotations


def literal(text: str) -> str:
    """A Spark string literal of any text.  `$` is escaped: Spark replaces `${name}` even inside quotes."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\u0024")
    return "'" + escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\0", "\\0") + "'"


def text(x: str) -> str:
    return f"CAST({x} AS string)"


def boolean_text(x: str) -> str:
    return f"CASE WHEN {x} THEN 't' WHEN NOT {x} THEN 'f' END"


def decimal_text(x: str, scale: int) -> str:
    """Plain notation without trailing zeros: 12.5, 0, -3."""
    return text(x) if scale == 0 else f"rtrim('.', rtrim('0', {text(x)}))"


def bytea_text(x: str) -> str:
    return rf"concat('\\x', lower(hex({x})))"


def date_text(x: str) -> str:
    return _in_era(x, "")


def timestamp_text(x: str, zone: str = "") -> str:
    """Spark shows a timestamp as PostgreSQL does, but for the zone and for years before 1 and after 9999."""
    return _in_era(x, zone)


def _in_era(x: str, zone: str) -> str:
    shown = text(x)
    # Spark counts a year 0 and writes -0001; PostgreSQL goes from 1 BC to 1.  Past 9999 Spark writes a plus.
    return (
        f"CASE WHEN year({x}) BETWEEN 1 AND 9999 THEN concat({shown}, '{zone}')"
        f" WHEN year({x}) > 9999 THEN concat(substring({shown}, 2), '{zone}')"
        f" ELSE concat(lpad({text(f'1 - year({x})')}, 4, '0'),"
        f" substring({shown}, locate('-', {shown}, 2)), '{zone} BC') END"
    )


def time_text(x: str) -> str:
    """µs of a day as 11:11:11.5."""
    return _clock(x)


def interval_text(x: str) -> str:
    """`1 year 2 mons 3 days 04:05:06.7`: each part with its sign, and a plus after a negative one."""
    months, days, micros = f"{x}.months", f"{x}.days", f"{x}.micros"
    after_negative = f"CASE WHEN {days} <> 0 THEN {days} < 0 ELSE {months} < 0 END"
    return (
        f"CASE WHEN {x} IS NOT NULL THEN concat_ws(' ', {_part(f'{months} div 12', 'year')},"
        f" {_part(f'{months} % 12', 'mon')}, {_part(days, 'day', plus=f'{months} < 0')},"
        f" CASE WHEN {micros} <> 0 OR {months} = 0 AND {days} = 0 THEN"
        f" concat(CASE WHEN {micros} < 0 THEN '-' WHEN {after_negative} THEN '+' ELSE '' END,"
        f" {_clock(f'abs({micros})')}) END) END"
    )


def _part(count: str, unit: str, plus: str = "false") -> str:
    """`2 days`, or NULL, which concat_ws leaves out."""
    return (
        f"CASE WHEN {count} <> 0 THEN concat(CASE WHEN {plus} AND {count} > 0 THEN '+' ELSE '' END,"
        f" {text(count)}, CASE WHEN {count} = 1 THEN ' {unit}' ELSE ' {unit}s' END) END"
    )


def _clock(micros: str) -> str:
    """hh:mm:ss[.ffffff]; more than 99 hours are written out."""
    hours = f"{micros} div 3600000000"
    parts = f"lpad({text(f'{micros} div 60000000 % 60')}, 2, '0'), ':', " + (
        f"lpad({text(f'{micros} div 1000000 % 60')}, 2, '0')"
    )
    fraction = f"rtrim('.', rtrim('0', concat('.', lpad({text(f'{micros} % 1000000')}, 6, '0'))))"
    return f"concat(CASE WHEN {hours} < 10 THEN '0' ELSE '' END, {text(hours)}, ':', {parts}, {fraction})"


def float_text(x: str, kind: str) -> str:
    """A `float` or `double` as PostgreSQL shows it: 1.5, 3, 0.0001, 1e+15 (real: 1e+06), NaN, -Infinity."""
    limit = "1e6" if kind == "float" else "1e15"
    return (
        f"CASE WHEN isnan({x}) OR abs({x}) = double('Infinity') THEN {text(x)}"
        f" WHEN {x} = 0 OR {_between(x, '1e-4', limit, kind)} THEN rtrim('.', rtrim('0', {_plain(x)}))"
        f" ELSE {_scientific(x)} END"
    )


def float_json(x: str, kind: str) -> str:
    """A JSON number as serde_json writes it: 1.0, 0.00001, 1e16.  NaN and the infinities have none: NULL."""
    return (
        f"CASE WHEN {x} = 0 OR {_between(x, '1e-3', '1e7', kind)} THEN {text(x)}"
        f" WHEN isnan({x}) OR abs({x}) = double('Infinity') THEN NULL"
        f" WHEN {_between(x, '1e-5', '1e16', kind)}"
        f" THEN regexp_replace(rtrim('0', {_plain(x)}), '[.]$', '.0')"
        f" ELSE lower(replace({text(x)}, '.0E', 'E')) END"
    )


def _between(x: str, low: str, below: str, kind: str) -> str:
    """In the type of `x`: the double 1e-4 is a little above the float 1e-4."""
    return f"abs({x}) >= {kind}('{low}') AND abs({x}) < {kind}('{below}')"


def _plain(x: str) -> str:
    """Java's digits without the exponent that it writes below 1e-3 and from 1e7 on.  All of them fit."""
    return (
        f"CASE WHEN instr({text(x)}, 'E') = 0 THEN {text(x)}"
        f" WHEN abs({x}) < 1 THEN {_decimal(x, 25)} ELSE {_decimal(x, 18)} END"
    )


def _decimal(x: str, scale: int) -> str:
    return text(f"CAST({text(x)} AS decimal(38,{scale}))")


def _scientific(x: str) -> str:
    """d.ddde+dd.  Java writes exponents from 1e7 on, PostgreSQL for a real from 1e6 on."""
    digits = f"rtrim('0', replace({text(f'abs({x})')}, '.', ''))"
    mantissa = f"rtrim('.', rtrim('0', substring_index({text(x)}, 'E', 1)))"
    exponent = f"CAST(substring_index({text(x)}, 'E', -1) AS int)"
    return (
        f"CASE WHEN instr({text(x)}, 'E') = 0 THEN concat(CASE WHEN {x} < 0 THEN '-' ELSE '' END,"
        f" rtrim('.', concat(left({digits}, 1), '.', substring({digits}, 2))), 'e+06')"
        f" ELSE concat({mantissa}, CASE WHEN {exponent} < 0 THEN 'e-' ELSE 'e+' END,"
        f" CASE WHEN abs({exponent}) < 10 THEN '0' ELSE '' END, {text(f'abs({exponent})')}) END"
    )
