"""`WITH ('key' = 'value', …)`: from text to options that the connector and its formats know.

Which options there are depends on the values of some: `connector`, `format`, `key.format` and `value.format`.  So the
list is read twice: once for its names, once for its values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from tailrace.errors import InvalidOption, NotSupported, SqlError
from tailrace.sql.kinds import Unusable
from tailrace.sql.options import Given, Option, Options
from tailrace.sql.parser import Parser
from tailrace.sql.unparse import Printer
from tailrace.statements.flink import kinds
from tailrace.statements.flink import options as known
from tailrace.statements.flink.format_options import FORMATS, NOT_YET, Format

MASK = "******"
_SENSITIVE = ("password", "secret", "token", "jaas.config", "basic-auth.user-info", "keystore.key", "apikey", "api-key")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Written:
    """One pair: its name, where it stands, the text of its value, and where to read that again."""

    name: str
    position: int
    text: str
    value_position: int
    mark: int


@dataclass(frozen=True, kw_only=True, slots=True)
class WithOptions:
    """The options of one table.  `given` is all of them in their order; the formats have theirs by short names."""

    connector: str
    given: Options
    key_format: Format | None
    value_format: Format | None

    def show(self, printer: Printer) -> str:
        pairs = (f"    {printer.text(g.option.name)} = {_shown(g, printer)}" for g in self.given.given)
        return "WITH (\n" + ",\n".join(pairs) + "\n)"

    def sensitive(self) -> dict[str, str]:
        """What must not be shown: name → value."""
        return {g.option.name: g.value for g in self.given.given if is_sensitive(g.option.name)}

    def properties(self) -> dict[str, str]:
        """Properties of the Kafka clients, by their own names."""
        return self.behind(known.PROPERTIES)

    def behind(self, prefix: str) -> dict[str, Any]:
        """The options whose names begin so, by the rest of their names."""
        given = ((g.option.name, g.value) for g in self.given.given)
        return {name.removeprefix(prefix): value for name, value in given if name.startswith(prefix)}

    @property
    def value_prefix(self) -> str:
        """What the names of the value format's options begin with."""
        return "value." if self.given.has(known.VALUE_FORMAT) else ""


def is_sensitive(name: str) -> bool:
    return any(part in name for part in _SENSITIVE)


def _shown(given: Given, printer: Printer) -> str:
    if is_sensitive(given.option.name):
        return f"'{MASK}'"
    return given.option.kind.show(given.value, printer)


def follows(p: Parser) -> bool:
    """Whether `WITH ('…` comes next: the keys of Flink's options are strings, ours are words."""
    return p.at("WITH", "(") and p.peek(2).kind.value == "string"


def parse_with(p: Parser) -> WithOptions:
    p.expect("WITH")
    written = _pairs(p)
    end = p.mark
    connector = _connector(written, p)
    key = _format_of(written, known.KEY_FORMAT.name)
    value_name = known.VALUE_FORMAT.name if _find(written, known.VALUE_FORMAT.name) else known.FORMAT.name
    value = _format_of(written, value_name)
    formats = _format_options(key, "key.") + _format_options(value, "value." if "value" in value_name else "")
    table = {option.name: option for option in (*known.CONNECTORS[connector], *formats)}
    given = tuple(_given(p, pair, table, connector) for pair in written)
    p.rewind(end)
    options = Options(given)
    _check_required(options, known.CONNECTORS[connector], written[0].position)
    return WithOptions(
        connector=connector,
        given=options,
        key_format=None if key is None else _format(key, "key.", options),
        value_format=None if value is None else _format(value, "value." if "value" in value_name else "", options),
    )


def _pairs(p: Parser) -> list[_Written]:
    p.expect("(")
    found: list[_Written] = []
    while not p.accept(")"):
        position = p.position
        name = p.string("option name in quotes")
        p.expect("=")
        value_position, mark = p.position, p.mark
        p.discreet = is_sensitive(name)
        text = p.string("option value in quotes")
        p.discreet = False
        if any(pair.name == name for pair in found):
            raise InvalidOption(f"option '{name}' specified more than once", position=position)
        found.append(_Written(name=name, position=position, text=text, value_position=value_position, mark=mark))
        if not p.at(")") and not p.accept(","):
            raise p.expected('"," or ")"')
    return found


def _find(written: Sequence[_Written], name: str) -> _Written | None:
    return next((pair for pair in written if pair.name == name), None)


def _connector(written: Sequence[_Written], p: Parser) -> str:
    pair = _find(written, "connector")
    if pair is None:
        raise InvalidOption(
            "Table options do not contain an option key 'connector' for discovering a connector.",
            hint="Add 'connector' = 'kafka' or 'connector' = 'upsert-kafka'.",
            position=written[0].position if written else p.position,
        )
    if pair.text not in known.CONNECTORS:
        raise InvalidOption(
            f"Could not find any factory for identifier '{pair.text}'",
            detail="Available factory identifiers are: kafka, upsert-kafka.",
            hint=_nearest(pair.text, list(known.CONNECTORS)),
            position=pair.value_position,
        )
    return pair.text


def _format_of(written: Sequence[_Written], option: str) -> str | None:
    pair = _find(written, option)
    if pair is None:
        return None
    if pair.text in NOT_YET:
        raise NotSupported(f"format '{pair.text}' of Kafka tables not yet supported", position=pair.value_position)
    if pair.text not in FORMATS:
        raise InvalidOption(
            f"Could not find any factory for identifier '{pair.text}'",
            detail=f"Available formats are: {', '.join(sorted(FORMATS))}.",
            hint=_nearest(pair.text, list(FORMATS)),
            position=pair.value_position,
        )
    return pair.text


def _format_options(format: str | None, prefix: str) -> tuple[Option[Any], ...]:
    """The options of a format under their full names in a table."""
    if format is None:
        return ()
    return tuple(
        Option(f"{prefix}{format}.{each.name}", each.kind, default=each.default, doc=each.doc)
        for each in FORMATS[format]
    )


def _format(name: str, prefix: str, options: Options) -> Format:
    by_name = {given.option.name: given for given in options.given}
    found = ((each, by_name.get(f"{prefix}{name}.{each.name}")) for each in FORMATS[name])
    return Format(
        name=name,
        options=Options(tuple(Given(each, g.value, g.position) for each, g in found if g is not None)),
    )


def _given(p: Parser, pair: _Written, table: dict[str, Option[Any]], connector: str) -> Given:
    option = table.get(pair.name)
    if option is None and pair.name.startswith(known.PROPERTIES):
        option = Option(pair.name, kinds.STRING)
    if option is None:
        raise InvalidOption(
            f"Unsupported options found for '{connector}'.",
            detail=f"Unsupported options: {pair.name}.\nSupported options: {', '.join(sorted(table))}, properties.*.",
            hint=_nearest(pair.name, list(table)),
            position=pair.position,
        )
    p.rewind(pair.mark)
    try:
        return Given(option, option.kind.parse(p), pair.position)
    except Unusable as unusable:
        message = f"Invalid value for option '{pair.name}'."
        raise InvalidOption(message, detail=str(unusable), position=pair.value_position) from None


def _check_required(options: Options, every: Sequence[Option[Any]], position: int) -> None:
    missing = [option.name for option in every if option.required and not options.has(option)]
    if missing:
        raise _missing(missing, position)


def _missing(names: Sequence[str], position: int | None) -> SqlError:
    return InvalidOption(
        "One or more required options are missing.",
        detail=f"Missing required options are: {', '.join(sorted(names))}.",
        position=position,
    )


def required(options: WithOptions, *names: str) -> SqlError:
    """The error for options that this connector cannot do without."""
    return _missing(names, options.given.position(known.CONNECTOR))


def _nearest(name: str, names: list[str]) -> str | None:
    near = get_close_matches(name, names, 1, 0.6)
    return f"Did you mean '{near[0]}'?" if near else None
