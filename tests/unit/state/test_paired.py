"""Pairs that meet on the driver are those of a nested loop."""

from __future__ import annotations

import random
from collections import Counter

import pyarrow as pa
import pytest

from tailrace.state import paired as module
from tailrace.state.paired import paired


def side(name: str, *rows: tuple[int, int]) -> pa.Table:
    """Rows of (h, weight), each with a value of its own."""
    values = [f"{name}{i}" for i in range(len(rows))]
    hashes, weights = [list(column) for column in zip(*rows, strict=True)] if rows else ([], [])
    return pa.table(
        {
            "h": pa.array(hashes, pa.int64()),
            "c0": pa.array(values, pa.string()),
            "weight": pa.array(weights, pa.int64()),
        }
    )


def as_counter(table: pa.Table) -> Counter[tuple[str, str, int]]:
    return Counter(zip(*(table[name].to_pylist() for name in ("c0", "c1", "weight")), strict=True))


@pytest.mark.parametrize("seed", range(20))
def test_every_pair_under_one_hash(seed: int) -> None:
    rng = random.Random(seed)
    left, right = (
        side(name, *((rng.randrange(-4, 4), rng.choice([-2, -1, 1, 3])) for _ in range(rng.randrange(12))))
        for name in "lr"
    )
    expected = Counter(
        (a["c0"], b["c0"], a["weight"] * b["weight"])
        for a in left.to_pylist()
        for b in right.to_pylist()
        if a["h"] == b["h"]
    )
    found = paired(left, right)
    assert found is not None
    assert found.schema.names == ["c0", "c1", "weight"]
    assert as_counter(found) == expected


def test_too_many_are_left_to_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_PAIRS", 5)
    many, few = side("l", (1, 1), (1, 1), (1, 1)), side("r", (1, 1), (1, 1))
    assert paired(many, few) is None
    assert paired(few, side("r", (1, 1), (1, 1))) is not None
