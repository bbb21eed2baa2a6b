"""What a sink may say about its Avro schemas: names, defaults, compatibility, documentation."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from tailrace.errors import InvalidOption
from tailrace.sql.kinds import BOOLEAN, TEXT, Kind, Unusable
from tailrace.sql.names import Name
from tailrace.sql.options import Option, Options, Texts, parse_options
from tailrace.sql.parser import Parser
from tailrace.sql.unparse import Printer, quote_ident

COMPATIBILITY_LEVELS = (
    *("BACKWARD", "BACKWARD_TRANSITIVE", "FORWARD", "FORWARD_TRANSITIVE"),
    *("FULL", "FULL_TRANSITIVE", "NONE"),
)


@dataclass(frozen=True, slots=True)
class AvroDoc:
    """Documentation for a relation or type, or for one `column` of it."""

    object: Name
    column: str | None
    text: str


class DocOnType(Kind[AvroDoc]):
    """`name = 'text'`, after DOC ON TYPE."""

    shown = "name = text"
    leading_equals = False

    def parse(self, p: Parser) -> AvroDoc:
        return AvroDoc(p.name(), None, _doc_text(p))

    def show(self, value: AvroDoc, printer: Printer) -> str:
        return f"{printer.name(value.object)} = {printer.text(value.text)}"


class DocOnColumn(Kind[AvroDoc]):
    """`relation.column = 'text'`, after DOC ON COLUMN."""

    shown = "relation.column = text"
    leading_equals = False

    def parse(self, p: Parser) -> AvroDoc:
        name = p.name()
        if len(name.parts) < 2:
            raise InvalidOption("need to specify an object and a column", position=name.position)
        return AvroDoc(Name(name.parts[:-1], name.position), name.item, _doc_text(p))

    def show(self, value: AvroDoc, printer: Printer) -> str:
        column = quote_ident(value.column or "")
        return f"{printer.name(value.object)}.{column} = {printer.text(value.text)}"


def _doc_text(p: Parser) -> str:
    p.accept("=")
    if p.token.word in (",", ")"):
        raise Unusable("cannot be empty")
    return TEXT.parse(p)


KEY_FULLNAME = Option("AVRO KEY FULLNAME", TEXT, doc="Of the key's record.  Default: row.")
VALUE_FULLNAME = Option("AVRO VALUE FULLNAME", TEXT, doc="Of the value's record.  Default: envelope.")
NULL_DEFAULTS = Option("NULL DEFAULTS", BOOLEAN, default=False, doc="Nullable fields default to null.")
KEY_COMPATIBILITY_LEVEL = Option("KEY COMPATIBILITY LEVEL", TEXT, doc="Set for the key if it has none.")
VALUE_COMPATIBILITY_LEVEL = Option("VALUE COMPATIBILITY LEVEL", TEXT, doc="Set for the value if it has none.")
DOC_ON_TYPE = Option("DOC ON TYPE", DocOnType(), repeatable=True, doc="For both schemas.")
KEY_DOC_ON_TYPE = Option("KEY DOC ON TYPE", DocOnType(), repeatable=True, doc="For the key's schema.")
VALUE_DOC_ON_TYPE = Option("VALUE DOC ON TYPE", DocOnType(), repeatable=True, doc="For the value's schema.")
DOC_ON_COLUMN = Option("DOC ON COLUMN", DocOnColumn(), repeatable=True, doc="For both schemas.")
KEY_DOC_ON_COLUMN = Option("KEY DOC ON COLUMN", DocOnColumn(), repeatable=True, doc="For the key's schema.")
VALUE_DOC_ON_COLUMN = Option(
    "VALUE DOC ON COLUMN", DocOnColumn(), repeatable=True, doc="For the value's schema."
)
OPTIONS: tuple[Option[Any], ...] = (
    *(KEY_FULLNAME, VALUE_FULLNAME, NULL_DEFAULTS, KEY_COMPATIBILITY_LEVEL, VALUE_COMPATIBILITY_LEVEL),
    *(DOC_ON_TYPE, KEY_DOC_ON_TYPE, VALUE_DOC_ON_TYPE),
    *(DOC_ON_COLUMN, KEY_DOC_ON_COLUMN, VALUE_DOC_ON_COLUMN),
)
_TEXTS = Texts(invalid="invalid {name} option value: {cause}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, kw_only=True, slots=True)
class AvroSinkOptions:
    options: Options = field(default_factory=Options)
    key_fullname: str | None = None
    value_fullname: str | None = None
    null_defaults: bool = False
    key_compatibility_level: str | None = None
    value_compatibility_level: str | None = None
    docs: tuple[AvroDoc, ...] = ()
    key_docs: tuple[AvroDoc, ...] = ()
    value_docs: tuple[AvroDoc, ...] = ()


def parse_avro_sink_options(p: Parser) -> AvroSinkOptions:
    return avro_sink_options(parse_options(p, OPTIONS, _TEXTS) if p.at("(") else Options())


def avro_sink_options(options: Options) -> AvroSinkOptions:
    """What the options of a list mean."""
    return AvroSinkOptions(
        options=options,
        key_fullname=_fullname(options, KEY_FULLNAME),
        value_fullname=_fullname(options, VALUE_FULLNAME),
        null_defaults=options.value(NULL_DEFAULTS),
        key_compatibility_level=_level(options, KEY_COMPATIBILITY_LEVEL),
        value_compatibility_level=_level(options, VALUE_COMPATIBILITY_LEVEL),
        docs=options.all(DOC_ON_TYPE) + options.all(DOC_ON_COLUMN),
        key_docs=options.all(KEY_DOC_ON_TYPE) + options.all(KEY_DOC_ON_COLUMN),
        value_docs=options.all(VALUE_DOC_ON_TYPE) + options.all(VALUE_DOC_ON_COLUMN),
    )


def _fullname(options: Options, option: Option[str]) -> str | None:
    fullname = options.get(option)
    for part in [] if fullname is None else fullname.split("."):
        if not _NAME.fullmatch(part):
            raise InvalidOption(
                "Invalid name. Must start with [A-Za-z_] and subsequently only contain [A-Za-z0-9_]. "
                f"Found: {part}",
                position=options.position(option),
            )
    return fullname


def _level(options: Options, option: Option[str]) -> str | None:
    level = options.get(option)
    if level is not None and level.upper() not in COMPATIBILITY_LEVELS:
        raise InvalidOption(
            f"invalid {option.name} option value: {level}",
            hint=f"The levels are {', '.join(COMPATIBILITY_LEVELS)}.",
            position=options.position(option),
        )
    return None if level is None else level.upper()
