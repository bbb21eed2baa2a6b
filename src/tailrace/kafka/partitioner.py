"""Partitions by a function of one's own: `'sink.partitioner' = 'module:function'`.

    @partitioner
    def by_customer(keys, values, partitions):
        return [hash_of(value) % partitions for value in values.to_pylist()]

It is given whole columns: Arrow arrays of the keys' and values' bytes, and how many partitions there are; it answers a
partition for each message.  The module must be importable wherever messages are written, executors included.  Only a
function that is marked so is called: a statement can name any module.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import pyarrow as pa

from tailrace.errors import SqlError

Partitioner: TypeAlias = Callable[[pa.Array, pa.Array, int], Sequence[int]]

_MARK = "tailrace_partitioner"


def partitioner(function: Partitioner) -> Partitioner:
    """Lets a function be named as a sink's partitioner."""
    setattr(function, _MARK, True)
    return function


def load_partitioner(name: str) -> Partitioner:
    """The function that `module:function` names.  Raises SqlError if there is none, or it is not marked."""
    module, _, path = name.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise SqlError(f"cannot find the partitioner '{name}'", detail=str(error), sqlstate="42883") from error
    if not getattr(found, _MARK, False):
        raise SqlError(
            f"'{name}' is no partitioner",
            hint="Write @partitioner before the function, from tailrace.kafka.partitioner.",
            sqlstate="42809",
        )
    return found  # type: ignore[no-any-return]


def partitions_of(name: str, keys: pa.Array, values: pa.Array, partitions: int) -> list[int]:
    """What the function that `name` names says.  Raises SqlError if it fails, or says no partitions."""
    function = load_partitioner(name)
    try:
        numbers = [int(number) for number in function(keys, values, partitions)]
    except Exception as error:
        raise SqlError(
            f"partitioner '{name}' failed: {type(error).__name__}: {error}", sqlstate="38000"
        ) from error
    if len(numbers) != len(values) or any(not 0 <= number < partitions for number in numbers):
        raise SqlError(
            f"partitioner '{name}' gave no partition of each message",
            detail=f"There are {len(values)} messages and {partitions} partitions, the first of which is 0.",
            sqlstate="39000",
        )
    return numbers
