"""Batches become DataRow messages, byte for byte as if written row by row."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tailrace.server import rows as rows_module
from tailrace.server.messages import BINARY, TEXT, DataRow, RowBlock, encode
from tailrace.server.rows import pieces, row_block, row_description
from tailrace.types import core
from tailrace.types.core import Column, ListOf, Schema

COLUMNS: Schema = (Column("n", core.INTEGER), Column("s", core.TEXT))

ROWS = st.lists(
    st.tuples(st.none() | st.integers(-(2**31), 2**31 - 1), st.none() | st.text(max_size=9)), max_size=9
)


@given(ROWS, st.integers(0, 5))
def test_a_block_is_its_rows(rows: list[tuple[int | None, str | None]], skipped: int) -> None:
    numbers, texts = [n for n, _ in rows], [s for _, s in rows]
    whole = pa.record_batch([pa.array(numbers, pa.int32()), pa.array(texts, pa.string())], names=["c0", "c1"])
    batch = whole.slice(skipped)
    expected = [
        DataRow(
            (
                None if n is None else n.to_bytes(4, "big", signed=True),
                None if s is None else s.encode(),
            )
        )
        for n, s in rows[skipped:]
    ]
    assert row_block(batch, COLUMNS, (BINARY, TEXT)) == RowBlock(
        len(expected), b"".join(map(encode, expected))
    )


def test_rows_without_columns_are_rows() -> None:
    batch = pa.RecordBatch.from_struct_array(pa.array([{}, {}], pa.struct([])))
    assert row_block(batch, (), ()).payload == encode(DataRow(())) * 2


def test_lists_are_described_as_text_whatever_was_asked_for() -> None:
    columns = (Column("l", ListOf(core.INTEGER)), Column("n", core.INTEGER))
    assert [c.format for c in row_description(columns, (BINARY, BINARY)).columns] == [TEXT, BINARY]


def test_pieces_hold_every_row_once() -> None:
    wide = pa.record_batch([pa.array(["x" * rows_module.PIECE_BYTES] * 5)], names=["c0"])
    assert [piece.num_rows for piece in pieces(wide)] == [1] * 5
    narrow = pa.record_batch([pa.array(range(100_000))], names=["c0"])
    assert pa.Table.from_batches(list(pieces(narrow))).equals(pa.Table.from_batches([narrow]))
    assert list(pieces(narrow.slice(0, 0))) == []
