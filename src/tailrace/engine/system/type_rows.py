"""The types as PostgreSQL's clients know them: name, OID, that of the array, size, category, and SQL name."""

from __future__ import annotations

from typing import NamedTuple


class TypeRow(NamedTuple):
    oid: int
    name: str
    array: int
    length: int
    category: str
    shown: str


BASE_TYPES = tuple(
    TypeRow(*values)
    for values in (
        (16, "bool", 1000, 1, "B", "boolean"),
        (17, "bytea", 1001, -1, "U", "bytea"),
        (18, "char", 1002, 1, "S", '"char"'),
        (19, "name", 1003, 64, "S", "name"),
        (20, "int8", 1016, 8, "N", "bigint"),
        (21, "int2", 1005, 2, "N", "smallint"),
        (22, "int2vector", 1006, -1, "A", "int2vector"),
        (23, "int4", 1007, 4, "N", "integer"),
        (24, "regproc", 1008, 4, "N", "regproc"),
        (25, "text", 1009, -1, "S", "text"),
        (26, "oid", 1028, 4, "N", "oid"),
        (30, "oidvector", 1013, -1, "A", "oidvector"),
        (114, "json", 199, -1, "U", "json"),
        (700, "float4", 1021, 4, "N", "real"),
        (701, "float8", 1022, 8, "N", "double precision"),
        (1042, "bpchar", 1014, -1, "S", "character"),
        (1043, "varchar", 1015, -1, "S", "character varying"),
        (1082, "date", 1182, 4, "D", "date"),
        (1083, "time", 1183, 8, "D", "time without time zone"),
        (1114, "timestamp", 1115, 8, "D", "timestamp without time zone"),
        (1184, "timestamptz", 1185, 8, "D", "timestamp with time zone"),
        (1186, "interval", 1187, 16, "T", "interval"),
        (1700, "numeric", 1231, -1, "N", "numeric"),
        (2205, "regclass", 2210, 4, "N", "regclass"),
        (2206, "regtype", 2211, 4, "N", "regtype"),
        (2249, "record", 2287, -1, "P", "record"),
        (2275, "cstring", 1263, -2, "P", "cstring"),
        (2277, "anyarray", 0, -1, "P", "anyarray"),
        (2278, "void", 0, 4, "P", "void"),
        (2279, "trigger", 0, 4, "P", "trigger"),
        (2281, "internal", 0, 8, "P", "internal"),
        (2283, "anyelement", 0, 4, "P", "anyelement"),
        (3838, "event_trigger", 0, 4, "P", "event_trigger"),
        (2950, "uuid", 2951, 16, "U", "uuid"),
        (3802, "jsonb", 3807, -1, "U", "jsonb"),
        (3904, "int4range", 3905, -1, "R", "int4range"),
        (3906, "numrange", 3907, -1, "R", "numrange"),
        (3908, "tsrange", 3909, -1, "R", "tsrange"),
        (3910, "tstzrange", 3911, -1, "R", "tstzrange"),
        (3912, "daterange", 3913, -1, "R", "daterange"),
        (3926, "int8range", 3927, -1, "R", "int8range"),
        (16384, "list", 0, -1, "U", "list"),
        (16385, "map", 0, -1, "U", "map"),
        (16460, "uint2", 16461, 2, "U", "uint2"),
        (16462, "uint4", 16463, 4, "U", "uint4"),
        (16464, "uint8", 16465, 8, "U", "uint8"),
        (16552, "mz_timestamp", 16553, 8, "U", "mz_timestamp"),
    )
)
BY_OID = {row.oid: row for row in BASE_TYPES}
BY_ARRAY = {row.array: row for row in BASE_TYPES if row.array}
BY_NAME = {name: row for row in BASE_TYPES for name in (row.name, row.shown)} | {"int": BY_OID[23]}


def format_type(oid: int, modifier: int | None) -> str:
    """PostgreSQL's name of a type with its parameters."""
    if oid in BY_ARRAY:
        return format_type(BY_ARRAY[oid].oid, modifier) + "[]"
    row = BY_OID.get(oid)
    if row is None:
        return "-" if oid == 0 else "???"
    if modifier is None or modifier < 0:
        return row.shown
    match row.name:
        case "numeric":
            return f"numeric({(modifier - 4) >> 16},{(modifier - 4) & 0xFFFF})"
        case "varchar" | "bpchar":
            return f"{row.shown}({modifier - 4})"
        case "timestamp" | "timestamptz":
            return row.shown.replace("timestamp", f"timestamp({modifier})", 1)
        case _:
            return row.shown
