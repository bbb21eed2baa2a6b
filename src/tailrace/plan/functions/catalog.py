"""Functions that PostgreSQL's clients ask the catalog with: as much as they need to go on."""

from __future__ import annotations

from tailrace.plan.functions.entry import Function, function

_TYPES = {
    16: "boolean", 17: "bytea", 20: "bigint", 21: "smallint", 23: "integer", 25: "text", 26: "oid",
    700: "real",
    701: "double precision",
    1042: "character", 1043: "character varying", 1082: "date", 1083: "time",
    1114: "timestamp without time zone", 1184: "timestamp with time zone", 1186: "interval", 1700: "numeric",
    2950: "uuid", 3802: "jsonb", 16460: "uint2", 16462: "uint4", 16464: "uint8",
}  # fmt: skip
_FORMATS = "CASE {0} " + " ".join(f"WHEN {oid} THEN '{name}'" for oid, name in _TYPES.items()) + " ELSE '???' END"


def _privileges() -> tuple[Function, ...]:
    """Everybody may do everything; who may not is not yet a question."""
    kinds = ("database", "schema", "table", "column", "sequence", "function")
    return tuple(
        function(f"has_{kind}_privilege({arguments}) -> boolean", "true")
        for kind in kinds
        for arguments in ("text, text", "oid, text", "text, text, text", "text, oid, text")
    )


FUNCTIONS = (
    *_privileges(),
    function("pg_table_is_visible(oid) -> boolean", "true"),
    function("pg_type_is_visible(oid) -> boolean", "true"),
    function("pg_function_is_visible(oid) -> boolean", "true"),
    function("pg_get_userbyid(oid) -> text", "'materialize'"),
    function("pg_encoding_to_char(integer) -> text", "'UTF8'"),
    function("pg_get_expr(text, oid) -> text", "CAST(NULL AS string)", nulls="always"),
    function("pg_get_constraintdef(oid) -> text", "CAST(NULL AS string)", nulls="always"),
    function("pg_get_indexdef(oid) -> text", "CAST(NULL AS string)", nulls="always"),
    function("obj_description(oid, text) -> text", "CAST(NULL AS string)", nulls="always"),
    function("obj_description(oid) -> text", "CAST(NULL AS string)", nulls="always"),
    function("shobj_description(oid, text) -> text", "CAST(NULL AS string)", nulls="always"),
    function("col_description(oid, integer) -> text", "CAST(NULL AS string)", nulls="always"),
    function("format_type(oid, integer) -> text", _FORMATS, nulls="always"),
)

SESSION = {
    "current_database": "materialize",
    "current_catalog": "materialize",
    "current_schema": "public",
    "current_user": "materialize",
    "current_role": "materialize",
    "session_user": "materialize",
    "user": "materialize",
    "version": "PostgreSQL 9.5.0 on Apache Spark (Tailrace)",
}
"""What a session says of itself unless it knows better (Names may have a method `session_value`)."""
