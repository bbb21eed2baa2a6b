"""Functions that ask the catalog or the session: what plan/functions/catalog.py declares, answered on the driver.

A NULL argument gives NULL, but for `format_type`, whose second one is often NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tailrace.catalog.items import Item
from tailrace.catalog.roles import Role
from tailrace.engine import privileges
from tailrace.engine.named_types import named_type
from tailrace.engine.sessions import Connected
from tailrace.engine.system.identity import (
    SYSTEM,
    array_oid,
    item_id,
    item_oid,
    namespace_oid,
    schemas,
    schemas_here,
)
from tailrace.engine.system.mz_catalog import definition, function_rows, pg_oid
from tailrace.engine.system.mz_internal import moment
from tailrace.engine.system.pg_catalog import CLASS_OIDS, class_oid, relations
from tailrace.engine.system.pg_index import Index, indexes
from tailrace.engine.system.type_rows import BY_NAME, format_type
from tailrace.engine.variables import VERSION, VERSION_TEXT
from tailrace.errors import SqlError, UnknownFunction, UnknownObject, UnknownType
from tailrace.plan.expressions import Call, Expression, Literal
from tailrace.plan.functions.catalog import FUNCTIONS, NULLS, OID_ALIASES
from tailrace.plan.local.casts import text_of
from tailrace.plan.local.contract import Functions
from tailrace.plan.nodes import Node
from tailrace.plan.walk import with_children, with_expressions, with_inputs, with_subquery
from tailrace.sql.parser import Parser
from tailrace.types.core import ArrayOf
from tailrace.types.postgres.oids import oid_of

if TYPE_CHECKING:
    from tailrace.engine.session import EngineSession

_KILO = 10240


def session_value(session: EngineSession, name: str) -> str | None:
    """`current_user`, `version()` and the like: texts that are the same for a whole statement."""
    match name:
        case "current_database" | "current_catalog":
            return session.variables.get("database")
        case "current_schema":
            return session.catalog.schema
        case "current_user" | "current_role" | "user":
            return session.user
        case "session_user":
            return session.login
        case "version":
            return f"PostgreSQL 9.5.0 on Apache Spark (Tailrace {VERSION_TEXT})"
        case "mz_version":
            return session.variables.get("mz_version")
        case "mz_environment_id":
            return f"{session.engine.region}-0"
        case _:
            return None


def answers(session: EngineSession) -> Functions:
    """All functions of plan/functions/catalog.py, by id."""
    ask = _Asker(session)
    known: dict[str, Callable[..., Any]] = {id: _nothing for id in NULLS}
    for entry in FUNCTIONS:
        method = getattr(ask, entry.name.replace(" ", "_"), None)
        if method is not None:
            known[entry.id] = method if entry.name == "format_type" else _strict(method)
        elif entry.name.startswith("has_"):
            known[entry.id] = _strict(ask.privilege)
        elif entry.name.endswith("_is_visible"):
            known[entry.id] = _strict(ask.is_visible)
    for alias in OID_ALIASES:
        known[f"to_{alias}(text)"] = _strict(ask.finder(alias))
        known[f"{alias}(text)"] = _strict(ask.finder(alias, missing=_missing(alias)))
        known[f"name of {alias}(oid)"] = _strict(ask.namer(alias))
    return known


def _nothing(*arguments: Any) -> None:
    return None


def _strict(answer: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments: None if None in arguments else answer(*arguments)


def _lock_number(first: int, second: int | None = None) -> int:
    """Pairs of numbers are apart from single ones."""
    return first if second is None else (1 << 64) + ((first & 0xFFFFFFFF) << 32) + (second & 0xFFFFFFFF)


def _missing(alias: str) -> Callable[[str], SqlError]:
    match alias:
        case "regtype":
            return lambda name: UnknownType(f'type "{name}" does not exist')
        case "regclass":
            return lambda name: UnknownObject(f'relation "{name}" does not exist')
        case "regproc" | "regprocedure" | "regoper":
            return lambda name: UnknownFunction(f'function "{name}" does not exist')
        case _:
            return lambda name: UnknownObject(f'{alias.removeprefix("reg")} "{name}" does not exist')


class _Asker:
    """A method for each function, of its arguments."""

    def __init__(self, session: EngineSession) -> None:
        self._session = session
        self._relations: dict[int, Item] | None = None
        self._indexes: dict[int, Index] | None = None
        self._types: dict[int, str] | None = None
        self._signatures: dict[int, tuple[str, str]] | None = None

    def _relation(self, oid: int) -> Item | None:
        if self._relations is None:
            self._relations = {class_oid(item): item for item in relations(self._session)}
        return self._relations.get(oid)

    def _index(self, oid: int) -> Index | None:
        if self._indexes is None:
            self._indexes = {index.oid: index for index in indexes(self._session)}
        return self._indexes.get(oid)

    # ── names and numbers ──

    def finder(self, alias: str, missing: Callable[[str], SqlError] | None = None) -> Callable[[str], int | None]:
        def find(name: str) -> int | None:
            oid = int(name) if name.isdigit() else self._find(alias, name)
            if oid is None and missing is not None:
                raise missing(name)
            return oid

        return find

    def _find(self, alias: str, name: str) -> int | None:
        match alias:
            case "regclass":
                return self._find_relation(name)
            case "regtype":
                element = name.strip().removesuffix("[]").removeprefix("pg_catalog.")
                row = BY_NAME.get(element.strip('"').lower())
                is_array = name.strip().endswith("[]")
                if row is None:
                    made = self._session.type(tuple(element.replace('"', "").split(".")))
                    return None if made is None else oid_of(ArrayOf(made) if is_array else made)
                return row.array if is_array else row.oid
            case "regnamespace":
                found = schemas_here(self._session).get(name.strip('"'))
                return None if found is None else found.oid
            case "regrole":
                return next((role.oid for role in self._session.engine.roles if role.name == name.strip('"')), None)
            case _:
                bare = name.partition("(")[0].removeprefix("pg_catalog.")
                if bare == "array_in":
                    return 750
                return next((oid for oid, known, *_ in function_rows() if known == bare), None)

    def _find_relation(self, name: str) -> int | None:
        try:
            parts = Parser(name).name("relation name").parts
            return class_oid(self._session.catalog.resolve(parts))
        except SqlError:
            return None

    def namer(self, alias: str) -> Callable[[int], str]:
        def name(oid: int) -> str:
            found = self._name(alias, oid)
            return str(oid) if found is None else found

        return name

    def _name(self, alias: str, oid: int) -> str | None:
        match alias:
            case "regclass":
                item = self._relation(oid)
                if item is None:
                    catalog = next((name for name, known in CLASS_OIDS.items() if known == oid), None)
                    return index.name if (index := self._index(oid)) is not None else catalog
                schema = item.name.schema
                return item.name.item if self.is_visible(oid) else f"{schema}.{item.name.item}"
            case "regtype":
                found = self._type_name(oid, None)
                return None if found == "???" else found
            case "regnamespace":
                return next((each.name for each in schemas(self._session) if each.oid == oid), None)
            case "regrole":
                return next((role.name for role in self._session.engine.roles if role.oid == oid), None)
            case _:
                return next((name for known, name, *_ in function_rows() if known == oid), None)

    # ── the catalog ──

    def privilege(self, *subject: Any) -> bool:
        """`has_table_privilege([role,] object, privilege)`: only relations are told apart."""
        role, what, words = self._subject(*subject)
        oid = self._find_relation(what) if isinstance(what, str) else what
        item = None if oid is None else self._relation(oid)
        if item is None or item.id.startswith("s"):
            return True
        return any(self._session.engine.role_store.may(role, word, item.id) for word in words)

    def has_schema_privilege(self, *subject: Any) -> bool:
        role, what, words = self._subject(*subject)
        known = schemas(self._session) if isinstance(what, int) else schemas_here(self._session).values()
        found = next((each for each in known if what in (each.oid, each.name)), None)
        if found is None:
            raise UnknownObject(f'schema "{what}" does not exist', sqlstate="3F000")
        if found.key is None:
            return role.superuser or "USAGE" in words
        return any(self._session.engine.role_store.may(role, word, found.key) for word in words)

    def has_database_privilege(self, *subject: Any) -> bool:
        """Whoever may log in may connect."""
        role, what, words = self._subject(*subject)
        may, known = self._session.engine.role_store.may, self._session.catalog.namespaces.databases()
        found = next((each for each in known if what in (each.name, namespace_oid(each))), None)
        if found is None:
            raise UnknownObject(f'database "{what}" does not exist', sqlstate="3D000")
        return any(word in ("CONNECT", "TEMP", "TEMPORARY") or may(role, word, found.key) for word in words)

    def pg_has_role(self, *subject: Any) -> bool:
        role, what, words = self._subject(*subject)
        other, store = self._role(what), self._session.engine.role_store
        return any(
            store.has_rights_of(role, other) if word == "USAGE" else store.may_become(role, other) for word in words
        )

    def _subject(self, *subject: Any) -> tuple[Role, Any, list[str]]:
        """`([role,] object, privilege,…)`"""
        *who, what, wanted = subject
        role = self._role(who[0]) if who else self._session.role
        return role, what, [word.split(" WITH ")[0].strip() for word in str(wanted).upper().split(",")]

    def _role(self, who: str | int) -> Role:
        for role in self._session.engine.roles:
            if who in (role.name, role.oid):
                return role
        raise UnknownObject(f'role "{who}" does not exist', sqlstate="42704")

    def is_visible(self, oid: int) -> bool:
        """Does its name alone mean it?  Those of `mz_catalog` do, but lists of relations are clearer without them."""
        item = self._relation(oid)
        if item is None or item.name.schema == "pg_catalog":
            return True
        return item.name.schema not in SYSTEM and self._session.catalog.finds(item)

    def pg_get_userbyid(self, oid: int) -> str:
        return self._name("regrole", oid) or f"unknown (OID={oid})"

    def pg_get_function_result(self, oid: int) -> str | None:
        return self._signature(oid)[1]

    def pg_get_function_arguments(self, oid: int) -> str | None:
        return self._signature(oid)[0]

    def _signature(self, oid: int) -> tuple[str | None, str | None]:
        if self._signatures is None:
            self._signatures = {
                each: (", ".join(format_type(pg_oid(type), None) for type in types), format_type(pg_oid(result), None))
                for each, _, types, result, _ in function_rows()
            }
        return self._signatures.get(oid, (None, None))

    pg_get_function_identity_arguments = pg_get_function_arguments

    def pg_encoding_to_char(self, encoding: int) -> str:
        return "UTF8" if encoding == 6 else ""

    def pg_char_to_encoding(self, name: str) -> int:
        return 6 if name.upper() in ("UTF8", "UTF-8", "UNICODE") else -1

    def getdatabaseencoding(self) -> str:
        return "UTF8"

    def pg_get_expr(self, expression: str, oid: int, pretty: bool = False) -> str:
        return expression

    def pg_get_indexdef(self, oid: int, column: int = 0, pretty: bool = False) -> str | None:
        index = self._index(oid)
        if index is None:
            return None
        if column == 0:
            return index.definition
        return index.key_texts[column - 1] if 0 < column <= len(index.keys) else None

    def pg_get_constraintdef(self, oid: int, pretty: bool = False) -> str | None:
        index = self._index(oid)
        return None if index is None else index.constraint

    def pg_get_viewdef(self, relation: int | str, pretty: bool = False) -> str | None:
        oid = self._find_relation(relation) if isinstance(relation, str) else relation
        item = None if oid is None else self._relation(oid)
        return None if item is None else definition(item)

    def obj_description(self, oid: int, catalog: str = "pg_class") -> str | None:
        if catalog in ("pg_namespace", "pg_database"):
            spaces = self._session.catalog.namespaces.all
            key = next((each.key for each in spaces if namespace_oid(each) == oid), "")
            return self._session.engine.storage.comments().get((key, 0))
        return self._comment(oid, 0)

    def col_description(self, oid: int, place: int) -> str | None:
        return self._comment(oid, place)

    def _comment(self, oid: int, place: int) -> str | None:
        return self._session.engine.storage.comments().get((item_id(oid), place))

    def format_type(self, oid: int | None, modifier: int | None) -> str | None:
        return None if oid is None else self._type_name(oid, modifier)

    def _type_name(self, oid: int, modifier: int | None) -> str:
        if self._types is None:
            made = [(str(named_type(item)), item) for item in self._session.catalog.of_kind("type")]
            self._types = {item_oid(item): name for name, item in made}
            self._types |= {array_oid(item): f"{name}[]" for name, item in made}
        return self._types.get(oid) or format_type(oid, modifier)

    def pg_relation_size(self, relation: int | str) -> int:
        if isinstance(relation, str) and self._find_relation(relation) is None:
            raise UnknownObject(f'relation "{relation}" does not exist')
        return 0

    pg_total_relation_size = pg_table_size = pg_indexes_size = pg_relation_size

    def pg_database_size(self, name: str) -> int:
        return sum(file.stat().st_size for file in self._session.engine.directory.rglob("*") if file.is_file())

    def pg_size_pretty(self, size: int) -> str:
        for unit in ("bytes", "kB", "MB", "GB"):
            if abs(size) < _KILO:
                return f"{size} {unit}"
            size = round(size / 1024)
        return f"{size} TB"

    def pg_relation_is_publishable(self, oid: int) -> bool:
        return False

    # ── the session ──

    def current_schemas(self, implicit: bool) -> list[str]:
        path = list(self._session.catalog.schemas)
        own = [self._session.temporaries.schema] if self._session.temporaries.ids else []
        return [*own, "mz_catalog", "pg_catalog", *path] if implicit else path

    def current_setting(self, name: str, missing_ok: bool = False) -> str | None:
        try:
            return self._session.variable(name)
        except SqlError:
            if missing_ok:
                return None
            raise

    def set_config(self, name: str, value: str, local: bool) -> str:
        self._session.set_variable(name, value)
        return self._session.variable(name)

    def pg_backend_pid(self) -> int:
        return self._session.pid

    def pg_cancel_backend(self, pid: int) -> bool:
        if (found := self._backend(pid)) is not None:
            found.cancel()
        return found is not None

    def pg_terminate_backend(self, pid: int) -> bool:
        if (found := self._backend(pid)) is not None:
            found.terminate()
        return found is not None

    def _backend(self, pid: int) -> Connected | None:
        found = self._session.engine.sessions.find(pid)
        if found is None:
            self._session.notice(f"PID {pid} is not a server process", severity="WARNING")
            return None
        privileges.require_own_session(self._session, found.session)
        return found

    def pg_advisory_unlock_all(self) -> str:
        self._session.engine.advisory_locks.give_back_all(self._session)
        return ""

    def pg_advisory_lock(self, *key: int) -> str:
        session = self._session
        check = partial(session.check_in_time, session.deadline())
        session.engine.advisory_locks.take(session, _lock_number(*key), check)
        return ""

    def pg_try_advisory_lock(self, *key: int) -> bool:
        return self._session.engine.advisory_locks.try_take(self._session, _lock_number(*key))

    def pg_advisory_unlock(self, *key: int) -> bool:
        had = self._session.engine.advisory_locks.give_back(self._session, _lock_number(*key))
        if not had:
            self._session.notice("you don't own a lock of type ExclusiveLock", severity="WARNING")
        return had

    def pg_advisory_xact_lock(self, *key: int) -> str:
        self.pg_advisory_lock(*key)
        self._session.lock_until_end(_lock_number(*key))
        return ""

    def pg_try_advisory_xact_lock(self, *key: int) -> bool:
        taken = self.pg_try_advisory_lock(*key)
        if taken:
            self._session.lock_until_end(_lock_number(*key))
        return taken

    def pg_sleep(self, seconds: float) -> str:
        self._session.wait(seconds)
        return ""

    def pg_is_in_recovery(self) -> bool:
        return False

    def pg_postmaster_start_time(self) -> Any:
        return moment(self._session.engine.started_at)

    pg_conf_load_time = pg_postmaster_start_time

    def pg_my_temp_schema(self) -> int:
        own = self._session.temporaries
        return self._find("regnamespace", own.schema) or 0

    def mz_is_superuser(self) -> bool:
        return self._session.variables.get("is_superuser") == "on"

    def mz_version_num(self) -> int:
        major, minor, patch = (int(part) for part in VERSION.split("."))
        return major * 10_000 + minor * 100 + patch

    def txid_current(self) -> int:
        return int(self._session.engine.cluster.done)

    pg_current_xact_id = txid_current


def settled(node: Node, functions: Functions) -> Node:
    """The plan with calls of these functions on constants replaced by their values, for Spark to run."""

    def of_node(inner: Node) -> Node:
        return with_expressions(with_inputs(inner, of_node), of_expression)

    def of_expression(expression: Expression) -> Expression:
        expression = with_children(with_subquery(expression, of_node), of_expression)
        if not (isinstance(expression, Call) and expression.function in functions):
            return expression
        if not all(isinstance(argument, Literal) for argument in expression.arguments):
            return expression
        return _answered(expression, functions)

    return of_node(node)


def _answered(call: Call, functions: Functions) -> Expression:
    from tailrace.plan.local.expressions import Compiler

    evaluate = Compiler(_no_subquery, functions).compile(call)
    return Literal(text=text_of(evaluate((), ()), call.type), type=call.type)


def _no_subquery(node: Node, outer: Sequence[Any]) -> Any:
    raise AssertionError("a constant has no subquery")



