"""`'format' = 'raw'` of Flink's tables: the whole message part is the value of one column.

Text in a character set, bytes as they are, numbers in as many bytes as their type has.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from tailrace.errors import SqlError
from tailrace.formats.decode_contract import Decoded
from tailrace.formats.decode_flink_json import failed
from tailrace.formats.encode_scalars import literal
from tailrace.types.core import Char, Schema, Varchar

_BYTES = {"boolean": 1, "smallint": 2, "integer": 4, "bigint": 8, "real": 4, "double precision": 8}


@dataclass(frozen=True, slots=True)
class RawDecoder:
    fields: Schema
    charset: str = "UTF-8"
    big_endian: bool = True

    keyword: ClassVar[str] = "raw"
    head: ClassVar[int] = 0
    is_single: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if len(self.fields) != 1:
            names = ", ".join(field.name for field in self.fields)
            raise SqlError(
                "The 'raw' format only supports single physical column.",
                detail=f"There are {len(self.fields)}: {names}.",
                sqlstate="42P16",
            )
        type = self.fields[0].type
        if not (isinstance(type, Varchar | Char) or str(type) in ("text", "bytea", *_BYTES)):
            raise SqlError(f"The 'raw' format doesn't supports '{type}' as column type.", sqlstate="42P16")

    @property
    def schema(self) -> Schema:
        return self.fields

    def learned(self, heads: Iterable[bytes]) -> Self:
        return self

    def decoded(self, data: str) -> Decoded:
        name = str(self.fields[0].type)
        if name == "bytea":
            return Decoded((data,), None)
        if name not in _BYTES:
            if self.charset != "UTF-8":
                return Decoded((f"decode({data}, {literal(self.charset)})",), None)
            text = f"CAST({data} AS STRING)"
            return Decoded((text,), f"CASE WHEN NOT is_valid_utf8({text}) THEN {failed('raw text', data)} END")
        size = _BYTES[name]
        reversed = f"unhex(array_join(reverse(regexp_extract_all(hex({data}), '(..)')), ''))"
        ordered = data if self.big_endian else reversed
        error = f"CASE WHEN octet_length({data}) <> {size} THEN {failed(f'raw {name}', data)} END"
        column = f"CASE WHEN octet_length({data}) = {size} THEN {_number(ordered, name, size)} END"
        return Decoded((column,), error)

    def surely_differ(self, values: Sequence[bytes]) -> bool:
        return str(self.fields[0].type) in ("text", "bytea")

    def surely_decodes(self, values: Sequence[bytes]) -> bool:
        return str(self.fields[0].type) == "bytea"


def _number(data: str, name: str, size: int) -> str:
    """conv reads hexadecimal as an unsigned number; above the middle it is negative."""
    unsigned = f"CAST(conv(hex({data}), 16, 10) AS decimal(20,0))"
    whole = f"CASE WHEN {unsigned} >= {2 ** (8 * size - 1)} THEN {unsigned} - {2 ** (8 * size)} ELSE {unsigned} END"
    match name:
        case "boolean":
            return f"({unsigned} <> 0)"
        case "real":
            return _float(f"CAST({unsigned} AS bigint)", 8, 23, "float")
        case "double precision":
            return _float(f"CAST({whole} AS bigint)", 11, 52, "double")
        case _:
            return f"CAST({whole} AS {name})"


def _float(bits: str, exponent_bits: int, fraction_bits: int, type: str) -> str:
    """IEEE 754 by arithmetic: Spark has no way to see bits as a number."""
    bias, most = 2 ** (exponent_bits - 1) - 1, 2**exponent_bits - 1
    sign = f"(CASE WHEN getbit({bits}, {exponent_bits + fraction_bits}) = 1 THEN -1D ELSE 1D END)"
    exponent = f"(shiftright({bits}, {fraction_bits}) & {most})"
    fraction = f"({bits} & {2**fraction_bits - 1}L)"
    normal = f"(1D + {fraction} / power(2D, {fraction_bits})) * power(2D, {exponent} - {bias})"
    tiny = f"({fraction} / power(2D, {fraction_bits})) * power(2D, {1 - bias})"
    special = f"CASE WHEN {fraction} = 0 THEN {sign} * double('Infinity') ELSE double('NaN') END"
    chosen = f"CASE {exponent} WHEN {most} THEN {special} WHEN 0 THEN {sign} * {tiny} ELSE {sign} * {normal} END"
    return f"CAST({chosen} AS {type})"
