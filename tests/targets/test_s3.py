"""COPY … TO a bucket of a real S3 server; what DuckDB and pyarrow read there is the relation at one tick."""

from __future__ import annotations

import datetime
import itertools
import re
import socket
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from tailrace.engine.engine import Engine
from tailrace.errors import SqlError, Unavailable
from tailrace.sinks import s3_export
from tailrace.testing.proxy import Proxy
from tailrace.testing.s3 import ACCESS_KEY, S3, SECRET_KEY

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def connection(engine: Engine, s3: S3) -> str:
    engine.sql(f"CREATE SECRET s3_secret AS '{SECRET_KEY}'")
    engine.sql(
        f"CREATE CONNECTION bucket_connection TO AWS (ACCESS KEY ID = '{ACCESS_KEY}',"
        f" SECRET ACCESS KEY = SECRET s3_secret, ENDPOINT = '{s3.endpoint}', REGION = 'us')"
    )
    engine.sql("CREATE CONNECTION no_bucket TO REDIS (HOST '127.0.0.1') WITH (VALIDATE = false)")
    engine.sql("CREATE CONNECTION amazon TO AWS (ACCESS KEY ID 'x', SECRET ACCESS KEY SECRET s3_secret)")
    engine.sql("CREATE TABLE few (id int NOT NULL, t text)")
    engine.sql("INSERT INTO few VALUES (1, 'a'), (2, NULL), (3, '')")
    return "bucket_connection"


@pytest.fixture
def bucket(s3: S3, connection: str) -> str:
    return s3.make_bucket(f"bucket{next(_numbers)}")


def copy(engine: Engine, what: str, to: str, options: str) -> str:
    [result] = engine.session().sql(f"COPY {what} TO {to} WITH (AWS CONNECTION = bucket_connection, {options})")
    return result.tag


def files(s3: S3, bucket: str) -> list[Path]:
    return list(s3.objects(bucket).values())


def test_a_relation_as_csv(engine: Engine, s3: S3, bucket: str) -> None:
    assert copy(engine, "few", f"'s3://{bucket}/a/b'", "FORMAT = 'csv'") == "COPY 3"
    names = list(s3.objects(bucket))
    assert all(re.fullmatch(r"a/b/mz-[0-9a-f]+-batch-\d{4}-0000\.csv", name) for name in names), names
    lines = "".join(path.read_text() for path in files(s3, bucket)).splitlines()
    assert sorted(lines) == ["1,a", "2,", '3,""']


CSV = "SELECT id, t FROM (VALUES (1, e'a,b\\n\"c\"'), (2, NULL), (3, ''), (4, 'plain'), (5, '\\.')) AS v(id, t)"


def test_duckdb_reads_the_csv_as_it_was(engine: Engine, s3: S3, bucket: str) -> None:
    copy(engine, f"({CSV})", f"'s3://{bucket}/' || 'x' || '/'", "FORMAT csv")
    paths = [str(path) for path in files(s3, bucket)]
    found = duckdb.sql(f"SELECT * FROM read_csv({paths}, header=false, allow_quoted_nulls=false)").fetchall()
    expected = [(1, 'a,b\n"c"'), (2, None), (3, ""), (4, "plain"), (5, "\\.")]
    assert sorted(found) == expected
    assert sorted(row for path in paths for row in read_by_arrow(path)) == expected


def read_by_arrow(path: str) -> list[tuple[object, ...]]:
    read = pa.csv.ReadOptions(column_names=["id", "t"])
    parse = pa.csv.ParseOptions(newlines_in_values=True)
    convert = pa.csv.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False, null_values=[""])
    return [tuple(row.values()) for row in pa.csv.read_csv(path, read, parse, convert).to_pylist()]


def test_csv_with_options(engine: Engine, s3: S3, bucket: str) -> None:
    options = "FORMAT csv, HEADER, DELIMITER '|', NULL 'none', QUOTE '''', ESCAPE '\\'"
    query = "SELECT id, t AS \"a|b\" FROM (VALUES (1, 'x|y'), (2, NULL), (3, 'none'), (4, 'it''s')) AS v(id, t)"
    copy(engine, f"({query})", f"'s3://{bucket}/o'", options)
    lines = [path.read_text().splitlines() for path in files(s3, bucket)]
    assert {header for header, *_ in lines} == {"id|'a|b'"}
    assert sorted(line for _, *rest in lines for line in rest) == ["1|'x|y'", "2|none", "3|'none'", "4|'it\\'s'"]


def test_one_column_with_the_end_mark_is_quoted(engine: Engine, s3: S3, bucket: str) -> None:
    copy(engine, "(SELECT '\\.'::text AS t)", f"'s3://{bucket}/o'", "FORMAT csv")
    [path] = files(s3, bucket)
    assert path.read_text() == '"\\."\n'


UUID = bytes.fromhex("a0eebc999c0b4ef8bb6d6bb9bd380a11")
BOUNDS = {"lower": None, "upper": None, "lower_inclusive": False, "upper_inclusive": False, "empty": False}
TYPES: dict[str, tuple[str, str, object]] = {
    "a": ("boolean", "true", True),
    "b": ("smallint", "-5", -5),
    "c": ("bigint", "5", 5),
    "d": ("real", "1.5", 1.5),
    "e": ("double precision", "1e300", 1e300),
    "f": ("numeric(38,2)", "12.5", Decimal("12.50")),
    "g": ("numeric", "0.125", Decimal("0.1250000000")),
    "h": ("text", "'ü'", "ü"),
    "i": ("varchar(5)", "'x'", "x"),
    "j": ("char(3)", "'x'", "x  "),
    "k": ("bytea", "'\\x00ff'", b"\x00\xff"),
    "l": ("date", "'2024-07-03'", datetime.date(2024, 7, 3)),
    "m": ("time", "'18:43:05.312456'", datetime.time(18, 43, 5, 312456)),
    "n": ("timestamp", "'2024-07-03 18:43:05.3'", datetime.datetime(2024, 7, 3, 18, 43, 5, 300000)),  # noqa: DTZ001
    "o": ("timestamptz", "'2024-07-03 18:43:05+00'", datetime.datetime(2024, 7, 3, 18, 43, 5, tzinfo=datetime.UTC)),
    "q": ("jsonb", "'{\"a\": 1}'", '{"a":1}'),
    "r": ("uuid", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", UUID),
    "s": ("text list", "LIST['a', NULL]", ["a", None]),
    "t": ("uint8", "18446744073709551615", 18446744073709551615),
    "u": ("map[text=>int]", "'{a=>1}'", [("a", 1)]),
    "v": ("uint2", "65535", 65535),
    "w": ("int[]", "ARRAY[1, 2]", {"items": [1, 2], "dimensions": 1}),
    "y": ("int4range", "'[1,5]'", {**BOUNDS, "lower": 1, "upper": 6, "lower_inclusive": True}),
    "z": ("tsrange", "'(,2024-07-03]'", {**BOUNDS, "upper": datetime.datetime(2024, 7, 3), "upper_inclusive": True}),  # noqa: DTZ001
    "aa": ("numrange", "'empty'", {**BOUNDS, "empty": True}),
    "x": ("uuid list", "LIST['a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid]", [UUID]),
}


def test_every_type_as_parquet(engine: Engine, s3: S3, bucket: str) -> None:
    values = ", ".join(f"({value})::{type} AS {column}" for column, (type, value, _) in TYPES.items())
    nulls = ", ".join(f"NULL::{type}" for type, _, _ in TYPES.values())
    tag = copy(engine, f"(SELECT {values} UNION ALL SELECT {nulls})", f"'s3://{bucket}/p'", "FORMAT = 'parquet'")
    assert tag == "COPY 2"
    tables = [pq.read_table(path) for path in files(s3, bucket)]
    rows = pa.concat_tables(tables).to_pylist()
    [row] = [each for each in rows if each["a"]]
    assert row == {column: value for column, (_, _, value) in TYPES.items()}
    [other] = [each for each in rows if not each["a"]]
    assert set(other.values()) == {None}
    stored = pq.ParquetFile(files(s3, bucket)[0])
    extensions = {field.name: field.metadata[b"ARROW:extension:name"] for field in stored.schema_arrow}
    assert extensions["r"] == b"materialize.v1.uuid"
    assert extensions["o"] == b"materialize.v1.timestamptz"
    assert stored.metadata.row_group(0).column(0).compression == "SNAPPY"
    physical = {stored.schema.column(i).path: stored.schema.column(i).physical_type for i in range(10)}
    assert physical["f"] == "FIXED_LEN_BYTE_ARRAY"
    paths = [str(path) for path in files(s3, bucket)]
    seen = duckdb.sql(f"SELECT n, f, t FROM read_parquet({paths}) WHERE a").fetchall()
    assert seen == [(TYPES["n"][2], Decimal("12.50"), 18446744073709551615)]


ODD = "SELECT 'NaN'::double precision AS a, '-Infinity'::real AS b, 'Infinity'::double precision AS c, 'NaN' AS d"


def test_what_is_no_number_stays_what_it_is(engine: Engine, s3: S3, bucket: str) -> None:
    copy(engine, f"({ODD})", f"'s3://{bucket}/p'", "FORMAT parquet")
    [path] = files(s3, bucket)
    assert str(pq.read_table(path).to_pylist()) == "[{'a': nan, 'b': -inf, 'c': inf, 'd': 'NaN'}]"
    copy(engine, f"({ODD})", f"'s3://{bucket}/c'", "FORMAT csv")
    [path] = [each for each in files(s3, bucket) if each.suffix == ".csv"]
    assert path.read_text() == "NaN,-Infinity,Infinity,NaN\n"
    types = "{'a': 'DOUBLE', 'b': 'FLOAT', 'c': 'DOUBLE', 'd': 'VARCHAR'}"
    read = duckdb.sql(f"SELECT * FROM read_csv('{path}', header=false, columns={types})").fetchall()
    assert str(read) == "[(nan, -inf, inf, 'NaN')]"


def test_many_rows_become_files_of_bounded_size(engine: Engine, s3: S3, bucket: str) -> None:
    """Every row once, wherever it went."""
    query = "SELECT n, repeat(md5(n::text), 8) AS t FROM generate_series(1, 300000) AS g(n)"
    assert copy(engine, f"({query})", f"'s3://{bucket}/many'", "FORMAT parquet, MAX FILE SIZE '16MB'") == "COPY 300000"
    paths = files(s3, bucket)
    assert len(paths) > 1
    assert all(path.stat().st_size < 32 << 20 for path in paths)
    shown = [str(path) for path in paths]
    [found] = duckdb.sql(f"SELECT count(*), count(DISTINCT n), min(n), max(n) FROM read_parquet({shown})").fetchall()
    assert found == (300_000, 300_000, 1, 300_000)


def test_repeated_names_get_a_number(engine: Engine, s3: S3, bucket: str) -> None:
    copy(engine, "(SELECT 1 AS a, 2 AS a, 3 AS a)", f"'s3://{bucket}/p'", "FORMAT parquet")
    assert pq.read_table(files(s3, bucket)[0]).to_pylist() == [{"a": 1, "a2": 2, "a3": 3}]


def test_nothing_is_a_file_too(engine: Engine, s3: S3, bucket: str) -> None:
    assert copy(engine, "(SELECT * FROM few WHERE id > 9)", f"'s3://{bucket}/p'", "FORMAT parquet") == "COPY 0"
    [path] = files(s3, bucket)
    assert pq.read_table(path).column_names == ["id", "t"]
    assert copy(engine, "(SELECT * FROM few WHERE id > 9)", f"'s3://{bucket}/c'", "FORMAT csv") == "COPY 0"
    assert s3.objects(bucket)[next(name for name in s3.objects(bucket) if name.startswith("c/"))].read_text() == ""


def test_a_path_that_is_not_empty_is_refused(engine: Engine, s3: S3, bucket: str) -> None:
    copy(engine, "few", f"'s3://{bucket}/p'", "FORMAT csv")
    before = list(s3.objects(bucket))
    with pytest.raises(SqlError, match=r"S3 bucket path is not empty, contains 1 objects"):
        copy(engine, "few", f"'s3://{bucket}/p'", "FORMAT csv")
    assert list(s3.objects(bucket)) == before


def test_after_a_failure_the_sentinel_stays_and_the_next_copy_begins_anew(
    engine: Engine, s3: S3, bucket: str
) -> None:
    """1/3 has more digits than numeric has in Parquet: known when the row is met."""
    query = "SELECT id, (1::numeric / (id + 2))::numeric AS part FROM few"
    with pytest.raises(SqlError, match="out of range for column with precision"):
        copy(engine, f"({query})", f"'s3://{bucket}/p'", "FORMAT parquet")
    [name] = s3.objects(bucket)
    assert re.fullmatch(r"p/mz-[0-9a-f]+-INCOMPLETE", name)
    [result] = engine.session().sql(
        f"COPY few TO 's3://{bucket}/p' WITH (AWS CONNECTION = bucket_connection, FORMAT csv)"
    )
    assert result.tag == "COPY 3"
    assert [notice.message for notice in result.notices] == [
        f"a COPY to s3://{bucket}/p has not finished, and is begun anew"
    ]
    assert all("-batch-" in each for each in s3.objects(bucket))


def left_by(engine: Engine, s3: S3, bucket: str, mark: str) -> None:
    """As if a COPY had been killed in the middle."""
    copy(engine, "few", f"'s3://{bucket}/p'", "FORMAT csv")
    folder = next(iter(s3.objects(bucket).values())).parent
    own = next(iter(s3.objects(bucket))).split("-")[1]
    for path in list(folder.iterdir()):
        path.rename(path.with_name(path.name.replace(own, mark + own[8:])))
    (folder / f"mz-{mark}{own[8:]}-INCOMPLETE").touch()
    s3.settle()


def test_what_another_engine_has_not_finished_is_left_alone(engine: Engine, s3: S3, bucket: str) -> None:
    """It may be writing still."""
    left_by(engine, s3, bucket, "0" * 8)
    before = list(s3.objects(bucket))
    with pytest.raises(SqlError, match="is not empty") as caught:
        copy(engine, "few", f"'s3://{bucket}/p'", "FORMAT csv")
    assert "a COPY of another engine runs, or has not finished" in str(caught.value.detail)
    assert list(s3.objects(bucket)) == before


def test_so_is_what_is_beside_our_own_leavings(engine: Engine, s3: S3, bucket: str) -> None:
    with pytest.raises(SqlError, match="division by zero"):
        copy(engine, "(SELECT 1 / (id - 1) FROM few)", f"'s3://{bucket}/p'", "FORMAT csv")
    [sentinel] = s3.objects(bucket).values()
    (sentinel.parent / "notes.txt").write_text("mine")
    s3.settle()
    with pytest.raises(SqlError, match="is not empty, contains 2 objects"):
        copy(engine, "few", f"'s3://{bucket}/p'", "FORMAT csv")


def test_two_copies_to_one_path_do_not_replace_each_other(engine: Engine, s3: S3, bucket: str) -> None:
    statement = f"COPY few TO 's3://{bucket}/p' WITH (AWS CONNECTION = bucket_connection, FORMAT csv)"
    engine.exports[f"{bucket}/p"] = "somebody"
    with pytest.raises(SqlError, match=rf"another COPY to s3://{bucket}/p is running"):
        engine.sql(statement)
    assert not s3.objects(bucket)
    del engine.exports[f"{bucket}/p"]
    engine.sql(statement)
    assert not engine.exports


def test_files_that_somebody_deletes_meanwhile_are_missed(
    engine: Engine, s3: S3, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two engines on copies of one data directory take each other for dead."""

    def delete_one() -> None:
        next(path for path in s3.objects(bucket).values() if "-batch-" in path.name).unlink()

    when_written(delete_one, s3, monkeypatch)
    with pytest.raises(SqlError, match="1 objects of this COPY were deleted by somebody else"):
        copy(engine, "few", f"'s3://{bucket}/p'", "FORMAT csv")
    assert any(name.endswith("INCOMPLETE") for name in s3.objects(bucket))


def when_written(act: Callable[[], None], s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    """Has something done when all files of a COPY are there, and its sentinel is too."""

    def crash_point(point: str) -> None:
        if point == "copy.written_not_complete":
            act()
            s3.settle()

    monkeypatch.setattr(s3_export, "crash_point", crash_point)


def test_files_that_somebody_adds_meanwhile_stay(
    engine: Engine, s3: S3, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a task that was run again has left goes."""

    def add() -> None:
        folder = next(iter(s3.objects(bucket).values())).parent
        mark = next(iter(s3.objects(bucket))).split("-")[1][:8]
        (folder / f"mz-{mark}{'a' * 12}-batch-0001-0000.csv").touch()
        (folder / "notes.txt").touch()
        (folder / "deeper").mkdir()
        (folder / "deeper" / f"mz-{mark}{'b' * 12}-batch-0000-0000.csv").touch()

    when_written(add, s3, monkeypatch)
    copy(engine, "few", f"'s3://{bucket}/p'", "FORMAT csv")
    added = [name for name in s3.objects(bucket) if "a" * 12 in name or "b" * 12 in name or "notes" in name]
    assert len(added) == 2
    assert not any("a" * 12 in name for name in added)


def test_gs_is_a_scheme_too(engine: Engine, s3: S3, bucket: str) -> None:
    """Google's storage speaks S3 at its own endpoint."""
    assert copy(engine, "few", f"'gs://{bucket}/p'", "FORMAT csv") == "COPY 3"
    lines = "".join(path.read_text() for path in files(s3, bucket)).splitlines()
    assert sorted(lines) == ["1,a", "2,", '3,""']
    with pytest.raises(SqlError, match="is not empty") as caught:
        copy(engine, "few", f"'gs://{bucket}/p'", "FORMAT csv")
    assert caught.value.detail == f"The path is gs://{bucket}/p."


class Undeletable(Proxy):
    """Before a server that lets nobody delete."""

    def _accepted(self, client: socket.socket) -> socket.socket | None:
        if client.recv(7, socket.MSG_PEEK) != b"DELETE ":
            return client
        said = b"<Error><Code>AccessDenied</Code></Error>"
        client.recv(1 << 16)
        client.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: %d\r\n\r\n%b" % (len(said), said))
        client.close()
        return None


def test_who_may_not_delete_writes_nothing(engine: Engine, s3: S3, bucket: str) -> None:
    with Undeletable(s3.port) as proxy:
        engine.sql(
            f"CREATE CONNECTION undeletable TO AWS (ACCESS KEY ID '{ACCESS_KEY}',"
            f" SECRET ACCESS KEY SECRET s3_secret, ENDPOINT 'http://127.0.0.1:{proxy.port}')"
        )
        with pytest.raises(SqlError, match="AccessDenied error when using DeleteObject") as caught:
            engine.sql(f"COPY few TO 's3://{bucket}/p' WITH (AWS CONNECTION = undeletable, FORMAT csv)")
    assert caught.value.sqlstate == "42501"
    assert caught.value.hint == f"Grant s3:DeleteObject on {bucket}/p/*."
    assert not s3.objects(bucket)


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("COPY few TO 's3://b/p' WITH (AWS CONNECTION = bucket_connection)", "COPY TO <expr> requires a FORMAT option"),
        ("COPY few TO 's3://b/p' WITH (FORMAT = 'csv')", "AWS CONNECTION is required for COPY ... TO <expr>"),
        ("COPY few TO 'file:///x' WITH ({}, FORMAT csv)", "only 's3://...' and 'gs://...' urls are supported"),
        ("COPY few TO 's3:///x' WITH ({}, FORMAT csv)", "only 's3://...' and 'gs://...' urls are supported"),
        ("COPY few TO 's3://b//x' WITH ({}, FORMAT csv)", 'COPY TO target must not have "" between two slashes'),
        ("COPY few TO 's3://b/../x' WITH ({}, FORMAT csv)", 'COPY TO target must not have ".." between two slashes'),
        ("COPY (SELECT) TO 's3://b/x' WITH ({}, FORMAT csv)", "COPY of a query without columns"),
        ("COPY few TO 's3://b/p' WITH ({}, FORMAT csv, MAX FILE SIZE 1000)", "MAX FILE SIZE cannot be less than 16MB"),
        ("COPY few TO NULL WITH ({}, FORMAT csv)", "COPY TO target value can not be null"),
        ("COPY few TO 1 + 1 WITH ({}, FORMAT csv)", "COPY TO target must have type text, not type integer"),
        ("COPY few TO 's3://b/p' WITH ({}, FORMAT text)", "FORMAT TEXT not yet supported"),
        ("COPY few TO 's3://b/p' WITH ({}, FORMAT binary)", "FORMAT BINARY not yet supported"),
        ("COPY few TO 's3://b/p' WITH ({}, FORMAT orc)", "unknown FORMAT: orc"),
        ("COPY (SELECT * FROM few ORDER BY 1) TO 's3://b/p' WITH ({}, FORMAT csv)", "ORDER BY is not supported in"),
        ("COPY few (id) TO 's3://b/p' WITH ({}, FORMAT csv)", "specifying columns for COPY <table_name> TO"),
        ("COPY few TO 's3://b/p' WITH ({}, FORMAT csv, MAX FILE SIZE '1MB')", "MAX FILE SIZE cannot be less than 16MB"),
        ("COPY few TO 's3://b/p' WITH ({}, FORMAT csv, MAX FILE SIZE '5GB')", "cannot be greater than 4GB"),
        ("COPY few TO 's3://b/p' WITH ({}, FORMAT csv, MAX FILE SIZE 'big')", "invalid MAX FILE SIZE: big"),
        ("COPY few TO 's3://b/p' WITH ({}, FORMAT parquet, HEADER)", "HEADER option is not supported with FORMAT"),
        ("COPY few TO 's3://b/p' WITH ({}, FORMAT csv, DELIMITER 'ab')", "must be a single one-byte character"),
        ("COPY few TO 's3://b/p' WITH ({}, FORMAT csv, DELIMITER 'ü')", "must be a single one-byte character"),
        ("COPY few TO 's3://b/p' WITH ({}, FORMAT csv, QUOTE '')", "COPY quote must be a single one-byte character"),
        ("COPY few TO 's3://b/p' WITH ({}, FORMAT csv, NULL e'a\nb')", "null representation cannot use newline"),
        ("COPY few TO 's3://b/p' WITH ({}, FORMAT csv, NULL 'a,b')", "delimiter character must not appear in the NULL"),
        ("COPY few TO 's3://b/p' WITH ({}, FORMAT csv, DELIMITER '\"')", "delimiter and quote must be different"),
        ("COPY few TO 'gs://b/p' WITH (AWS CONNECTION = amazon, FORMAT csv)", "has no ENDPOINT, which a 'gs://...'"),
        ("COPY (SELECT 'NaN'::numeric AS n) TO 's3://b/p' WITH ({}, FORMAT parquet)", "numeric NaN is not supported"),
        ("COPY few FROM 's3://b/p' WITH ({}, FORMAT csv)", "COPY from files not yet supported"),
        ("COPY (SUBSCRIBE few) TO 's3://b/p' WITH ({}, FORMAT csv)", "SUBSCRIBE in COPY ... TO <expr> not supported"),
        ("COPY (SELECT '1 day'::interval AS i) TO 's3://b/p' WITH ({}, FORMAT parquet)", "Cannot encode the following"),
        ("COPY few TO 's3://no-such-bucket/p' WITH ({}, FORMAT csv)", 'bucket "no-such-bucket" does not exist'),
        ("COPY few TO 's3://b/p' WITH (AWS CONNECTION = few, FORMAT csv)", "is a table"),
        ("COPY few TO 's3://b/p' WITH (AWS CONNECTION = no_bucket, FORMAT csv)", "only AWS CONNECTION is supported"),
        ("COPY few TO 's3://b/p' WITH ({}, FORMAT csv, FORMAT csv)", "FORMAT specified more than once"),
        ("CREATE CONNECTION c TO AWS (HOST 'x')", "AWS connections do not support HOST values"),
        ("CREATE CONNECTION c TO AWS (REGION 'x')", "must specify either ASSUME ROLE ARN or ACCESS KEY ID and SECRET"),
        ("CREATE CONNECTION c TO AWS (ACCESS KEY ID 'x')", "must specify both ACCESS KEY ID and SECRET ACCESS KEY"),
        ("CREATE CONNECTION c TO AWS (ACCESS KEY ID 'x', ASSUME ROLE ARN 'y')", "cannot specify both ACCESS KEY ID"),
        ("VALIDATE CONNECTION bucket_connection", "cannot be validated"),
    ],
)
def test_what_cannot_be_is_refused(statement: str, error: str, engine: Engine, s3: S3, connection: str) -> None:
    with pytest.raises(SqlError, match=re.escape(error)):
        engine.sql(statement.replace("{}", "AWS CONNECTION = bucket_connection"))


def test_a_key_that_is_not_known_and_a_server_that_is_not_there(engine: Engine, s3: S3, bucket: str) -> None:
    engine.sql(
        "CREATE CONNECTION wrong TO AWS (ACCESS KEY ID 'x', SECRET ACCESS KEY SECRET s3_secret,"
        f" ENDPOINT '{s3.endpoint}')"
    )
    with pytest.raises(SqlError, match="could not log in") as caught:
        engine.sql(f"COPY few TO 's3://{bucket}/p' WITH (AWS CONNECTION = wrong, FORMAT csv)")
    assert SECRET_KEY not in f"{caught.value} {caught.value.detail}"
    engine.sql(
        "CREATE CONNECTION nowhere TO AWS (ACCESS KEY ID 'x', SECRET ACCESS KEY SECRET s3_secret,"
        " ENDPOINT 'http://127.0.0.1:1')"
    )
    with pytest.raises(Unavailable, match="s3:"):
        engine.sql(f"COPY few TO 's3://{bucket}/p' WITH (AWS CONNECTION = nowhere, FORMAT csv)")


def test_show_create_hides_nothing_but_the_secret(engine: Engine, s3: S3, connection: str) -> None:
    answer = engine.sql("SHOW CREATE CONNECTION bucket_connection")
    assert answer is not None
    shown = answer.to_pylist()[0]["create_sql"]
    assert "SECRET ACCESS KEY = SECRET materialize.public.s3_secret" in shown
    assert SECRET_KEY not in shown
