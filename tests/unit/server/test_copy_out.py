"""COPY … TO STDOUT in its three styles."""

from __future__ import annotations

import pyarrow as pa

from tailrace.server import messages as wire
from tailrace.server.copy_out import CopyOut
from tailrace.server.framing import Framer, Phase
from tailrace.statements.contract import CopyStyle
from tailrace.types import core
from tailrace.types.core import Column, Schema

COLUMNS: Schema = (Column("n", core.INTEGER), Column("s", core.TEXT))
TEXTS = ["plain", None, "", "a\tb\nc\\d", 'q"x,y', "\\.", "\\N"]
BATCH = pa.record_batch([pa.array(range(7), pa.int32()), pa.array(TEXTS)], names=["c0", "c1"])


def lines(style: str | CopyStyle) -> list[bytes]:
    framer = Framer()
    framer.phase = Phase.SESSION
    chosen = style if isinstance(style, CopyStyle) else CopyStyle.of(style)
    framer.feed(CopyOut(COLUMNS, chosen).block(BATCH).payload)
    return [m.data for m in iter(framer.next, None) if isinstance(m, wire.CopyData)]


def test_text_escapes_what_would_end_a_field() -> None:
    assert lines("text")[:4] == [b"0\tplain\n", b"1\t\\N\n", b"2\t\n", b"3\ta\\tb\\nc\\\\d\n"]
    assert lines("text")[4:] == [b'4\tq"x,y\n', b"5\t\\\\.\n", b"6\t\\\\N\n"]


def test_csv_tells_null_from_the_empty_string() -> None:
    assert lines("csv") == [
        b"0,plain\n", b"1,\n", b'2,""\n', b'3,"a\tb\nc\\d"\n', b'4,"q""x,y"\n', b'5,"\\."\n', b"6,\\N\n",
    ]  # fmt: skip


def test_binary_rows_are_counted_fields() -> None:
    assert lines("binary")[1] == b"\0\2\0\0\0\4\0\0\0\1\xff\xff\xff\xff"
    assert CopyOut(COLUMNS, CopyStyle.of("binary")).response() == wire.CopyOutResponse(b"\1", (1, 1))


def test_the_binary_header_comes_with_the_first_row_or_with_the_end() -> None:
    header = b"PGCOPY\n\xff\r\n\0" + bytes(8)
    assert lines("binary")[0] == header + b"\0\2\0\0\0\4\0\0\0\0\0\0\0\5plain"
    assert CopyOut(COLUMNS, CopyStyle.of("binary")).end() == wire.CopyData(header + b"\xff\xff")


def test_rows_without_columns_are_empty_lines() -> None:
    empty = pa.RecordBatch.from_struct_array(pa.array([{}, {}], pa.struct([])))
    assert CopyOut((), CopyStyle.of("text")).block(empty).payload == wire.encode(wire.CopyData(b"\n")) * 2


def test_delimiters_quotes_and_nulls_can_be_chosen() -> None:
    odd = CopyStyle(is_csv=True, delimiter=";", null="plain", quote="'", escape="x", header=True)
    assert lines(odd) == [
        b"n;s\n0;'plain'\n", b"1;plain\n", b"2;\n", b"3;'a\tb\nc\\d'\n", b'4;q"x,y\n', b"5;'\\.'\n", b"6;\\N\n",
    ]  # fmt: skip
    assert lines(CopyStyle(delimiter="a", null="-"))[:4] == [b"0apl\\ain\n", b"1a-\n", b"2a\n", b"3a\\a\\tb\\nc\\\\d\n"]
    assert CopyOut(COLUMNS, CopyStyle(header=True)).end() == wire.CopyData(b"n\ts\n")
