"""TPC-H in the small: a few rows in every table, made so that each of the 22 queries has something to say.

The values are drawn from those that the queries' validation parameters ask for.  A tick is what happens in such a
business: orders come and go with their lines, lines are shipped, prices and stocks change.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from properties.texts import queries_of, tables_of
from properties.world import Change, Row

QUERIES, TABLES = queries_of("tpch"), tables_of("tpch")

_REGIONS = ("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST")
_NATIONS = (  # each with its region
    ("BRAZIL", 1), ("CANADA", 1), ("INDIA", 2), ("FRANCE", 3), ("GERMANY", 3), ("SAUDI ARABIA", 4), ("KENYA", 0),
)  # fmt: skip
_PARTS = (  # name, brand, type, size, container: the kinds of parts that the queries look for
    ("forest green", "Brand#23", "LARGE PLATED BRASS", 15, "MED BOX"),
    ("almond green", "Brand#12", "ECONOMY ANODIZED STEEL", 3, "SM CASE"),
    ("forest lace", "Brand#34", "PROMO BURNISHED COPPER", 9, "LG PACK"),
    ("misty rose", "Brand#45", "MEDIUM POLISHED TIN", 14, "MED BAG"),
    ("pale green", "Brand#23", "ECONOMY ANODIZED STEEL", 9, "MED BAG"),
)
_SEASONS = (  # the first days of the periods that the queries look at
    date(1993, 7, 5), date(1993, 10, 3), date(1994, 2, 1), date(1995, 3, 1), date(1995, 8, 20), date(1996, 1, 10),
)  # fmt: skip
_PREFIXES = ("13", "31", "23", "44")
_MODES = ("AIR", "AIR REG", "MAIL", "SHIP", "TRUCK")
_PRIORITIES = ("1-URGENT", "2-HIGH", "3-MEDIUM", "5-LOW")
_SUPPLIERS, _CUSTOMERS, _PARTS_KEPT, _ORDERS = 14, 15, 10, 150


class Business:
    """What is in the tables, and what happens next.  The same seed, the same story."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._rows: dict[str, list[Row]] = {name: [] for name in TABLES}
        self._last_order = 0

    def beginning(self) -> list[Change]:
        """The first rows of every table."""
        self._rows["region"] = [(i, name, "") for i, name in enumerate(_REGIONS)]
        self._rows["nation"] = [(i, name, region, "") for i, (name, region) in enumerate(_NATIONS)]
        self._rows["supplier"] = [self._supplier(key) for key in range(_SUPPLIERS)]
        self._rows["customer"] = [self._customer(key) for key in range(_CUSTOMERS)]
        self._rows["part"] = [self._part(key) for key in range(_PARTS_KEPT)]
        pairs = [(part, (part + i) % _SUPPLIERS) for part in range(_PARTS_KEPT) for i in range(4)]
        self._rows["partsupp"] = [self._stock(part, supplier) for part, supplier in pairs]
        for _ in range(_ORDERS):
            order, lines = self._new_order()
            self._rows["orders"].append(order)
            self._rows["lineitem"] += lines
        return [Change(name, tuple(rows)) for name, rows in self._rows.items()]

    def next(self, busy: int = 1) -> list[Change]:
        """One tick.  On a `busy` day everything happens several times, on others some of it happens once."""
        events = [self._order_arrives, self._order_leaves, self._lines_change]
        others = [self._stock_changes, self._customer_changes, self._part_changes, self._supplier_changes]
        if busy > 1:
            happening = [*events, *others] * busy
        else:
            happening = [*self._random.sample(events, 2), *self._random.sample(others, 2)]
        return [change for event in happening for change in event()]

    # ── events ──

    def _order_arrives(self) -> list[Change]:
        order, lines = self._new_order()
        self._rows["orders"].append(order)
        self._rows["lineitem"] += lines
        return [Change("orders", (order,)), Change("lineitem", tuple(lines))]

    def _order_leaves(self) -> list[Change]:
        order = self._random.choice(self._rows["orders"])
        lines = [line for line in self._rows["lineitem"] if line[0] == order[0]]
        self._rows["orders"].remove(order)
        self._rows["lineitem"] = [line for line in self._rows["lineitem"] if line not in lines]
        return [Change("orders", leaving=(order,)), Change("lineitem", leaving=tuple(lines))]

    def _lines_change(self) -> list[Change]:
        return [self._updated("lineitem", lambda row: (*row[:4], *self._shipment(row[10])[4:])) for _ in range(3)]

    def _stock_changes(self) -> list[Change]:
        return [self._updated("partsupp", lambda row: self._stock(row[0], row[1])) for _ in range(2)]

    def _customer_changes(self) -> list[Change]:
        return [self._updated("customer", lambda row: self._customer(row[0]))]

    def _part_changes(self) -> list[Change]:
        return [self._updated("part", lambda row: self._part(row[0]))]

    def _supplier_changes(self) -> list[Change]:
        return [self._updated("supplier", lambda row: self._supplier(row[0]))]

    def _updated(self, table: str, change: Callable[[Any], Row]) -> Change:
        """A row replaced by another of the same key."""
        place = self._random.randrange(len(self._rows[table]))
        old = self._rows[table][place]
        self._rows[table][place] = change(old)
        return Change(table, (self._rows[table][place],), (old,))

    # ── rows ──

    def _supplier(self, key: int) -> Row:
        comment = self._random.choice(["", "", "", "Customer sent Complaints"])
        address = f"at {self._random.randrange(100)}"
        return (key, f"Supplier#{key}", address, key % len(_NATIONS), "1", self._money(9999), comment)

    def _customer(self, key: int) -> Row:
        phone = f"{self._random.choice(_PREFIXES)}-555"
        segment = self._random.choice(["BUILDING", "BUILDING", "MACHINERY"])
        return (key, f"Customer#{key}", f"at {key}", key % len(_NATIONS), phone, self._money(9999), segment, "")

    def _part(self, key: int) -> Row:
        name, brand, type, size, container = _PARTS[key % len(_PARTS)]
        if self._random.random() < 0.1:
            size = 49
        return (key, name, "Manufacturer#1", brand, type, size, container, self._money(2000), "")

    def _stock(self, part: int, supplier: int) -> Row:
        return (part, supplier, self._random.randint(50, 500), self._money(100), "")

    def _new_order(self) -> tuple[Row, list[Row]]:
        self._last_order += 1
        key, ordered = self._last_order, self._random.choice(_SEASONS) + timedelta(days=self._random.randint(0, 12))
        customer = self._random.randrange(_CUSTOMERS * 2 // 3)  # the others never order
        comment = self._random.choice(["", "", "special packing requests"])
        order = (
            *(key, customer, self._random.choice("FFO"), self._money(90_000), ordered),
            *(self._random.choice(_PRIORITIES), "Clerk#1", 0, comment),
        )
        large = self._random.random() < 0.3
        shipments = [self._shipment(ordered, large=large) for _ in range(7 if large else self._random.randint(2, 5))]
        return order, [(key, *part[1:3], n, *part[4:]) for n, part in enumerate(shipments, start=1)]

    def _shipment(self, near: object, *, large: bool = False) -> Row:
        """A line but for its order and number: who ships what, when and how."""
        assert isinstance(near, date)
        part, supplier = self._random.choice(self._rows["partsupp"])[:2]
        quantity = self._random.choice([44, 48, 50] if large else [1, 4, 11, 15, 22])
        shipped = near + timedelta(days=self._random.choice([1, 10, 20, 25]))
        committed = shipped + timedelta(days=self._random.choice([-3, 2, 8]))
        received = shipped + timedelta(days=self._random.choice([1, 5]))
        return (
            *(0, part, supplier, 0, Decimal(quantity).quantize(Decimal("0.01")), self._money(9000)),
            *(Decimal(self._random.choice(["0.05", "0.06", "0.10"])), Decimal("0.02"), self._random.choice("RRN")),
            *(self._random.choice("FO"), shipped, committed, received),
            *(self._random.choice(["DELIVER IN PERSON", "NONE"]), self._random.choice(_MODES), ""),
        )

    def _money(self, most: int) -> Decimal:
        return Decimal(self._random.randint(1, most * 100)).scaleb(-2)
