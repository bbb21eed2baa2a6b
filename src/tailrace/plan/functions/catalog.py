"""Functions that ask the catalog or the session, as PostgreSQL's clients do.

They have no Spark text: the session answers them on the driver (engine/asking.py), for constants before a query runs,
and for every row where a query reads nothing but the catalog.
"""

from __future__ import annotations

from tailrace.errors import NotSupported
from tailrace.plan.expressions import Call
from tailrace.plan.functions.entry import Function, Nulls, Render, function


def _unanswered(call: Call, render: Render) -> str:
    name = call.function.partition("(")[0]
    raise NotSupported(
        f"{name} of rows of a user's relation not yet supported",
        hint="Give it constants, or use it in a query of system relations only.",
    )


def _asked(signature: str, nulls: Nulls = "always") -> Function:
    return function(signature, _unanswered, nulls=nulls, volatile=True)


OID_ALIASES = ("regclass", "regtype", "regproc", "regprocedure", "regoper", "regnamespace", "regrole")
"""Types that are numbers to the catalog and names to people: a cast to one looks the other up."""

_KINDS = ("database", "schema", "table", "column", "sequence", "function", "type", "cluster", "connection")
_SUBJECTS = ("text, text", "oid, text", "text, text, text", "text, oid, text", "oid, oid, text", "oid, text, text")
_CONSTANTS = {
    "shobj_description": ("oid, text",),
    "pg_get_ruledef": ("oid", "oid, boolean"),
    "pg_get_triggerdef": ("oid", "oid, boolean"),
    "pg_get_functiondef": ("oid",),
    "pg_get_partkeydef": ("oid",),
    "pg_get_serial_sequence": ("text, text",),
    "pg_tablespace_location": ("oid",),
    "inet_server_addr": ("",),
    "inet_server_port": ("",),
    "inet_client_port": ("",),
    "inet_client_addr": ("",),
}
"""Always NULL: there are no such things here."""

_LOCKS = {
    "pg_advisory_lock": "text",
    "pg_try_advisory_lock": "boolean",
    "pg_advisory_unlock": "boolean",
    "pg_advisory_xact_lock": "text",
    "pg_try_advisory_xact_lock": "boolean",
}

RELATIONS = ("pg_available_extensions", "pg_get_keywords")
"""Functions without arguments whose rows are those of a system relation of the same name."""

NULLS = tuple(f"{name}({arguments})" for name, overloads in _CONSTANTS.items() for arguments in overloads)

FUNCTIONS = (
    *(_asked(f"has_{kind}_privilege({arguments}) -> boolean") for kind in _KINDS for arguments in _SUBJECTS),
    *(_asked(f"pg_has_role({arguments}) -> boolean") for arguments in _SUBJECTS),
    *(_asked(f"{signature} -> text") for signature in NULLS),
    *(
        _asked(f"pg_{kind}_is_visible(oid) -> boolean")
        for kind in ("table", "type", "function", "operator", "opclass", "collation", "conversion")
    ),
    *(_asked(f"pg_ts_{kind}_is_visible(oid) -> boolean") for kind in ("config", "dict", "parser", "template")),
    _asked("pg_get_function_result(oid) -> text"),
    _asked("pg_get_function_arguments(oid) -> text"),
    _asked("pg_get_function_identity_arguments(oid) -> text"),
    _asked("pg_sleep(double precision) -> text"),
    _asked("pg_get_userbyid(oid) -> text"),
    _asked("pg_encoding_to_char(integer) -> text"),
    _asked("pg_char_to_encoding(text) -> integer"),
    _asked("getdatabaseencoding() -> text"),
    _asked("pg_get_expr(text, oid) -> text"),
    _asked("pg_get_expr(text, oid, boolean) -> text"),
    _asked("pg_get_indexdef(oid) -> text"),
    _asked("pg_get_indexdef(oid, integer, boolean) -> text"),
    _asked("pg_get_constraintdef(oid) -> text"),
    _asked("pg_get_constraintdef(oid, boolean) -> text"),
    _asked("pg_get_viewdef(oid) -> text"),
    _asked("pg_get_viewdef(oid, boolean) -> text"),
    _asked("pg_get_viewdef(text) -> text"),
    _asked("pg_get_viewdef(text, boolean) -> text"),
    _asked("obj_description(oid, text) -> text"),
    _asked("obj_description(oid) -> text"),
    _asked("col_description(oid, integer) -> text"),
    _asked("format_type(oid, integer) -> text"),
    _asked("current_schemas(boolean) -> text[]"),
    _asked("current_setting(text) -> text"),
    _asked("current_setting(text, boolean) -> text"),
    _asked("set_config(text, text, boolean) -> text"),
    _asked("pg_backend_pid() -> integer"),
    _asked("pg_cancel_backend(integer) -> boolean"),
    _asked("pg_terminate_backend(integer) -> boolean"),
    _asked("pg_advisory_unlock_all() -> text"),
    *(
        _asked(f"{name}({arguments}) -> {result}")
        for name, result in _LOCKS.items()
        for arguments in ("bigint", "integer, integer")
    ),
    _asked("pg_is_in_recovery() -> boolean"),
    _asked("pg_postmaster_start_time() -> timestamptz"),
    _asked("pg_conf_load_time() -> timestamptz"),
    _asked("pg_my_temp_schema() -> oid"),
    *(
        _asked(f"pg_{kind}_size({of}) -> bigint")
        for kind in ("relation", "total_relation", "table", "indexes")
        for of in ("oid", "text")
    ),
    _asked("pg_database_size(text) -> bigint"),
    _asked("pg_size_pretty(bigint) -> text"),
    _asked("pg_relation_is_publishable(oid) -> boolean"),
    _asked("mz_is_superuser() -> boolean"),
    _asked("mz_version_num() -> integer"),
    _asked("txid_current() -> bigint"),
    _asked("pg_current_xact_id() -> bigint"),
    *(
        _asked(signature)
        for kind in OID_ALIASES
        for signature in (f"to_{kind}(text) -> oid", f"{kind}(text) -> oid", f"name of {kind}(oid) -> text")
    ),
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
