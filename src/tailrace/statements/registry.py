"""Every statement: its module here, and nothing else, makes it known.

A module has `STARTS`, the words it may begin with, and `parse`.  The longest start that fits wins, so
that `SHOW TABLES` and `SHOW timezone` find their own files.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Protocol, TypeAlias

from tailrace.errors import SyntaxFailure
from tailrace.sql.parser import Parser, Types, Words, one_of
from tailrace.statements import (
    alter_cluster,
    alter_connection,
    alter_materialized_view,
    alter_object,
    alter_secret,
    alter_sink,
    alter_system,
    alter_table,
    comment,
    copy,
    create_cluster,
    create_connection,
    create_flink_table,
    create_index,
    create_materialized_view,
    create_namespace,
    create_secret,
    create_sink,
    create_source,
    create_table,
    create_table_from_source,
    create_type,
    create_view,
    cursors,
    delete,
    discard,
    drop,
    elsewhere,
    explain,
    grant,
    insert,
    jobs,
    listen,
    owned,
    prepare,
    reset_variable,
    retain_history,
    roles,
    select,
    set_variable,
    show_columns,
    show_create,
    show_objects,
    show_variable,
    statement_set,
    subscribe,
    transactions,
    update,
    validate_connection,
)

Statement: TypeAlias = (
    alter_cluster.ChangeCluster
    | alter_connection.AlterConnection
    | alter_materialized_view.AlterMaterializedView
    | alter_object.Common
    | alter_object.SwapSchemas
    | alter_secret.AlterSecret
    | alter_sink.AlterSink
    | alter_system.AlterSystem
    | alter_table.AlterTable
    | comment.Comment
    | copy.Copy
    | create_cluster.CreateCluster
    | create_connection.CreateConnection
    | create_flink_table.CreateFlinkTable
    | create_index.CreateIndex
    | create_materialized_view.CreateMaterializedView
    | create_namespace.CreateNamespace
    | create_secret.CreateSecret
    | create_sink.CreateSink
    | create_source.CreateSource
    | create_table.CreateTable
    | create_table_from_source.CreateTableFromSource
    | create_type.CreateType
    | create_view.CreateView
    | cursors.Cursor
    | delete.Delete
    | discard.Discard
    | drop.Drop
    | elsewhere.Needless
    | explain.Explain
    | insert.Insert
    | grant.Change
    | grant.Membership
    | jobs.Jobs
    | listen.Listen
    | owned.DropOwned
    | owned.ReassignOwned
    | prepare.Prepare
    | prepare.Execute
    | prepare.Deallocate
    | reset_variable.ResetVariable
    | retain_history.AlterHistory
    | roles.CreateRole
    | roles.AlterRole
    | roles.AlterRoleSettings
    | select.Select
    | set_variable.SetVariable
    | show_columns.ShowColumns
    | show_create.ShowCreate
    | show_objects.ShowObjects
    | show_variable.ShowVariable
    | statement_set.StatementSet
    | subscribe.Subscribe
    | transactions.TransactionStatement
    | update.Update
    | validate_connection.ValidateConnection
)


class StatementModule(Protocol):
    """What a module in this folder offers."""

    @property
    def STARTS(self) -> tuple[Words, ...]:
        """The words that such statements begin with."""

    def parse(self, p: Parser) -> Statement:
        """Reads one, from its first word to its last."""


MODULES: tuple[StatementModule, ...] = (
    alter_cluster,
    alter_connection,
    alter_materialized_view,
    alter_object,
    alter_secret,
    alter_sink,
    alter_system,
    alter_table,
    comment,
    copy,
    create_cluster,
    create_connection,
    create_flink_table,
    create_index,
    create_materialized_view,
    create_namespace,
    create_secret,
    create_sink,
    create_source,
    create_table,
    create_table_from_source,
    create_type,
    create_view,
    cursors,
    delete,
    discard,
    drop,
    elsewhere,
    explain,
    grant,
    insert,
    jobs,
    listen,
    owned,
    prepare,
    reset_variable,
    retain_history,
    roles,
    select,
    set_variable,
    show_columns,
    show_create,
    show_objects,
    show_variable,
    statement_set,
    subscribe,
    transactions,
    update,
    validate_connection,
)

_BY_START = {start: module for module in MODULES for start in module.STARTS}


def parse_statement(text: str, offset: int = 0, types: Types = lambda _: None) -> Statement:
    """One statement, without a semicolon.  `offset` is where it begins in what the client sent; all
    positions count from the beginning of that."""
    p = Parser(text, offset, types)
    statement = dispatch(p)
    p.end()
    return statement


def dispatch(p: Parser) -> Statement:
    """The statement that begins here; what follows it is the caller's."""
    fitting = [start for start in _BY_START if p.at(*start)]
    if not fitting:
        raise _unknown(p)
    return _BY_START[max(fitting, key=len)].parse(p)


def _unknown(p: Parser) -> SyntaxFailure:
    """Points at the first word that no statement has in this place."""
    starts: list[Words] = list(_BY_START)
    depth = 0
    while deeper := [start for start in starts if len(start) > depth and start[depth] == p.token.word]:
        starts, depth = deeper, depth + 1
        p.advance()
    if depth == 0:
        failure = p.expected("a keyword at the beginning of a statement")
        near = get_close_matches(p.token.word, {start[0] for start in starts}, 1)
        failure.hint = f"Did you mean {near[0]}?" if near else None
        return failure
    return p.expected(one_of(sorted({start[depth] for start in starts if len(start) > depth})))
