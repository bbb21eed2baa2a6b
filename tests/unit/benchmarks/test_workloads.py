"""A perfect system, one message at a time: every probe must become visible with its own message, none earlier."""

from __future__ import annotations

import json

import pytest
from benchmarks.workloads import WORKLOADS

PACED = 4_000


@pytest.mark.parametrize("name", WORKLOADS)
def test_the_generator_repeats_itself(name):
    workload = WORKLOADS[name]
    first, second = workload.stream(7, 100), workload.stream(7, 100)
    assert first.base == second.base
    assert first.paced == second.paced
    assert workload.stream(8, 100).paced != first.paced


@pytest.mark.parametrize("name", ["w1", "w2", "w4"])
def test_a_row_reflects_its_message(name):
    workload = WORKLOADS[name]
    stream = workload.stream(7, PACED)
    table = workload.expected(stream.base)
    counts = {key: set() for key in table}
    if name == "w2":
        for _, _, _, value in stream.base:
            view = json.loads(value)
            counts[view["user_region"]].add(view["user_id"])
    seen = []
    for number, message in enumerate(stream.paced):
        row = _changed_row(name, workload, table, counts, message)
        if row is not None:
            reflected = list(stream.tracker.observe(row, number + 1))
            assert reflected == [number]
            seen += reflected
    assert sorted(seen) == sorted(stream.tracker.probes())


def _changed_row(name, workload, table, users, message):
    value = json.loads(message[3])
    if name == "w2":
        region = value["user_region"]
        users.setdefault(region, set()).add(value["user_id"])
        row = {"user_region": region, "pv": table[region]["pv"] + 1, "uv": len(users[region])}
        table[region] = row
        return row
    [row] = workload.expected([message]).values() or [None]
    if name == "w4" and row["updated_at"] <= table.get(row["device_id"], {"updated_at": -1})["updated_at"]:
        return None
    if name == "w4":
        table[row["device_id"]] = row
    return row


def test_a_segment_reflects_changes_of_both_sides():
    workload = WORKLOADS["w3"]
    stream = workload.stream(7, PACED)
    orders: dict[int, dict] = {}
    customers: dict[int, dict] = {}
    totals: dict[str, list[int]] = {}

    def add(order: dict, sign: int) -> str:
        segment = customers[order["customer_id"]]["segment"]
        total = totals.setdefault(segment, [0, 0])
        total[0] += sign
        total[1] += sign * order["amount"]
        return segment

    def apply(message) -> set[str]:
        role, _, key, value = message
        [identity] = json.loads(key).values()
        row = None if value is None else json.loads(value)
        touched = set()
        if role == "orders":
            if identity in orders:
                touched.add(add(orders.pop(identity), -1))
            if row is not None:
                orders[identity] = row
                touched.add(add(row, +1))
            return touched
        owned = [o for o in orders.values() if o["customer_id"] == identity]
        if identity in customers:
            touched |= {add(order, -1) for order in owned}
        customers[identity] = row
        return touched | {add(order, +1) for order in owned}

    for message in sorted(stream.base, key=lambda m: m[0] != "customers"):
        apply_base(message, orders, customers, totals)
    seen = []
    for number, message in enumerate(stream.paced):
        for segment in apply(message):
            row = {"segment": segment, "orders": totals[segment][0], "revenue": totals[segment][1]}
            reflected = list(stream.tracker.observe(row, number + 1))
            assert reflected in ([number], [])
            seen += reflected
    assert sorted(seen) == sorted(stream.tracker.probes())
    expected = workload.expected([*stream.base, *stream.paced])
    assert {s: tuple(t) for s, t in totals.items() if t[0]} == {
        s: (row["orders"], row["revenue"]) for s, row in expected.items()
    }


def apply_base(message, orders, customers, totals):
    """The base holds inserts only, customers first: no need to look for what a customer owns."""
    role, _, _, value = message
    row = json.loads(value)
    if role == "customers":
        customers[row["customer_id"]] = row
        return
    orders[row["order_id"]] = row
    total = totals.setdefault(customers[row["customer_id"]]["segment"], [0, 0])
    total[0] += 1
    total[1] += row["amount"]
