"""CREATE SINK … INTO REDIS CONNECTION name (KEY TEMPLATE 'totals:{item}') KEY (…) FORMAT JSON | HASH MODE UPSERT."""

from __future__ import annotations

from dataclasses import dataclass
from string import Formatter
from typing import Any, ClassVar

from tailrace.errors import InvalidOption
from tailrace.sql.kinds import TEXT
from tailrace.sql.names import Name
from tailrace.sql.options import Option, Options, Texts, parse_options
from tailrace.sql.parser import Parser
from tailrace.sql.unparse import Printer
from tailrace.statements.sinks.contract import (
    SinkEnvelope,
    SinkKey,
    expect_upsert,
    parse_required_key,
    refuse_repeated,
)

KEY_TEMPLATE = Option(
    "KEY TEMPLATE",
    TEXT,
    required=True,
    doc="How Redis keys are made of the key columns, e.g. 'totals:{item}'; {{ and }} stand for braces.",
)
OPTIONS: tuple[Option[Any], ...] = (KEY_TEMPLATE,)
FORMATS = ("JSON", "HASH")
_TEXTS = Texts(missing="REDIS CONNECTION must specify KEY TEMPLATE")


@dataclass(frozen=True, kw_only=True, slots=True)
class RedisTarget:
    """`template`: text and the column after it, by turns; after the last text there is none.

    `format`: JSON makes a string of a row, HASH a hash with a field for each column that is not NULL.
    """

    type: ClassVar[str] = "redis"
    envelope: ClassVar[SinkEnvelope] = SinkEnvelope.UPSERT

    connection: Name
    options: Options
    template: tuple[tuple[str, str | None], ...]
    key: SinkKey
    format: str

    @property
    def connections(self) -> list[Name]:
        return [self.connection]

    def clauses(self, printer: Printer) -> list[str | None]:
        return [
            f"INTO REDIS CONNECTION {printer.name(self.connection)} {self.options.show(printer)}",
            self.key.clause(printer),
            f"FORMAT {self.format}",
            "MODE UPSERT",
        ]

    def check(self) -> None:
        refuse_repeated(self.key)
        named = [column for _, column in self.template if column is not None]
        if sorted(named) != sorted(self.key.columns):
            raise InvalidOption(
                "KEY TEMPLATE must name every column of KEY once, and no other",
                hint="For example " + ":".join(f"{{{column}}}" for column in self.key.columns) + ".",
                position=self.options.position(KEY_TEMPLATE),
            )
        if any(not text for text, column in self.template[1:] if column is not None):
            raise InvalidOption(
                "KEY TEMPLATE must have text between two columns",
                detail="Otherwise two keys could be the same in Redis.",
                position=self.options.position(KEY_TEMPLATE),
            )


def parse(p: Parser) -> RedisTarget:
    """After INTO."""
    p.expect("REDIS", "CONNECTION")
    connection = p.name("connection name")
    options = parse_options(p, OPTIONS, _TEXTS)
    key = parse_required_key(p, "Redis")
    p.expect("FORMAT")
    format_ = p.keyword(*FORMATS)
    expect_upsert(p, "Redis")
    return RedisTarget(connection=connection, options=options, template=_template(options), key=key, format=format_)


def _template(options: Options) -> tuple[tuple[str, str | None], ...]:
    given = options.value(KEY_TEMPLATE)
    try:
        parts = list(Formatter().parse(given))
    except ValueError as error:
        message = f"invalid KEY TEMPLATE: {str(error).lower()}"
        raise InvalidOption(message, position=options.position(KEY_TEMPLATE)) from None
    if any(spec or conversion for _, _, spec, conversion in parts):
        message = "invalid KEY TEMPLATE: a column has no format"
        raise InvalidOption(message, position=options.position(KEY_TEMPLATE))
    merged: list[tuple[str, str | None]] = []
    for text, column, _, _ in parts:  # an escaped brace ends a part: "a{{b" comes as "a{" and "b"
        before = merged.pop()[0] if merged and merged[-1][1] is None else ""
        merged.append((before + text, column))
    return tuple(merged)
