"""Session variables: one table with their defaults, which of them clients are told of, and which are fixed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tailrace.errors import SqlError
from tailrace.sql.durations import parse_duration
from tailrace.sql.unparse import quote_ident

VERSION = "0.1.0"
VERSION_TEXT = f"v{VERSION}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Variable:
    """`reported`: the name under which clients are told of its value.  `only`: the values it may have.

    `is_idle`: PostgreSQL has it and tools set it; here there is nothing that it could change.
    """

    name: str
    default: str
    reported: str | None = None
    only: tuple[str, ...] | None = None
    read_only: bool = False
    is_idle: bool = False


_SWITCH = ("on", "off", "true", "false", "1", "0", "yes", "no")
_IDLE = {
    "check_function_bodies": "on", "default_tablespace": "", "jit": "off", "row_security": "on",
    "synchronous_commit": "on", "temp_tablespaces": "", "work_mem": "4MB", "xmloption": "content",
}  # fmt: skip
VARIABLES = (
    Variable(name="application_name", default="", reported="application_name"),
    Variable(name="bytea_output", default="hex", only=("hex",)),
    Variable(name="client_encoding", default="UTF8", reported="client_encoding", only=("utf8", "utf-8", "unicode")),
    Variable(name="client_min_messages", default="notice"),
    Variable(name="cluster", default="quickstart", reported="cluster"),
    Variable(name="database", default="materialize", reported="database"),
    Variable(name="datestyle", default="ISO, MDY", reported="DateStyle"),
    Variable(name="default_table_access_method", default="heap", read_only=True),
    Variable(name="default_transaction_isolation", default="strict serializable"),
    Variable(name="default_transaction_deferrable", default="off", only=_SWITCH),
    Variable(name="default_transaction_read_only", default="off", only=_SWITCH),
    Variable(name="dialect", default="auto", only=("auto", "materialize", "flink")),
    Variable(name="extra_float_digits", default="1"),
    Variable(name="idle_in_transaction_session_timeout", default="0"),
    Variable(name="integer_datetimes", default="on", reported="integer_datetimes", read_only=True),
    Variable(name="intervalstyle", default="postgres", reported="IntervalStyle", only=("postgres",)),
    Variable(name="is_superuser", default="on", reported="is_superuser", read_only=True),
    Variable(name="lc_collate", default="C", read_only=True),
    Variable(name="lc_ctype", default="C", read_only=True),
    Variable(name="lock_timeout", default="0"),  # nothing is ever waited for
    Variable(name="max_connections", default="1000", read_only=True),
    Variable(name="max_index_keys", default="32", read_only=True),
    Variable(name="max_identifier_length", default="255", read_only=True),
    Variable(name="max_query_result_size", default="1GB"),
    Variable(name="mz_version", default=f"v{VERSION} (tailrace)", read_only=True),
    Variable(name="role", default="none"),
    Variable(name="search_path", default="public", reported="search_path"),
    Variable(name="server_encoding", default="UTF8", read_only=True),
    Variable(name="server_version", default="9.5.0", reported="server_version", read_only=True),
    Variable(name="server_version_num", default="90500", read_only=True),
    Variable(
        name="standard_conforming_strings", default="on", reported="standard_conforming_strings", only=("on",)
    ),
    Variable(name="statement_timeout", default="0"),
    Variable(name="timezone", default="UTC", reported="TimeZone", only=("utc", "+00:00", "etc/utc")),
    Variable(name="transaction_read_only", default="off", only=("off", "false", "0")),
    *(Variable(name=name, default=default, is_idle=True) for name, default in _IDLE.items()),
    Variable(
        name="transaction_isolation",
        default="strict serializable",
        only=("strict serializable", "serializable", "repeatable read", "read committed", "read uncommitted"),
    ),
)
_BY_NAME = {variable.name: variable for variable in VARIABLES}
_ALIASES = {
    "schema": "search_path",
    "names": "client_encoding",
    "time zone": "timezone",
    "transaction isolation level": "transaction_isolation",
}


def seconds(value: str) -> float:
    """A length of time as clients write it: `10 s`, `500ms`, or a number of milliseconds.  0: none."""
    if value.strip().isdigit():
        return int(value) / 1000
    found = parse_duration(value)
    if found is None:
        raise SqlError(f'invalid length of time: "{value}"', hint="Write 10s, 500ms or 1min.", sqlstate="22023")
    return found.length.total_seconds()


class Variables:
    """The variables of one session."""

    def __init__(self) -> None:
        self._defaults = {variable.name: variable.default for variable in VARIABLES}
        self._values = dict(self._defaults)
        self._before: dict[str, str] | None = None  # the transaction that is open
        self._after: dict[str, str] = {}  # it, where SET LOCAL gave another value until then

    def take(self, settings: Mapping[str, str]) -> None:
        """The values that it begins with, and that RESET brings back."""
        for name, value in settings.items():
            self.set(name, value)
            self._defaults[name] = self._values[name]

    def begin(self) -> None:
        """A transaction block begins."""
        self._before, self._after = dict(self._values), {}

    def end(self, *, keep: bool) -> None:
        """It ends; without `keep`, what was set in it is as before."""
        if self._before is not None:
            self._values.update(self._after if keep else self._before)
        self._before, self._after = None, {}

    def get(self, name: str) -> str:
        return self._values[_known(name).name]

    def set(self, name: str, value: str, *, local: bool = False) -> None:
        """`local`: until the end of the transaction block that is open."""
        variable = _known(name)
        if variable.read_only:
            raise SqlError(f'parameter "{variable.name}" cannot be changed', sqlstate="55P02")
        if variable.only is not None and value.lower() not in variable.only:
            raise SqlError(
                f'invalid value for parameter "{variable.name}": "{value}"',
                hint=f"Available values: {', '.join(variable.only)}.",
                sqlstate="22023",
            )
        if variable.name.endswith("_timeout"):
            seconds(value)
        if local:
            self._after.setdefault(variable.name, self._values[variable.name])
        else:
            self._after.pop(variable.name, None)
        if variable.only == _SWITCH:
            value = "on" if value.lower() in _SWITCH[::2] else "off"
        self._values[variable.name] = value

    def fix(self, name: str, value: str) -> None:
        """The value of a variable that clients cannot set."""
        self._values[_known(name).name] = value

    def reset(self, name: str) -> None:
        variable = _known(name)
        self._values[variable.name] = self._defaults[variable.name]

    def reset_all(self) -> None:
        for variable in VARIABLES:
            if not variable.read_only and variable.name != "role":
                self._values[variable.name] = self._defaults[variable.name]

    def all(self) -> list[tuple[str, str]]:
        return sorted(self._values.items())

    def reported(self) -> dict[str, str]:
        return {v.reported: self._values[v.name] for v in VARIABLES if v.reported is not None}


def joined(name: str, values: Sequence[str]) -> str:
    """The values of SET as one text."""
    if known(name) == "search_path":
        values = [quote_ident(value) for value in values]
    return ", ".join(values)


def identifiers(value: str) -> tuple[str, ...]:
    """The names of a list like `search_path`: `public, "Other"`.  Without quotes they have no capitals."""
    found, rest = [], value.strip()
    while rest:
        match = re.match(r'"((?:[^"]|"")*)"|[^,]*', rest)
        assert match is not None  # the second alternative takes anything
        quoted = match.group(1)
        found.append(match.group().strip().lower() if quoted is None else quoted.replace('""', '"'))
        rest = rest[match.end() :].strip().removeprefix(",").strip()
    return tuple(name for name in found if name)


def checked(name: str, value: str) -> tuple[str, str]:
    """The variable of a name or alias, and the value as it is kept.  Raises if it cannot be set so."""
    tried = Variables()
    tried.set(name, value)
    return _known(name).name, tried.get(name)


def is_idle(name: str) -> bool:
    return _known(name).is_idle


def known(name: str) -> str:
    """The variable of a name or alias."""
    return _known(name).name


def _known(name: str) -> Variable:
    folded = _ALIASES.get(name.lower(), name.lower())
    variable = _BY_NAME.get(folded)
    if variable is None:
        raise SqlError(f'unrecognized configuration parameter "{name}"', sqlstate="42704")
    return variable
