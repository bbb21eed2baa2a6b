"""pg8000: a driver in pure Python that names the types of its parameters itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pg8000.native
import pytest

from clients.values import COLUMNS, VALUES
from tailrace.server.listener import Server


@pytest.fixture
def connection(server: Server) -> Iterator[Any]:
    opened = pg8000.native.Connection("materialize", host="127.0.0.1", port=server.port, database="materialize")
    yield opened
    opened.close()


def test_parameters_of_every_type_go_in_and_come_back(connection: Any) -> None:
    connection.run(f"CREATE TABLE pg8000_values ({COLUMNS}, j jsonb)")
    marks = ", ".join(f":c{i}" for i in range(len(VALUES)))
    values = {f"c{i}": value for i, value in enumerate(VALUES.values())}
    connection.run(f"INSERT INTO pg8000_values VALUES ({marks}, :j)", **values, j='{"a": [1, null]}')
    assert connection.row_count == 1
    [row] = connection.run("SELECT * FROM pg8000_values WHERE c0 = :it", it=True)
    assert row == [*VALUES.values(), {"a": [1, None]}]
    assert [column["name"] for column in connection.columns][-1] == "j"


def test_statements_subscriptions_errors(connection: Any, server: Server) -> None:
    connection.run("CREATE TABLE pg8000_followed (k int)")
    connection.run("INSERT INTO pg8000_followed VALUES (1)")
    prepared = connection.prepare("SELECT k + :more FROM pg8000_followed")
    assert (prepared.run(more=1), prepared.run(more=2)) == ([[2]], [[3]])
    prepared.close()
    connection.run("START TRANSACTION")
    connection.run("DECLARE c CURSOR FOR SUBSCRIBE pg8000_followed")
    assert [row[1:] for row in connection.run("FETCH 1 c")] == [[1, 1]]
    connection.run("ROLLBACK")
    with pytest.raises(pg8000.native.DatabaseError) as caught:
        connection.run("SELECT itm FROM pg8000_followed")
    assert (caught.value.args[0]["C"], caught.value.args[0]["P"]) == ("42703", "8")
    assert connection.run("SELECT 1") == [[1]]


def test_copy_goes_in_and_out(connection: Any) -> None:
    connection.run("CREATE TABLE pg8000_copied (k int, v text)")
    connection.run("COPY pg8000_copied FROM STDIN", stream=["1\tone\n", "2\t\\N\n"])
    written: list[bytes] = []

    class Sink:
        def write(self, data: bytes) -> None:
            written.append(data)

    connection.run("COPY (SELECT * FROM pg8000_copied ORDER BY k) TO STDOUT", stream=Sink())
    assert b"".join(bytes(piece) for piece in written) == b"1\tone\n2\t\\N\n"
