"""Hashes that decide a message's partition, over whole Arrow columns: seahash, Kafka's murmur2 and CRC-32.

The same key bytes give the same number as in Materialize's sinks (seahash) and in Kafka's Java clients
(murmur2).  A column is hashed block by block, all its keys at once (types/byte_column.py).
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tailrace.types.byte_column import ByteColumn

Hashes: TypeAlias = npt.NDArray[np.uint64]

_SEA_STATE = (0x16F11FE89B0D677C, 0xB480A793D8E6C86C, 0x6FE2E5AAF078EBC9, 0x14F994A4C5259381)
_SEA_PRIME = np.uint64(0x6EED0E9DA4D94A4F)
_MURMUR_SEED = 0x9747B28C
_MURMUR_M = np.uint32(0x5BD1E995)
_CRC_POLYNOMIAL = 0xEDB88320


def seahash(keys: pa.Array, skip: int = 0) -> Hashes:
    """SeaHash, 64 bits, of each value of a binary or text column.  A NULL hashes like an empty value.

    `skip`: so many bytes at the beginning of each value count for nothing.
    """
    values = ByteColumn(keys, skip)
    lanes = [np.full(len(values), start, np.uint64) for start in _SEA_STATE]
    for step, block in enumerate(values.blocks("<u8")):
        # The state rotates: at step n the lane n mod 4 is the one that takes the block.
        lane, still = lanes[step % 4], len(block)
        lane[:still] = _diffuse(lane[:still] ^ block)
    # A finished key's lanes are a rotation of the definition's, and xor does not care.
    total = lanes[0] ^ lanes[1] ^ lanes[2] ^ lanes[3] ^ values.lengths.astype(np.uint64)
    return values.in_order(_diffuse(total))


def murmur2(keys: pa.Array) -> npt.NDArray[np.uint32]:
    """Kafka's murmur2, 32 bits with the high bit cleared, as its default partitioner uses it."""
    values = ByteColumn(keys)
    state = np.uint32(_MURMUR_SEED) ^ values.lengths.astype(np.uint32)
    whole = values.lengths // 4
    for step, block in enumerate(values.blocks("<u4")):
        full = int(np.searchsorted(-whole, -step, side="left"))  # keys with more than `step` whole words
        word = block[:full] * _MURMUR_M
        word = (word ^ (word >> np.uint32(24))) * _MURMUR_M
        state[:full] = (state[:full] * _MURMUR_M) ^ word
        # What follows the last whole word is mixed in without the scrambling above.
        state[full : len(block)] = (state[full : len(block)] ^ block[full:]) * _MURMUR_M
    state = (state ^ (state >> np.uint32(13))) * _MURMUR_M
    return values.in_order((state ^ (state >> np.uint32(15))) & np.uint32(0x7FFFFFFF))


def crc32(keys: pa.Array) -> npt.NDArray[np.uint32]:
    """CRC-32 of IEEE 802.3."""
    values = ByteColumn(keys)
    state = np.full(len(values), 0xFFFFFFFF, np.uint32)
    for block in values.blocks("u1"):
        still = state[: len(block)]
        state[: len(block)] = _CRC_TABLE[(still ^ block) & np.uint32(0xFF)] ^ (still >> np.uint32(8))
    return values.in_order(state ^ np.uint32(0xFFFFFFFF))


def _diffuse(x: Hashes) -> Hashes:
    x = x * _SEA_PRIME
    x = x ^ ((x >> np.uint64(32)) >> (x >> np.uint64(60)))
    return x * _SEA_PRIME


def _crc_table() -> npt.NDArray[np.uint32]:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        half = table >> np.uint32(1)
        table = np.where(table & 1, half ^ np.uint32(_CRC_POLYNOMIAL), half)
    return table


_CRC_TABLE = _crc_table()
