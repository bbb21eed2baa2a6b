"""CREATE SINK … INTO ICEBERG CATALOG CONNECTION name (NAMESPACE 's', TABLE 's' [, PARTITION BY (…)])
[USING AWS CONNECTION name] [KEY (…) [NOT ENFORCED]] MODE UPSERT | APPEND WITH (COMMIT INTERVAL 'i')."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from tailrace.errors import InvalidOption, NotSupported, SqlError
from tailrace.sql.kinds import TEXT, Several
from tailrace.sql.names import Name
from tailrace.sql.options import Option, Options, Texts, parse_options
from tailrace.sql.parser import Parser
from tailrace.sql.unparse import Printer
from tailrace.statements.sinks.contract import SinkEnvelope, SinkKey, parse_key, refuse_repeated
from tailrace.statements.sinks.iceberg_partition import PartitionTransform, Transform

NAMESPACE = Option("NAMESPACE", TEXT, required=True, doc="Of the table; it must exist.")
TABLE = Option("TABLE", TEXT, required=True, doc="The table to write to; created if it does not exist.")
PARTITION_BY = Option(
    "PARTITION BY",
    Several(Transform()),
    doc="Of a table that we create: columns, or year, month, day, hour (c), bucket(n, c), truncate(n, c).",
)
OPTIONS: tuple[Option[Any], ...] = (NAMESPACE, TABLE, PARTITION_BY)
_TEXTS = Texts(missing="Iceberg sink must specify {name}")
UPSERT, APPEND = "UPSERT", "APPEND"


@dataclass(frozen=True, kw_only=True, slots=True)
class IcebergTarget:
    type: ClassVar[str] = "iceberg"

    connection: Name
    options: Options
    namespace: str
    table: str
    key: SinkKey | None
    mode: str
    partition_by: tuple[PartitionTransform, ...] = ()
    aws_connection: Name | None = None
    mode_position: int | None = field(default=None, compare=False)

    @property
    def envelope(self) -> SinkEnvelope | None:
        return SinkEnvelope.UPSERT if self.mode == UPSERT else None

    @property
    def connections(self) -> list[Name]:
        return [self.connection, *([] if self.aws_connection is None else [self.aws_connection])]

    def clauses(self, printer: Printer) -> list[str | None]:
        using = None if self.aws_connection is None else f"USING AWS CONNECTION {printer.name(self.aws_connection)}"
        return [
            f"INTO ICEBERG CATALOG CONNECTION {printer.name(self.connection)} {self.options.show(printer)}",
            using,
            None if self.key is None else self.key.clause(printer),
            f"MODE {self.mode}",
        ]

    def check(self) -> None:
        refuse_repeated(self.key)
        if self.mode == UPSERT and self.key is None:
            raise SqlError(
                "upsert sinks must specify a key", hint="Add KEY (column, …) before MODE.", position=self.mode_position
            )
        if self.mode == APPEND and self.key is not None:
            message = "KEY is not supported for MODE APPEND Iceberg sinks"
            raise InvalidOption(message, position=self.key.position)


def parse(p: Parser) -> IcebergTarget:
    """After INTO."""
    p.expect("ICEBERG", "CATALOG", "CONNECTION")
    connection = p.name("connection name")
    options = parse_options(p, OPTIONS, _TEXTS)
    aws_connection = p.name("connection name") if p.accept("USING", "AWS", "CONNECTION") else None
    key = parse_key(p)
    position = p.position
    if p.at("ENVELOPE"):
        raise NotSupported("ENVELOPE is not supported for Iceberg sinks, use MODE instead", position=position)
    if not p.accept("MODE"):
        raise SqlError("MODE clause is required", sqlstate="42601", position=position)
    mode = p.keyword(UPSERT, APPEND)
    return IcebergTarget(
        connection=connection,
        options=options,
        namespace=options.value(NAMESPACE),
        table=options.value(TABLE),
        key=key,
        mode=mode,
        partition_by=options.get(PARTITION_BY) or (),
        aws_connection=aws_connection,
        mode_position=position,
    )
