"""What a column becomes in PostgreSQL: the type we give it, and its value in the text form of COPY, as Spark SQL text.

Types that PostgreSQL has are themselves; unsigned integers are the next wider type; maps, records and lists of lists
are jsonb.  A table that exists may have other types, if they read the same text.
"""

from __future__ import annotations

from tailrace.formats.encode_json import json_text
from tailrace.formats.encode_scalars import literal
from tailrace.formats.encode_text import text_form
from tailrace.types.core import ArrayOf, Char, ListOf, MapOf, Record, Scalar, SqlType, Varchar

NULL = literal(r"\N")
"""As a field of COPY."""
_RENAMED = {
    "uint2": "integer",
    "uint4": "bigint",
    "uint8": "numeric(20,0)",
    "mz_timestamp": "bigint",
    "unknown": "text",
}
_ODD = ("text", "unknown", "jsonb", "bytea")
"""Scalars whose text may hold what COPY wants escaped."""


def column_type(type: SqlType) -> str:
    """The PostgreSQL type of a column that we create."""
    if _is_json(type):
        return "jsonb"
    if isinstance(type, ArrayOf | ListOf):
        return column_type(_base(type)) + "[]"
    return _RENAMED.get(type.name, type.name) if isinstance(type, Scalar) else str(type)


def copy_text(x: str, type: SqlType) -> str:
    """Spark text: a value as a field of COPY.  Never NULL."""
    shown = json_text(x, type) if _is_json(type) else text_form(x, type)
    odd = type.name in _ODD if isinstance(type, Scalar) else isinstance(type, Varchar | Char | ArrayOf | ListOf)
    if odd or _is_json(type):
        for character, escape in (("\\", r"\\"), ("\t", r"\t"), ("\n", r"\n"), ("\r", r"\r")):
            shown = f"replace({shown}, {_literal(character)}, {literal(escape)})"
    return f"coalesce({shown}, {NULL})"


def _literal(character: str) -> str:
    return "'\\t'" if character == "\t" else literal(character)


def _is_json(type: SqlType) -> bool:
    match type:
        case MapOf() | Record() | ListOf(element=ListOf()):
            return True
        case ListOf(element=element) | ArrayOf(element=element):
            return _is_json(element)
        case _:
            return False


def _base(type: SqlType) -> SqlType:
    return _base(type.element) if isinstance(type, ArrayOf | ListOf) else type
