"""Spark's xxhash64 of whole Arrow columns: the hash of a key (layout.py) of rows that are on the driver already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tailrace.types.byte_column import ByteColumn

Hashes: TypeAlias = npt.NDArray[np.uint64]

_SEED = 42
_P1, _P2, _P3, _P4, _P5 = (
    np.uint64(prime)
    for prime in (
        0x9E3779B185EBCA87,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0x85EBCA77C2B2AE63,
        0x27D4EB2F165667C5,
    )
)

_SHORT = {"boolean": pa.uint8(), "tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(), "date": pa.int32()}
_LONG = {"bigint", "timestamp", "timestamp_ntz"}
_BYTES = {"string", "binary"}


def can_hash(types: Sequence[str]) -> bool:
    """Whether keys of these Spark types are hashed here.  Decimals, floats and nested values are left to Spark."""
    return all(type in _SHORT or type in _LONG or type in _BYTES for type in types)


def hashed(columns: Sequence[pa.ChunkedArray], types: Sequence[str], rows: int) -> npt.NDArray[np.int64]:
    """What `key_hash` gives for `rows` rows.  A NULL adds nothing to the hash of the columns before it."""
    if not columns:
        return np.zeros(rows, np.int64)
    state = np.full(rows, _SEED, np.uint64)
    with np.errstate(over="ignore"):
        for column, type in zip((each.combine_chunks() for each in columns), types, strict=True):
            there = column.is_valid().to_numpy(zero_copy_only=False)
            state = np.where(there, _hash(column, type, state), state)
    return state.view(np.int64)


def _hash(column: pa.Array, type: str, seed: Hashes) -> Hashes:
    if type in _SHORT:
        values = _numbers(column, _SHORT[type]).astype(np.int32).view(np.uint32)
        return _mixed(_with_half(seed + _P5 + np.uint64(4), values.astype(np.uint64)))
    if type in _LONG:
        return _mixed(_with_word(seed + _P5 + np.uint64(8), _numbers(column, pa.int64()).view(np.uint64)))
    return _of_bytes(column, seed)


def _numbers(column: pa.Array, type: pa.DataType) -> npt.NDArray[np.int64]:
    whole = column.cast(type) if pa.types.is_boolean(column.type) else column.view(type)
    numbers: npt.NDArray[np.int64] = whole.fill_null(0).to_numpy(zero_copy_only=False)
    return numbers


def _of_bytes(column: pa.Array, seed: Hashes) -> Hashes:
    """Stripes of four words go to four lanes; then they are one, which takes the rest: words, half a word, bytes."""
    values = ByteColumn(column)
    lengths = values.lengths
    seed = values.by_length(seed)
    words, striped = lengths // 8, lengths // 32 * 4
    lanes = [seed + _P1 + _P2, seed + _P2, seed.copy(), seed - _P1]
    state = np.where(striped > 0, np.uint64(0), seed + _P5 + lengths.astype(np.uint64))

    def join_lanes(step: int) -> None:
        """Of the values whose last stripe was the one before this step."""
        ended = (striped == step) & (striped > 0)
        state[ended] = _joined([lane[ended] for lane in lanes]) + lengths[ended].astype(np.uint64)

    step = 0
    for step, block in enumerate(values.blocks("<u8")):
        join_lanes(step)
        # Longest first: values in a stripe, then values with a whole word, then values that end within this one.
        in_stripe, whole = (int(np.searchsorted(-reach, -step, side="left")) for reach in (striped, words))
        lane = lanes[step % 4]
        lane[:in_stripe] = _round(lane[:in_stripe], block[:in_stripe])
        state[in_stripe:whole] = _with_word(state[in_stripe:whole], block[in_stripe:whole])
        ends = slice(whole, len(block))
        state[ends] = _with_tail(state[ends], block[ends], lengths[ends] % 8)
    join_lanes(step + 1)
    hashes: Hashes = values.in_order(_mixed(state))
    return hashes


def _with_tail(state: Hashes, word: Hashes, length: npt.NDArray[np.int64]) -> Hashes:
    """The last bytes, fewer than eight."""
    half = length >= 4
    state = np.where(half, _with_half(state, word & np.uint64(0xFFFFFFFF)), state)
    word = np.where(half, word >> np.uint64(32), word)
    left = np.where(half, length - 4, length)
    for place in range(3):
        byte = (word >> np.uint64(8 * place)) & np.uint64(0xFF)
        state = np.where(place < left, _turned(state ^ (byte * _P5), 11) * _P1, state)
    return state


def _with_half(state: Hashes, half: Hashes) -> Hashes:
    return _turned(state ^ (half * _P1), 23) * _P2 + _P3


def _with_word(state: Hashes, word: Hashes) -> Hashes:
    return _turned(state ^ _round(np.uint64(0), word), 27) * _P1 + _P4


def _round(lane: Hashes | np.uint64, word: Hashes) -> Hashes:
    return _turned(lane + word * _P2, 31) * _P1


def _joined(lanes: Sequence[Hashes]) -> Hashes:
    turned = (_turned(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True))
    state = sum(turned, np.zeros(len(lanes[0]), np.uint64))
    for lane in lanes:
        state = (state ^ _round(np.uint64(0), lane)) * _P1 + _P4
    return state


def _turned(x: Hashes, bits: int) -> Hashes:
    return (x << np.uint64(bits)) | (x >> np.uint64(64 - bits))


def _mixed(x: Hashes) -> Hashes:
    x = (x ^ (x >> np.uint64(33))) * _P2
    x = (x ^ (x >> np.uint64(29))) * _P3
    return x ^ (x >> np.uint64(32))
