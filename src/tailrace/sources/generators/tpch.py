"""LOAD GENERATOR TPCH: the eight tables of TPC-H, filled at the first step; then every step replaces one order.

A row is a function of its key, and of how often its order was replaced: so any step can be computed by itself.  The
tables have TPC-H's columns, sizes and references, and values of the same kinds; they are not dbgen's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from tailrace.sources.generators.contract import Steps, chosen, one_of
from tailrace.types.core import BIGINT, DATE, INTEGER, TEXT, Column, Numeric, Schema, SqlType

_MONEY = Numeric(2)
_REGIONS = ("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST")
_NATIONS = (
    *("ALGERIA", "ARGENTINA", "BRAZIL", "CANADA", "EGYPT", "ETHIOPIA", "FRANCE", "GERMANY", "INDIA", "INDONESIA"),
    *("IRAN", "IRAQ", "JAPAN", "JORDAN", "KENYA", "MOROCCO", "MOZAMBIQUE", "PERU", "CHINA", "ROMANIA"),
    *("SAUDI ARABIA", "VIETNAM", "RUSSIA", "UNITED KINGDOM", "UNITED STATES"),
)
_REGION_OF = (0, 1, 1, 1, 4, 0, 3, 3, 2, 2, 4, 4, 2, 4, 0, 0, 0, 1, 2, 3, 4, 2, 3, 3, 1)
_SEGMENTS = ("AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY")
_PRIORITIES = ("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW")
_MODES = ("AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK")
_INSTRUCTIONS = ("COLLECT COD", "DELIVER IN PERSON", "NONE", "TAKE BACK RETURN")
_COLOURS = ("almond", "forest", "green", "lace", "misty", "pale", "rose", "steel")
_KINDS = ("ECONOMY ANODIZED STEEL", "LARGE PLATED BRASS", "MEDIUM POLISHED TIN", "PROMO BURNISHED COPPER")
_CONTAINERS = ("JUMBO BOX", "LG PACK", "MED BAG", "SM CASE", "WRAP JAR")
_SUPPLIERS_OF_A_PART = 4
_MOST_LINES = 7
_DAYS = 2406  # from the first order to the last


def _columns(prefix: str, types: Mapping[str, SqlType]) -> Schema:
    return tuple(Column(f"{prefix}_{name}", type, nullable=False) for name, type in types.items())


@dataclass(frozen=True, slots=True)
class Tpch:
    scale: float
    append_only: bool = False

    tables: ClassVar[Mapping[str, Schema]] = {
        "region": _columns("r", {"regionkey": BIGINT, "name": TEXT, "comment": TEXT}),
        "nation": _columns("n", {"nationkey": BIGINT, "name": TEXT, "regionkey": BIGINT, "comment": TEXT}),
        "supplier": _columns(
            "s",
            {
                **{"suppkey": BIGINT, "name": TEXT, "address": TEXT, "nationkey": BIGINT, "phone": TEXT},
                **{"acctbal": _MONEY, "comment": TEXT},
            },
        ),
        "customer": _columns(
            "c",
            {
                **{"custkey": BIGINT, "name": TEXT, "address": TEXT, "nationkey": BIGINT, "phone": TEXT},
                **{"acctbal": _MONEY, "mktsegment": TEXT, "comment": TEXT},
            },
        ),
        "part": _columns(
            "p",
            {
                **{"partkey": BIGINT, "name": TEXT, "mfgr": TEXT, "brand": TEXT, "type": TEXT, "size": INTEGER},
                **{"container": TEXT, "retailprice": _MONEY, "comment": TEXT},
            },
        ),
        "partsupp": _columns(
            "ps",
            {"partkey": BIGINT, "suppkey": BIGINT, "availqty": INTEGER, "supplycost": _MONEY, "comment": TEXT},
        ),
        "orders": _columns(
            "o",
            {
                **{"orderkey": BIGINT, "custkey": BIGINT, "orderstatus": TEXT, "totalprice": _MONEY},
                **{"orderdate": DATE, "orderpriority": TEXT, "clerk": TEXT, "shippriority": INTEGER, "comment": TEXT},
            },
        ),
        "lineitem": _columns(
            "l",
            {
                **{"orderkey": BIGINT, "partkey": BIGINT, "suppkey": BIGINT, "linenumber": INTEGER},
                **{"quantity": _MONEY, "extendedprice": _MONEY, "discount": _MONEY, "tax": _MONEY},
                **{"returnflag": TEXT, "linestatus": TEXT, "shipdate": DATE, "commitdate": DATE, "receiptdate": DATE},
                **{"shipinstruct": TEXT, "shipmode": TEXT, "comment": TEXT},
            },
        ),
    }

    def rows(self, table: str, steps: Steps) -> tuple[list[str], int]:
        texts: list[str] = []
        rows = 0
        if steps.has_first:
            texts, rows = [self._snapshot(table)], self._size(table)
        if table in ("orders", "lineitem") and steps.until > max(steps.since, steps.first + 1):
            replaced = steps.range(steps.first + 1)
            order = f"(id - {steps.first + 1}) % {self._orders} AS k, (id - {steps.first + 1}) div {self._orders}"
            for sign, version in ((-1, ""), (1, " + 1")):
                texts.append(self._ordered(table, f"SELECT {order}{version} AS v FROM {replaced}", sign))
            rows += 2 * _MOST_LINES * (steps.until - steps.since)
        return texts, rows

    def _snapshot(self, table: str) -> str:
        if table in ("orders", "lineitem"):
            return self._ordered(table, f"SELECT id AS k, 0L AS v FROM range(0, {self._orders})", 1)
        values = {
            "region": ("id", one_of(_REGIONS, "id"), "''"),
            "nation": ("id", one_of(_NATIONS, "id"), f"element_at(array{_REGION_OF}, CAST(id + 1 AS int))", "''"),
            "supplier": ("id + 1", _named("Supplier"), "concat('at ', id)", _nation(), _phone(), _money(9999), "''"),
            "customer": (
                *("id + 1", _named("Customer"), "concat('at ', id)", _nation(), _phone(), _money(9999)),
                *(one_of(_SEGMENTS, chosen("segment", "id", below=len(_SEGMENTS))), "''"),
            ),
            "part": (
                *("id + 1", f"concat({_pick('colour', _COLOURS)}, ' ', {_pick('other', _COLOURS)})"),
                *(f"concat('Manufacturer#', {chosen('maker', 'id', below=5)} + 1)",),
                *(f"concat('Brand#', {chosen('brand', 'id', below=45)} + 11)", _pick("kind", _KINDS)),
                *(f"CAST({chosen('size', 'id', below=50)} + 1 AS int)", _pick("container", _CONTAINERS)),
                *(_money(2000), "''"),
            ),
            "partsupp": (
                *(f"id div {_SUPPLIERS_OF_A_PART} + 1", self._supplier("id div 4", "id % 4")),
                *(f"CAST({chosen('stock', 'id', below=9999)} + 1 AS int)", _money(1000), "''"),
            ),
        }[table]
        return _select(values, f"range(0, {self._size(table)})", 1)

    def _ordered(self, table: str, orders: str, sign: int) -> str:
        """The rows of some orders `k` in their version `v`."""
        day = f"date_add(DATE'1992-01-01', CAST({chosen('day', 'k', 'v', below=_DAYS)} AS int))"
        if table == "orders":
            values: tuple[str, ...] = (
                *("k + 1", f"{chosen('customer', 'k', 'v', below=self._customers)} + 1"),
                *(_pick("status", ("F", "O", "P"), "k", "v"), _money(400_000, "k", "v"), day),
                *(_pick("priority", _PRIORITIES, "k", "v"),),
                *(f"concat('Clerk#', {chosen('clerk', 'k', 'v', below=1000)})", "0", "''"),
            )
            return _select(values, f"({orders})", sign)
        lines = f"sequence(1, CAST({chosen('lines', 'k', 'v', below=_MOST_LINES)} AS int) + 1)"
        rows = f"(SELECT k, v, {day} AS d, explode({lines}) AS n FROM ({orders}))"
        key = ("k", "v", "n")
        part = chosen("part", *key, below=self._parts)
        sent = f"date_add(d, CAST({chosen('sent', *key, below=121)} + 1 AS int))"
        values = (
            *("k + 1", f"{part} + 1", self._supplier(part, chosen("from", *key, below=_SUPPLIERS_OF_A_PART)), "n"),
            *(f"CAST({chosen('quantity', *key, below=50)} + 1 AS decimal(38,2))", _money(95_000, *key)),
            *(_hundredths("discount", 11, *key), _hundredths("tax", 9, *key)),
            *(_pick("returned", ("A", "N", "R"), *key), _pick("line", ("F", "O"), *key), sent),
            *(f"date_add(d, CAST({chosen('promised', *key, below=61)} + 30 AS int))",),
            *(f"date_add({sent}, CAST({chosen('received', *key, below=30)} + 1 AS int))",),
            *(_pick("how", _INSTRUCTIONS, *key), _pick("mode", _MODES, *key), "''"),
        )
        return _select(values, rows, sign)

    def _supplier(self, part: str, which: str) -> str:
        """One of the suppliers of a part, which is counted from 0."""
        return f"({part} + {which} * {self._suppliers // _SUPPLIERS_OF_A_PART}) % {self._suppliers} + 1"

    def _size(self, table: str) -> int:
        return {
            "region": len(_REGIONS),
            "nation": len(_NATIONS),
            "supplier": self._suppliers,
            "customer": self._customers,
            "part": self._parts,
            "partsupp": self._parts * _SUPPLIERS_OF_A_PART,
            "orders": self._orders,
            "lineitem": self._orders * _MOST_LINES,
        }[table]

    @property
    def _orders(self) -> int:
        return max(1, round(1_500_000 * self.scale))

    @property
    def _customers(self) -> int:
        return max(1, round(150_000 * self.scale))

    @property
    def _parts(self) -> int:
        return max(1, round(200_000 * self.scale))

    @property
    def _suppliers(self) -> int:
        return max(_SUPPLIERS_OF_A_PART, round(10_000 * self.scale))


def _named(what: str) -> str:
    return f"concat('{what}#', lpad(id + 1, 9, '0'))"


def _nation() -> str:
    return chosen("nation", "id", below=len(_NATIONS))


def _phone() -> str:
    return f"concat({_nation()} + 10, '-', {chosen('phone', 'id', below=900)} + 100)"


def _money(most: int, *key: str) -> str:
    return _hundredths(f"money {most}", most * 100, *key)


def _hundredths(seed: str, below: int, *key: str) -> str:
    return f"CAST({chosen(seed, *(key or ('id',)), below=below)} / CAST(100 AS decimal(3,0)) AS decimal(38,2))"


def _pick(seed: str, values: tuple[str, ...], *key: str) -> str:
    return one_of(values, chosen(seed, *(key or ("id",)), below=len(values)))


def _select(values: tuple[str, ...], rows: str, weight: int) -> str:
    outputs = ", ".join(f"{value} AS c{i}" for i, value in enumerate(values))
    return f"SELECT {outputs}, {weight}L AS weight FROM {rows}"
