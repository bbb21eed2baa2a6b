"""Hashes that decide a message's partition: Kafka's murmur2 and SeaHash, spelt out in Spark SQL.

Exact and slow, a few µs a byte: meant for PARTITION BY over short keys.  Spark's `*` on bigint fails
on overflow, so products are taken in halves; a step that needs a value twice binds it by a lambda
(`_bound`).
"""

from __future__ import annotations

from tailrace.plan.functions.entry import function

_LOW = "4294967295L"  # 32 ones


def _bound(value: str, body: str) -> str:
    """`body` over the name x, which stands for `value`."""
    return f"element_at(transform(array({value}), x -> {body}), 1)"


def _little_endian(data: str, size: int) -> str:
    """The data in blocks of so many bytes, the last filled up with zeros; each block in hex, first byte
    last.
    """
    digits = 2 * size
    padded = f"rpad(hex({data}), (octet_length({data}) + {size - 1}) div {size} * {digits}, '0')"
    pairs = ", ".join(f"substring({padded}, {digits} * i - {2 * k + 1}, 2)" for k in range(size))
    places = f"sequence(1, (octet_length({data}) + {size - 1}) div {size})"
    blocks = f"transform({places}, i -> concat({pairs}))"
    return f"CASE WHEN octet_length({data}) = 0 THEN CAST(array() AS array<string>) ELSE {blocks} END"


# murmur2, 32 bits: every value is below 2^32 and held in a bigint.


def _times_m(x: str) -> str:
    """x · 5bd1e995 (hex) modulo 2^32, the constant in two halves of 16 bits."""
    return f"(({x} * 59797L + shiftleft(({x} * 23505L) & 65535L, 16)) & {_LOW})"


def murmur2(data: str) -> str:
    words = f"transform({_little_endian(data, 4)}, w -> CAST(conv(w, 16, 10) AS bigint))"
    whole = f"slice({words}, 1, octet_length({data}) div 4)"
    mixed = f"transform({whole}, x -> {_times_m('x')})"
    mixed = f"transform({mixed}, x -> x ^ shiftright(x, 24))"
    mixed = f"transform({mixed}, x -> {_times_m('x')})"
    start = f"(2538058380L ^ CAST(octet_length({data}) AS bigint))"
    hashed = f"aggregate({mixed}, {start}, (h, k) -> {_times_m('h')} ^ k)"
    rest = f"element_at({words}, -1)"
    tail = _bound(f"({hashed} ^ {rest})", _times_m("x"))
    hashed = f"CASE WHEN octet_length({data}) % 4 = 0 THEN {hashed} ELSE {tail} END"
    hashed = _bound(hashed, "x ^ shiftright(x, 13)")
    hashed = _bound(hashed, _times_m("x"))
    return f"CAST({_bound(hashed, 'x ^ shiftright(x, 15)')} & 2147483647L AS int)"


# SeaHash, 64 bits: values are bigints as bit patterns; products go through decimals of 38 digits.

_WORD = "CAST('18446744073709551616' AS decimal(20,0))"  # 2^64
_HALF = "CAST(4294967296L AS decimal(10,0))"  # 2^32
_P_HIGH, _P_LOW = (
    "CAST(1861029533L AS decimal(10,0))",
    "CAST(2765703759L AS decimal(10,0))",
)  # 6eed0e9d a4d94a4f


def _signed(unsigned: str) -> str:
    """The bigint with the bits of a number below 2^64."""
    small = "CAST('9223372036854775808' AS decimal(20,0))"
    return _bound(unsigned, f"CAST(CASE WHEN x >= {small} THEN x - {_WORD} ELSE x END AS bigint)")


def _times_p(x: str) -> str:
    low = f"CAST({x} & {_LOW} AS decimal(10,0))"
    high = f"CAST(shiftrightunsigned({x}, 32) AS decimal(10,0))"
    upper = f"CAST(({high} * {_P_LOW} + {low} * {_P_HIGH}) % {_HALF} AS decimal(10,0))"
    return _signed(f"CAST(({low} * {_P_LOW} + {upper} * {_HALF}) % {_WORD} AS decimal(20,0))")


def _diffused(x: str) -> str:
    spread = "x ^ shiftrightunsigned(shiftrightunsigned(x, 32), CAST(shiftrightunsigned(x, 60) AS int))"
    return _bound(_bound(_bound(x, _times_p("x")), spread), _times_p("x"))


def seahash(data: str) -> str:
    blocks = f"transform({_little_endian(data, 8)}, w -> {_signed('CAST(conv(w, 16, 10) AS decimal(20,0))')})"
    start = ", ".join(
        f"'{name}', {value}L"
        for name, value in (
            ("a", 0x16F11FE89B0D677C), ("b", 0xB480A793D8E6C86C - 2**64),
            ("c", 0x6FE2E5AAF078EBC9), ("d", 0x14F994A4C5259381),
        )
    )  # fmt: skip
    step = f"named_struct('a', s.b, 'b', s.c, 'c', s.d, 'd', {_diffused('s.a ^ n')})"
    final = _diffused(f"s.a ^ s.b ^ s.c ^ s.d ^ CAST(octet_length({data}) AS bigint)")
    hashed = f"aggregate({blocks}, named_struct({start}), (s, n) -> {step}, s -> {final})"
    unsigned = f"CASE WHEN x < 0 THEN CAST(x AS decimal(20,0)) + {_WORD} ELSE CAST(x AS decimal(20,0)) END"
    return _bound(hashed, f"CAST({unsigned} AS decimal(20,0))")


def _over(hash: str, argument: str) -> str:
    """The hash of an argument whose text stands there once."""
    return f"element_at(transform(array({argument}), data -> {hash}), 1)"


FUNCTIONS = (
    function("kafka_murmur2(text) -> integer", _over(murmur2("data"), "CAST({0} AS binary)")),
    function("kafka_murmur2(bytea) -> integer", _over(murmur2("data"), "{0}")),
    function("seahash(text) -> uint8", _over(seahash("data"), "CAST({0} AS binary)")),
    function("seahash(bytea) -> uint8", _over(seahash("data"), "{0}")),
)
