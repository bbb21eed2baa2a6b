"""Which window aggregates are final when the watermark has passed: those of a table's own time, and no others."""

from __future__ import annotations

import pytest

from tailrace.errors import SqlError
from tailrace.plan.append_only import is_append_only
from tailrace.plan.bind import bind_query
from tailrace.plan.event_time import event_time
from tailrace.plan.names import FixedNames, Relation
from tailrace.plan.nodes import Aggregate
from tailrace.plan.parse import parse_query
from tailrace.plan.walk import nodes
from tailrace.types.core import BIGINT, TEXT, Column, Timestamp

_COLUMNS = (Column("k", TEXT), Column("n", BIGINT), Column("ts", Timestamp(3)), Column("seen", Timestamp(3)))
TIMED, OTHER, PLAIN = (
    Relation(id=id, kind="table", name=name, schema=_COLUMNS, append_only=True, watermark=watermark)
    for id, name, watermark in (("u1", "timed", 2), ("u2", "other", 2), ("u3", "plain", None))
)
NAMES = FixedNames(TIMED, OTHER, PLAIN)
GROUP = " group by window_start, window_end"


def tumble(table: str, column: str = "ts") -> str:
    return f"tumble(table {table}, descriptor({column}), interval '1' minute)"


FINAL = [
    ("select count(*) from " + tumble("timed") + GROUP, {"u1"}),
    ("select k, sum(n) from table(" + tumble("timed") + ") where n > 1" + GROUP + ", k having count(*) > 1", {"u1"}),
    ("select count(*) from (select window_end e, window_start s from " + tumble("timed") + ") x group by s, e", {"u1"}),
    ("select count(*) from " + tumble("(select ts from timed where k = 'a')") + GROUP, {"u1"}),
    ("select count(*) from " + tumble("(select ts from timed union all select ts from other)") + GROUP, {"u1", "u2"}),
]
GROUPS = [
    "select count(*) from " + tumble("plain") + GROUP,
    "select count(*) from " + tumble("timed", "seen") + GROUP,
    "select count(*) from " + tumble("timed") + " group by window_start",
    "select count(*) from " + tumble("(select ts + interval '1' hour as ts from timed)") + GROUP,
    "select count(*) from " + tumble("(select t.ts from timed t join plain p on t.k = p.k)") + GROUP,
    "select count(*) from " + tumble("(select ts from timed union all select ts from plain)") + GROUP,
    "select count(*) from session(table timed, descriptor(ts), interval '1' minute)" + GROUP,
    "select k, n, count(*) from table(session(table timed partition by k, n, descriptor(ts), interval '1' minute))"
    + f"{GROUP}, k, n",
    "select 1 from session(data => table timed partition by (k), timecol => descriptor(ts), gap => interval '1' day)",
]


@pytest.mark.parametrize(("query", "tables"), FINAL)
def test_these_are_final(query: str, tables: set[str]) -> None:
    node = bind_query(parse_query(query), NAMES).node
    [aggregate] = [each for each in nodes(node) if isinstance(each, Aggregate)]
    found = event_time(aggregate)
    assert found is not None
    assert {scan.relation for scan in found.tables} == tables
    assert aggregate.input.schema[found.end].type == Timestamp(3)
    assert is_append_only(node)


@pytest.mark.parametrize("query", GROUPS)
def test_these_go_on_changing(query: str) -> None:
    node = bind_query(parse_query(query), NAMES).node
    assert all(event_time(each) is None for each in nodes(node) if isinstance(each, Aggregate))
    assert not is_append_only(node)


def test_the_rows_of_windows_themselves_do_not_wait() -> None:
    node = bind_query(parse_query("select * from " + tumble("timed")), NAMES).node
    assert [column.name for column in node.schema][-3:] == ["window_start", "window_end", "window_time"]
    assert is_append_only(node)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("select * from tumble(table timed, descriptor(«k), interval '1' minute)", "timecol"),
        ("select * from tumble(table timed, descriptor(ts), size => interval '1' day, «size => 1)", "takes no SIZE"),
        ("select * from hop(table timed, descriptor(ts), interval '2' minute, «interval '3' minute)", "multiple"),
        ("select * from tumble(table timed, descriptor(ts), «n)", "constant interval"),
        ("select * from session(table timed partition by «x, descriptor(ts), interval '1' minute)", "PARTITION BY"),
        ("select * from session(table timed, descriptor(ts), «interval '1' month)", "in months or years"),
    ],
)
def test_errors_say_where(text: str, message: str) -> None:
    with pytest.raises(SqlError) as caught:
        bind_query(parse_query(text.replace("«", "")), NAMES)
    assert message in caught.value.message
    assert caught.value.position == text.index("«") + 1
