"""COPY to and from the client: formats, options, errors, whole or not at all."""

from __future__ import annotations

import itertools
import shutil
import subprocess
from collections.abc import Iterator
from decimal import Decimal

import psycopg
import pytest
from psycopg.types.range import Range

from tailrace.server.listener import Server

_names = itertools.count(1)


@pytest.fixture
def connection(server: Server) -> Iterator[psycopg.Connection]:
    dsn = f"host=127.0.0.1 port={server.port} user=materialize dbname=materialize"
    with psycopg.connect(dsn, autocommit=True) as opened:
        yield opened


@pytest.fixture
def table(connection: psycopg.Connection) -> str:
    name = f"c{next(_names)}"
    connection.execute(f"CREATE TABLE {name} (k int NOT NULL, v text, n numeric(38,2) DEFAULT 7)".encode())
    return name


def copied(connection: psycopg.Connection, statement: str) -> bytes:
    with connection.cursor().copy(statement.encode()) as copy:
        return b"".join(bytes(part) for part in copy)


def put(connection: psycopg.Connection, statement: str, data: str) -> None:
    with connection.cursor().copy(statement.encode()) as copy:
        copy.write(data.encode())


def rows(connection: psycopg.Connection, table: str) -> list[tuple[int, str | None, Decimal | None]]:
    return connection.execute(f"SELECT k, v, n FROM {table} ORDER BY k".encode()).fetchall()


def test_text_goes_in_and_comes_out_again(connection: psycopg.Connection, table: str) -> None:
    data = "1\ta\\tb\\\\\t1.5\n2\t\\N\t\\N\n3\t\t0\n4\tline\\nend\t2\n"
    put(connection, f"COPY {table} FROM STDIN", data)
    assert rows(connection, table) == [
        (1, "a\tb\\", Decimal("1.5")), (2, None, None), (3, "", Decimal(0)), (4, "line\nend", Decimal(2)),
    ]  # fmt: skip
    assert copied(connection, f"COPY (SELECT * FROM {table} ORDER BY k) TO STDOUT").decode() == data


def test_csv_goes_in_and_comes_out_again(connection: psycopg.Connection, table: str) -> None:
    data = '1,"a ""b"", c",1.5\n2,,\n3,"",0\n4,"two\nlines",2\n'
    put(connection, f"COPY {table} FROM STDIN WITH (FORMAT csv)", data)
    assert [row[1] for row in rows(connection, table)] == ['a "b", c', None, "", "two\nlines"]
    assert copied(connection, f"COPY (SELECT * FROM {table} ORDER BY k) TO STDOUT (FORMAT csv)").decode() == data


def test_csv_has_options(connection: psycopg.Connection, table: str) -> None:
    put(
        connection,
        f"COPY {table} (v, k) FROM STDIN"
        " WITH (FORMAT csv, HEADER, DELIMITER ';', QUOTE '''', ESCAPE '\\', NULL 'none')",
        "v;k\n'it\\'s; x';1\nnone;2\n'none';3\n",
    )
    assert rows(connection, table) == [(1, "it's; x", Decimal(7)), (2, None, Decimal(7)), (3, "none", Decimal(7))]


def test_a_relation_is_copied_by_its_name_and_in_binary(connection: psycopg.Connection, table: str) -> None:
    put(connection, f"COPY {table} FROM STDIN", "1\ta\t1\n")
    assert copied(connection, f"COPY {table} TO STDOUT") == b"1\ta\t1\n"
    with connection.cursor().copy(f"COPY (SELECT k, v FROM {table}) TO STDOUT (FORMAT binary)".encode()) as copy:
        copy.set_types(["int4", "text"])
        assert list(copy.rows()) == [(1, "a")]


def test_ranges_go_in_and_come_out_in_every_format(connection: psycopg.Connection) -> None:
    connection.execute("CREATE TABLE spans (r int4range, t tstzrange)")
    put(connection, "COPY spans FROM STDIN", '[1,5]\t(,"2024-07-03 02:00+02"]\nempty\t\\N\n')
    in_binary = copied(connection, "COPY spans TO STDOUT (FORMAT binary)")
    with connection.cursor().copy("COPY spans FROM STDIN (FORMAT binary)") as copy:
        copy.write(in_binary)
    lines = copied(connection, "COPY spans TO STDOUT").decode().splitlines()
    assert sorted(lines) == ['[1,6)\t(,"2024-07-03 00:00:00+00"]'] * 2 + ["empty\t\\N"] * 2
    given = Range(1, 5, "[]"), Range(empty=True)
    [found] = connection.execute("SELECT %b::int4range, %b::int4range", given, binary=True).fetchall()
    assert found == (Range(1, 6, "[)"), Range(empty=True))
    shown = "SELECT format_type(atttypid, atttypmod), typtype FROM pg_attribute a JOIN pg_type t ON t.oid = atttypid"
    [*types] = connection.execute(f"{shown} WHERE attrelid = 'spans'::regclass ORDER BY attnum").fetchall()
    assert types == [("int4range", "r"), ("tstzrange", "r")]
    with pytest.raises(psycopg.errors.InvalidTextRepresentation, match="malformed range literal"):
        put(connection, "COPY spans FROM STDIN", "[1\t\\N\n")


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ("1\ta\t1\nx\tb\t2\n", psycopg.errors.InvalidTextRepresentation),
        ("1\ta\t1\n\\N\tb\t2\n", psycopg.errors.NotNullViolation),
        ("1\ta\t1\n2\tb\n", psycopg.errors.BadCopyFileFormat),
        ("1\ta\t1\n2\tb\t3\t4\n", psycopg.errors.BadCopyFileFormat),
        ("1\ta\xff\t1\n", None),
    ],
)
def test_one_bad_line_and_nothing_is_copied(
    connection: psycopg.Connection, table: str, data: str, error: type[psycopg.Error] | None
) -> None:
    if error is None:
        put(connection, f"COPY {table} FROM STDIN", data)
        assert rows(connection, table) == [(1, "a\xff", Decimal(1))]
        return
    with pytest.raises(error):
        put(connection, f"COPY {table} FROM STDIN", data)
    assert rows(connection, table) == []


def test_a_client_that_gives_up_has_copied_nothing(connection: psycopg.Connection, table: str) -> None:
    def give_up() -> None:
        with connection.cursor().copy(f"COPY {table} FROM STDIN".encode()) as copy:
            copy.write("1\ta\t1\n")
            raise RuntimeError("changed my mind")

    with pytest.raises(RuntimeError, match="changed my mind"):
        give_up()
    assert rows(connection, table) == []
    assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_transaction_holds_what_was_copied(connection: psycopg.Connection, table: str) -> None:
    connection.execute("BEGIN")
    put(connection, f"COPY {table} FROM STDIN", "1\ta\t1\n")
    connection.execute("ROLLBACK")
    assert rows(connection, table) == []
    with connection.transaction():
        put(connection, f"COPY {table} FROM STDIN", "1\ta\t1\n")
        put(connection, f"COPY {table} FROM STDIN", "2\tb\t1\n")
    assert [row[0] for row in rows(connection, table)] == [1, 2]


def test_options_of_one_format_are_refused_in_another(connection: psycopg.Connection, table: str) -> None:
    with pytest.raises(psycopg.Error, match="available only in CSV mode"):
        put(connection, f"COPY {table} FROM STDIN WITH (HEADER)", "")
    with pytest.raises(psycopg.Error, match="available only in CSV mode"):
        copied(connection, f"COPY {table} TO STDOUT WITH (QUOTE ',')")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ("DELIMITER 'a'", 'COPY delimiter cannot be "a"'),
        ("DELIMITER ''", "COPY delimiter must be a single one-byte character"),
        ("DELIMITER e'\\n'", "COPY delimiter cannot be newline or carriage return"),
        ("NULL e'\\t'", "COPY delimiter character must not appear in the NULL specification"),
        ("FORMAT csv, QUOTE ','", "COPY delimiter and quote must be different"),
        ("FORMAT csv, NULL '\"'", "COPY quote character must not appear in the NULL specification"),
    ],
)
def test_characters_that_could_be_taken_for_others_are_refused(
    options: str, error: str, connection: psycopg.Connection, table: str
) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue, match=error):
        copied(connection, f"COPY {table} TO STDOUT WITH ({options})")


def test_the_older_options_and_a_header_go_both_ways(connection: psycopg.Connection, table: str) -> None:
    put(connection, f"COPY {table} FROM STDIN CSV HEADER DELIMITER ';' NULL 'none'", "k;v;n\n1;\"a;b\";none\n")
    assert rows(connection, table) == [(1, "a;b", None)]
    assert copied(connection, f"COPY {table} TO STDOUT WITH CSV HEADER QUOTE AS ''''") == b"k,v,n\n1,a;b,\n"
    assert copied(connection, f"COPY {table} TO STDOUT (DELIMITER ';', NULL '-')") == b"1;a\\;b;-\n"


@pytest.mark.skipif(shutil.which("psql") is None, reason="psql is not installed")
def test_psql_copies_both_ways(server: Server, connection: psycopg.Connection, table: str) -> None:
    data = "1\tone\t1\n2\ttwo\t2\n\\.\n"
    script = f"\\copy {table} FROM STDIN\n{data}SELECT count(*) FROM {table};\n\\copy {table} TO STDOUT\n"
    address = ["-h", "127.0.0.1", "-p", str(server.port), "-U", "materialize", "materialize"]
    answer = subprocess.run(["psql", "-XAt", *address], input=script, capture_output=True, text=True, timeout=120)
    assert answer.stderr == ""
    lines = answer.stdout.splitlines()
    assert lines[:2] == ["COPY 2", "2"]
    assert sorted(lines[2:]) == ["1\tone\t1", "2\ttwo\t2"]
