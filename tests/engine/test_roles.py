"""Roles: who gets in, with which password, and what each may do."""

from __future__ import annotations

import itertools
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest
from pyspark.sql import SparkSession

from tailrace.engine import privileges
from tailrace.engine.engine import Engine
from tailrace.server import Scram
from tailrace.server.listener import Server
from tailrace.testing.broker import Broker
from tailrace.testing.fixtures import TopicFactory
from tailrace.ticks.loop import Pace

_names = itertools.count(1)
Connect = Callable[..., psycopg.Connection]


@pytest.fixture(scope="module")
def guarded(engine: Engine) -> Iterator[Server]:
    """The same engine behind passwords."""
    engine.sql("ALTER ROLE materialize PASSWORD 'boss'")
    listening = Server(
        host="127.0.0.1", port=0, open_session=engine.open_session, authenticator=Scram(engine.verifier_of)
    )
    listening.start()
    yield listening
    listening.stop(5.0)


@pytest.fixture
def connect(guarded: Server) -> Iterator[Connect]:
    opened: list[psycopg.Connection] = []

    def open_one(user: str, password: str) -> psycopg.Connection:
        dsn = f"host=127.0.0.1 port={guarded.port} user={user} password={password} dbname=materialize"
        opened.append(psycopg.connect(dsn, autocommit=True))
        return opened[-1]

    yield open_one
    for connection in opened:
        connection.close()


@pytest.fixture
def boss(connect: Connect) -> psycopg.Connection:
    return connect("materialize", "boss")


@pytest.fixture
def clerk(boss: psycopg.Connection, connect: Connect) -> tuple[str, psycopg.Connection]:
    name = f"clerk{next(_names)}"
    boss.execute(f"CREATE ROLE {name} WITH LOGIN PASSWORD 'pencil'".encode())
    return name, connect(name, "pencil")


@pytest.fixture
def table(boss: psycopg.Connection) -> str:
    name = f"r{next(_names)}"
    boss.execute(f"CREATE TABLE {name} (k int)".encode())
    boss.execute(f"INSERT INTO {name} VALUES (1)".encode())
    return name


@pytest.mark.parametrize(("user", "password"), [("materialize", "wrong"), ("nobody", "boss"), ("mz_system", "")])
def test_the_wrong_password_does_not_get_in(connect: Connect, user: str, password: str) -> None:
    with pytest.raises(psycopg.OperationalError, match=r"password|no password"):
        connect(user, password)


def test_a_role_that_may_not_log_in_does_not(boss: psycopg.Connection, connect: Connect) -> None:
    boss.execute("CREATE ROLE group1 PASSWORD 'pencil'")
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        connect("group1", "pencil")
    boss.execute("ALTER ROLE group1 LOGIN")
    assert connect("group1", "pencil").execute("SELECT current_user").fetchone() == ("group1",)


def test_an_old_password_is_worth_nothing(clerk: tuple[str, psycopg.Connection], connect: Connect) -> None:
    name, connection = clerk
    connection.execute(f"ALTER ROLE {name} PASSWORD 'ink'".encode())
    with pytest.raises(psycopg.OperationalError):
        connect(name, "pencil")
    assert connect(name, "ink").execute("SHOW is_superuser").fetchone() == ("off",)


def test_a_connection_is_not_for_everybody_to_use(
    boss: psycopg.Connection, clerk: tuple[str, psycopg.Connection], table: str
) -> None:
    name, connection = clerk
    boss.execute(f"CREATE SECRET s_{table} AS 'x'".encode())
    options = f"ACCESS KEY ID = 'k', SECRET ACCESS KEY = SECRET s_{table}, REGION = 'us'"
    boss.execute(f"CREATE CONNECTION c_{table} TO AWS ({options}) WITH (VALIDATE = false)".encode())
    boss.execute(f"GRANT SELECT ON {table} TO {name}".encode())
    for statement in (
        f"VALIDATE CONNECTION c_{table}",
        f"COPY {table} TO 's3://b/p' WITH (AWS CONNECTION = c_{table}, FORMAT = 'csv')",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied for CONNECTION"):
            connection.execute(statement.encode())
    row = boss.execute("SELECT access_key_id, secret_access_key_secret_id FROM mz_internal.mz_aws_connections")
    [(key, secret)] = row.fetchall()
    assert (key, secret) == ("k", boss.execute(f"SELECT id FROM mz_secrets WHERE name = 's_{table}'").fetchone()[0])


def test_what_was_not_granted_is_denied(
    boss: psycopg.Connection, clerk: tuple[str, psycopg.Connection], table: str
) -> None:
    name, connection = clerk
    for statement in (
        f"SELECT * FROM {table}",
        f"SUBSCRIBE {table}",
        f"COPY {table} TO STDOUT",
        f"INSERT INTO {table} VALUES (2)",
        f"UPDATE {table} SET k = 2",
        f"DELETE FROM {table}",
        f"DROP TABLE {table}",
        f"COMMENT ON TABLE {table} IS 'mine'",
        f"CREATE VIEW v_{table} AS SELECT 1 AS one",
        f"GRANT SELECT ON {table} TO {name}",
        "CREATE ROLE other",
        f"ALTER ROLE {name} SUPERUSER",
        "DROP ROLE materialize",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(statement.encode())
    assert boss.execute(f"SELECT k FROM {table}".encode()).fetchall() == [(1,)]


def test_a_grant_allows_what_it_says_until_it_is_revoked(
    boss: psycopg.Connection, clerk: tuple[str, psycopg.Connection], table: str
) -> None:
    name, connection = clerk
    boss.execute(f"GRANT SELECT, INSERT ON TABLE {table} TO {name}".encode())
    connection.execute(f"INSERT INTO {table} VALUES (2)".encode())
    assert connection.execute(f"SELECT count(*) FROM {table}".encode()).fetchone() == (2,)
    assert connection.execute(f"SELECT has_table_privilege('{table}', 'DELETE')".encode()).fetchone() == (False,)
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied for TABLE"):
        connection.execute(f"DELETE FROM {table}".encode())
    boss.execute(f"REVOKE ALL ON {table} FROM {name}".encode())
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(f"SELECT count(*) FROM {table}".encode())


def test_a_view_lends_its_owners_eyes(
    boss: psycopg.Connection, clerk: tuple[str, psycopg.Connection], table: str
) -> None:
    name, connection = clerk
    boss.execute(f"CREATE VIEW seen_{table} AS SELECT k + 1 AS k FROM {table}".encode())
    boss.execute(f"GRANT SELECT ON seen_{table} TO {name}".encode())
    assert connection.execute(f"SELECT k FROM seen_{table}".encode()).fetchall() == [(2,)]


def test_members_have_what_their_group_was_granted(
    boss: psycopg.Connection, clerk: tuple[str, psycopg.Connection], table: str
) -> None:
    name, connection = clerk
    boss.execute(f"CREATE ROLE readers_{table}".encode())
    boss.execute(f"GRANT SELECT ON {table} TO readers_{table}".encode())
    boss.execute(f"GRANT readers_{table} TO {name}".encode())
    assert connection.execute(f"SELECT k FROM {table}".encode()).fetchall() == [(1,)]
    with pytest.raises(psycopg.errors.InvalidGrantOperation):
        boss.execute(f"GRANT {name} TO readers_{table}".encode())
    boss.execute(f"REVOKE readers_{table} FROM {name}".encode())
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(f"SELECT k FROM {table}".encode())


def test_who_makes_something_owns_it(boss: psycopg.Connection, clerk: tuple[str, psycopg.Connection]) -> None:
    name, connection = clerk
    boss.execute(f"GRANT CREATE ON SCHEMA public TO {name}".encode())
    connection.execute(f"CREATE TABLE of_{name} (k int)".encode())
    connection.execute(f"INSERT INTO of_{name} VALUES (1)".encode())
    assert connection.execute(f"SELECT k FROM of_{name}".encode()).fetchall() == [(1,)]
    with pytest.raises(psycopg.errors.DependentObjectsStillExist):
        boss.execute(f"DROP ROLE {name}".encode())
    owner = "SELECT r.name FROM mz_tables t JOIN mz_roles r ON r.id = t.owner_id WHERE t.name ="
    assert boss.execute(f"{owner} 'of_{name}'".encode()).fetchall() == [(name,)]
    boss.execute(f"ALTER TABLE of_{name} OWNER TO materialize".encode())
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(f"DROP TABLE of_{name}".encode())
    boss.execute(f"DROP TABLE of_{name}".encode())
    boss.execute(f"DROP ROLE {name}".encode())


def test_passwords_show_nowhere(boss: psycopg.Connection) -> None:
    with pytest.raises(psycopg.Error) as caught:
        boss.execute("CREATE ROLE careless PASSWORD 'hunter2' LOGN")
    diagnosis = caught.value.diag  # the client itself shows the line that it sent
    assert "hunter2" not in f"{diagnosis.message_primary} {diagnosis.message_detail} {diagnosis.message_hint}"
    boss.execute("CREATE ROLE careful PASSWORD 'hunter2'")
    for relation in ("mz_roles", "pg_roles", "pg_authid", "pg_user"):
        assert "hunter2" not in repr(boss.execute(f"SELECT * FROM {relation}".encode()).fetchall())


def test_roles_outlive_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    with Engine(spark, tmp_path, pace=Pace(interval=0.02)) as engine:
        engine.sql("CREATE TABLE t (k int); CREATE ROLE r LOGIN PASSWORD 'x'; GRANT SELECT ON t TO r")
    with Engine(spark, tmp_path, pace=Pace(interval=0.02)) as engine:
        role, item = engine.role_store.get("r"), engine.catalog.resolve(("t",))
        assert role.verifier is not None
        assert engine.role_store.may(role, "SELECT", item.id)
        assert not engine.role_store.may(role, "INSERT", item.id)


def test_the_audit_log_says_who_did_what(boss: psycopg.Connection, clerk: tuple[str, psycopg.Connection]) -> None:
    name, connection = clerk
    boss.execute(f"GRANT CREATE ON SCHEMA public TO {name}".encode())
    connection.execute(f"CREATE TABLE a_{name} (k int)".encode())
    connection.execute(f"COMMENT ON TABLE a_{name} IS 'mine'".encode())
    connection.execute(f"DROP TABLE a_{name}".encode())
    events = boss.execute(
        "SELECT event_type, object_type, \"user\", details->>'item' FROM mz_audit_events ORDER BY id"
    ).fetchall()
    assert ("create", "role", "materialize", None) in events
    assert ("grant", "role", "materialize", None) in events
    assert [e for e in events if e[2] == name] == [
        ("create", "table", name, f"a_{name}"),
        ("comment", "table", name, f"a_{name}"),
        ("drop", "table", name, f"a_{name}"),
    ]
    assert "pencil" not in repr(boss.execute("SELECT * FROM mz_audit_events").fetchall())


def test_each_privilege_that_a_sink_takes_is_asked_for(
    boss: psycopg.Connection, clerk: tuple[str, psycopg.Connection], table: str, broker: Broker
) -> None:
    name, connection = clerk
    boss.execute(f"CREATE CLUSTER at_{table} SIZE '1'".encode())
    boss.execute(
        f"CREATE CONNECTION to_{table} TO KAFKA (BROKER '{broker.bootstrap}', SECURITY PROTOCOL PLAINTEXT)".encode()
    )
    boss.execute(f"CREATE MATERIALIZED VIEW of_{table} AS SELECT k FROM {table}".encode())
    sink = (
        f"CREATE SINK out_{table} IN CLUSTER at_{table} FROM of_{table}"
        f" INTO KAFKA CONNECTION to_{table} (TOPIC '{table}') FORMAT JSON ENVELOPE DEBEZIUM"
    )
    for privilege, missing in (
        ("CREATE ON SCHEMA public", "SCHEMA"),
        (f"CREATE ON CLUSTER at_{table}", "CLUSTER"),
        (f"USAGE ON CONNECTION to_{table}", "CONNECTION"),
        (f"SELECT ON of_{table}", "MATERIALIZED VIEW"),
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match=f"permission denied for {missing} "):
            connection.execute(sink.encode())
        boss.execute(f"GRANT {privilege} TO {name}".encode())
    connection.execute(sink.encode())
    boss.execute(f"REVOKE SELECT ON of_{table} FROM {name}".encode())
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(sink.replace("out_", "again_").encode())
    boss.execute(f"DROP CLUSTER at_{table} CASCADE".encode())


@contextmanager
def outside() -> Iterator[tuple[str, list[str]]]:
    """A port, and who has come to it.  Nobody is answered."""
    visitors: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def note() -> None:
            with suppress(OSError):  # the test is over
                while True:
                    connection, _ = listening.accept()
                    visitors.append("somebody")
                    connection.close()

        threading.Thread(target=note, daemon=True).start()
        yield f"127.0.0.1:{listening.getsockname()[1]}", visitors
        listening.shutdown(socket.SHUT_RDWR)


def lead_outside(boss: psycopg.Connection, name: str, table: str, address: str) -> None:
    """Connections to the port, and a source elsewhere, none of which the clerk may use."""
    for statement in (
        f"CREATE SECRET of_{table} AS 'x'",
        f"CREATE CONNECTION to_{table} TO KAFKA (BROKER '{address}', SECURITY PROTOCOL PLAINTEXT)"
        " WITH (VALIDATE = false)",
        f"CREATE CONNECTION reg_{table} TO CONFLUENT SCHEMA REGISTRY (URL 'http://{address}')"
        " WITH (VALIDATE = false)",
        f"CREATE CONNECTION aws_{table} TO AWS (ENDPOINT = 'http://{address}', REGION = 'us', ACCESS KEY ID = 'k',"
        f" SECRET ACCESS KEY = SECRET of_{table}) WITH (VALIDATE = false)",
        f"GRANT SELECT ON {table} TO {name}",
    ):
        boss.execute(statement.encode())


def table_from_source(boss: psycopg.Connection, table: str, broker: Broker, topic: TopicFactory) -> str:
    """A statement that asks the registry for a schema."""
    topic_name = topic("read")
    where = f"(BROKER '{broker.bootstrap}', SECURITY PROTOCOL PLAINTEXT)"
    boss.execute(f"CREATE CONNECTION read_{table} TO KAFKA {where}".encode())
    boss.execute(f"CREATE SOURCE read_from_{table} FROM KAFKA CONNECTION read_{table} (TOPIC '{topic_name}')".encode())
    avro = f"FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION reg_{table}"
    return f"CREATE TABLE d_{table} FROM SOURCE read_from_{table} (REFERENCE \"{topic_name}\") {avro}"


def altered(table: str) -> str:
    """A statement that tries out what it has altered."""
    return (
        f"ALTER CONNECTION mine_{table} SET (SASL PASSWORD = SECRET of_{table}), SET (SASL USERNAME = 'u'),"
        " SET (SASL MECHANISMS = 'PLAIN'), SET (SECURITY PROTOCOL = 'SASL_PLAINTEXT')"
    )


def test_nobody_outside_is_asked_for_those_who_may_not(
    boss: psycopg.Connection,
    clerk: tuple[str, psycopg.Connection],
    table: str,
    broker: Broker,
    topic: TopicFactory,
) -> None:
    """Whatever is refused for want of a privilege, nobody has heard of."""
    name, connection = clerk
    with outside() as (address, visitors):
        lead_outside(boss, name, table, address)
        kafka = f"FROM KAFKA CONNECTION to_{table} (TOPIC 'x')"
        avro = f"FORMAT AVRO USING CONFLUENT SCHEMA REGISTRY CONNECTION reg_{table}"
        login = f"SASL MECHANISMS 'PLAIN', SASL USERNAME 'u', SASL PASSWORD SECRET of_{table}"
        statements = (
            f"CREATE SINK a_{table} FROM {table} INTO KAFKA CONNECTION to_{table} (TOPIC 'x') FORMAT JSON"
            " ENVELOPE DEBEZIUM",
            f"CREATE SOURCE b_{table} {kafka} FORMAT JSON",
            f"CREATE SOURCE b_{table} {kafka} {avro}",
            f"CREATE CONNECTION c_{table} TO KAFKA (BROKER '{address}', {login})",
            table_from_source(boss, table, broker, topic),
            f"VALIDATE CONNECTION to_{table}",
            f"COPY {table} TO 's3://b/p' WITH (AWS CONNECTION = aws_{table}, FORMAT = 'csv')",
        )
        for grant in ("USAGE ON SCHEMA public", "CREATE ON SCHEMA public", "CREATE ON CLUSTER quickstart"):
            boss.execute(f"GRANT {grant} TO {name}".encode())
            for statement in statements:
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(statement.encode())
        mine = f"CREATE CONNECTION mine_{table} TO KAFKA (BROKER '{address}', SECURITY PROTOCOL PLAINTEXT)"
        connection.execute(f"{mine} WITH (VALIDATE = false)".encode())
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied for SECRET"):
            connection.execute(altered(table).encode())
        assert visitors == []


@pytest.mark.slow
def test_without_the_question_somebody_outside_would_hear_of_it(
    boss: psycopg.Connection,
    clerk: tuple[str, psycopg.Connection],
    table: str,
    broker: Broker,
    topic: TopicFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The defence switched off: the test above sees what it says it sees."""
    name, connection = clerk
    with outside() as (address, visitors):
        lead_outside(boss, name, table, address)
        for place in ("SCHEMA public", "CLUSTER quickstart"):
            boss.execute(f"GRANT CREATE ON {place} TO {name}".encode())
        mine = f"CREATE CONNECTION mine_{table} TO KAFKA (BROKER '{address}', SECURITY PROTOCOL PLAINTEXT)"
        connection.execute(f"{mine} WITH (VALIDATE = false)".encode())
        statements = (table_from_source(boss, table, broker, topic), altered(table))
        monkeypatch.setattr(privileges, "check_needs", lambda session, item: None)
        for statement in statements:
            visitors.clear()
            with pytest.raises(psycopg.Error) as caught:
                connection.execute(statement.encode())
            assert visitors, caught.value


def test_who_makes_roles_cannot_become_a_superuser(
    boss: psycopg.Connection, clerk: tuple[str, psycopg.Connection], connect: Connect
) -> None:
    name, connection = clerk
    boss.execute(f"CREATE ROLE deputy_{name} SUPERUSER LOGIN PASSWORD 'x'".encode())
    boss.execute(f"GRANT CREATEROLE ON SYSTEM TO {name}".encode())
    connection.execute(f"CREATE ROLE made_{name} LOGIN PASSWORD 'x'".encode())
    connection.execute(f"ALTER ROLE made_{name} PASSWORD 'y'".encode())
    connection.execute(f"GRANT made_{name} TO {name}".encode())
    for statement in (
        "ALTER ROLE materialize PASSWORD 'mine'",
        f"ALTER ROLE deputy_{name} PASSWORD 'mine'",
        f"ALTER ROLE made_{name} SUPERUSER",
        f"CREATE ROLE more_{name} SUPERUSER",
        f"GRANT materialize TO {name}",
        f"DROP ROLE deputy_{name}",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(statement.encode())
    assert connect(f"made_{name}", "y").execute("SHOW is_superuser").fetchone() == ("off",)
    connection.execute(f"DROP ROLE made_{name}".encode())
    boss.execute(f"DROP ROLE deputy_{name}".encode())


def test_grants_on_everything_in_a_schema_and_on_clusters_are_shown_and_hold(
    boss: psycopg.Connection, clerk: tuple[str, psycopg.Connection], table: str
) -> None:
    name, connection = clerk
    boss.execute(f"CREATE VIEW also_{table} AS SELECT k FROM {table}".encode())
    boss.execute(f"CREATE CLUSTER for_{table} SIZE '1'".encode())
    boss.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {name}".encode())
    count = f"SELECT count(*) FROM also_{table}".encode()
    assert connection.execute(count).fetchone() == (1,)
    connection.execute(f"SET cluster = for_{table}".encode())
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied for CLUSTER"):
        connection.execute(count)
    boss.execute(f"GRANT USAGE ON CLUSTER for_{table} TO {name}".encode())
    assert connection.execute(count).fetchone() == (1,)
    shown = boss.execute(f"SHOW PRIVILEGES WHERE grantee = '{name}' AND name LIKE '%{table}'".encode()).fetchall()
    assert sorted(shown, key=str) == sorted(
        [
            ("materialize", name, None, None, f"for_{table}", "cluster", "USAGE"),
            ("materialize", name, "materialize", "public", f"also_{table}", "view", "SELECT"),
            ("materialize", name, "materialize", "public", table, "table", "SELECT"),
        ],
        key=str,
    )
    boss.execute(f"DROP CLUSTER for_{table}".encode())


def test_a_member_without_inherit_has_the_rights_of_its_group_after_set_role(
    boss: psycopg.Connection, clerk: tuple[str, psycopg.Connection], table: str
) -> None:
    name, connection = clerk
    group, below = f"readers_{table}", f"below_{table}"
    for statement in (
        f"CREATE ROLE {group}",
        f"CREATE ROLE {below}",
        f"GRANT SELECT ON {table} TO {group}",
        f"GRANT {group} TO {below}",
        f"GRANT {below} TO {name}",
        f"ALTER ROLE {below} NOINHERIT",
    ):
        boss.execute(statement.encode())
    read = f"SELECT k FROM {table}".encode()
    asked = f"SELECT pg_has_role('{group}', 'MEMBER'), pg_has_role('{group}', 'USAGE')".encode()
    assert connection.execute(asked).fetchone() == (True, False)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(read)
    connection.execute(f"SET ROLE {group}".encode())
    assert connection.execute(read).fetchall() == [(1,)]
    assert connection.execute("SELECT current_user, session_user").fetchone() == (group, name)
    connection.execute("RESET ALL")
    assert connection.execute("SHOW role").fetchone() == (group,)
    connection.execute("RESET ROLE")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(read)
    boss.execute(f"ALTER ROLE {below} INHERIT".encode())
    assert connection.execute(read).fetchall() == [(1,)]


def test_set_role_is_for_members_and_ends_with_its_transaction(
    boss: psycopg.Connection, clerk: tuple[str, psycopg.Connection]
) -> None:
    name, connection = clerk
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied to set role"):
        connection.execute("SET ROLE materialize")
    with pytest.raises(psycopg.errors.UndefinedObject):
        boss.execute("SET ROLE nobody")
    assert boss.info.parameter_status("is_superuser") == "on"
    boss.execute(f"SET ROLE {name}".encode())
    assert boss.info.parameter_status("is_superuser") == "off"
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        boss.execute("CREATE ROLE other")
    boss.execute("SET ROLE NONE")
    for end, after in (("ROLLBACK", "materialize"), ("COMMIT", name)):
        boss.execute("BEGIN")
        boss.execute(f"SET ROLE {name}".encode())
        boss.execute(end.encode())
        assert boss.execute("SELECT current_user").fetchone() == (after,)
    boss.execute("DISCARD ALL")
    boss.execute("BEGIN")
    boss.execute(f"SET LOCAL ROLE {name}".encode())
    assert boss.execute("SELECT current_user").fetchone() == (name,)
    boss.execute("COMMIT")
    assert boss.execute("SELECT current_user").fetchone() == ("materialize",)


def test_what_a_role_owns_is_dropped_or_given_away_before_it_goes(
    boss: psycopg.Connection, clerk: tuple[str, psycopg.Connection], connect: Connect
) -> None:
    name, connection = clerk
    boss.execute(f"CREATE ROLE heir_{name} LOGIN PASSWORD 'x'".encode())
    boss.execute(f"GRANT CREATE ON SCHEMA public TO {name}, heir_{name}".encode())
    connection.execute(f"CREATE TABLE kept_{name} (k int)".encode())
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(f"ALTER TABLE kept_{name} OWNER TO heir_{name}".encode())
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connect(f"heir_{name}", "x").execute(f"DROP OWNED BY {name}".encode())
    boss.execute(f"REASSIGN OWNED BY {name} TO heir_{name}".encode())
    connection.execute(f"CREATE TABLE gone_{name} (k int)".encode())
    boss.execute(f"CREATE VIEW of_{name} AS SELECT k FROM gone_{name}".encode())
    with pytest.raises(psycopg.errors.DependentObjectsStillExist):
        boss.execute(f"DROP OWNED BY {name}".encode())
    boss.execute(f"DROP OWNED BY {name} CASCADE".encode())
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(f"CREATE TABLE more_{name} (k int)".encode())
    boss.execute(f"DROP ROLE {name}".encode())
    owned = "SELECT t.name FROM mz_tables t JOIN mz_roles r ON r.id = t.owner_id WHERE r.name ="
    assert boss.execute(f"{owned} 'heir_{name}'".encode()).fetchall() == [(f"kept_{name}",)]


def test_ones_own_sessions_can_be_cancelled_and_ended(
    boss: psycopg.Connection, clerk: tuple[str, psycopg.Connection], connect: Connect
) -> None:
    name, connection = clerk
    other = connect(name, "pencil")
    for each in (boss, connection, other):
        assert each.execute("SELECT pg_backend_pid()").fetchone() == (each.info.backend_pid,)
    for function in ("pg_cancel_backend", "pg_terminate_backend"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(f"SELECT {function}({boss.info.backend_pid})".encode())
        assert connection.execute(f"SELECT {function}(2000000000)".encode()).fetchone() == (False,)
    with pytest.raises(psycopg.errors.QueryCanceled):
        connection.execute("SELECT pg_cancel_backend(pg_backend_pid()), count(*) FROM generate_series(1, 100000)")
    ended = f"SELECT pg_terminate_backend({other.info.backend_pid})".encode()
    assert connection.execute(ended).fetchone() == (True,)
    with pytest.raises(psycopg.errors.AdminShutdown):
        _ask_on(other)
    assert boss.execute(f"SELECT pg_terminate_backend({connection.info.backend_pid})".encode()).fetchone() == (True,)
    with pytest.raises(psycopg.errors.AdminShutdown):
        _ask_on(connection)


def _ask_on(connection: psycopg.Connection) -> None:
    while True:
        connection.execute("SELECT 1")
