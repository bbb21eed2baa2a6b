"""psql, psycopg 3 and asyncpg against the real engine: statements, parameters, types, notices, errors."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import Iterator
from decimal import Decimal

import asyncpg
import psycopg
import pytest
from psycopg.types.range import Range, RangeInfo

from tailrace.server.listener import Server


@pytest.fixture
def connection(server: Server) -> Iterator[psycopg.Connection]:
    dsn = f"host=127.0.0.1 port={server.port} user=materialize dbname=materialize"
    with psycopg.connect(dsn, autocommit=True) as opened:
        yield opened


@pytest.fixture(scope="module", autouse=True)
def bids(server: Server) -> None:
    dsn = f"host=127.0.0.1 port={server.port} user=materialize dbname=materialize"
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE bids (item int NOT NULL, price numeric(38,2), note text, PRIMARY KEY (item))")
        connection.execute("INSERT INTO bids VALUES (1, 12.50, 'first'), (2, 3, NULL)")
        connection.execute("CREATE MATERIALIZED VIEW spent AS SELECT count(*) AS n, sum(price) AS total FROM bids")


def test_rows_come_back_in_their_types(connection: psycopg.Connection) -> None:
    rows = connection.execute("SELECT item, price, note FROM bids ORDER BY item").fetchall()
    assert rows == [(1, Decimal("12.5"), "first"), (2, Decimal("3"), None)]


def test_parameters_take_the_type_of_their_place(connection: psycopg.Connection) -> None:
    assert connection.execute("SELECT note FROM bids WHERE item = %s", (1,)).fetchall() == [("first",)]
    assert connection.execute("SELECT %s::text || '!'", ("tea",)).fetchone() == ("tea!",)


def test_a_write_is_seen_by_the_next_read(connection: psycopg.Connection) -> None:
    assert connection.execute("INSERT INTO bids VALUES (%s, %s, %s)", (7, Decimal("1.25"), "x")).rowcount == 1
    assert connection.execute("SELECT n, total FROM spent").fetchone() == (3, Decimal("16.75"))
    assert connection.execute("UPDATE bids SET price = price * 2 WHERE item = 7").rowcount == 1
    assert connection.execute("DELETE FROM bids WHERE item = 7").rowcount == 1
    assert connection.execute("SELECT n, total FROM spent").fetchone() == (2, Decimal("15.5"))


def test_a_change_takes_parameters_and_names_with_a_table_before_them(connection: psycopg.Connection) -> None:
    connection.execute("INSERT INTO bids VALUES (20, 1, 'a'), (21, 2, 'b')")
    update = "UPDATE bids SET price = %s, note = bids.note || %s WHERE bids.item = %s"
    assert connection.execute(update, (Decimal("7.5"), "!", 20)).rowcount == 1
    assert connection.execute("UPDATE bids AS b SET note = NULL WHERE b.item = %s;", (21,)).rowcount == 1
    found = connection.execute("SELECT price, note FROM bids WHERE item >= %s ORDER BY item", (20,)).fetchall()
    assert found == [(Decimal("7.5"), "a!"), (Decimal(2), None)]
    assert connection.execute("DELETE FROM bids b WHERE b.item = ANY(%s)", ([20, 21],)).rowcount == 2


def test_returning_tells_what_went_in_and_out(connection: psycopg.Connection) -> None:
    insert = "INSERT INTO bids VALUES (%s, 2.5, 'r'), (31, NULL, NULL) RETURNING item, price * 2 AS twice, bids.note"
    cursor = connection.execute(insert, (30,))
    assert [column.name for column in cursor.description or ()] == ["item", "twice", "note"]
    assert sorted(cursor.fetchall()) == [(30, Decimal(5), "r"), (31, None, None)]
    with pytest.raises(psycopg.errors.DivisionByZero):
        connection.execute("INSERT INTO bids (item) VALUES (32) RETURNING 1 / (item - 32)")
    update = "UPDATE bids AS b SET price = %s, note = 'u' WHERE item >= %s RETURNING item, b.price, note"
    assert sorted(connection.execute(update, (Decimal(4), 30)).fetchall()) == [(30, 4, "u"), (31, 4, "u")]
    with pytest.raises(psycopg.errors.DivisionByZero):
        connection.execute("UPDATE bids SET price = 0 WHERE item = 30 RETURNING 1 / price")
    gone = connection.execute("DELETE FROM bids WHERE item >= 30 RETURNING *")
    assert gone.rowcount == 2, "what cannot be told does not go in"
    assert sorted(gone.fetchall()) == [(30, 4, "u"), (31, 4, "u")]
    assert connection.execute("DELETE FROM bids WHERE item >= 30 RETURNING item").fetchall() == []


def test_an_error_has_everything_a_person_needs(connection: psycopg.Connection) -> None:
    with pytest.raises(psycopg.errors.UndefinedColumn) as caught:
        connection.execute("SELECT itm FROM bids")
    diagnosis = caught.value.diag
    assert (diagnosis.message_primary, diagnosis.statement_position) == ('column "itm" does not exist', "8")
    assert "item" in (diagnosis.message_hint or "")


def test_an_unknown_option_is_refused_where_it_stands(connection: psycopg.Connection) -> None:
    statement = "CREATE CONNECTION c TO KAFKA (BROKR 'localhost:9092')"
    with pytest.raises(psycopg.errors.SyntaxError) as caught:
        connection.execute(statement)
    assert caught.value.diag.statement_position == str(statement.index("BROKR") + 1)


def test_division_by_zero_is_an_error_and_not_a_null(connection: psycopg.Connection) -> None:
    with pytest.raises(psycopg.errors.DivisionByZero):
        connection.execute("SELECT 1 / (item - 1) FROM bids")


def test_a_query_may_read_the_catalog_and_a_table(connection: psycopg.Connection) -> None:
    query = "SELECT c.name, b.item FROM mz_columns c JOIN mz_objects o ON o.id = c.id, bids b WHERE o.name = 'bids'"
    rows = connection.execute(f"{query} AND c.position = b.item AND current_setting('cluster') = 'quickstart'")
    assert sorted(rows.fetchall()) == [("item", 1), ("price", 2)]
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="constants"):
        connection.execute("SELECT format_type(item::oid, 1) FROM bids")
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="system relations"):
        connection.execute("CREATE MATERIALIZED VIEW m AS SELECT * FROM mz_objects")


def test_a_notice_says_what_was_skipped(connection: psycopg.Connection) -> None:
    heard: list[str] = []
    connection.add_notice_handler(lambda notice: heard.append(str(notice.message_primary)))
    connection.execute("CREATE TABLE IF NOT EXISTS bids (item int)")
    assert heard == ['table "bids" already exists, skipping']


def test_what_others_depend_on_is_not_dropped(connection: psycopg.Connection) -> None:
    with pytest.raises(psycopg.errors.DependentObjectsStillExist) as caught:
        connection.execute("DROP TABLE bids")
    assert "CASCADE" in (caught.value.diag.message_hint or "")


def test_psycopg_learns_of_ranges_from_the_catalog(connection: psycopg.Connection) -> None:
    known = RangeInfo.fetch(connection, "int4range")
    assert known is not None
    assert (known.oid, known.array_oid, known.subtype_oid) == (3904, 3905, 23)
    query = "SELECT r @> %s, upper(r) FROM (SELECT %s::int4range) s(r)"
    assert connection.execute(query, (5, Range(1, 9))).fetchone() == (True, 9)


def test_asyncpg_prepares_and_fetches(server: Server) -> None:
    async def conversation() -> list[tuple[int, str]]:
        connection = await asyncpg.connect(
            host="127.0.0.1", port=server.port, user="materialize", database="materialize"
        )
        try:
            rows = await connection.fetch("SELECT item, note FROM bids WHERE item < $1 ORDER BY item", 2)
            return [(row["item"], row["note"]) for row in rows]
        finally:
            await connection.close()

    assert asyncio.run(conversation()) == [(1, "first")]


def test_asyncpg_learns_of_types_that_postgres_does_not_have(server: Server) -> None:
    """It asks the catalog for them, with a recursion inside a recursion."""

    async def conversation() -> tuple[object, ...]:
        connection = await asyncpg.connect(
            host="127.0.0.1", port=server.port, user="materialize", database="materialize"
        )
        try:
            row = await connection.fetchrow("SELECT 7::uint4 AS n, ARRAY[1, 2] AS ns, 5::mz_timestamp AS t")
            return tuple(row.values())
        finally:
            await connection.close()

    assert asyncio.run(conversation()) == ("7", [1, 2], "5")


@pytest.mark.skipif(shutil.which("psql") is None, reason="psql is not installed")
def test_psql_shows_rows_and_draws_the_caret(server: Server) -> None:
    command = ["psql", "-X", "-h", "127.0.0.1", "-p", str(server.port), "-U", "materialize", "materialize"]
    text = "SELECT item, note FROM bids ORDER BY item;\nSELECT nope FROM bids;\n"
    answer = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120)
    assert "    1 | first" in answer.stdout
    assert 'ERROR:  column "nope" does not exist' in answer.stderr
    assert "^" in answer.stderr
