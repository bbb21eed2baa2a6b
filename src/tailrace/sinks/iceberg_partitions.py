"""Iceberg's partition transforms on whole Arrow columns.

pyiceberg has them for single values, and for columns only in a compiled package that it does not need otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg import transforms, types
from pyiceberg.partitioning import PartitionField, PartitionFieldValue, PartitionKey, PartitionSpec
from pyiceberg.schema import Schema

from tailrace.errors import NotSupported

_HOUR = 3_600_000_000
_DAY = 24 * _HOUR
_TIMES = (types.TimestampType, types.TimestamptzType)
_WHOLE = (types.IntegerType, types.LongType)
_AS_LONG = (*_WHOLE, types.DateType, types.TimeType, *_TIMES)
_AS_BYTES = (types.StringType, types.BinaryType, types.FixedType, types.UUIDType)


def check(field: PartitionField, source: types.IcebergType) -> None:
    """Refuses a partition that we cannot write."""
    if not field.transform.can_transform(source) or not _is_known(field.transform, source):
        raise NotSupported(f"partitions by {field.transform} of type {source} not yet supported")


def _is_known(transform: transforms.Transform[Any, Any], source: types.IcebergType) -> bool:
    match transform:
        case transforms.BucketTransform():
            return isinstance(source, _AS_LONG + _AS_BYTES)
        case transforms.TruncateTransform():
            return isinstance(source, (*_WHOLE, types.StringType))
        case _:
            return not isinstance(transform, transforms.UnknownTransform)


def split(table: pa.Table, spec: PartitionSpec, schema: Schema) -> Iterator[tuple[PartitionKey | None, pa.Table]]:
    """The rows of each partition, with its key."""
    if spec.is_unpartitioned():
        yield None, table
        return
    places = pa.table(
        {
            str(i): transformed(field, schema.find_field(field.source_id).field_type, _column(table, schema, field))
            for i, field in enumerate(spec.fields)
        }
    )
    numbered = places.append_column("row", pa.array(np.arange(len(table))))
    groups = numbered.group_by(places.column_names, use_threads=False).aggregate([("row", "list")])
    for group in groups.to_batches():
        rows = group.column("row_list")
        for i in range(group.num_rows):
            values = [
                PartitionFieldValue(field=field, value=group.column(str(n))[i].as_py())
                for n, field in enumerate(spec.fields)
            ]
            key = PartitionKey(field_values=values, partition_spec=spec, schema=schema)
            yield key, table.take(rows[i].values)


def _column(table: pa.Table, schema: Schema, field: PartitionField) -> pa.Array:
    return table.column(schema.find_column_name(field.source_id)).combine_chunks()


def transformed(field: PartitionField, source: types.IcebergType, values: pa.Array) -> pa.Array:
    match field.transform:
        case transforms.BucketTransform(num_buckets=count):
            hashes = _hashes(values, source)
            return _of(values, (hashes & 0x7FFFFFFF).astype(np.int64) % count)
        case transforms.TruncateTransform(width=width) if isinstance(source, types.StringType):
            return pc.utf8_slice_codeunits(values, 0, width)
        case transforms.TruncateTransform(width=width):
            return _of(values, (numbers := _numbers(values)) - np.mod(numbers, width))
        case transforms.YearTransform():
            return pc.subtract(pc.year(values), 1970)
        case transforms.MonthTransform():
            years = pc.subtract(pc.year(values), 1970)
            return pc.add(pc.multiply(years, 12), pc.subtract(pc.month(values), 1))
        case transforms.DayTransform():
            return _of(values, _numbers(values) // (_DAY if isinstance(source, _TIMES) else 1))
        case transforms.HourTransform():
            return _of(values, _numbers(values) // _HOUR)
        case transforms.VoidTransform():
            return pa.nulls(len(values), pa.int32())
        case _:
            return values


def _numbers(values: pa.Array) -> npt.NDArray[np.int64]:
    """What times and whole numbers are inside; 0 for NULL."""
    whole = values.cast(pa.int32()) if pa.types.is_date32(values.type) else values
    numbers: npt.NDArray[np.int64] = whole.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    return numbers


def _of(values: pa.Array, numbers: npt.NDArray[np.int64]) -> pa.Array:
    return pa.array(numbers, mask=values.is_null().to_numpy(zero_copy_only=False))


# ── murmur3, as the specification of Iceberg's buckets asks for it: 32 bits, seed 0 ──

_Words = npt.NDArray[np.uint32]


def _hashes(values: pa.Array, source: types.IcebergType) -> _Words:
    if isinstance(source, _AS_LONG):
        content = _numbers(values).astype("<i8").view(np.uint8)
        ends = np.arange(len(values) + 1, dtype=np.int64) * 8
    else:
        plain = values.cast(pa.large_binary()).fill_null(b"")
        _, offsets, buffer = plain.buffers()
        ends = np.frombuffer(offsets, np.int64)[plain.offset : plain.offset + len(plain) + 1]
        content = np.frombuffer(buffer, np.uint8) if buffer is not None else np.zeros(0, np.uint8)
    return murmur3(content, ends)


def murmur3(content: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64]) -> _Words:
    """Of values that lie one after the other, value i from ends[i] to ends[i + 1]."""
    starts, lengths = ends[:-1], np.diff(ends)
    with np.errstate(over="ignore"):
        hashes = np.zeros(len(lengths), np.uint32)
        for block in range(int(lengths.max(initial=0)) // 4):
            longer = np.flatnonzero(lengths >= 4 * (block + 1))
            at = starts[longer] + 4 * block
            word = _word(content, at, 4)
            hashes[longer] = _rotated(hashes[longer] ^ _mixed(word), 13) * np.uint32(5) + np.uint32(0xE6546B64)
        for left in (1, 2, 3):
            some = np.flatnonzero(lengths % 4 == left)
            at = starts[some] + lengths[some] - left
            hashes[some] ^= _mixed(_word(content, at, left))
        hashes ^= lengths.astype(np.uint32)
        hashes ^= hashes >> np.uint32(16)
        hashes *= np.uint32(0x85EBCA6B)
        hashes ^= hashes >> np.uint32(13)
        hashes *= np.uint32(0xC2B2AE35)
        return hashes ^ (hashes >> np.uint32(16))


def _word(content: npt.NDArray[np.uint8], at: npt.NDArray[np.int64], count: int) -> _Words:
    word: _Words = content[at].astype(np.uint32)
    for i in range(1, count):
        word |= content[at + i].astype(np.uint32) << np.uint32(8 * i)
    return word


def _mixed(word: _Words) -> _Words:
    return _rotated(word * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)


def _rotated(word: _Words, by: int) -> _Words:
    return (word << np.uint32(by)) | (word >> np.uint32(32 - by))
