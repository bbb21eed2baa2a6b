"""W3, join of two changelogs:  SELECT c.segment, COUNT(*) AS orders, SUM(o.amount) AS revenue
FROM orders o JOIN customers c ON o.customer_id = c.customer_id GROUP BY c.segment   → upsert topic by segment.

Both inputs are upsert topics: orders are inserted, changed and deleted (tombstones), customers move between
segments now and then.  Amounts are whole cents, so no two systems can disagree about decimals.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from benchmarks.settings import PARTITIONS
from benchmarks.workloads.contract import Message, Output, Row, Rows, Stream

ORDER_CHANGES, ORDERS, CUSTOMERS, CUSTOMER_MOVES, SEGMENTS = 500_000, 200_000, 20_000, 2_000, 1_000
_BASE_ORDERS = 60_000
_MAX_CENTS = 100_000


class JoinedRevenue:
    name = "w3"
    title = "W3 join: orders ⋈ customers (both upsert, with deletes), revenue per segment → upsert topic"
    dataset = "orders"
    inputs = ("orders", "customers")
    output = Output(key="segment", columns=("segment", "orders", "revenue"), kind="upsert")

    def backlog(self, seed: int) -> Iterator[Message]:
        rng = random.Random(seed)
        for customer in range(CUSTOMERS):
            yield _customer(customer, customer % SEGMENTS)
        for _ in range(CUSTOMER_MOVES):
            yield _customer(rng.randrange(CUSTOMERS), rng.randrange(SEGMENTS))
        owner: dict[int, int] = {}
        for _ in range(ORDER_CHANGES):
            order = rng.randrange(ORDERS)
            if order not in owner:
                owner[order] = rng.randrange(CUSTOMERS)
            elif rng.random() < 0.15:
                del owner[order]
                yield _order_gone(order)
                continue
            elif rng.random() < 0.05:
                owner[order] = rng.randrange(CUSTOMERS)
            yield _order(order, owner[order], 1 + rng.randrange(_MAX_CENTS))

    def stream(self, seed: int, paced: int) -> Stream:
        rng = random.Random(seed)
        shop = _Shop(rng)
        base = [_customer(customer, customer % SEGMENTS) for customer in range(CUSTOMERS)]
        base += [shop.insert(rng.randrange(CUSTOMERS)) for _ in range(_BASE_ORDERS)]
        tracker = _ByState()
        messages = [_paced_change(shop, tracker, number) for number in range(paced)]
        return Stream(base=base, paced=messages, tracker=tracker)

    def expected(self, messages: Iterable[Message]) -> Rows:
        tables: dict[str, dict[int, Row]] = {"orders": {}, "customers": {}}
        for role, _, key, value in messages:
            [identity] = json.loads(key).values()
            if value is None:
                tables[role].pop(identity, None)
            else:
                tables[role][identity] = json.loads(value)
        rows: Rows = {}
        for order in tables["orders"].values():
            segment = tables["customers"][order["customer_id"]]["segment"]
            row = rows.setdefault(segment, {"segment": segment, "orders": 0, "revenue": 0})
            row["orders"] += 1
            row["revenue"] += order["amount"]
        return rows


def _customer(customer: int, segment: int) -> Message:
    value = b'{"customer_id":%d,"segment":"s%03d"}' % (customer, segment)
    return "customers", customer % PARTITIONS, b'{"customer_id":%d}' % customer, value


def _order(order: int, customer: int, amount: int) -> Message:
    value = b'{"order_id":%d,"customer_id":%d,"amount":%d}' % (order, customer, amount)
    return "orders", order % PARTITIONS, b'{"order_id":%d}' % order, value


def _order_gone(order: int) -> Message:
    return "orders", order % PARTITIONS, b'{"order_id":%d}' % order, None


@dataclass
class _Shop:
    """The state behind a latency run, kept so that each change has a known effect on known segments."""

    rng: random.Random
    amount: dict[int, int] = field(default_factory=dict)
    owner: dict[int, int] = field(default_factory=dict)
    orders_of: defaultdict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    segment_of: list[int] = field(default_factory=lambda: [c % SEGMENTS for c in range(CUSTOMERS)])
    customers_in: list[list[int]] = field(
        default_factory=lambda: [list(range(s, CUSTOMERS, SEGMENTS)) for s in range(SEGMENTS)]
    )
    # Segment → the order repriced last.  Not touched again in the next turn: an update seen halfway, as a bare
    # removal, would look like that order's deletion.
    last_touched: dict[int, int] = field(default_factory=dict)
    _next_order: int = 0

    def insert(self, customer: int) -> Message:
        order, self._next_order = self._next_order, self._next_order + 1
        self.owner[order] = customer
        self.orders_of[customer].add(order)
        return self.reprice(order)

    def reprice(self, order: int) -> Message:
        self.amount[order] = 1 + self.rng.randrange(_MAX_CENTS)
        return _order(order, self.owner[order], self.amount[order])

    def delete(self, order: int) -> Message:
        self.orders_of[self.owner.pop(order)].discard(order)
        del self.amount[order]
        return _order_gone(order)

    def move(self, customer: int, target: int) -> Message:
        self.customers_in[self.segment_of[customer]].remove(customer)
        self.customers_in[target].append(customer)
        self.segment_of[customer] = target
        return _customer(customer, target)

    def totals(self, segment: int) -> tuple[int, int]:
        orders = [order for customer in self.customers_in[segment] for order in self.orders_of[customer]]
        return len(orders), sum(self.amount[order] for order in orders)


def _paced_change(shop: _Shop, tracker: _ByState, number: int) -> Message:
    """Change number `number`.  Segments take turns, so that the changes of one segment are far apart in time
    (one per SEGMENTS messages; half of that where a customer moved in): no system then shows a mixture."""
    segment, rng = number % SEGMENTS, shop.rng
    candidates = [c for c in shop.customers_in[segment] if shop.orders_of[c]]
    customer = rng.choice(candidates or shop.customers_in[segment])
    dice = rng.random()
    if dice < 0.02 and candidates and len(shop.customers_in[segment]) > 5:
        target = (segment + SEGMENTS // 2) % SEGMENTS
        message = shop.move(customer, target)
        tracker.expect(number, target, shop.totals(target), probe=True)
        tracker.expect(number, segment, shop.totals(segment), probe=False)
        return message
    old = [o for o in sorted(shop.orders_of[customer]) if o != shop.last_touched.get(segment)]
    if dice < 0.40 or not old:
        message = shop.insert(customer)
    elif dice < 0.85:
        shop.last_touched[segment] = rng.choice(old)
        message = shop.reprice(shop.last_touched[segment])
    else:
        message = shop.delete(rng.choice(old))
    tracker.expect(number, segment, shop.totals(segment), probe=True)
    return message


class _ByState:
    """A segment runs through a known sequence of (orders, revenue) pairs; seeing one reflects all changes up to it.

    Systems may also show states in between (an update as a removal and an insertion): they match nothing,
    or belong to a change that has not been sent yet, and are ignored.
    """

    def __init__(self) -> None:
        self._path: defaultdict[str, list[tuple[int, bool]]] = defaultdict(list)
        self._places: defaultdict[str, defaultdict[tuple[int, int], list[int]]] = defaultdict(
            lambda: defaultdict(list)
        )
        self._reached: defaultdict[str, int] = defaultdict(int)
        self._probes: list[int] = []

    def expect(self, number: int, segment: int, totals: tuple[int, int], *, probe: bool) -> None:
        name = f"s{segment:03d}"
        self._places[name][totals].append(len(self._path[name]))
        self._path[name].append((number, probe))
        if probe:
            self._probes.append(number)

    def probes(self) -> Sequence[int]:
        return self._probes

    def observe(self, row: Row, sent: int) -> Iterable[int]:
        segment = row["segment"]
        path, reached = self._path[segment], self._reached[segment]
        places = self._places[segment].get((row["orders"], row["revenue"]), ())
        place = next((p for p in places if p >= reached), None)
        if place is None or path[place][0] >= sent:
            return ()
        self._reached[segment] = place + 1
        return [number for number, probe in path[reached : place + 1] if probe]
