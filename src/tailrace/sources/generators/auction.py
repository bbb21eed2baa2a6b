"""LOAD GENERATOR AUCTION: organizations with users and accounts; every tenth step an auction, every step a bid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from tailrace.sources.generators.contract import Steps, chosen, one_of
from tailrace.types.core import BIGINT, INTEGER, TEXT, TIMESTAMPTZ, Column, Schema

_ORGANIZATIONS = ("Harbour Works", "Northern Mill", "Old Quay", "River Glass", "Stone and Sons")
_USERS = 20
_ITEMS = ("Best Pizza in Town", "City Bar Crawl", "Custom Art", "Gift Basket", "Signed Memorabilia")
_BIDS = 10  # for one auction
_OPEN = 10  # steps that an auction lasts


def _columns(**types: object) -> Schema:
    return tuple(Column(name, type, nullable=False) for name, type in types.items())  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Auction:
    append_only: bool = True

    tables: ClassVar[Mapping[str, Schema]] = {
        "organizations": _columns(id=BIGINT, name=TEXT),
        "users": _columns(id=BIGINT, org_id=BIGINT, name=TEXT),
        "accounts": _columns(id=BIGINT, org_id=BIGINT, balance=BIGINT),
        "auctions": _columns(id=BIGINT, seller=BIGINT, item=TEXT, end_time=TIMESTAMPTZ),
        "bids": _columns(id=BIGINT, buyer=BIGINT, auction_id=BIGINT, amount=INTEGER, bid_time=TIMESTAMPTZ),
    }

    def rows(self, table: str, steps: Steps) -> tuple[list[str], int]:
        organizations = len(_ORGANIZATIONS)
        values: tuple[str, ...]
        match table:
            case "bids":
                values = (
                    *("id + 1", chosen("buyer", "id", below=_USERS) + " + 1", f"id div {_BIDS} + 1"),
                    *(f"CAST({chosen('amount', 'id', below=100)} + 1 AS int)", steps.moment("id")),
                )
                return [_select(values, steps.range())], steps.until - steps.since
            case "auctions":
                item = one_of(_ITEMS, chosen("item", "id", below=len(_ITEMS)))
                seller = chosen("seller", "id", below=_USERS)
                values = (f"id div {_BIDS} + 1", f"{seller} + 1", item, steps.moment(f"(id + {_OPEN})"))
                opening = f"{steps.range()} WHERE id % {_BIDS} = 0"
                return [_select(values, opening)], (steps.until - steps.since) // _BIDS + 1
            case _ if not steps.has_first:
                return [], 0
            case "organizations":
                return [_select(("id + 1", one_of(_ORGANIZATIONS, "id")), f"range(0, {organizations})")], organizations
            case "users":
                values = ("id + 1", f"id % {organizations} + 1", "concat('user ', id + 1)")
                return [_select(values, f"range(0, {_USERS})")], _USERS
            case _:
                values = ("id + 1", "id + 1", f"{chosen('balance', 'id', below=10_000)} + 1")
                return [_select(values, f"range(0, {organizations})")], organizations


def _select(values: tuple[str, ...], rows: str) -> str:
    return f"SELECT {', '.join(f'{value} AS c{i}' for i, value in enumerate(values))}, 1L AS weight FROM {rows}"
