"""All scalar functions, by name and by id."""

from __future__ import annotations

from collections import defaultdict

from tailrace.plan.functions import (
    bytes,
    catalog,
    conditional,
    hashes,
    json,
    json_build,
    json_path,
    nested,
    numbers,
    operators,
    patterns,
    ranges,
    strings,
    times,
)
from tailrace.plan.functions.entry import Function

FAMILIES = (
    operators, conditional, numbers, strings, patterns, bytes, times, json, json_build, json_path, nested, hashes,
    catalog, ranges,
)  # fmt: skip

_BY_NAME: dict[str, list[Function]] = defaultdict(list)
_BY_ID: dict[str, Function] = {}
for _family in FAMILIES:
    for _function in _family.FUNCTIONS:
        assert _function.id not in _BY_ID, _function.id
        _BY_NAME[_function.name].append(_function)
        _BY_ID[_function.id] = _function


def candidates(name: str) -> list[Function]:
    """The overloads of a name, in the order of the tables."""
    return _BY_NAME.get(name, [])


def by_id(id: str) -> Function:
    """The entry that a Call names."""
    return _BY_ID[id]


def names() -> tuple[str, ...]:
    return tuple(_BY_NAME)
