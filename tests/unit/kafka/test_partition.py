"""The vectors were computed independently of any product code, and agree with the published ones."""

import zlib

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.kafka.partition import crc32, murmur2, seahash

VECTORS = [
    (b"", 14492805990617963705, 275646681, 0),
    (b"a", 3009532316786026829, 584102524, 3904355907),
    (b"abc", 9257550784264072582, 479470107, 891568578),
    (b"foobar", 5348458858952426560, 1357151166, 2666930069),
    (b"12345678", 8739073611186757572, 338742798, 2598427311),
    (b"123456789", 13331223911193280505, 325246566, 3421780262),
    ("héllo".encode(), 17582830808151870966, 614509002, 2654700086),
    (b'{"id":42}', 801974143622394212, 486015037, 1725307114),
    (b'{"region":"emea"}', 10174113381428330658, 1997745189, 4056624806),
    (b'{"customer_id":1,"order_id":7}', 11085735544473259962, 627443533, 3003329469),
    (bytes.fromhex("54"), 9416369421163358073, 427252747, 3187964512),
    (bytes.fromhex("08656d6561"), 11462738566521333775, 968187325, 2560241074),
    (bytes.fromhex("0000002a"), 3950952037985868326, 1606757304, 4211021514),
    (b"42", 554841234276106826, 417700972, 841265288),
    (b"1", 2929670310044459792, 154038159, 2212294583),
    (b"to be or not to be", 1988685042348123509, None, None),
    (b"love is a wonderful terrible thing", 4784284276849692846, None, None),
    (bytes.fromhex("0208656d6561"), 10730250287021625737, None, None),
]


@pytest.mark.parametrize(("key", "sea", "murmur", "crc"), VECTORS)
def test_a_key_alone_gives_the_published_hashes(key, sea, murmur, crc):
    column = pa.array([key], pa.binary())
    assert seahash(column).tolist() == [sea]
    if murmur is not None:
        assert murmur2(column).tolist() == [murmur]
        assert crc32(column).tolist() == [crc]


def test_keys_of_all_lengths_in_one_column_do_not_disturb_each_other():
    column = pa.array([key for key, *_ in VECTORS] * 3, pa.binary())
    assert seahash(column).tolist() == [sea for _, sea, _, _ in VECTORS] * 3
    known = [(key, murmur) for key, _, murmur, _ in VECTORS if murmur is not None]
    assert murmur2(pa.array([key for key, _ in known])).tolist() == [murmur for _, murmur in known]


@pytest.mark.parametrize("type", [pa.binary(), pa.large_binary(), pa.string()])
def test_a_slice_of_any_binary_column_is_hashed_as_its_own_values(type):
    column = pa.array(["x" * 50, "abc", None, "a", "y" * 50], type)[1:4]
    assert seahash(column).tolist() == [9257550784264072582, 14492805990617963705, 3009532316786026829]


def test_an_empty_column_has_no_hashes():
    for function in (seahash, murmur2, crc32):
        assert function(pa.array([], pa.binary())).tolist() == []


@given(st.lists(st.binary(max_size=40), max_size=30))
def test_whole_columns_agree_with_one_key_at_a_time(keys):
    column = pa.array(keys, pa.binary())
    assert seahash(column).tolist() == [plain_seahash(key) for key in keys]
    assert murmur2(column).tolist() == [plain_murmur2(key) for key in keys]
    assert crc32(column).tolist() == [zlib.crc32(key) for key in keys]


def test_hashes_are_unsigned_so_that_a_remainder_is_a_partition():
    assert (seahash(pa.array([b"123456789"])) % np.uint64(6)).tolist() == [5]


def plain_seahash(key: bytes) -> int:
    mask, prime = 2**64 - 1, 0x6EED0E9DA4D94A4F

    def diffuse(x: int) -> int:
        x = x * prime & mask
        x ^= (x >> 32) >> (x >> 60)
        return x * prime & mask

    a, b, c, d = 0x16F11FE89B0D677C, 0xB480A793D8E6C86C, 0x6FE2E5AAF078EBC9, 0x14F994A4C5259381
    for start in range(0, len(key), 8):
        a, b, c, d = b, c, d, diffuse(a ^ int.from_bytes(key[start : start + 8], "little"))
    return diffuse(a ^ b ^ c ^ d ^ len(key))


def plain_murmur2(key: bytes) -> int:
    mask, m = 2**32 - 1, 0x5BD1E995
    h = 0x9747B28C ^ len(key)
    whole = len(key) // 4 * 4
    for start in range(0, whole, 4):
        k = int.from_bytes(key[start : start + 4], "little") * m & mask
        k = (k ^ k >> 24) * m & mask
        h = h * m & mask ^ k
    if whole < len(key):
        h = (h ^ int.from_bytes(key[whole:], "little")) * m & mask
    h = (h ^ h >> 13) * m & mask
    return (h ^ h >> 15) & 0x7FFFFFFF


def test_bytes_to_skip_count_for_nothing():
    keys = [b"", b"a", b"abc", b"123456789", b"x" * 40]
    framed = pa.array([b"\0\0\0\0\x07" + key for key in keys] + [None])
    assert seahash(framed, 5).tolist() == seahash(pa.array([*keys, b""])).tolist()
    assert seahash(framed.slice(2, 2), 5).tolist() == seahash(pa.array(keys[2:4])).tolist()
