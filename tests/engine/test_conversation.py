"""What people and tools type beside queries: maintenance, settings of transactions, comments, and what is refused."""

from __future__ import annotations

import json
import time

import psycopg
import pytest

from tailrace.engine.engine import Engine
from tailrace.server.listener import Server


def dsn(server: Server) -> str:
    return f"host=127.0.0.1 port={server.port} user=materialize dbname=materialize"


def test_what_is_of_no_use_here_is_taken_and_said(server: Server) -> None:
    heard: list[str] = []
    with psycopg.connect(dsn(server), autocommit=True) as connection:
        connection.add_notice_handler(lambda notice: heard.append(str(notice.message_primary)))
        connection.execute("CREATE TABLE indexed (k int, v text)")
        for statement in ("VACUUM ANALYZE indexed", "CREATE INDEX ON indexed (k, lower(v))", "ALTER SYSTEM SET a = b"):
            connection.execute(statement.encode())
        assert heard == [
            "VACUUM does nothing: state is compacted by itself",
            'index "indexed_k_expr_idx" is kept in the catalog and has no effect',
            'there is no system variable "a"',
        ]
        shown = connection.execute("SHOW INDEXES ON indexed").fetchall()
        assert shown == [("indexed_k_expr_idx", "indexed", "quickstart", "{k,lower(v)}", "")]
        connection.execute("ALTER TABLE indexed RENAME TO renamed")
        connection.execute("DROP TABLE renamed")
        assert connection.execute("SHOW INDEXES").fetchall() == []


@pytest.mark.parametrize(
    ("statement", "hint"),
    [
        ("TRUNCATE t", "DELETE FROM"),
        ("SELECT 1 FOR UPDATE", "nothing to lock"),
        ("INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING", "UPDATE or DELETE"),
        ("EXPLAIN (ANALYZE) SELECT 1", "AS JSON"),
        ("CREATE TABLE t AS SELECT 1", "MATERIALIZED VIEW"),
        ("CREATE SCHEMA s AUTHORIZATION materialize", "OWNER TO"),
        ("USE s", "search_path"),
        ("ALTER TABLE t ADD COLUMN a int NOT NULL", "UPDATE"),
        ("ALTER TABLE t DROP COLUMN a", "view"),
    ],
)
def test_what_is_not_there_is_refused_by_name(server: Server, statement: str, hint: str) -> None:
    with psycopg.connect(dsn(server), autocommit=True) as connection:
        with pytest.raises(psycopg.errors.FeatureNotSupported) as refused:
            connection.execute(statement.encode())
        assert hint in str(refused.value.diag.message_hint)
        assert refused.value.diag.statement_position is not None


def test_settings_of_a_transaction_end_with_it(server: Server) -> None:
    with psycopg.connect(dsn(server), autocommit=True) as connection:
        connection.execute("SET statement_timeout = '1min'")
        for end, after in (("ROLLBACK", "1min"), ("COMMIT", "3min")):
            connection.execute("BEGIN")
            connection.execute("SET statement_timeout = '3min'")
            connection.execute("SET LOCAL statement_timeout = '2min'")
            assert connection.execute("SHOW statement_timeout").fetchone() == ("2min",)
            connection.execute(end.encode())
            assert connection.execute("SHOW statement_timeout").fetchone() == (after,)
        connection.execute("CREATE TABLE IF NOT EXISTS read_only (k int)")
        connection.execute("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            connection.execute("INSERT INTO read_only VALUES (1)")
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction), connection.transaction():
            connection.execute("INSERT INTO read_only VALUES (1)")
        connection.execute("BEGIN READ WRITE; INSERT INTO read_only VALUES (1); COMMIT")


def test_a_bad_constant_is_pointed_at_wherever_it_goes(server: Server) -> None:
    with psycopg.connect(dsn(server), autocommit=True) as connection:
        connection.execute("CREATE TABLE pointed (a int, b date)")
        for statement in (
            "INSERT INTO pointed VALUES (1, '2024-07-03'), (2, «'abc')",
            "INSERT INTO pointed (b, a) SELECT '2024-07-03', «'abc'",
        ):
            with pytest.raises(psycopg.DataError) as caught:
                connection.execute(statement.replace("«", "").encode())
            assert caught.value.diag.statement_position == str(statement.index("«") + 1)
        with pytest.raises(psycopg.errors.DatatypeMismatch, match='column "a" is of type integer'):
            connection.execute("INSERT INTO pointed VALUES (true)")


def test_limits_are_parameters_as_orms_give_them(server: Server) -> None:
    with psycopg.connect(dsn(server), autocommit=True) as connection:
        query = "SELECT n FROM generate_series(1, 9) AS n ORDER BY n LIMIT %s OFFSET %s"
        for limit, offset in ((2, 0), (3, 5), (None, 7), (0, 0)):
            for prepare in (False, True):
                found = connection.execute(query, (limit, offset), prepare=prepare).fetchall()
                assert [n for (n,) in found] == list(range(1, 10))[offset:][:limit]
        connection.execute("PREPARE some AS SELECT n FROM generate_series(1, 9) AS n ORDER BY n DESC LIMIT $1")
        assert connection.execute("EXECUTE some (1)").fetchall() == [(9,)]
        listed = connection.execute("SELECT name, parameter_types FROM pg_prepared_statements").fetchall()
        assert listed == [("some", ["bigint"])]
        with pytest.raises(psycopg.errors.InvalidRowCountInLimitClause):
            connection.execute(query, (-1, 0))


def test_what_tools_say_before_they_begin_is_taken(server: Server) -> None:
    with psycopg.connect(dsn(server), autocommit=True) as connection:
        notices: list[str | None] = []
        connection.add_notice_handler(lambda notice: notices.append(notice.message_primary))
        connection.execute("SET synchronous_commit TO off; SET jit = off; SET work_mem = '64MB'")
        assert notices == [f'parameter "{name}" has no effect' for name in ("synchronous_commit", "jit", "work_mem")]
        connection.execute("CREATE TABLE defaults (a int DEFAULT 7, b text DEFAULT 'x', c int)")
        connection.execute("INSERT INTO defaults VALUES (1, DEFAULT, DEFAULT), (DEFAULT, 'y', 2)")
        connection.execute("INSERT INTO defaults (c, a) VALUES (3, DEFAULT)")
        connection.execute("CREATE INDEX ordered ON defaults USING btree (a DESC NULLS LAST, b ASC)")
        found = connection.execute("SELECT a, b, c FROM defaults ORDER BY c NULLS FIRST").fetchall()
        assert found == [(1, "x", None), (7, "y", 2), (7, "x", 3)]
        assert connection.execute("SELECT datname FROM pg_stat_database").fetchall() == [("materialize",)]


def test_advisory_locks_are_one_sessions_at_a_time(server: Server) -> None:
    take = "SELECT pg_try_advisory_lock(7)"
    with psycopg.connect(dsn(server), autocommit=True) as one:
        with psycopg.connect(dsn(server), autocommit=True) as other:
            other.execute("SELECT pg_advisory_lock(7), pg_advisory_lock(1, 2)")
            assert one.execute(take).fetchone() == (False,)
            assert other.execute(take).fetchone() == (True,)  # again
            one.execute("SET statement_timeout = '100ms'")
            with pytest.raises(psycopg.errors.QueryCanceled):
                one.execute("SELECT pg_advisory_lock(7)")
            assert other.execute("SELECT pg_advisory_unlock(7), pg_advisory_unlock(7)").fetchone() == (True, True)
            assert one.execute(take).fetchone() == (True,)
            with one.transaction():
                one.execute("SELECT pg_advisory_xact_lock(8)")
                assert other.execute("SELECT pg_try_advisory_lock(8)").fetchone() == (False,)
            assert other.execute("SELECT pg_try_advisory_lock(8)").fetchone() == (True,)
        deadline = time.monotonic() + 60
        while one.execute("SELECT pg_try_advisory_lock(1, 2)").fetchone() != (True,):
            assert time.monotonic() < deadline


def test_a_roles_settings_are_what_its_sessions_begin_with(server: Server) -> None:
    with psycopg.connect(dsn(server), autocommit=True) as boss:
        boss.execute("CREATE ROLE slow LOGIN; ALTER ROLE slow SET statement_timeout = '3min'")
        boss.execute("ALTER ROLE slow SET application_name TO 'nightly'")
        with pytest.raises(psycopg.errors.UndefinedObject, match="unrecognized configuration parameter"):
            boss.execute("ALTER ROLE slow SET no_such_thing = 1")
        config = "SELECT rolconfig FROM pg_roles WHERE rolname = 'slow'"
        assert boss.execute(config).fetchone() == (["application_name=nightly", "statement_timeout=3min"],)
        login = dsn(server).replace("user=materialize", "user=slow")
        with psycopg.connect(login, autocommit=True) as connection:
            assert connection.execute("SHOW statement_timeout").fetchone() == ("3min",)
            connection.execute("SET statement_timeout = 0; RESET statement_timeout")
            assert connection.execute("SHOW statement_timeout").fetchone() == ("3min",)
            assert connection.info.parameter_status("application_name") == "nightly"
            connection.execute("ALTER ROLE slow RESET statement_timeout")  # one's own
        with psycopg.connect(f"{login} application_name=mine", autocommit=True) as connection:
            assert connection.execute("SHOW statement_timeout").fetchone() == ("0",)
            assert connection.execute("SHOW application_name").fetchone() == ("mine",)
        boss.execute("ALTER ROLE slow RESET ALL")
        assert boss.execute(config).fetchone() == (None,)


def test_the_time_of_a_query_is_explained(server: Server) -> None:
    with psycopg.connect(dsn(server), autocommit=True) as connection:
        connection.execute("CREATE TABLE timed (k int)")
        connection.execute("CREATE MATERIALIZED VIEW later AS SELECT count(*) AS n FROM timed")
        connection.execute("SELECT * FROM later")
        [[text]] = connection.execute("EXPLAIN TIMESTAMP FOR SELECT * FROM timed, later").fetchall()
        assert "can respond immediately: true" in text
        assert "source materialize.public.timed (" in text
        [[document]] = connection.execute("EXPLAIN TIMESTAMP AS JSON FOR SELECT * FROM later").fetchall()
        facts = json.loads(document)
        [source] = facts["sources"]
        assert source["name"] == "materialize.public.later"
        assert source["read_frontier"] <= facts["query_timestamp"] < source["write_frontier"] == facts["upper"]
        with connection.transaction():
            connection.execute("SELECT * FROM timed")
            before = connection.execute("EXPLAIN TIMESTAMP AS JSON FOR SELECT * FROM timed").fetchone()
            after = connection.execute("EXPLAIN TIMESTAMP AS JSON FOR SELECT * FROM timed").fetchone()
            assert before is not None
            assert after is not None
            assert json.loads(before[0])["query_timestamp"] == json.loads(after[0])["query_timestamp"]


def test_temporary_objects_go_with_their_session(server: Server, engine: Engine) -> None:
    with psycopg.connect(dsn(server), autocommit=True) as connection:
        connection.execute("CREATE TEMP TABLE brief (k int)")
        connection.execute("CREATE MATERIALIZED VIEW of_brief AS SELECT k FROM brief")
        connection.execute("INSERT INTO brief VALUES (1)")
        assert connection.execute("SELECT k FROM of_brief").fetchall() == [(1,)]
    deadline = time.monotonic() + 60
    while {"brief", "of_brief"} & {name.item for name in engine.catalog.by_name}:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_temporary_objects_are_seen_by_their_session_alone(server: Server) -> None:
    with psycopg.connect(dsn(server), autocommit=True) as one, psycopg.connect(dsn(server), autocommit=True) as other:
        one.execute("CREATE TABLE shadowed (k int)")
        for number, connection in enumerate((one, other)):
            connection.execute("CREATE TEMP TABLE mine (k int); CREATE TEMP VIEW seen AS SELECT k FROM mine")
            connection.execute(f"INSERT INTO mine VALUES ({number})".encode())
        for number, connection in enumerate((one, other)):
            assert connection.execute("SELECT k FROM seen").fetchall() == [(number,)]
            assert connection.execute("SELECT k FROM pg_temp.mine").fetchall() == [(number,)]
            listed = "SELECT relpersistence FROM pg_class WHERE relname = 'mine' AND pg_table_is_visible(oid)"
            assert connection.execute(listed).fetchall() == [("t",)]
            shown = connection.execute("SELECT count(*) FROM (SHOW TABLES) WHERE name = 'mine'").fetchone()
            assert shown == (1,)
        one.execute("CREATE TEMP TABLE shadowed (x text); INSERT INTO shadowed VALUES ('a')")
        assert one.execute("SELECT * FROM shadowed").fetchall() == [("a",)]
        assert other.execute("SELECT * FROM shadowed").fetchall() == []
        one.execute("DROP TABLE shadowed")
        assert one.execute("SELECT k FROM shadowed").fetchall() == []
        one.execute("CREATE TEMP TABLE hidden (k int); CREATE MATERIALIZED VIEW of_hidden AS SELECT k FROM hidden")
        for name in ("hidden", "of_hidden"):
            with pytest.raises(psycopg.errors.UndefinedTable):
                other.execute(f"SELECT * FROM {name}".encode())
        one.execute("CREATE TEMP VIEW watching AS SELECT k FROM shadowed")
        with pytest.raises(psycopg.errors.DependentObjectsStillExist):
            other.execute("DROP TABLE shadowed")


def test_sessions_are_seen_and_what_they_run_without_secrets(server: Server) -> None:
    query = "SELECT usename, state, query FROM pg_stat_activity WHERE pid = %s"
    with psycopg.connect(dsn(server), autocommit=True) as one, psycopg.connect(dsn(server), autocommit=True) as other:
        for statement, shown in (
            ("SELECT 1", "SELECT 1"),
            ("CREATE SECRET seen AS 'hunter2'", "CREATE SECRET"),
            ("CREATE ROLE seen PASSWORD 'hunter2'", "CREATE ROLE"),
        ):
            one.execute(statement.encode())
            assert other.execute(query, (one.info.backend_pid,)).fetchall() == [("materialize", "idle", shown)]
        one.execute("BEGIN")
        assert other.execute(query, (one.info.backend_pid,)).fetchall()[0][1] == "idle in transaction"
        assert other.execute("SELECT pg_sleep(0.01)").fetchall() == [("",)]


def test_comments_on_what_is_no_relation_are_kept(server: Server) -> None:
    with psycopg.connect(dsn(server), autocommit=True) as connection:
        connection.execute("CREATE ROLE told")
        names = {"DATABASE": "materialize", "SCHEMA": "public", "ROLE": "told", "CLUSTER": "quickstart"}
        for kind, name in names.items():
            connection.execute(f"COMMENT ON {kind} {name} IS 'of {kind}'".encode())
            shown = connection.execute(f"SELECT comment FROM (SHOW {kind}S) WHERE name = '{name}'".encode())
            assert shown.fetchall() == [(f"of {kind}",)]
        query = "SELECT object_type FROM mz_internal.mz_comments WHERE comment LIKE 'of %' ORDER BY 1"
        assert connection.execute(query).fetchall() == [("cluster",), ("database",), ("role",), ("schema",)]
