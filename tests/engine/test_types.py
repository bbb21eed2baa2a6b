"""Types that PostgreSQL has not, through a table, a view and their text form, and back.  Those that it has are
compared with it in tests/postgres/queries/types.sql.
"""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tailrace.server.listener import Server

VALUES = {
    "uint2": ("65535", "0"),
    "uint4": ("4294967295", "0"),
    "uint8": ("18446744073709551615", "0"),
    "mz_timestamp": ("1720032185312", "0"),
    "integer list": ("{1,NULL,3}", "{}"),
    "text list list": ('{{a,"b c"},{},NULL}', "{NULL}"),
    "map[text=>integer]": ("{a=>1,b=>NULL}", "{}"),
    "map[text=>text]": ('{"k 1"=>"x,y",z=>""}', "{a=>b}"),
    "integer[][]": ("{{1,2},{3,4}}", "{{5},{6}}"),
    "timestamp(3)": ("2024-07-03 18:43:05.312", "1970-01-01 00:00:00"),
    "numeric(38,10)": ("1234567890123456789012345678.0123456789", "-0.5"),
}
"""By type: two text forms, as they come back."""
_COLUMNS = [f"c{i}" for i in range(len(VALUES))]


@pytest.fixture(scope="module")
def connection(server: Server) -> Iterator[psycopg.Connection]:
    dsn = f"host=127.0.0.1 port={server.port} user=materialize dbname=materialize"
    with psycopg.connect(dsn, autocommit=True) as opened:
        columns = ", ".join(f"{name} {type}" for name, type in zip(_COLUMNS, VALUES, strict=True))
        opened.execute(f"CREATE TABLE held (id int, {columns})")
        for row in range(2):
            texts = ", ".join(f"'{forms[row]}'" for forms in VALUES.values())
            opened.execute(f"INSERT INTO held VALUES ({row}, {texts})")
        opened.execute("INSERT INTO held (id) VALUES (2)")
        opened.execute("CREATE MATERIALIZED VIEW held_too AS SELECT * FROM held")
        yield opened


def _rows(connection: psycopg.Connection, query: str) -> list[tuple[str | None, ...]]:
    result = connection.pgconn.exec_(query.encode())
    assert not result.error_message, result.error_message.decode()
    values = (
        tuple(result.get_value(row, i) for i in range(result.nfields)) for row in range(result.ntuples)
    )
    return [tuple(None if value is None else value.decode() for value in row) for row in values]


def _expected() -> list[tuple[str | None, ...]]:
    return [*zip(*VALUES.values(), strict=True), (None,) * len(VALUES)]


@pytest.mark.parametrize("relation", ["held", "held_too"])
def test_a_value_comes_back_as_it_was_given(connection: psycopg.Connection, relation: str) -> None:
    assert _rows(connection, f"SELECT {', '.join(_COLUMNS)} FROM {relation} ORDER BY id") == _expected()


def test_its_text_is_what_is_shown_and_reads_back_as_the_same(connection: psycopg.Connection) -> None:
    texts = ", ".join(f"{name}::text" for name in _COLUMNS)
    assert _rows(connection, f"SELECT {texts} FROM held ORDER BY id") == _expected()
    pairs = zip(_COLUMNS, VALUES, strict=True)
    readable = {name: type for name, type in pairs if not type.startswith("map") and "[][]" not in type}
    same = ", ".join(f"{name}::text::{type} = {name}" for name, type in readable.items())
    assert _rows(connection, f"SELECT {same} FROM held WHERE id < 2") == [("t",) * len(readable)] * 2


def test_equal_values_are_one_group(connection: psycopg.Connection) -> None:
    groupable = [n for n, t in zip(_COLUMNS, VALUES, strict=True) if not t.startswith("map")]
    names = ", ".join(groupable)
    twice = "SELECT * FROM held UNION ALL SELECT * FROM held_too"
    found = _rows(connection, f"SELECT {names}, count(*) FROM ({twice}) t GROUP BY {names}")
    assert len(found) == 3
    assert {row[-1] for row in found} == {"2"}


@pytest.mark.parametrize(
    ("query", "sqlstate"),
    [
        ("SELECT 70000::uint2", "22003"),
        ("SELECT (-1)::uint8", "22003"),
        ("SELECT 0::uint4 - 1::uint4", "22003"),
        ("SELECT '1x'::text::uint4", "22P02"),
        ("SELECT LIST[1, 'x']", "22P02"),
        ("SELECT 'a=>1'::map[text=>integer]", "22P02"),
        ("SELECT '{1,2'::integer list", "22P02"),
        ("SELECT ARRAY[[1, 2], [3]]", "2202E"),
        ("SELECT '{{1,2},{3}}'::integer[]", "22P02"),
    ],
)
def test_what_is_no_value_is_refused(connection: psycopg.Connection, query: str, sqlstate: str) -> None:
    with pytest.raises(psycopg.Error) as caught:
        connection.execute(query)
    assert caught.value.sqlstate == sqlstate
