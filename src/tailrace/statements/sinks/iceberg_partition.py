"""PARTITION BY of an Iceberg sink: a column, or one of Iceberg's transforms of it."""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.sql.kinds import INTEGER, Kind, Unusable
from tailrace.sql.parser import Parser
from tailrace.sql.unparse import Printer, quote_ident

WITH_NUMBER = ("bucket", "truncate")
OF_TIMES = ("year", "month", "day", "hour")


@dataclass(frozen=True, kw_only=True, slots=True)
class PartitionTransform:
    """`day(ordered_at)`, `bucket(16, id)`, or the column itself."""

    name: str
    column: str
    number: int | None = None

    @property
    def iceberg(self) -> str:
        """As Iceberg writes it."""
        return self.name if self.number is None else f"{self.name}[{self.number}]"


class Transform(Kind[PartitionTransform]):
    shown = "partition transform"

    def parse(self, p: Parser) -> PartitionTransform:
        for name in WITH_NUMBER:
            if p.accept(name.upper(), "("):
                number = INTEGER.parse(p)
                if number < 1:
                    raise Unusable(f"{name} needs a number greater than 0")
                p.expect(",")
                return PartitionTransform(name=name, column=self._column(p), number=number)
        for name in OF_TIMES:
            if p.accept(name.upper(), "("):
                return PartitionTransform(name=name, column=self._column(p))
        return PartitionTransform(name="identity", column=p.identifier())

    def _column(self, p: Parser) -> str:
        column = p.identifier()
        p.expect(")")
        return column

    def show(self, value: PartitionTransform, printer: Printer) -> str:
        column = quote_ident(value.column)
        if value.name == "identity":
            return column
        return f"{value.name}({column})" if value.number is None else f"{value.name}({value.number}, {column})"
