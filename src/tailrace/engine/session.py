"""One client's conversation with the engine: text in, results out.  Implements statements/contract.Session."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from tailrace.catalog.catalog import Catalog
from tailrace.catalog.items import DEFAULT_DATABASE, DEFAULT_SCHEMA, TEMPORARY, Item
from tailrace.catalog.namespaces import SYSTEM_SCHEMAS
from tailrace.catalog.roles import Role
from tailrace.engine import asking, auditing, clusters, dialects, flink_hints, naming, privileges
from tailrace.engine.define import Identity
from tailrace.engine.named_types import named_type
from tailrace.engine.temporaries import Temporaries
from tailrace.engine.transaction import Kind, Transaction
from tailrace.engine.variables import Variables, identifiers, seconds
from tailrace.errors import (
    DuplicateObject,
    NotSupported,
    SqlError,
    SyntaxFailure,
    TailraceError,
    UnknownObject,
    WrongObjectType,
    noted,
)
from tailrace.plan.bind import BoundQuery, bind_query
from tailrace.plan.names import Relation
from tailrace.plan.nodes import Node
from tailrace.plan.parse import parse_query
from tailrace.plan.temporal import refuse_untimely
from tailrace.secret import Secret
from tailrace.sql.names import Name, QueryText
from tailrace.sql.parser import Parser, split
from tailrace.sql.unparse import Printer
from tailrace.statements.contract import Notice, Prepared, Result
from tailrace.statements.registry import parse_statement
from tailrace.types.core import Schema, SqlType, named_in

if TYPE_CHECKING:
    from tailrace.engine.engine import Engine

_WATCH_SECONDS = 0.2
_POOL = "spark.scheduler.pool"
_OPEN = ("Select", "Subscribe", "Copy", "Insert", "Update", "Delete", "Explain", "Show", "Declare", "Fetch", "Begin")
_MOST_SHOWN = 1024


class Recorder:
    """The catalog as the binder sees it, with a note of what it asked for."""

    def __init__(self, catalog: Catalog, session: EngineSession, *, free: frozenset[str] = frozenset()) -> None:
        """`free`: what takes no privilege to read, because it takes another one."""
        self._catalog = catalog
        self._session = session
        self._free = free
        self.used: set[str] = set()

    def relation(self, parts: tuple[str, ...], position: int | None) -> Relation:
        self.used.add(self._catalog.resolve(parts, position).id)
        found = self._catalog.relation(parts, position)
        if found.id not in self._free:
            privileges.require(self._session, "SELECT", self._catalog.items[found.id])
        return found

    def hinted(self, parts: tuple[str, ...], options: Mapping[str, str], position: int | None) -> Relation:
        table = self._catalog.resolve(parts, position)
        privileges.require(self._session, "SELECT", table)
        found = flink_hints.hinted(self._session, table, options, position)
        self.used.add(found.id)
        now, before = self._session.catalog, self._catalog
        self._catalog = replace(now, database=before.database, path=before.path)
        return self._catalog.relation(found.name.parts, position)

    def type(self, parts: tuple[str, ...]) -> SqlType | None:
        found = self._session.type(parts)
        if found is not None:
            self.used |= named_in(found)
        return found

    def similar(self, name: str, candidates: tuple[str, ...]) -> str | None:
        return self._catalog.similar(name, candidates)

    def session_value(self, name: str) -> str | None:
        return asking.session_value(self._session, name)


class EngineSession:
    """A statement's file has `execute`, and `describe` if it returns rows or takes parameters."""

    def __init__(self, engine: Engine, user: str = "materialize", temporaries: Temporaries | None = None) -> None:
        self.engine = engine
        self.temporaries = temporaries or Temporaries()
        self.login = user
        self.pid = 0
        self.transaction: Transaction | None = None
        self.prepared: dict[str, Prepared] = {}  # by PREPARE
        self.variables = Variables()
        self._tell_rights()
        self.settings: dict[str, str] = {}  # of Flink's SQL, by `SET 'key' = 'value'`
        self.notices: list[Notice] = []
        self.shown, self.asked_at = "", time.time()  # what it runs, or has run last, for pg_stat_activity
        self.exported_bytes: int | None = None  # while COPY … TO a bucket runs: of files that are complete
        self._cancelled = threading.Event()
        self._job_group: str | None = None
        self._locks: list[int] = []  # advisory ones of the transaction that is open
        self._used: frozenset[str] = frozenset()

    @property
    def user(self) -> str:
        """Whose rights it has: those of who has logged in, or of the role that SET ROLE named."""
        role = self.variables.get("role")
        return self.login if role == "none" else role

    @property
    def role(self) -> Role:
        return self.engine.role_store.get(self.user)

    @property
    def catalog(self) -> Catalog:
        """As this session sees it."""
        return self.temporaries.seen_in(self.engine.catalog, self.variables.get("database"), self.path)

    @property
    def path(self) -> tuple[str, ...]:
        """The schemas in which it looks for names, also those that are not there."""
        return tuple(self.user if name == "$user" else name for name in identifiers(self.variables.get("search_path")))

    # ── the contract ──

    def split(self, text: str) -> Sequence[str]:
        return [statement.text for statement in split(text)]

    def prepare(self, text: str, parameters: Sequence[SqlType | None] = ()) -> Prepared:
        found = split(text)
        if not found:
            return Prepared(text=text, statement=None, parameters=(), columns=None)
        if len(found) > 1:
            raise SyntaxFailure("cannot insert multiple commands into a prepared statement")
        statement = parse_statement(found[0].text, found[0].start, self.type)
        dialects.check(self, statement)
        describe = getattr(_module_of(statement), "describe", None)
        if describe is None:
            return Prepared(text=text, statement=statement, parameters=(), columns=None)
        types, columns = describe(statement, self, parameters)
        return Prepared(text=text, statement=statement, parameters=types, columns=columns)

    def execute(self, prepared: Prepared, arguments: Sequence[str | None] = ()) -> Result:
        if prepared.statement is None:
            return Result(tag="")
        self._cancelled.clear()
        self.notices = []
        self.shown, self.asked_at = _shown(prepared), time.time()
        execute = getattr(_module_of(prepared.statement), "execute", None)
        if _defines(prepared.statement):
            self.admit("definition")
            privileges.check_definition(self, prepared.statement)
        if execute is None:
            raise NotSupported(f"{_words(prepared.statement)} not yet supported")
        concerned = auditing.before(self, prepared.statement) if _is_audited(prepared.statement) else None
        statement = naming.in_full(self, prepared.statement)
        result: Result = execute(statement, self, _typed(prepared.parameters, arguments))
        if concerned is not None:
            auditing.note(self, concerned)
        result.notices[:0] = self.notices
        return result

    def sql(self, text: str) -> Iterator[Result]:
        """Statement by statement, for programs."""
        for statement in self.split(text):
            with noted(statement):
                result = self.execute(self.prepare(statement))
                result.notices.extend(result.finish())
            yield result

    def cancel(self) -> None:
        self._cancelled.set()
        group = self._job_group
        if group is not None:
            self.engine.spark.sparkContext.cancelJobGroup(group)

    def attach(self, cancel: Callable[[], None], terminate: Callable[[], None]) -> int:
        return self.engine.sessions.attach(self, cancel, terminate)

    @property
    def is_busy(self) -> bool:
        """Spark works for it."""
        return self._job_group is not None or self.exported_bytes is not None

    def variable(self, name: str) -> str:
        return self.variables.get(name)

    def set_variable(self, name: str, value: str, *, local: bool = False) -> None:
        if name.lower() == "role" and value != "none":
            role = self.engine.role_store.get(value)
            if not self.engine.role_store.may_become(self.engine.role_store.get(self.login), role):
                raise privileges.PermissionDenied(f'permission denied to set role "{value}"')
        self.variables.set(name, value, local=local)
        self._tell_rights()

    def reset_variable(self, name: str) -> None:
        self.variables.reset(name)
        self._tell_rights()

    def _tell_rights(self) -> None:
        self.variables.fix("is_superuser", "on" if self.role.superuser else "off")

    def reported(self) -> dict[str, str]:
        return self.variables.reported()

    def idle_limit(self) -> float:
        return seconds(self.variables.get("idle_in_transaction_session_timeout"))

    def cursor(self, name: str) -> Schema | None:
        cursors = {} if self.transaction is None else self.transaction.cursors
        return cursors[name].columns if name in cursors else None

    def close(self) -> None:
        self.cancel()
        self.end_transaction()
        self.engine.advisory_locks.give_back_all(self)
        self.engine.sessions.remove(self)
        if self.temporaries.ids:
            with suppress(TailraceError):  # the engine ends; then they go when it begins again
                self.engine.drop_with_dependants(self.temporaries.ids)

    # ── transactions ──

    def admit(self, kind: Kind) -> None:
        """A statement of this kind is about to run: may it, in the transaction that is open?"""
        if kind != "read":
            self.check_writable()
        if self.transaction is None:
            return
        if self.transaction.is_implicit and self.transaction.kind not in (None, kind):
            self.end_string(keep=True)
            self.begin_string()
        self.transaction.admit(kind)

    def check_writable(self) -> None:
        """A statement by itself does what the session's transactions do; a block has said for itself whether it
        writes."""
        is_alone = self.transaction is None or self.transaction.is_implicit
        if is_alone and self.variables.get("default_transaction_read_only") == "on":
            raise SqlError("cannot execute the statement in a read-only transaction", sqlstate="25006")

    def begin_string(self) -> None:
        """Several statements in one message are one transaction, unless they say otherwise."""
        if self.transaction is None:
            self.transaction = Transaction(self.engine, is_implicit=True)

    def end_string(self, *, keep: bool) -> None:
        if self.transaction is not None and self.transaction.is_implicit:
            ended = self.end_transaction()
            if keep and ended is not None:
                ended.commit()

    def refuse_in_transaction(self, what: str) -> None:
        """For what cannot wait for a COMMIT.  In a string of statements it takes effect at once, as does what was
        before it."""
        self.end_string(keep=True)
        if self.transaction is not None:
            raise SqlError(f"{what} cannot be run inside a transaction block", sqlstate="25001")

    def end_transaction(self) -> Transaction | None:
        """The transaction that was open, with nothing held any more."""
        ended, self.transaction = self.transaction, None
        if ended is not None:
            ended.close()
        for number in self._locks:
            self.engine.advisory_locks.give_back(self, number)
        self._locks.clear()
        return ended

    def lock_until_end(self, number: int) -> None:
        """An advisory lock that it has taken is its until the end of the transaction, or of the statement."""
        if self.transaction is None:
            self.engine.advisory_locks.give_back(self, number)
        else:
            self._locks.append(number)

    # ── for statements ──

    def create(
        self,
        kind: str,
        name: Name,
        define: Callable[[Identity], Item],
        *,
        if_not_exists: bool = False,
        or_replace: bool = False,
        temporary: bool = False,
        try_out: Callable[[Item], None] = lambda _: None,
        also: Callable[[Item], Sequence[Item]] = lambda _: (),
        secret: Secret | None = None,
    ) -> Result:
        """What every CREATE does: the name must be free, the definition valid; then the item exists.

        `try_out`: connects to the outside, as nobody may who may not create it.  A `define` that has to connect
        calls `privileges.check_new` by itself before.  `also`: items that come with it, all or none.
        """
        engine, catalog = self.engine, self.catalog
        tag = f"CREATE {kind.upper()}"
        full = catalog.full_name(("pg_temp", *name.parts) if temporary and len(name.parts) == 1 else name.parts)
        if full.schema in SYSTEM_SCHEMAS:
            raise SqlError(
                f"system schema '{full.schema}' cannot be modified", sqlstate="42501", position=name.position
            )
        existing = catalog.named(full)
        if existing is not None and if_not_exists:
            self.notice(f'{existing.kind} "{full.item}" already exists, skipping', sqlstate="42710")
            return Result(tag=tag)
        if existing is not None and not or_replace:
            raise DuplicateObject(f'{existing.kind} "{full}" already exists', position=name.position)
        item = define(Identity(id=engine.storage.next_id(), name=full, facts={}))
        if item.is_too_old and item.kind != "sink":
            item = define(Identity(id=engine.storage.next_id(), name=full, facts={}))
        item = self._with_its_session(item)
        item = replace(item, statement=naming.with_names(self, item.statement, full))
        privileges.check_new(self, item)
        try_out(item)
        if existing is not None:
            if existing.kind != kind:
                raise WrongObjectType(f"{existing.name} is a {existing.kind} not a {kind}", position=name.position)
            engine.catalog.refuse_if_needed(existing, {existing.id})
        replaced = () if existing is None else (existing.id,)
        for each in (item, *(others := also(item))):
            engine.role_store.own(each.id, self.role)
        if item.is_temporary:
            self.temporaries.ids.add(item.id)
        engine.add(item, *others, secret=secret, instead_of=replaced)
        return Result(tag=tag)

    def _with_its_session(self, item: Item) -> Item:
        """What is temporary, or made of something that is, is not there at the next start."""
        items = self.engine.catalog.items
        made_of = item.kind != "job" and any(items[id].is_temporary for id in item.depends_on if id in items)
        if item.name.schema != self.temporaries.schema and not made_of:
            return item
        if made_of and not item.is_temporary and item.kind in ("view", "materialized view"):
            self.notice(f'{item.kind} "{item.name.item}" will be temporary: it reads what is')
        return replace(item, facts={**item.facts, TEMPORARY: True})

    def notice(self, message: str, **fields: str) -> None:
        self.notices.append(Notice(message, **fields))

    def wait(self, seconds: float) -> None:
        """Does nothing for so long; `cancel` and `statement_timeout` end it."""
        deadline = self.deadline()
        self._cancelled.wait(max(min(seconds, deadline - time.monotonic()), 0.0))
        self.check_in_time(deadline)

    def check_cancelled(self) -> None:
        if self._cancelled.is_set():
            raise SqlError("canceling statement due to user request", sqlstate="57014")

    def deadline(self) -> float:
        """By when a statement that begins now must have ended, for `check_in_time`."""
        limit = seconds(self.variables.get("statement_timeout"))
        return time.monotonic() + limit if limit else float("inf")

    def check_in_time(self, deadline: float) -> None:
        """Raises if the statement is to end now."""
        self.check_cancelled()
        if time.monotonic() > deadline:
            raise SqlError("canceling statement due to statement timeout", sqlstate="57014")

    def bind(
        self,
        query: QueryText,
        parameters: Sequence[SqlType | None] = (),
        *,
        targets: Sequence[SqlType] = (),
        arguments: Sequence[str | None] = (),
        describes: bool = False,
        written: Callable[[exp.Expr], None] = lambda _: None,
    ) -> BoundQuery:
        """The plan of a query; `targets` are the types of the columns that an INSERT puts its result into.

        `arguments`, `describes`: see bind_query.  `written` may change the tree before it is bound.
        """
        recorder = Recorder(self.catalog, self)
        tree = parse_query(query.text, query.start)
        written(tree)
        try:
            return bind_query(tree, recorder, parameters, targets=targets, arguments=arguments, describes=describes)
        finally:
            self._used = frozenset(recorder.used)

    def bind_change(
        self, tree: exp.Expr, table: Item, parameters: Sequence[SqlType | None], targets: Sequence[SqlType]
    ) -> BoundQuery:
        """The plan of the rows that UPDATE or DELETE changes; what it reads beside `table` takes a privilege."""
        names = Recorder(self.catalog, self, free=frozenset({table.id}))
        return bind_query(tree, names, parameters, targets=targets)

    def used(self) -> frozenset[str]:
        """Ids of the relations that the query bound last mentions, views included."""
        return self._used

    def plan_subscription(self, text: str) -> Node:
        """The plan of a relation's name or a query."""
        words = text.split(None, 1)
        is_query = words and words[0].upper() in ("SELECT", "WITH", "VALUES", "TABLE")
        query = text if is_query else f"SELECT * FROM {text}"
        return self.plan_changes(QueryText(query))

    def plan_changes(self, query: QueryText) -> Node:
        """The plan of a query whose changes somebody follows."""
        bound = self.bind(query)
        refuse_untimely(bound.node, bound.now_at)
        return bound.relation

    def parse_name(self, text: str) -> Name:
        return Parser(text).name("relation name")

    def type(self, parts: tuple[str, ...]) -> SqlType | None:
        """What CREATE TYPE has made under this name."""
        try:
            item = self.catalog.resolve(parts)
        except SqlError:
            return None
        return named_type(item) if item.kind == "type" else None

    def resolve(self, name: Name, *kinds: str) -> Item:
        """The item of a name; with kinds, one of those."""
        catalog = self.catalog
        return catalog.expect(name.parts, kinds, name.position) if kinds else catalog.resolve(name.parts, name.position)

    def resolve_if_exists(self, name: Name, kind: str, *, if_exists: bool) -> Item | None:
        """The same for ALTER … [IF EXISTS]: None, and a notice, if it is not there and need not be."""
        try:
            return self.resolve(name, kind)
        except UnknownObject:
            if not if_exists:
                raise
            self.notice(f'{kind} "{name}" does not exist, skipping')
            return None

    def printer(self, redacted: bool = False) -> Printer:
        """Prints statements with full names, as the catalog stores them."""
        return Printer(qualify=self._qualify, cluster=self.variables.get("cluster"), redacted=redacted)

    def _qualify(self, name: Name) -> tuple[str, ...]:
        kept = self.catalog.as_kept()
        try:
            return kept.resolve(name.parts, name.position).name.parts
        except SqlError:
            return (*(DEFAULT_DATABASE, DEFAULT_SCHEMA)[: 3 - len(name.parts)], *name.parts)

    def collect(self, text: str) -> pa.Table:
        """The rows of a Spark text.  Runs one job, which `cancel` and `statement_timeout` end."""
        return self.interruptible(lambda: self.engine.views.small.sql(text).toArrow())

    def interruptible(self, work: Callable[[], pa.Table]) -> pa.Table:
        """What `work` gives; `cancel` and `statement_timeout` end the Spark jobs it runs."""
        context = self.engine.spark.sparkContext
        pool, before = clusters.pool(self), context.getLocalProperty(_POOL)
        group = self._job_group = f"session-{id(self)}"
        context.setJobGroup(group, "query", interruptOnCancel=True)
        context.setLocalProperty(_POOL, pool)
        deadline = self.deadline()
        done = threading.Event()

        def watch() -> None:
            """Cancels again and again: a job that has not begun yet knows nothing of the first time."""
            while not done.wait(_WATCH_SECONDS):
                if self._cancelled.is_set() or time.monotonic() > deadline:
                    context.cancelJobGroup(group)

        threading.Thread(target=watch, name="statement-watch", daemon=True).start()
        try:
            return work()
        except Exception:
            self.check_in_time(deadline)
            raise
        finally:
            done.set()
            self._job_group = None
            # The thread may be the tick loop's, whose own jobs nobody cancels and which have a pool of their own.
            for name, value in (("spark.jobGroup.id", None), (_POOL, before)):
                context.setLocalProperty(name, value)  # type: ignore[arg-type]  # None takes it away

    def as_table(self, result: Result, batches: list[pa.RecordBatch]) -> pa.Table:
        """Rows under their own column names, for programs."""
        assert result.columns is not None
        names = [column.name for column in result.columns]
        if not batches:
            return pa.table([pa.nulls(0) for _ in names], names=names)
        return pa.Table.from_batches(batches).rename_columns(names)


def _shown(prepared: Prepared) -> str:
    """The statement for others to see: whole, or its kind alone if its text may hold a secret."""
    if type(prepared.statement).__name__.startswith(_OPEN):
        return prepared.text.strip()[:_MOST_SHOWN]
    return _words(prepared.statement)


def _typed(types: Sequence[SqlType], arguments: Sequence[str | None]) -> list[tuple[SqlType, str | None]]:
    if len(types) != len(arguments):
        if not arguments:
            raise SqlError("there is no parameter $1", sqlstate="42P02")
        message = f"the statement takes {len(types)} parameters, {len(arguments)} were given"
        raise SqlError(message, sqlstate="08P01")
    return list(zip(types, arguments, strict=True))


def _defines(statement: object) -> bool:
    """Does it change what objects there are?"""
    return type(statement).__name__.startswith(("Create", "Alter", "Swap", "Rename", "Drop", "Comment"))


def _is_audited(statement: object) -> bool:
    return _defines(statement) or hasattr(statement, "grants")


def _module_of(statement: object) -> ModuleType:
    """The file of a statement: what it means stands beside what it looks like."""
    return sys.modules[type(statement).__module__]


def _words(statement: object) -> str:
    """`CreateIndex` → `CREATE INDEX`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(statement).__name__).upper()
