"""FORMAT, INCLUDE and ENVELOPE: how messages become rows, in CREATE SOURCE and CREATE TABLE … FROM SOURCE."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, StrEnum

from tailrace.errors import SqlError
from tailrace.sql.parser import Parser
from tailrace.sql.unparse import Printer, quote_ident
from tailrace.statements.formats import (
    AvroRegistry,
    AvroSchema,
    Formats,
    ProtobufRegistry,
    parse_formats,
)


class Metadata(StrEnum):
    """What INCLUDE can add to a row beside the value.  Also the default name of the column."""

    KEY = "key"
    PARTITION = "partition"
    OFFSET = "offset"
    TIMESTAMP = "timestamp"
    HEADERS = "headers"
    HEADER = "header"


@dataclass(frozen=True, kw_only=True, slots=True)
class Include:
    """One column of metadata.  `header` is the key of a HEADER; `as_bytes` leaves its value undecoded."""

    metadata: Metadata
    alias: str | None = None
    header: str | None = None
    as_bytes: bool = False
    position: int | None = field(default=None, compare=False)

    def sql(self, printer: Printer) -> str:
        header = "" if self.header is None else f" {printer.text(self.header)}"
        alias = "" if self.alias is None else f" AS {quote_ident(self.alias)}"
        return f"{self.metadata.upper()}{header}{alias}" + (" BYTES" if self.as_bytes else "")


class EnvelopeKind(Enum):
    NONE = "NONE"
    UPSERT = "UPSERT"
    DEBEZIUM = "DEBEZIUM"
    MATERIALIZE = "MATERIALIZE"


@dataclass(frozen=True, kw_only=True, slots=True)
class Envelope:
    """`error_column` is set by UPSERT (VALUE DECODING ERRORS = INLINE): bad values go there."""

    kind: EnvelopeKind
    error_column: str | None = None

    def sql(self) -> str:
        inline = ""
        if self.error_column is not None:
            inline = f" (VALUE DECODING ERRORS = (INLINE AS {quote_ident(self.error_column)}))"
        return f"ENVELOPE {self.kind.value}{inline}"


NO_ENVELOPE = Envelope(kind=EnvelopeKind.NONE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Ingest:
    """`formats` is None for a source that only carries bytes to tables made from it."""

    formats: Formats | None = None
    include: tuple[Include, ...] = ()
    envelope: Envelope = NO_ENVELOPE

    def clauses(self, printer: Printer) -> list[str | None]:
        return [
            None if self.formats is None else self.formats.sql(printer),
            "INCLUDE " + ", ".join(each.sql(printer) for each in self.include) if self.include else None,
            None if self.envelope == NO_ENVELOPE else self.envelope.sql(),
        ]


def parse_ingest(p: Parser) -> Ingest:
    formats = parse_formats(p, "sources")
    include = p.several(lambda: _include(p)) if p.accept("INCLUDE") else ()
    position = p.position
    envelope = parse_envelope(p) if p.accept("ENVELOPE") else NO_ENVELOPE
    ingest = Ingest(formats=formats, include=include, envelope=envelope)
    _check(ingest, position)
    return ingest


def _include(p: Parser) -> Include:
    position = p.position
    metadata = Metadata(p.keyword(*(each.upper() for each in Metadata)).lower())
    header = p.string("header key") if metadata is Metadata.HEADER else None
    if metadata is Metadata.HEADER and not p.at("AS"):
        raise p.expected("AS")
    alias = p.identifier("column name") if p.accept("AS") else None
    as_bytes = metadata is Metadata.HEADER and p.accept("BYTES")
    return Include(metadata=metadata, alias=alias, header=header, as_bytes=as_bytes, position=position)


def parse_envelope(p: Parser) -> Envelope:
    kind = EnvelopeKind(p.keyword(*(each.value for each in EnvelopeKind)))
    if kind is not EnvelopeKind.UPSERT or not p.accept("("):
        return Envelope(kind=kind)
    p.expect("VALUE", "DECODING", "ERRORS")
    p.accept("=")
    nested = p.accept("(")
    p.expect("INLINE")
    column = p.identifier("column name") if p.accept("AS") else "error"
    for _ in range(1 + nested):
        p.expect(")")
    return Envelope(kind=kind, error_column=column)


def _check(ingest: Ingest, position: int) -> None:
    """What the clauses must mean together; the columns they make are checked when the source is planned."""
    formats, kind = ingest.formats, ingest.envelope.kind
    if formats is None:
        return
    key = next((each for each in ingest.include if each.metadata is Metadata.KEY), None)
    finds_key = isinstance(formats.value, AvroRegistry | ProtobufRegistry)
    if kind is EnvelopeKind.DEBEZIUM:
        _check_debezium(ingest, position)
    if key is not None and formats.key is None and not finds_key:
        message = "INCLUDE KEY requires specifying KEY FORMAT .. VALUE FORMAT, got bare FORMAT"
        raise SqlError(message, position=key.position)
    if kind is EnvelopeKind.UPSERT and formats.key is None and not finds_key:
        raise SqlError("ENVELOPE [DEBEZIUM] UPSERT requires that KEY FORMAT be specified", position=position)


def _check_debezium(ingest: Ingest, position: int) -> None:
    for each in ingest.include:
        if each.metadata in (Metadata.KEY, Metadata.HEADERS):
            what = each.metadata.upper()
            reason = ": Debezium values include all keys." if each.metadata is Metadata.KEY else ""
            message = f"Cannot use INCLUDE {what} with ENVELOPE DEBEZIUM{reason}"
            raise SqlError(message, position=each.position)
    formats = ingest.formats
    if formats is not None and not isinstance(formats.value, AvroRegistry | AvroSchema):
        raise SqlError("ENVELOPE DEBEZIUM requires that VALUE FORMAT is set to AVRO", position=position)
