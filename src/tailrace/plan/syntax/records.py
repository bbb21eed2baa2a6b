"""`jsonb_to_recordset(doc) AS r(a int, b text)`: what a document's fields are called and of which type.

It is short for  jsonb_array_elements(doc) AS e  with the columns  (e->>'a')::int AS a, (e->>'b')::text AS b.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from tailrace.errors import NotSupported, SyntaxFailure
from tailrace.plan.syntax.types import NamedType, TypeName

SETS = ("jsonb_to_recordset", "json_to_recordset")
RECORDS = (*SETS, "jsonb_to_record", "json_to_record")

Columns = Sequence[tuple[str, TypeName]]


def check_records(source: exp.Expr, columns: Columns, position: int) -> None:
    """Raises unless the source is a function that takes a list of typed columns, and these are some."""
    call = source.this if isinstance(source, exp.Table) else None
    if not isinstance(call, exp.Anonymous) or call.name not in RECORDS or len(call.expressions) != 1:
        raise SyntaxFailure(
            'a column definition list is only allowed for functions returning "record"',
            hint="These are jsonb_to_record and jsonb_to_recordset.",
            position=position,
        )
    if not all(isinstance(type, NamedType) for _, type in columns):
        raise NotSupported("arrays, lists and maps in a column definition list not yet supported", position=position)


def record_field(row: exp.Expr, name: str, type: TypeName) -> exp.Expr:
    """One field of a document, as its column."""
    is_json = isinstance(type, NamedType) and type.parts[-1] in ("json", "jsonb")
    function = "jsonb_extract_path" if is_json else "jsonb_extract_path_text"
    value = exp.Anonymous(this=function, expressions=[row.copy(), exp.Literal.string(name)])
    return exp.Cast(this=value, to=exp.DataType(this=exp.DType.USERDEFINED, name=type))
