"""Texts and bytes of a whole column, word by word, for hashing all of them at once.

The values are put in order of length, so that those which still have an n-th word are always a prefix.  The cost
follows the bytes; the longest value sets the number of steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Words: TypeAlias = npt.NDArray[Any]


class ByteColumn:
    """The values of a binary or text column, longest first.  A NULL is like an empty value."""

    def __init__(self, keys: pa.Array, skip: int = 0) -> None:
        column = keys.cast(pa.large_binary()).fill_null(b"")
        _, offsets, data = column.buffers()
        starts = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
        lengths = np.maximum(np.diff(starts) - skip, 0)
        self._order = np.argsort(-lengths, kind="stable")
        self._starts = starts[:-1][self._order] + skip
        self.lengths = lengths[self._order]
        # Eight bytes more than there are: the last block of the last key may reach past the end.
        used = int(starts[-1]) if len(starts) else 0
        self._bytes = np.zeros(used + 8, np.uint8)
        if used:
            self._bytes[:used] = np.frombuffer(data, np.uint8, used)

    def __len__(self) -> int:
        return len(self.lengths)

    def blocks(self, word: str) -> Iterator[Words]:
        """The n-th little-endian word of every value that reaches so far, the last one padded with zeros."""
        size = np.dtype(word).itemsize
        # One word at every byte: a view that overlaps itself, read where the keys say.
        everywhere: Words = np.ndarray((len(self._bytes) - size + 1,), word, self._bytes, strides=(1,))
        longest = int(self.lengths[0]) if len(self) else 0
        for reached in range(0, longest, size):
            still = int(np.searchsorted(-self.lengths, -reached, side="left"))
            block = everywhere[self._starts[:still] + reached]
            missing = np.maximum(size - (self.lengths[:still] - reached), 0)
            yield block & _MASKS[size][missing]

    def by_length(self, column: Words) -> Words:
        """Something known of each value, in the order of the sorted values."""
        return column[self._order]

    def in_order(self, hashes: Words) -> Words:
        """Hashes of the sorted values, put back in the column's order."""
        result = np.empty_like(hashes)
        result[self._order] = hashes
        return result


def _masks(size: int) -> Words:
    """By the number of bytes missing from a word of `size` bytes: the bits that are there."""
    bits = [(1 << 8 * (size - missing)) - 1 for missing in range(size)]
    return np.array(bits, dtype=f"u{size}")


_MASKS = {size: _masks(size) for size in (1, 4, 8)}
