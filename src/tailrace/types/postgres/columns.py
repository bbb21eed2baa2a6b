"""Arrow arrays as building blocks of wire bytes, whole columns at a time."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def plain(values: pa.Array) -> pa.Array:
    """The same values without a dictionary, lists with 32-bit offsets: the forms that the encoders know."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_large_list(values.type) or pa.types.is_fixed_size_list(values.type):
        values = values.cast(pa.list_(values.type.value_type))
    return values


def concat(*parts: pa.Array | str | bytes) -> pa.Array:
    """The parts joined, row by row.  At least one is an array."""
    kind = next(part.type for part in parts if isinstance(part, pa.Array))
    scalars = (part if isinstance(part, pa.Array) else pa.scalar(part, kind) for part in parts)
    return pc.binary_join_element_wise(*scalars, pa.scalar("" if pa.types.is_string(kind) else b"", kind))


def big_endian(numbers: pa.Array, layout: str) -> pa.Array:
    """Numbers in network order; `layout` is numpy's name for it, e.g. `>i4`.  NULL becomes zero."""
    held = pc.fill_null(numbers, 0) if numbers.null_count else numbers
    return fixed(held.to_numpy(zero_copy_only=False).astype(layout))


def fixed(numbers: np.ndarray) -> pa.Array:
    """The bytes of each number of a numpy array, as they lie in memory."""
    held = pa.py_buffer(numbers.tobytes())
    kind = pa.binary(numbers.dtype.itemsize)
    return pa.Array.from_buffers(kind, len(numbers), [None, held]).cast(pa.binary())


def where_valid(source: pa.Array, values: pa.Array) -> pa.Array:
    """`values`, but NULL where `source` is."""
    if not source.null_count:
        return values
    return pc.if_else(source.is_valid(), values, pa.scalar(None, values.type))


def length_prefixed(values: pa.Array) -> pa.Array:
    """Bytes with their length before them in four bytes; NULL is the length -1.  This is a field of a row."""
    sizes = big_endian(pc.fill_null(pc.binary_length(values), -1), ">i4")
    return concat(sizes, pc.fill_null(values, b""))


def list_parts(values: pa.Array) -> tuple[pa.Array, pa.Array]:
    """The offsets of a list column, starting at 0, and the elements they point at.  Works on slices."""
    offsets = values.offsets
    first, last = offsets[0].as_py(), offsets[-1].as_py()
    return pc.subtract(offsets, first), values.values.slice(first, last - first)


def strings(values: Iterable[str | None]) -> pa.Array:
    return pa.array(list(values), pa.string())


def blobs(values: Iterable[bytes | None]) -> pa.Array:
    return pa.array(list(values), pa.binary())
