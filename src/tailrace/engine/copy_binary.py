"""PostgreSQL's binary COPY data as columns of text: a header, then for each row its fields, each with its length.

Lengths have to be followed from one field to the next, so this is the one form of COPY that is read value by value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from struct import Struct, error

import pyarrow as pa

from tailrace.engine.copy_lines import BadData
from tailrace.types.postgres import binary_parameter

_SIGNATURE = b"PGCOPY\n\xff\r\n\0"
_HEADER = Struct(">Ii")  # flags, and the length of an extension
_COUNT = Struct(">h")
_LENGTH = Struct(">i")
_OIDS = 1 << 16


def columns_of_binary(data: bytes, oids: Mapping[str, int]) -> pa.Table:
    """`oids`: of the types of the columns, by their names."""
    columns: list[list[str | None]] = [[] for _ in oids]
    try:
        for row in _rows(data, len(oids)):
            for column, value, oid in zip(columns, row, oids.values(), strict=True):
                column.append(None if value is None else binary_parameter(value, oid))
    except error:
        raise BadData("unexpected end of binary COPY data") from None
    arrays = (pa.array(column, pa.string()) for column in columns)
    return pa.table(dict(zip(oids, arrays, strict=True)))


def _rows(data: bytes, columns: int) -> Iterator[list[bytes | None]]:
    if not data.startswith(_SIGNATURE):
        raise BadData("COPY file signature not recognized")
    flags, extension = _HEADER.unpack_from(data, len(_SIGNATURE))
    if flags & _OIDS or extension < 0:
        raise BadData("unrecognized critical flags in COPY file header")
    at = len(_SIGNATURE) + _HEADER.size + extension
    while True:
        (count,) = _COUNT.unpack_from(data, at)
        at += _COUNT.size
        if count == -1:
            return
        if count != columns:
            raise BadData(f"row field count is {count}, expected {columns}")
        row: list[bytes | None] = []
        for _ in range(columns):
            (length,) = _LENGTH.unpack_from(data, at)
            at += _LENGTH.size
            if length < -1 or length > len(data) - at:
                raise BadData("unexpected end of binary COPY data")
            row.append(None if length == -1 else data[at : at + length])
            at += max(length, 0)
        yield row
