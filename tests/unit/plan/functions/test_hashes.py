"""Partition hashes: the published values, and those computed independently of any product code."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unit.plan.conftest import Meanings

VECTORS = {
    "": (14492805990617963705, 275646681, 0),
    "a": (3009532316786026829, 584102524, 3904355907),
    "abc": (9257550784264072582, 479470107, 891568578),
    "12345678": (8739073611186757572, 338742798, 2598427311),
    "123456789": (13331223911193280505, 325246566, 3421780262),
    "héllo": (17582830808151870966, 614509002, 2654700086),
    '{"customer_id":1,"order_id":7}': (11085735544473259962, 627443533, 3003329469),
}


def test_vectors(means: Meanings) -> None:
    sea = {f"seahash('{key}')": str(value) for key, (value, _, _) in VECTORS.items()}
    murmur = {f"kafka_murmur2('{key}')": str(value) for key, (_, value, _) in VECTORS.items()}
    crc = {f"crc32('{key}')": str(value) for key, (_, _, value) in VECTORS.items()}
    crc[r"crc32('\x0000002a'::bytea)"] = "4211021514"
    means({**sea, **murmur, **crc, "seahash(null::text)": None, r"seahash('\x54'::bytea)": "9416369421163358073"})
